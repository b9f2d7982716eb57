"""What is fuzzed: for each kind of input, whole ones, broken ones, and the code that reads them."""

import gzip
import hashlib
import json
import lzma
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import launch
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from launch import compose_config
from malformed import (
    TRICKS,
    byte_changes,
    change_bytes,
    change_json,
    json_changes,
    scalars,
    texts,
    values,
)
from reversal import reversal_experiment, write_reversal_corpus
from small_checkpoint import CPU, FILES, OPTIMIZERS, experiment, reseal, save_whole

from seq2seq.checkpoint import load_checkpoint, load_optimizer, restore_rng
from seq2seq.config import (
    EvaluationConfig,
    ExperimentConfig,
    FilesCorpus,
    TokenizationConfig,
    from_json,
    to_json,
)
from seq2seq.data.parallel_text import SIDES
from seq2seq.data.preparation import prepare
from seq2seq.data.text import count_lines, read_lines
from seq2seq.data.tokenization import SentencePieceTokenizer, load_tokenizer
from seq2seq.data.vocabulary import Vocabulary
from seq2seq.evaluation.folder import read_evaluation, write_evaluation
from seq2seq.evaluation.scores import Translations
from seq2seq.report.training_runs import read_training_run
from seq2seq.training.metrics import Metrics
from seq2seq.training.run_folder import RunFolder
from seq2seq.training.trainer import Trainer


@dataclass(frozen=True)
class Kind:
    """One kind of input, and how it is read."""

    name: str
    """The row of the table."""
    examples: int
    broken: SearchStrategy
    read: Callable[[Path, Any], None]
    """Makes the broken input in an empty folder and has the package read it."""


JSON_FILES = [name for name in FILES if name.endswith(".json") and name != "manifest.json"]
OTHER_FILES = [name for name in FILES if name != "manifest.json"]


@cache
def whole_checkpoint() -> Path:
    return save_whole(Path(mkdtemp(prefix="fuzz-")) / "best")


def read_checkpoint(folder: Path) -> None:
    found = load_checkpoint(folder, CPU)
    restore_rng(found.rng)
    load_optimizer(folder, OPTIMIZERS["adam"](found.model.parameters()))


def checkpoint_json(folder: Path, broken: Any) -> None:
    name, changes = broken
    copy = Path(shutil.copytree(whole_checkpoint(), folder / "best"))
    (copy / name).write_bytes(change_json(json.loads((copy / name).read_bytes()), changes))
    if name != "manifest.json":
        reseal(copy)
    read_checkpoint(copy)


def checkpoint_bytes(folder: Path, broken: Any) -> None:
    name, changes = broken
    copy = Path(shutil.copytree(whole_checkpoint(), folder / "best"))
    (copy / name).write_bytes(change_bytes((copy / name).read_bytes(), changes))
    reseal(copy)
    read_checkpoint(copy)


def config_json(folder: Path, changes: Any) -> None:
    data = json.loads(change_json(to_json(experiment()), changes))
    from_json(ExperimentConfig, data, "config.json")


@cache
def trained() -> tuple[Trainer, Path]:
    folder = Path(mkdtemp(prefix="fuzz-"))
    write_reversal_corpus(folder / "corpus", train=40)
    config = reversal_experiment(folder, max_updates=1, dev_bleu_sentences=0)
    trainer = Trainer(config, prepare(config.corpus, config.tokenization, Path(config.data)))
    return trainer, trainer.run().newest()[0]


def training_state(folder: Path, changes: Any) -> None:
    trainer, newest = trained()
    copy = Path(shutil.copytree(newest, folder / "update-1"))
    state = json.loads((copy / "state.json").read_bytes())
    (copy / "state.json").write_bytes(change_json(state, changes))
    reseal(copy)
    trainer.saves._restore(copy, CPU)


def run_folder(folder: Path, broken: Any) -> None:
    name, changes = broken
    trainer, _ = trained()
    run = RunFolder(trainer.config)
    run.path = Path(folder / "run")
    run.path.mkdir()
    for file in ("config.json", "metrics.jsonl"):
        shutil.copy(trainer.folder.path / file, run.path / file)
    record = trainer.folder.record()  # what it says of the machine differs from one to another
    kept = {key: record[key] for key in ("status", "system", "seed", "data_sha256")}
    (run.path / "run.json").write_text(json.dumps(kept), encoding="utf-8")
    content = (run.path / name).read_bytes()
    if name.endswith("l"):
        first, rest = content.split(b"\n", 1)
        (run.path / name).write_bytes(change_json(json.loads(first), changes) + b"\n" + rest)
    else:
        (run.path / name).write_bytes(change_json(json.loads(content), changes))
    run.claim()
    run.require_text(trainer.data.hashes)
    _ = run.finished
    Metrics(run.path, tensorboard=False).rewind(1, 1)
    read_training_run(run.path)


@cache
def subword_model() -> bytes:
    lines = [f"the {a} dog saw a {b} cat" for a in ("big", "small") for b in ("red", "old", "shy")]
    return SentencePieceTokenizer.train_model(lines, 40, "the text")


def subwords(folder: Path, changes: Any) -> None:
    description = {"kind": "sentencepiece", "language": "en"}
    (folder / "tokenizer.source.json").write_text(json.dumps(description), encoding="utf-8")
    # Beyond its rules, which are nine tenths of the file, lie the pieces: half of the changes each.
    model = subword_model()
    ends = [
        (kind, where if i % 2 else where * 0.01, by) for i, (kind, where, by) in enumerate(changes)
    ]
    (folder / "tokenizer.source.model").write_bytes(change_bytes(model, ends))
    tokenizer = load_tokenizer(folder, "source")
    tokenizer.detokenize(tokenizer.tokenize("the big dog\u3000ﬁ ① saw\u2028 a Straße"))


def vocabulary(folder: Path, changes: Any) -> None:
    path = folder / "vocabulary.source.tsv"
    whole = (whole_checkpoint() / "vocabulary.source.tsv").read_bytes()
    path.write_bytes(change_bytes(whole, changes))
    Vocabulary.load(path)


CORPUS = [f"{split}.{side}" for split in ("train", "valid", "test") for side in SIDES]
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": lambda content: gzip.compress(content, mtime=0),
    ".xz": lzma.compress,
}
line = st.one_of(texts.map(lambda text: text.replace("\n", " ")), st.sampled_from(["a b", "b\r"]))
lines = st.one_of(st.lists(line, min_size=3, max_size=3), st.lists(line, max_size=4))


def corpus(folder: Path, broken: Any) -> None:
    name, content, packing, changes, kind = broken
    for file in CORPUS:
        (folder / file).write_bytes(b"a b\nb c\nc a b\n")
    (folder / name).unlink()
    text = "\n".join(content).encode("utf-8", "surrogatepass") + b"\n"
    packed = PACKINGS[packing](text)
    (folder / (name + packing)).write_bytes(change_bytes(packed, changes) if changes else packed)
    size = 8 if kind == "sentencepiece" else None
    options = TokenizationConfig(kind=kind, vocabulary_size=size, workers=1)
    prepare(FilesCorpus(source="en", target="de", directory=str(folder)), options, folder / "data")


def text_file(folder: Path, broken: Any) -> None:
    content, packing, changes = broken
    path = folder / f"text{packing}"
    path.write_bytes(change_bytes(PACKINGS[packing](content), changes))
    assert count_lines(path) == len(list(read_lines(path)))


@cache
def whole_evaluation() -> Path:
    folder = Path(mkdtemp(prefix="fuzz-")) / "test-greedy"
    texts_ = Translations(["a b", "c"], ["A B", "C"], ["A", "C"], [False, True], [-1.0, None])
    record = {"experiment": "e", "system": "s", "seed": 1, "config": to_json(experiment())}
    write_evaluation(folder, texts_, EvaluationConfig(bootstrap=100), record)
    return folder


def evaluation(folder: Path, broken: Any) -> None:
    name, changes = broken
    copy = Path(shutil.copytree(whole_evaluation(), folder / "test-greedy"))
    path = copy / name
    path.write_bytes(change_json(json.loads(path.read_bytes()), changes))
    if name == "sentences.json":  # scores that agree with it
        scores = json.loads((copy / "scores.json").read_bytes())
        scores["sha256"][name] = hashlib.sha256(path.read_bytes()).hexdigest()
        (copy / "scores.json").write_text(json.dumps(scores), encoding="utf-8")
    read_evaluation(copy)


def settings(value: Any) -> str:
    if isinstance(value, list):
        return f"[{','.join(map(settings, value))}]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{k}:{settings(v)}" for k, v in value.items()) + "}"
    return "null" if value is None else str(value)


# fmt: off
KEYS = [
    "seed", "seeds", "name", "system", "systems.x", "baseline", "data", "corpus", "model", "device",
    "model.encoder.layers", "model.dropout", "model._target_", "_target_", "experiment", "decoding",
    "training.optimizer.betas", "training.max_updates", "corpus.source", "hydra.run.dir",
    "decoding.beam", "evaluation.length_buckets", "tokenization", "tokenization.kind",
    "output", "threads",
]
# fmt: on
wild = st.tuples(
    st.sampled_from(["", "+", "++", "~", "-"]),
    st.one_of(st.sampled_from(KEYS), texts),
    st.sampled_from(["=", "=", "", "==", ":", "@a="]),
    st.one_of(values.map(settings), st.sampled_from(TRICKS)),
).map("".join)
tame = st.tuples(
    st.sampled_from(KEYS), st.one_of(scalars.map(settings), st.integers(1, 9).map(str))
).map("=".join)


NEEDED = {
    "train": [],
    "evaluate": ["checkpoint=a"],
    "translate": ["checkpoint=a"],
    "compare": ["evaluations=[a]", "output=b"],
    "benchmark": [],
}


def command_line(folder: Path, broken: Any) -> None:
    script, words = broken
    compose_config(script, [*NEEDED[script], *words])


EXPERIMENTS = sorted((launch.CONFIGS / "experiment").glob("*.yaml"))


def experiment_file(folder: Path, broken: Any) -> None:
    origin, changes = broken
    for entry in launch.CONFIGS.iterdir():
        if entry.name != "experiment":
            (folder / entry.name).symlink_to(entry)
    (folder / "experiment").mkdir()
    content = change_bytes(origin.read_bytes(), changes)
    (folder / "experiment" / "mine.yaml").write_bytes(content)
    usual, launch.CONFIGS = launch.CONFIGS, folder
    try:
        compose_config("train", ["experiment=mine"])
    finally:
        launch.CONFIGS = usual


some_bytes = st.one_of(st.just([]), byte_changes)
KINDS = [
    Kind(
        "command line: keys, values, quotes, interpolations",
        150,
        st.tuples(
            st.sampled_from(sorted(NEEDED)),
            st.lists(st.one_of(tame, tame, wild), min_size=1, max_size=2),
        ),
        command_line,
    ),
    Kind(
        "experiment file: bytes",
        60,
        st.tuples(st.sampled_from(EXPERIMENTS), byte_changes),
        experiment_file,
    ),
    Kind("config of a checkpoint: values, keys, types", 500, json_changes, config_json),
    Kind(
        "checkpoint: values in any JSON file, with a manifest that agrees",
        200,
        st.tuples(st.sampled_from(JSON_FILES), json_changes),
        checkpoint_json,
    ),
    Kind(
        "checkpoint: bytes of any file, with a manifest that agrees",
        250,
        st.tuples(st.sampled_from(OTHER_FILES), byte_changes),
        checkpoint_bytes,
    ),
    Kind(
        "checkpoint: values in the manifest",
        150,
        st.tuples(st.just("manifest.json"), json_changes),
        checkpoint_json,
    ),
    Kind("checkpoint: the state a training goes on from", 150, json_changes, training_state),
    Kind(
        "run folder: config, record and metrics",
        200,
        st.tuples(st.sampled_from(["config.json", "run.json", "metrics.jsonl"]), json_changes),
        run_folder,
    ),
    Kind("subword model: bytes", 200, byte_changes, subwords),
    Kind("vocabulary: bytes", 200, byte_changes, vocabulary),
    Kind(
        "corpus: lines, encodings, packed files, by each tokenizer",
        200,
        st.tuples(
            st.sampled_from(CORPUS),
            lines,
            st.sampled_from(sorted(PACKINGS)),
            some_bytes,
            st.sampled_from(["whitespace", "whitespace", "moses", "sentencepiece"]),
        ),
        corpus,
    ),
    Kind(
        "text file: bytes, packed or plain",
        200,
        st.tuples(
            st.one_of(st.binary(max_size=40), st.just("a ä\n€ b\n".encode())),
            st.sampled_from(sorted(PACKINGS)),
            some_bytes,
        ),
        text_file,
    ),
    Kind(
        "evaluation folder: values in its JSON files",
        200,
        st.tuples(st.sampled_from(["scores.json", "sentences.json"]), json_changes),
        evaluation,
    ),
]
