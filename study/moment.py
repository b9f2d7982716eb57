"""``python study/moment.py [SYSTEM-SEED ...]``: what does a system know after each 50 updates?

Each training of ``experiment=moment`` stops every 50 updates, is measured on the references of the
test set, and is resumed; this changes no update. ``results/moment/<system>-<seed>.npz.xz`` keeps
what was measured. States that are in the file already are not made again.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from middle import places
from packed import RESULTS, read_arrays, write_arrays

import seq2seq
from seq2seq.checkpoint import newest_checkpoints
from seq2seq.config import GrammarCorpus, check
from seq2seq.data.corpora import load_test_sets
from seq2seq.data.grammar import banded_pairs
from seq2seq.data.text import ParallelText, read_lines
from seq2seq.decoding.translator import Translator
from seq2seq.errors import UserError
from seq2seq.evaluation.evaluate import draw_maps, score_references
from seq2seq.evaluation.translations import Translations, reference_losses
from seq2seq.record import TrainingRecord
from seq2seq.training.run_folder import RunFolder

EVERY, LAST = 50, 500
"""Updates between two states, and the last state."""
SYSTEMS, SEEDS = ("attention", "no-attention", "target-only"), (1, 2, 3)
SHOWN_WORDS = 12
"""Attention is kept for one sentence: the first test source of this number of words."""
STUDY = f"--config-dir={Path(__file__).parent}"
BATCH = 64


@dataclass(frozen=True)
class States:
    """What was measured of one training: U states, N test sentences."""

    words: Int[np.ndarray, "N"]
    """Words of each source."""
    updates: Int[np.ndarray, "U"]
    losses: Float[np.ndarray, "U N 2"]
    """Loss in nats and number of pieces of each reference."""
    links: Int[np.ndarray, "U N 3"]
    """Numbers of links: correct, found (by the largest weights), and gold; 0 without attention."""
    entropies: Float[np.ndarray, "U N"]
    """Entropy of the weights in nats, the mean over pieces; 0 without attention."""
    weights: Float[np.ndarray, "U J I"]
    """Weights between the words of one sentence; no columns without attention."""
    shown: tuple[list[str], list[str]]
    """Source and target words of that sentence."""
    record: TrainingRecord

    def save(self, path: Path) -> None:
        """Write the file of one training, complete or not at all."""
        arrays: dict[str, Any] = {
            "words": self.words.astype(np.uint8),
            "updates": self.updates,
            "losses": self.losses.astype(np.float32),
            "links": self.links.astype(np.uint8),
            "entropies": self.entropies.astype(np.float32),
            "weights": self.weights.astype(np.float16),
            "texts": np.array([json.dumps(self.shown), json.dumps(asdict(self.record))]),
        }
        write_arrays(path, arrays)

    @classmethod
    def load(cls, path: Path) -> "States":
        """Read the file of one training."""
        read = read_arrays(path)
        shown, record = map(json.loads, read.pop("texts").tolist())
        whole = ("words", "updates", "links")
        return cls(
            **{name: array.astype(int if name in whole else float) for name, array in read.items()},
            shown=(shown[0], shown[1]),
            record=check("", record, TrainingRecord),
        )


def measure(run: RunFolder, test: ParallelText) -> States:
    """Measure the last state of a training on the references of ``test``."""
    sources, references = ([*read_lines(path)] for path in (test.source, test.target))
    translator = Translator(str(newest_checkpoints(run.path)[0]), "cpu", "fp32")
    scored = score_references(translator, sources, references, BATCH)
    entropies = np.zeros((1, len(sources)))
    words = np.array([len(source.split()) for source in sources])
    line = int(np.argmax(words == SHOWN_WORDS))
    links, weights = np.zeros((1, len(sources), 3), dtype=int), np.zeros((1, 0, 0))
    if translator.model.attends:
        assert isinstance(run.config.corpus, GrammarCorpus)
        gold = [{*pair.links} for pair in banded_pairs(run.config.corpus)]
        looked = places(translator, sources, references)
        found = [{(i, j) for j, i in enumerate(line)} for line in looked]
        pairs = zip(found, gold, strict=True)
        links[0] = [(len(ours & sure), len(ours), len(sure)) for ours, sure in pairs]
        texts = Translations(sources, references, references, [])
        for forced in translator.force(sources, references, BATCH):
            entropies[0, forced.line] = torch.special.entr(forced.weights).sum(dim=1).mean()
        weights = np.array([draw_maps(translator, texts, [line], BATCH)[0].weights])
    record = run.record()
    return States(
        words,
        np.array([record.progress.update]),
        reference_losses(scored)[None],
        links,
        entropies,
        weights,
        (sources[line].split(), references[line].split()),
        record,
    )


def extended(before: States | None, one: States) -> States:
    """Add a state to those before it."""
    if before is None:
        return one
    arrays = ("updates", "losses", "links", "entropies", "weights")
    both: dict[str, Any] = {
        name: np.concatenate([getattr(of, name) for of in (before, one)]) for name in arrays
    }
    return replace(one, **both)


def trace(system: str, seed: int, results: Path, settings: Sequence[str]) -> None:
    """Train one system with one seed, and measure each state that is not there yet."""
    path = results / "moment" / f"{system}-{seed}.npz.xz"
    states = States.load(path) if path.exists() else None
    for update in range(EVERY, LAST + 1, EVERY):
        if states is not None and update in states.updates:
            continue
        chosen = [STUDY, "experiment=moment", f"system={system}", f"seed={seed}", *settings]
        run = seq2seq.train(*chosen, f"training.max_updates={update}")
        one = measure(run, load_test_sets(run.config.corpus, Path(run.config.data))["test"])
        if one.updates[0] != update:
            raise UserError(
                f"{run.path} is at update {one.updates[0]}, but {path} has no state of update "
                f"{update}; delete the folder, and start again."
            )
        states = extended(states, one)
        states.save(path)


def main(names: Sequence[str], results: Path = RESULTS, settings: Sequence[str] = ()) -> None:
    """Trace the trainings ``names``, such as attention-1; all if there are none."""
    every = [f"{system}-{seed}" for seed in SEEDS for system in SYSTEMS]
    for name in names or every:
        system, _, seed = name.rpartition("-")
        trace(system, int(seed), results, settings)


if __name__ == "__main__":
    main(sys.argv[1:])
