"""``python study/packed.py EVALUATION...``: keep evaluations below results/, without their texts.

The place is ``results/<experiment>/<test set>/<system>-seed-<n>.npz.xz``; ``-epoch-<n>`` follows
the seed for a state that was kept on the way. From these files ``study/report.py`` makes every
table and figure.
"""

import io
import json
import lzma
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from seq2seq.evaluation.folder import Evaluation, read_evaluation
from seq2seq.evaluation.scores import source_words
from seq2seq.files import write_whole

RESULTS = Path(__file__).resolve().parents[1] / "results"
KEPT = ("experiment", "system", "seed", "test_set", "search", "parameters", "command", "hardware",
        "git_commit", "git_modified", "versions")  # fmt: skip
"""Of the record of an evaluation."""
BLOCK = 10
"""Pieces of a reference whose losses are kept as one sum."""


@dataclass(frozen=True)
class Packed:
    """What is kept of a translated test set."""

    record: dict[str, Any]
    """How it was made: ``training`` of the model, ``config``, SHA-256 of ``source`` and
    ``reference``, ``curve`` (the validations), ``checkpoint`` (best, or epoch-<n>)."""
    words: Int[np.ndarray, "N"]
    """Of each source."""
    bleu: Int[np.ndarray, "N 10"]
    chrf: Int[np.ndarray, "N 18"]
    pieces: Int[np.ndarray, "N"]
    """Of each reference, its end counted; all 0 where no model translated."""
    block_losses: Float[np.ndarray, "B"]
    """Negative log-likelihood of each ten pieces of each reference, in nats, to two digits; the
    last block of a reference may have fewer."""
    capped: Bool[np.ndarray, "N"]
    hypotheses: list[str]
    """None of text that was given: a floor is made of the corpus's own sentences."""

    @property
    def system(self) -> str:
        """The name of the system."""
        return str(self.record["system"])

    @property
    def config(self) -> dict[str, Any]:
        """The model's; empty for translations that were given."""
        return dict(self.record["config"] or {})

    def losses(self, places: range) -> Float[np.ndarray, "N 2"]:
        """Loss of each reference in nats, and its pieces: of those at ``places``, from 0.

        ``places`` begin and end with a block.
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
        """Leave out the texts and the attention maps."""
        texts, record = evaluation.texts, evaluation.record
        scores = texts.reference_scores
        losses = [] if scores is None else scores.piece_losses
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
            source_words(texts.sources),
            evaluation.counts.bleu,
            evaluation.counts.chrf,
            np.array([len(of) for of in losses] or [0] * size),
            np.array(
                [
                    sum(of[start : start + BLOCK])
                    for of in losses
                    for start in range(0, len(of), BLOCK)
                ]
            ),
            np.array(texts.capped or [False] * size),
            [] if evaluation.given else texts.hypotheses,
        )

    @classmethod
    def read(cls, path: Path) -> "Packed":
        """Read what :meth:`write` wrote."""
        with np.load(io.BytesIO(lzma.decompress(path.read_bytes()))) as arrays:
            names = ("words", "bleu", "pieces")
            numbers = {name: arrays[name].astype(np.int64) for name in names}
            return cls(
                record=json.loads(arrays["record"].tobytes()),
                chrf=arrays["chrf_steps"].cumsum(axis=1, dtype=np.int64).reshape(-1, 18),
                block_losses=arrays["block_losses"].astype(np.float64) / 100,
                capped=arrays["capped"],
                hypotheses=arrays["hypotheses"].tobytes().decode().split("\n")[:-1],
                **numbers,
            )

    def write(self, results: Path = RESULTS) -> Path:
        """Write it into its place below ``results``; the same evaluation gives the same bytes."""
        record = self.record
        name = self.system if record["seed"] is None else f"{self.system}-seed-{record['seed']}"
        if record["checkpoint"] != "best":
            name += f"-{record['checkpoint']}"
        folder = results / str(record["experiment"]) / str(record["test_set"])
        folder.mkdir(parents=True, exist_ok=True)
        texts = {
            "record": json.dumps(record),
            "hypotheses": "".join(f"{line}\n" for line in self.hypotheses),
        }
        numbers = {
            "words": self.words,
            "bleu": self.bleu,
            "pieces": self.pieces,
            "block_losses": (100 * self.block_losses).round().clip(0, 65535),
        }
        # From one length of n-grams to the next the counts change little: small files.
        steps = np.diff(self.chrf.reshape(-1, 6, 3), axis=1, prepend=0)
        arrays: dict[str, Any] = {
            "capped": self.capped,
            "chrf_steps": steps.astype(np.int16),
            **{name: of.astype(np.uint16) for name, of in numbers.items()},
            **{name: np.frombuffer(text.encode(), np.uint8) for name, text in texts.items()},
        }
        stream = io.BytesIO()
        np.savez(stream, **arrays)
        write_whole(folder / f"{name}.npz.xz", lzma.compress(stream.getvalue()))
        return folder / f"{name}.npz.xz"


def read_all(folder: Path) -> list[Packed]:
    """All packed files of a folder, by name; none where there is no such folder."""
    return [Packed.read(path) for path in sorted(folder.glob("*.npz.xz"))]


def main(folders: Sequence[str]) -> None:
    """Pack evaluation folders."""
    for folder in folders:
        print(Packed.of(read_evaluation(Path(folder))).write())


if __name__ == "__main__":
    main(sys.argv[1:])
