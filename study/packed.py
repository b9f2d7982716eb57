"""``python study/packed.py EVALUATION...``: keep evaluations below results/, without the corpus.

A file ``results/<experiment>/<test set>.npz.xz``, called a pool, holds all systems that translated
a test set. From these files ``study/report.py`` makes every table and figure.
"""

import io
import json
import lzma
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from content import GRAMMAR_SHARE, SHARE, Content, count_content
from jaxtyping import Bool, Float, Int
from same_content import PRECISIONS

from seq2seq.decoding.translator import Translator
from seq2seq.errors import UserError
from seq2seq.evaluation.folder import Evaluation, read_evaluation
from seq2seq.evaluation.scores import source_lengths
from seq2seq.files import write_whole

RESULTS = Path(__file__).resolve().parents[1] / "results"
KEPT = ("experiment", "system", "seed", "test_set", "search", "parameters", "command", "hardware",
        "git_commit", "git_modified", "versions")  # fmt: skip
"""Fields of an evaluation's record that are kept."""
BLOCK = 10
"""Number of pieces of a reference whose losses are kept as one sum."""


@dataclass(frozen=True, eq=False)
class Packed:
    """Evaluation of one system on a test set, as a pool holds it."""

    record: dict[str, Any]
    """Record of how it was made: ``training`` of the model, ``config``, SHA-256 of ``source`` and
    ``reference``."""
    words: Int[np.ndarray, "N"]
    """Number of words of each source."""
    bleu: Int[np.ndarray, "N 10"]
    pieces: Int[np.ndarray, "N"]
    """Number of pieces of each reference, its end included; 0 if they were not scored."""
    block_losses: Float[np.ndarray, "B"]
    """Negative log-likelihood of each block of ten pieces of each reference, in nats, to two
    decimals; the last block of a reference may have fewer pieces."""
    hypotheses: list[str]
    content: Content
    """Content words of the references, the same for all systems of a pool."""
    found: Bool[np.ndarray, "W"]
    """Whether the translation of its line has each content word."""

    @property
    def system(self) -> str:
        return str(self.record["system"])

    @property
    def name(self) -> str:
        """Name ``<system>-seed-<n>``."""
        return f"{self.system}-seed-{self.record['seed']}"

    @property
    def config(self) -> dict[str, Any]:
        return dict(self.record["config"])

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
        texts, content = evaluation.texts, asdict(evaluation.record)
        losses = read_losses(evaluation)
        whole = {
            **{key: content[key] for key in (*KEPT, "config", "training")},
            **{side: content["identity"][side] for side in ("source", "reference")},
        }
        blocks = [
            sum(of[start : start + BLOCK]) for of in losses for start in range(0, len(of), BLOCK)
        ]
        return cls(
            json.loads(json.dumps(whole)),
            source_lengths(texts.sources),
            evaluation.counts.bleu,
            np.array([len(of) for of in losses] or [0] * len(texts)),
            np.array(blocks),
            texts.hypotheses,
            Content(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)),
            np.zeros(0, dtype=bool),
        )


def read_losses(evaluation: Evaluation) -> list[list[float]]:
    """Losses of the pieces of each reference, by the evaluated model; [] if none were wanted."""
    record, texts = evaluation.record, evaluation.texts
    if texts.reference_scores is None:
        return []
    device, precision = record.identity["device"], PRECISIONS[record.identity["precision"]]
    model = evaluation.directory.parent / record.identity["system"][0]["path"]
    losses: list[list[float]] = [[] for _ in texts.sources]
    for forced in Translator(model, device, precision).force(texts.sources, texts.references, 128):
        found = [round(-one, 4) for one in forced.log_probabilities.tolist()]
        losses[forced.line] = found if np.isfinite(found).all() else []
    return losses


def read_all(pool: Path) -> list[Packed]:
    """Read the systems of a pool, sorted by name; [] if it has no file.

    ``pool`` is the path of its file without the ending .npz.xz.
    """
    path = pool.with_name(f"{pool.name}.npz.xz")
    if not path.exists():
        return []
    with np.load(io.BytesIO(lzma.decompress(path.read_bytes()))) as stored:
        arrays = dict(stored)
    numbers = {name: arrays[name].astype(np.int64) for name in ("words", "bleu", "pieces")}
    losses = arrays["block_losses"].astype(np.float64) / 100
    records = json.loads(arrays["records"].tobytes())
    lines = arrays["hypotheses"].tobytes().decode().split("\n")[:-1]
    content = Content(*arrays["content"].astype(np.int64))
    found = np.unpackbits(arrays["found"], axis=1, count=len(content.line)).astype(bool)
    ends = np.cumsum((-(-numbers["pieces"] // BLOCK)).sum(axis=1))
    return [
        Packed(
            record,
            numbers["words"],
            numbers["bleu"][number],
            numbers["pieces"][number],
            block_losses,
            lines[number :: len(records)],
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
    # For small files: systems translate a sentence alike.
    lines = zip(*(one.hypotheses for one in systems), strict=True)
    texts = {
        "records": json.dumps([one.record for one in systems]),
        "hypotheses": "".join(f"{line}\n" for sentence in lines for line in sentence),
    }
    losses = 100 * np.concatenate([one.block_losses for one in systems])
    numbers = {
        "words": systems[0].words,
        "bleu": np.stack([one.bleu for one in systems]),
        "pieces": np.stack([one.pieces for one in systems]),
        "content": np.stack(astuple(systems[0].content)),
        "block_losses": losses.round().clip(0, 65535),
    }
    arrays: dict[str, Any] = {
        "found": np.packbits(np.stack([one.found for one in systems]), axis=1),
        **{name: of.astype(np.uint16) for name, of in numbers.items()},
        **{name: np.frombuffer(text.encode(), np.uint8) for name, text in texts.items()},
    }
    stream, path = io.BytesIO(), pool.with_name(f"{pool.name}.npz.xz")
    np.savez(stream, **arrays)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, lzma.compress(stream.getvalue()))
    return path


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
        files = [*systems.values()]
        grammar = files[0].config["corpus"]["kind"] == "grammar"
        said, share = [one.hypotheses for one in files], GRAMMAR_SHARE if grammar else SHARE
        content, found = count_content(new[0].texts.references, said, share)
        files = [
            replace(one, content=content, found=of) for one, of in zip(files, found, strict=True)
        ]
        print(write_all(pool, files))


if __name__ == "__main__":
    main(sys.argv[1:])
