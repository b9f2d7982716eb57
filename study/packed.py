"""``python study/packed.py EVALUATION...``: keep evaluations below results/, without the corpus.

A file ``results/<experiment>/<test set>.npz.xz``, called a pool, holds all systems that translated
a test set, and the checkpoints of epochs that a training kept. From these files ``study/report.py``
makes every table and figure.
"""

import io
import json
import lzma
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from content import Content, count_content, training_pairs
from jaxtyping import Bool, Float, Int
from same_content import PRECISIONS

from seq2seq.checkpoint import read_config
from seq2seq.data.corpora import load_corpus
from seq2seq.data.text import ParallelText
from seq2seq.decoding.translator import Translator
from seq2seq.errors import UserError
from seq2seq.evaluation.folder import Evaluation, read_evaluation
from seq2seq.evaluation.scores import source_lengths
from seq2seq.files import write_whole

RESULTS = Path(__file__).resolve().parents[1] / "results"
KEPT = ("experiment", "system", "seed", "test_set", "search", "parameters", "command", "hardware",
        "git_commit", "git_modified", "versions")  # fmt: skip
"""Fields of an evaluation's record that are kept."""
LOSSES = "piece_losses.json"
"""File of the losses of pieces, in the folder of an evaluation that no checkpoint can repeat."""
BLOCK = 10
"""Number of pieces of a reference whose losses are kept as one sum."""


@dataclass(frozen=True, eq=False)
class Packed:
    """Evaluation of one system on a test set, as a pool holds it."""

    record: dict[str, Any]
    """Record of how it was made: ``training`` of the model, ``config``, SHA-256 of ``source`` and
    ``reference``, ``curve`` (the validations), ``checkpoint`` (best, or epoch-<n>)."""
    words: Int[np.ndarray, "N"]
    """Number of words of each source."""
    bleu: Int[np.ndarray, "N 10"]
    chrf: Int[np.ndarray, "N 18"]
    pieces: Int[np.ndarray, "N"]
    """Number of pieces of each reference, its end included; 0 for translations without a model."""
    block_losses: Float[np.ndarray, "B"]
    """Negative log-likelihood of each block of ten pieces of each reference, in nats, to two
    decimals; the last block of a reference may have fewer pieces."""
    capped: Bool[np.ndarray, "N"]
    hypotheses: list[str]
    """Translations; empty for a floor, which is made from sentences of the corpus."""
    content: Content = field(default_factory=Content.none)
    """Content words of the references, the same for all systems of a pool."""
    found: Bool[np.ndarray, "W"] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """Whether the translation of its line has each content word; False without hypotheses."""

    @property
    def system(self) -> str:
        return str(self.record["system"])

    @property
    def name(self) -> str:
        """Name ``<system>-seed-<n>``, with ``-epoch-<n>`` for the checkpoint of an epoch."""
        seed, state = self.record["seed"], self.record["checkpoint"]
        name = self.system if seed is None else f"{self.system}-seed-{seed}"
        return name if state == "best" else f"{name}-{state}"

    @property
    def config(self) -> dict[str, Any]:
        """Config of the model; empty for translations without a model."""
        return dict(self.record["config"] or {})

    def losses(self, places: range) -> Float[np.ndarray, "N 2"]:
        """Loss in nats and number of pieces of each reference, at ``places`` (from 0) only.

        ``places`` must begin and end with a block.
        """
        size, blocks = len(self.pieces), -(-self.pieces // BLOCK)
        sentence = np.repeat(np.arange(size), blocks)
        place = BLOCK * (np.arange(len(sentence)) - np.repeat(np.cumsum(blocks) - blocks, blocks))
        kept = (places.start <= place) & (place < places.stop)
        pieces = np.minimum(BLOCK, self.pieces[sentence] - place)
        sums = (np.bincount(sentence[kept], of[kept], size) for of in (self.block_losses, pieces))
        return np.stack([*sums], axis=1)

    @classmethod
    def of(cls, evaluation: Evaluation) -> "Packed":
        """Pack an evaluation, without sources, references and attention maps."""
        texts, record = evaluation.texts, evaluation.record
        losses = read_losses(evaluation)
        path = Path(str(record.checkpoint))
        run = path.parent.parent if path.parent.name == "checkpoints" else path
        log, curve = run / "metrics.jsonl", []
        if log.exists():
            entries = [json.loads(line) for line in log.read_text().split("\n")[:-1]]
            curve = [entry for entry in entries if entry["kind"] == "validation"]
        content = asdict(record)
        whole = {
            **{key: content[key] for key in KEPT},
            **{side: record.identity[side] for side in ("source", "reference")},
            "checkpoint": path.name if path.parent.name == "checkpoints" else "best",
            "config": record.config,
            "training": content["training"],
            "curve": curve,
        }
        size = len(texts)
        return cls(
            json.loads(json.dumps(whole)),
            source_lengths(texts.sources),
            evaluation.counts.bleu,
            evaluation.counts.arrays["chrf"],
            np.array([len(of) for of in losses] or [0] * size),
            np.array(
                [
                    sum(of[start : start + BLOCK])
                    for of in losses
                    for start in range(0, len(of), BLOCK)
                ]
            ),
            np.array(texts.capped or [False] * size),
            [] if evaluation.external else texts.hypotheses,
        )


def piece_losses(
    translator: Translator, sources: Sequence[str], references: Sequence[str]
) -> list[list[float]]:
    """Negative log-likelihood of each piece of each reference; [] if a side is blank."""
    losses: list[list[float]] = [[] for _ in sources]
    for forced in translator.force(sources, references, 128):
        found = [round(-one, 4) for one in forced.log_probabilities.tolist()]
        losses[forced.line] = found if np.isfinite(found).all() else []
    return losses


def read_losses(evaluation: Evaluation) -> list[list[float]]:
    """Losses in ``LOSSES``, or else by the evaluated checkpoint; [] for a text without a model."""
    record, texts = evaluation.record, evaluation.texts
    if texts.reference_scores is None:
        return []
    if (path := evaluation.directory / LOSSES).exists():
        losses: list[list[float]] = json.loads(path.read_bytes())
        return losses
    device, precision = record.identity["device"], record.identity["precision"]
    model = evaluation.directory.parent / record.identity["system"][0]["path"]
    translator = Translator(model, device, PRECISIONS[precision])
    return piece_losses(translator, texts.sources, texts.references)


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write a compressed file of arrays, complete or not at all."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, lzma.compress(stream.getvalue()))


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read the file of :func:`write_arrays`."""
    with np.load(io.BytesIO(lzma.decompress(path.read_bytes()))) as arrays:
        return dict(arrays)


def read_all(pool: Path) -> list[Packed]:
    """Read the systems of a pool, sorted by name; [] if it has no file.

    ``pool`` is the path of its file without the ending .npz.xz.
    """
    path = pool.with_name(f"{pool.name}.npz.xz")
    if not path.exists():
        return []
    arrays = read_arrays(path)
    numbers = {name: arrays[name].astype(np.int64) for name in ("words", "bleu", "pieces")}
    chrf = arrays["chrf_steps"].cumsum(axis=2, dtype=np.int64)
    capped, losses = arrays["capped"], arrays["block_losses"].astype(np.float64) / 100
    records = json.loads(arrays["records"].tobytes())
    lines = arrays["hypotheses"].tobytes().decode().split("\n")[:-1]
    with_text = [int(number) for number in np.flatnonzero(arrays["with_text"])]
    content = Content(*arrays["content"].astype(np.int64))
    found = np.unpackbits(arrays["found"], axis=1, count=len(content.line)).astype(bool)
    ends = np.cumsum((-(-numbers["pieces"] // BLOCK)).sum(axis=1))
    return [
        Packed(
            record,
            numbers["words"],
            numbers["bleu"][number],
            chrf[number].reshape(-1, 18),
            numbers["pieces"][number],
            block_losses,
            capped[number],
            lines[with_text.index(number) :: len(with_text)] if number in with_text else [],
            content,
            found[number],
        )
        for number, (record, block_losses) in enumerate(
            zip(records, np.split(losses, ends[:-1]), strict=True)
        )
    ]


def write_all(pool: Path, systems: Sequence[Packed]) -> Path:
    """Write the file of these systems; equal systems make equal bytes."""
    systems = sorted(systems, key=lambda one: one.name)
    if len({one.record["source"] for one in systems}) > 1:
        raise UserError(f"{pool}: the sources of its systems differ; rename one of the test sets.")
    # For small files: counts change little from one length of n-grams to the next, and systems
    # translate a sentence alike.
    chrf = np.stack([one.chrf for one in systems]).reshape(len(systems), -1, 6, 3)
    lines = zip(*(one.hypotheses for one in systems if one.hypotheses), strict=True)
    texts = {
        "records": json.dumps([one.record for one in systems]),
        "hypotheses": "".join(f"{line}\n" for sentence in lines for line in sentence),
    }
    numbers = {
        "words": systems[0].words,
        "bleu": np.stack([one.bleu for one in systems]),
        "pieces": np.stack([one.pieces for one in systems]),
        "content": np.stack(astuple(systems[0].content)),
        "block_losses": (100 * np.concatenate([one.block_losses for one in systems]))
        .round()
        .clip(0, 65535),
    }
    arrays: dict[str, Any] = {
        "capped": np.stack([one.capped for one in systems]),
        "with_text": np.array([bool(one.hypotheses) for one in systems]),
        "found": np.packbits(np.stack([one.found for one in systems]), axis=1),
        "chrf_steps": np.diff(chrf, axis=2, prepend=0).astype(np.int16),
        **{name: of.astype(np.uint16) for name, of in numbers.items()},
        **{name: np.frombuffer(text.encode(), np.uint8) for name, text in texts.items()},
    }
    path = pool.with_name(f"{pool.name}.npz.xz")
    write_arrays(path, arrays)
    return path


def with_content(
    systems: Sequence[Packed], references: Sequence[str], training: Callable[[], ParallelText]
) -> list[Packed]:
    """Count the content words of ``references`` in the translations of ``systems``.

    The words are also counted in the training text, which ``training`` returns: in the part of it
    that was read by the systems with the longest training sentences.
    """

    def read() -> list[str]:
        text = training()
        corpora = [one.config["corpus"] for one in systems if one.config]
        longest = max(corpora, key=lambda corpus: corpus["train_max_words"] or sys.maxsize)
        limits = longest["train_pairs"], longest["train_max_words"]
        return [target for _, target in training_pairs(text, *limits)]

    content, found = count_content(references, [one.hypotheses for one in systems], read)
    return [replace(one, content=content, found=of) for one, of in zip(systems, found, strict=True)]


def main(folders: Sequence[str], results: Path = RESULTS) -> None:
    """Add each evaluation to the pool of its experiment and test set.

    A system that a pool already holds is replaced.
    """
    pools: defaultdict[Path, list[Evaluation]] = defaultdict(list)
    for folder in folders:
        one = read_evaluation(Path(folder))
        pools[results / str(one.record.experiment) / str(one.record.test_set)].append(one)
    for pool, new in pools.items():
        systems = {one.name: one for one in (*read_all(pool), *map(Packed.of, new))}

        def training(new: Sequence[Evaluation] = new) -> ParallelText:
            model = next((one for one in new if one.record.config), None)
            if model is None:
                raise UserError(
                    f"{new[0].directory} names no training text in which to count words; pack it "
                    "together with a trained system of its test set."
                )
            config = read_config(Path(str(model.record.checkpoint)))
            return load_corpus(config.corpus, Path(config.data)).train

        print(write_all(pool, with_content([*systems.values()], new[0].texts.references, training)))


if __name__ == "__main__":
    main(sys.argv[1:])
