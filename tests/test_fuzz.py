"""Malformed input of every kind: it is read, or refused in one sentence; nothing else is raised."""

import gzip
import json
import lzma
import re
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import hypothesis
import pytest
from helpers.composing import compose_config
from helpers.samples import SMALL, put
from helpers.small_checkpoint import CPU, reseal, save_whole
from hypothesis import strategies as st

from seq2seq.checkpoint import load_checkpoint
from seq2seq.config import FilesCorpus, ReproduceConfig, TokenizationConfig, setting_names
from seq2seq.data.preparation import prepare
from seq2seq.errors import UserError

# fmt: off
TRICKS = [  # texts with a meaning to a resolver, a path, a terminal, a parser
    "${oc.env:HOME}", "${oc.decode:[1]}", "${no.such:1}", "${seed}", "../../etc/passwd",
    "/dev/null", "os.system", "!!python/name:os.system", "a\x1b[2Jb", "a\nb", "\x00", "\ud800",
    "\u2028", "ä" * 300, "nan", "null", "",
]
NUMBERS = [
    0, 1, 10**9, 2**63, -(2**63) - 1, 10**400, -0.0, 0.5, -1.5, 1e-300, 1e300,
    float("inf"), float("-inf"), float("nan"),
]
# fmt: on
WORDS = st.sampled_from(TRICKS) | st.text(max_size=6)
NUMBER = st.sampled_from(NUMBERS) | st.integers(-5, 300)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBER | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=5,
)
KEYS = [*setting_names(ReproduceConfig), "experiment", "_target_", "hydra.run.dir", "systems.x"]
FILLINGS = st.binary(max_size=8) | st.sampled_from([b"\xff", b"\0" * 8, b"\n", b"\t", b"9" * 20])


def changed(draw, content):
    """Bytes of which some are replaced by others."""
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(content)))
        end = at + draw(st.sampled_from([0, 1, 8, 10**9]))
        content = content[:at] + draw(FILLINGS) + content[end:]
    return content


def members(data):
    """What holds a member of JSON, and its key, for each."""
    for key in data if isinstance(data, dict) else range(len(data)):
        yield data, key
        if isinstance(data[key], dict | list):
            yield from members(data[key])


def changed_json(draw, data):
    """JSON of which one or two members are another value, or gone."""
    for _ in range(draw(st.integers(1, 2))):
        places = [*members(data)]
        holder, key = places[draw(st.integers(0, len(places) - 1))]
        if draw(st.integers(0, 3)):
            holder[key] = draw(VALUES)
        else:
            del holder[key]
    return data


OVERRIDES = st.tuples(
    st.sampled_from(["", "", "", "", "+", "++", "~", "-"]),
    st.sampled_from(KEYS) | WORDS,
    st.sampled_from(["=", "=", "=", "=", "", "==", ":", "@a="]),
    VALUES.map(lambda value: str(value).replace("'", "")),  # as Hydra's command line writes it
).map("".join)
SCRIPTS = [["train"], ["reproduce"], ["evaluate", "checkpoint=a"], ["compare", "evaluations=[a]"]]


def command_line(folder, draw):
    script, *words = draw(st.sampled_from(SCRIPTS))
    compose_config(script, words + draw(st.lists(OVERRIDES, min_size=1, max_size=2)))


@cache
def saved():
    """Name of each file of a checkpoint -> its content."""
    with TemporaryDirectory() as folder:
        return {path.name: path.read_bytes() for path in save_whole(Path(folder, "a")).iterdir()}


def checkpoint(folder, draw):
    name = draw(st.sampled_from(["config.json", "state.json"]))
    altered = json.dumps(changed_json(draw, json.loads(saved()[name]))).encode()
    put(folder, saved() | {name: altered})
    reseal(folder)
    load_checkpoint(folder, CPU)


PACKS = {"": bytes, ".gz": partial(gzip.compress, mtime=0), ".xz": lzma.compress}
LINES = st.lists(WORDS | st.just("a b"), min_size=3, max_size=3) | st.lists(WORDS, max_size=4)


def corpus(folder, draw):
    lines = draw(LINES)
    text = "".join(line + "\n" for line in lines).encode("utf-8", "surrogatepass")
    name = draw(st.sampled_from(sorted(SMALL)))
    ending = draw(st.sampled_from(sorted(PACKS)))
    put(folder, dict.fromkeys(SMALL, b"a b\nb c\nc a b\n"))
    (folder / name).unlink()
    put(folder, {name + ending: changed(draw, PACKS[ending](text))})
    kind = draw(st.sampled_from(["whitespace", "sentencepiece"]))
    options = TokenizationConfig(kind=kind, vocabulary_size=8)
    prepare(FilesCorpus(source="en", target="fr", directory=str(folder)), options, folder / "data")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("read", "examples"), [(command_line, 60), (checkpoint, 100), (corpus, 40)]
)
def test_every_failure_is_one_sentence(read, examples):
    sentences = []

    @hypothesis.settings(max_examples=examples, database=None)
    @hypothesis.given(st.data())
    def attempt(data):
        with TemporaryDirectory() as folder:
            try:
                read(Path(folder), data.draw)
            except UserError as error:
                sentences.append(str(error))

    attempt()
    assert sentences
    assert not [sentence for sentence in sentences if not re.fullmatch(r".*[.?]", sentence)]
