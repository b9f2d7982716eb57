"""Malformed input of every kind: it is read, or refused in one sentence; nothing else is raised."""

import gzip
import json
import lzma
import re
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import hypothesis
import pytest
from helpers.composing import compose_config
from helpers.small_checkpoint import CPU, reseal, save_whole
from hypothesis import HealthCheck
from hypothesis import strategies as st

from seq2seq.checkpoint import load_checkpoint
from seq2seq.composition import CONFIGS
from seq2seq.config import FilesCorpus, TokenizationConfig
from seq2seq.data.preparation import prepare
from seq2seq.data.text import SIDES
from seq2seq.errors import UserError

# fmt: off
TRICKS = [  # texts with a meaning to a resolver, a path, a terminal, a parser
    "${oc.env:HOME}", "${oc.decode:[1]}", "${no.such:1}", "${seed}", "../../etc/passwd",
    "/dev/null", "os.system", "!!python/name:os.system", "a\x1b[2Jb", "a\nb", "\x00", "\ud800",
    "\u2028", "ä" * 300, "nan", "",
]
NUMBERS = [
    0, -1, 1, 2, 10**9, 2**63, -(2**63) - 1, 10**30, 10**400, 0.0, -0.0, 0.5, -1.5, 1e-300, 1e300,
    float("inf"), float("-inf"), float("nan"),
]
KEYS = [
    "seed", "seeds", "name", "system", "systems", "systems.attention", "systems.x", "baseline",
    "data", "corpus", "model", "device", "model.attention", "model.encoder.layers", "model.dropout",
    "model._target_", "_target_", "experiment", "decoding", "training.optimizer.betas",
    "training.max_updates", "corpus.source", "hydra.run.dir", "decoding.beam", "tokenization",
    "evaluation.length_buckets", "tokenization.kind", "output", "threads",
]
# fmt: on
texts = st.one_of(st.sampled_from(TRICKS), st.text(max_size=6))
scalars = st.one_of(st.none(), st.booleans(), st.sampled_from(NUMBERS), st.integers(-5, 300), texts)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)

ways = st.lists(st.integers(0, 40), min_size=1, max_size=4)
operations = st.sampled_from(["replace", "replace", "delete", "add"])
json_changes = st.lists(st.tuples(ways, operations, values), min_size=1, max_size=2)
"""(the way down: the number of a member at each level, what to do there, with what)."""
fillings = st.sampled_from([b"\xff", b"\x00" * 8, b"\n", b"\t", b"9" * 20, b"\x80\x81"])
byte_changes = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.sampled_from([0, 1, 8, 10**9]),
        st.one_of(st.binary(max_size=8), fillings),
    ),
    min_size=1,
    max_size=3,
)
"""(where from start to end, how many bytes go, what comes in their place)."""


def change_json(data: Any, changes: list) -> bytes:
    """JSON of ``data`` with the changes, as bytes; NaN and infinities as Python writes them."""
    data = json.loads(json.dumps(data))
    for (*above, last), operation, value in changes:
        node = data
        for step in above:
            groups = [key for key in members(node) if isinstance(node[key], dict | list)]
            if groups:
                node = node[groups[step % len(groups)]]
        keys = members(node)
        if operation == "add" and isinstance(node, dict):
            node[value if isinstance(value, str) else "added"] = value
        elif keys and operation == "delete":
            del node[keys[last % len(keys)]]
        elif keys:
            node[keys[last % len(keys)]] = value
    return json.dumps(data).encode()


def members(node: dict | list) -> list:
    return sorted(node) if isinstance(node, dict) else list(range(len(node)))


def change_bytes(data: bytes, changes: list) -> bytes:
    for where, length, filling in changes:
        at = int(where * len(data))
        data = data[:at] + filling + data[at + length :]
    return data


def as_override(value: Any) -> str:
    """A value as Hydra's command line writes it."""
    if isinstance(value, list):
        return f"[{','.join(map(as_override, value))}]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{k}:{as_override(v)}" for k, v in value.items()) + "}"
    return "null" if value is None else str(value)


wild = st.tuples(
    st.sampled_from(["", "+", "++", "~", "-"]),
    st.one_of(st.sampled_from(KEYS), texts),
    st.sampled_from(["=", "=", "", "==", ":", "@a="]),
    st.one_of(values.map(as_override), st.sampled_from(TRICKS)),
).map("".join)
tame = st.tuples(
    st.sampled_from(KEYS), st.one_of(scalars.map(as_override), st.integers(1, 9).map(str))
).map("=".join)
SCRIPTS = [["train"], ["reproduce"], ["evaluate", "checkpoint=a"], ["compare", "evaluations=[a]"]]


def command_line(folder: Path, script: list[str], words: list[str]) -> None:
    compose_config(script[0], script[1:] + words)


def experiment_file(folder: Path, origin: Path, changes: list) -> None:
    (folder / "experiment").mkdir()
    content = change_bytes(origin.read_bytes(), changes)
    (folder / "experiment" / "mine.yaml").write_bytes(content)
    compose_config("train", [f"--config-dir={folder}", "experiment=mine"])


@cache
def whole_checkpoint() -> Path:
    return save_whole(Path(mkdtemp(prefix="fuzz-")) / "best")


def checkpoint(folder: Path, file: str, changes: list) -> None:
    copy = Path(shutil.copytree(whole_checkpoint(), folder / "best"))
    path = copy / file
    path.write_bytes(change_json(json.loads(path.read_bytes()), changes))
    reseal(copy)
    load_checkpoint(copy, CPU)


CORPUS = [f"{split}.{side}" for split in ("train", "valid", "test") for side in SIDES]
PACKINGS = {"": bytes, ".gz": lambda content: gzip.compress(content, mtime=0), ".xz": lzma.compress}
line = st.one_of(texts.map(lambda text: text.replace("\n", " ")), st.sampled_from(["a b", "b\r"]))
lines = st.one_of(st.lists(line, min_size=3, max_size=3), st.lists(line, max_size=4))


def corpus(
    folder: Path, name: str, content: list[str], packing: str, changes: list, kind: str
) -> None:
    for file in CORPUS:
        (folder / file).write_bytes(b"a b\nb c\nc a b\n")
    (folder / name).unlink()
    text = "\n".join(content).encode("utf-8", "surrogatepass") + b"\n"
    (folder / (name + packing)).write_bytes(change_bytes(PACKINGS[packing](text), changes))
    size = 8 if kind == "sentencepiece" else None
    options = TokenizationConfig(kind=kind, vocabulary_size=size)
    prepare(FilesCorpus(source="en", target="de", directory=str(folder)), options, folder / "data")


EXPERIMENTS = st.sampled_from(sorted((CONFIGS / "experiment").glob("*.yaml")))
WORDS = st.lists(st.one_of(tame, tame, wild), min_size=1, max_size=2)
TOKENIZERS = st.sampled_from(["whitespace", "whitespace", "sentencepiece"])
PACKED = st.sampled_from(sorted(PACKINGS))
CASES = [
    (command_line, 60, (st.sampled_from(SCRIPTS), WORDS)),
    (experiment_file, 25, (EXPERIMENTS, byte_changes)),
    (checkpoint, 100, (st.sampled_from(["config.json", "state.json"]), json_changes)),
    (corpus, 40, (st.sampled_from(CORPUS), lines, PACKED, st.just([]) | byte_changes, TOKENIZERS)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("read", "examples", "broken"), CASES, ids=[c[0].__name__ for c in CASES])
def test_every_failure_is_one_sentence(read, examples, broken, tmp_path, caplog):
    @hypothesis.settings(
        max_examples=examples, database=None, suppress_health_check=list(HealthCheck)
    )
    @hypothesis.given(st.tuples(*broken))
    def attempt(malformed):
        folder = Path(mkdtemp(dir=tmp_path))
        try:
            read(folder, *malformed)
        except UserError as error:
            sentences.append(str(error))
        finally:
            shutil.rmtree(folder)

    sentences: list[str] = []
    attempt()
    assert sentences
    assert not [sentence for sentence in sentences if not re.fullmatch(r".*[.?]", sentence)]
