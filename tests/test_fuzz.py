"""Malformed input of every kind: it is read, or refused in one sentence; nothing else is raised."""

import gzip
import json
import lzma
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import cli
import hypothesis
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
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
from small_checkpoint import CPU, experiment, reseal, save_whole

from seq2seq.checkpoint import load_checkpoint
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
from seq2seq.data.vocabulary import Vocabulary
from seq2seq.errors import UserError
from seq2seq.evaluation.folder import read_evaluation, write_evaluation
from seq2seq.evaluation.translations import Translations


def settings(value: Any) -> str:
    """A value as Hydra's command line writes it."""
    if isinstance(value, list):
        return f"[{','.join(map(settings, value))}]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{k}:{settings(v)}" for k, v in value.items()) + "}"
    return "null" if value is None else str(value)


# fmt: off
KEYS = [
    "seed", "seeds", "name", "system", "systems", "systems.attention", "systems.x", "baseline",
    "data", "corpus", "model", "device", "model.attention", "model.encoder.layers", "model.dropout",
    "model._target_", "_target_", "experiment", "decoding", "training.optimizer.betas",
    "training.max_updates", "corpus.source", "hydra.run.dir", "decoding.beam", "tokenization",
    "evaluation.length_buckets", "tokenization.kind", "output", "threads",
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
    "reproduce": [],
    "evaluate": ["checkpoint=a"],
    "compare": ["evaluations=[a]", "output=b"],
}


def command_line(folder: Path, broken: Any) -> None:
    script, words = broken
    cli.compose_config(script, [*NEEDED[script], *words])


EXPERIMENTS = sorted((cli.CONFIGS / "experiment").glob("*.yaml"))


def experiment_file(folder: Path, broken: Any) -> None:
    origin, changes = broken
    (folder / "experiment").mkdir()
    content = change_bytes(origin.read_bytes(), changes)
    (folder / "experiment" / "mine.yaml").write_bytes(content)
    place = f"hydra.searchpath=['file://{folder}']"
    cli.compose_config("train", [place, "experiment=mine"])


@cache
def whole_checkpoint() -> Path:
    return save_whole(Path(mkdtemp(prefix="fuzz-")) / "best")


def config_json(folder: Path, changes: Any) -> None:
    data = json.loads(change_json(to_json(experiment()), changes))
    from_json(ExperimentConfig, data, "config.json")


def checkpoint_config(folder: Path, changes: Any) -> None:
    copy = Path(shutil.copytree(whole_checkpoint(), folder / "best"))
    path = copy / "config.json"
    path.write_bytes(change_json(json.loads(path.read_bytes()), changes))
    reseal(copy)
    load_checkpoint(copy, CPU)


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


@cache
def whole_evaluation() -> Path:
    folder = Path(mkdtemp(prefix="fuzz-")) / "test-greedy"
    translations = Translations(["a b", "c"], ["A B", "C"], ["A", "C"], [False, True], [-1.0, None])
    record = {"experiment": "e", "system": "s", "seed": 1, "config": to_json(experiment())}
    write_evaluation(folder, translations, EvaluationConfig(bootstrap=100), record)
    return folder


def evaluation(folder: Path, changes: Any) -> None:
    path = Path(shutil.copytree(whole_evaluation(), folder / "test-greedy")) / "scores.json"
    path.write_bytes(change_json(json.loads(path.read_bytes()), changes))
    read_evaluation(path.parent)


KINDS = [
    (
        command_line,
        60,
        st.tuples(
            st.sampled_from(sorted(NEEDED)),
            st.lists(st.one_of(tame, tame, wild), min_size=1, max_size=2),
        ),
    ),
    (experiment_file, 25, st.tuples(st.sampled_from(EXPERIMENTS), byte_changes)),
    (config_json, 150, json_changes),
    (checkpoint_config, 50, json_changes),
    (vocabulary, 60, byte_changes),
    (
        corpus,
        40,
        st.tuples(
            st.sampled_from(CORPUS),
            lines,
            st.sampled_from(sorted(PACKINGS)),
            st.one_of(st.just([]), byte_changes),
            st.sampled_from(["whitespace", "whitespace", "moses", "sentencepiece"]),
        ),
    ),
    (evaluation, 50, json_changes),
]


@pytest.mark.parametrize(("read", "examples", "broken"), KINDS, ids=[k[0].__name__ for k in KINDS])
def test_every_failure_is_one_sentence(read, examples, broken, tmp_path, caplog):
    @hypothesis.settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(broken)
    def attempt(given_input):
        folder = Path(mkdtemp(dir=tmp_path))
        try:
            read(folder, given_input)
        except UserError as error:
            sentences.append(str(error))
        finally:
            shutil.rmtree(folder)

    sentences: list[str] = []
    attempt()
    assert sentences
    assert not [sentence for sentence in sentences if not re.fullmatch(r".*[.?]", sentence)]
