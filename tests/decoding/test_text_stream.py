"""Texts of any kind through a translator: one line out for each line in, whatever comes."""

import contextlib
import gzip
import io
import logging
import os
import re
import select
import subprocess
import tempfile
from pathlib import Path
from unittest.mock import Mock

import pytest
from helpers.commands import command
from helpers.small_checkpoint import save_tiny, tiny_translator, word_translator
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.config import DecodingConfig, TranslateConfig
from seq2seq.decoding.hypothesis import pharaoh
from seq2seq.decoding.text_stream import answer_prompt, translate_text
from seq2seq.errors import UserError

MARK = b"\xef\xbb\xbf"


def stage(source="-", hypotheses="-", **others):
    settings = {"input": str(source), "hypotheses": str(hypotheses), **others}
    return TranslateConfig(checkpoint="unused", **settings)


def feed(patch, data):
    """Put bytes on standard input."""
    patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data), encoding="latin-1"))


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_bad_byte_is_found_before_the_work_or_leaves_what_was_done(monkeypatch, caplog):
    data = b"a\ndog\nb\xe4rks\n"
    Path("in").write_bytes(data)
    Path("out").write_text("before\n")
    with pytest.raises(UserError, match="line 3 "):
        translate_text(word_translator(), stage("in", "out", chunk=2))
    assert not Path("out.part").exists()
    for named in ("line 3 ", "out.part"):  # in a pipe; the same command again keeps it, too
        feed(monkeypatch, data)
        with pytest.raises(UserError, match=named):
            translate_text(word_translator(), stage("-", "out", chunk=2))
        assert Path("out.part").read_text().count("\n") == 2
    assert "out.part" in caplog.text
    assert Path("out").read_text() == "before\n"


@pytest.mark.parametrize("error", [OSError("taken"), KeyboardInterrupt("taken")], ids=repr)
def test_lines_that_cannot_get_their_name_stay_in_a_file_that_is_named(error, monkeypatch, caplog):
    Path("in").write_text("a\ndog\n")
    Path("link").symlink_to("out")
    monkeypatch.setattr(Path, "replace", Mock(side_effect=error))
    with pytest.raises(type(error), match="taken"):
        translate_text(word_translator(), stage("in", "link"))
    assert Path("out.part").read_text().count("\n") == 2
    assert "out.part" in caplog.text


def test_hypotheses_n_best_list_and_alignments_of_one_text(caplog):
    """A model that reads a word and its comma as two words has no links between those of texts."""
    caplog.set_level(logging.INFO)
    lines = ["a dog", "", "dog, a", "barks"]
    search = DecodingConfig(beam=2, n_best=2, max_ratio=0, max_extra=1)
    Path("in").write_text("\n".join(lines), encoding="utf-8")
    config = stage("in", "new/out", decoding=search, n_best_list="list", alignments="links")
    translate_text(word_translator(), config)
    found = word_translator().translate(lines, search, attention=True)
    rows = [
        f"{number} ||| {each.text} ||| {each.score:.6f}"
        for number, best in enumerate(found)
        for each in [best, *best.alternatives]
    ]
    assert len(rows) == 7
    texts, links = [one.text for one in found], [pharaoh(one.links() or []) for one in found]
    assert [bool(of) for of in links] == [True, False, False, True]
    for path, expected in (("new/out", texts), ("list", rows), ("links", links)):
        assert Path(path).read_text("utf-8") == "".join(f"{row}\n" for row in expected)
    unlinked, done, unknown = caplog.messages
    assert unlinked.endswith(": 1.")
    assert [one.capped for one in found] == [True, False, True, True]
    assert ": 4; 3 " in done
    assert unknown.endswith(": 1")


@pytest.mark.parametrize("end", [EOFError, KeyboardInterrupt])
def test_the_prompt_shows_scores_links_and_the_words_that_have_no_known_form(
    end, monkeypatch, capsys
):
    typed = ["a dog", "Dog, A a. xyz .", "", end]
    monkeypatch.setattr("builtins.input", Mock(side_effect=typed))
    answer_prompt(word_translator(), stage(alignments="-"))
    shown = capsys.readouterr().out
    found = word_translator().translate("a dog", attention=True)
    assert f"{found.rounded_score}  {found.text}\n    links  {pharaoh(found.links())}\n" in shown
    assert re.findall('"(.*)"', shown) == [",", ".", "xyz"]


ODD = "\x07\x0b\x0c\x1b\x1c\x85\u2028\u2029\u200d\u202e\ufeff\r\t▁|😀👩‍👩‍👧שלוםشجرة é"
LINE = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n"), max_size=20)
    | st.text(st.sampled_from(ODD + "dogcats "), max_size=20)
    | st.lists(st.sampled_from(["the", "dog", "barks", "cat"]), max_size=9).map(" ".join)
)


@settings(max_examples=25)
@given(
    st.lists(st.tuples(LINE, st.sampled_from(["\n", "\r\n"])), max_size=5),
    st.sampled_from([b"", MARK]),
    st.booleans(),
    st.integers(1, 8),
    st.integers(1, 9),
    st.sampled_from([bytes, gzip.compress, None]),
)
def test_each_line_gives_what_it_gives_alone(pairs, mark, ended, batch_size, chunk, pack):
    """Of a file, also a packed one, and of standard input."""
    text = "".join(line + end for line, end in pairs)
    content = (mark if pairs else b"") + (text if ended else text.removesuffix("\n")).encode()
    lines = content.removeprefix(MARK).decode().split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    search = DecodingConfig(beam=2, n_best=2, batch_size=batch_size, max_ratio=0, max_extra=5)
    alone = [tiny_translator().translate(line, search, attention=True) for line in lines]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        source, links = (Path(folder) / name for name in ("in", "links"))
        source.write_bytes(pack(content) if pack else b"")
        feed(patch, content)
        patch.setattr("sys.stdout", io.TextIOWrapper(printed := io.BytesIO(), encoding="latin-1"))
        given = {"decoding": search, "alignments": str(links), "chunk": chunk}
        config = stage(source if pack else "-", **given)
        translate_text(tiny_translator(), config)
        *written, last = printed.getvalue().decode().split("\n")
        linked = links.read_text().split("\n")[:-1]
    assert last == ""
    for found, text, places in zip(alone, written, linked, strict=True):
        near = [each for each in found.alternatives if each.score > found.score - 1e-4]
        expected = [(each.text, pharaoh(each.links() or [])) for each in [found, *near]]
        assert (text, places) in expected


@contextlib.contextmanager
def started(streams, *words):
    """``translate``, all its standard streams being ``streams``; it does not outlive the block."""
    script = subprocess.Popen(
        command("translate", f"checkpoint={save_tiny(Path('tiny'))}", "decoding.beam=2", *words),
        env={**os.environ, "PYTHONWARNINGS": "error", "TERM": "dumb"},
        **dict.fromkeys(("stdin", "stdout", "stderr"), streams),
    )
    with script:
        try:
            yield script
            assert script.wait(300) == 0
        finally:
            script.kill()


@pytest.mark.slow
def test_a_slow_pipe_is_answered_at_once_and_a_closed_one_ends_quietly():
    others = [f"{name}={os.devnull}" for name in ("n_best_list", "alignments")]  # takes several
    with started(subprocess.PIPE, "chunk=1", *others) as script:
        for _ in range(3):
            script.stdin.write(b"a dog\n")
            script.stdin.flush()
            assert script.stdout.readline()
        script.stdout.close()
        script.stdin.write(b"a dog\n")
        script.stdin.close()
        assert script.stderr.read() == b""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
def test_a_terminal_is_prompted_for_sentences():
    terminal, other_end = os.openpty()

    def prompted():
        shown = b""
        while b"en> " not in shown:
            assert select.select([terminal], [], [], 300)[0]
            shown += os.read(terminal, 4_096)
        return shown.decode("utf-8", "replace")

    with started(other_end, "alignments=-", "decoding.n_best=2") as script:
        os.close(other_end)
        assert "Ctrl-D ends" in prompted()
        os.write(terminal, "a dog bàrks 😀\n".encode())
        assert '"à"' in prompted()
        os.write(terminal, b"\x04")
        script.wait(300)
    os.close(terminal)
