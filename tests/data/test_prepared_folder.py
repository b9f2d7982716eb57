"""The folder of a prepared corpus is there whole and true to its text, or is refused."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from samples import at_once, counting
from test_preparation import ENGLISH, WORDS, corpus, folders

from seq2seq.data import folders as data_folders
from seq2seq.data import preparation
from seq2seq.data.preparation import prepare
from seq2seq.errors import UserError


def test_an_interrupted_build_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = corpus(tmp_path / "text")

    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(preparation, "_vocabulary", interrupted)
        with pytest.raises(KeyboardInterrupt):
            prepare(config, WORDS, tmp_path)
    assert folders(tmp_path) == []
    assert len(prepare(config, WORDS, tmp_path).train) == len(ENGLISH)


def test_runs_at_once_encode_the_text_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = corpus(tmp_path / "text")
    filled = counting(monkeypatch, preparation, "_fill")
    found = at_once(lambda: len(prepare(config, WORDS, tmp_path).train))
    assert found == [len(ENGLISH)] * 3
    assert len(filled) == 1


def test_a_folder_without_manifest_is_made_anew(tmp_path: Path) -> None:
    config = corpus(tmp_path / "text")
    first = prepare(config, WORDS, tmp_path)
    (first.directory / "manifest.json").unlink()
    (first.directory / "train.source.npy").unlink()
    assert len(prepare(config, WORDS, tmp_path).train) == len(ENGLISH)
    assert folders(tmp_path) == [first.directory.name]


def test_a_damaged_cache_is_named(tmp_path: Path) -> None:
    config = corpus(tmp_path / "text")
    directory = prepare(config, WORDS, tmp_path).directory
    (directory / "valid.target.npy").write_bytes(b"torn")
    with pytest.raises(UserError, match=r"cache .* is damaged .*; delete that folder") as caught:
        prepare(config, WORDS, tmp_path)
    assert str(directory) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "damage", "what"),
    [
        ("train.source.npy", lambda path: os.truncate(path, 200), "has 200 bytes, but"),
        ("train.target.npy", lambda path: path.write_bytes(path.read_bytes() + b"0"), "bytes, but"),
        ("vocabulary.target.tsv", lambda path: path.unlink(), "No such file"),
        ("manifest.json", lambda path: path.write_text("[]"), "manifest.json: it holds a list"),
        ("manifest.json", lambda path: path.write_text('{"files": 1}'), "lists no files"),
        ("manifest.json", lambda path: path.write_text("{}"), "lists no files"),
        ("manifest.json", lambda path: path.write_text('{"files": {}}'), "skipped"),
    ],
)
def test_damage_that_shows_in_sizes_is_named(
    tmp_path: Path, name: str, damage: Callable[[Path], object], what: str
) -> None:
    config = corpus(tmp_path / "text")
    directory = prepare(config, WORDS, tmp_path).directory
    damage(directory / name)
    with pytest.raises(UserError, match=rf"cache .* is damaged \(.*{what}.*; delete that folder"):
        prepare(config, WORDS, tmp_path)


def test_each_file_has_its_size_in_the_manifest(tmp_path: Path) -> None:
    directory = prepare(corpus(tmp_path / "text"), WORDS, tmp_path).directory
    manifest = json.loads((directory / "manifest.json").read_text("utf-8"))
    assert manifest["files"] == {
        file.name: file.stat().st_size
        for file in directory.iterdir()
        if file.name != "manifest.json"
    }


def test_text_that_is_altered_while_it_is_prepared_leaves_no_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = corpus(tmp_path / "text")
    path = tmp_path / "text" / "train.en"
    text, fill = path.read_bytes(), preparation._fill

    def altered(*arguments: Any) -> dict[str, dict[str, int]]:
        path.write_bytes(text.replace(b"dog", b"cat"))
        return fill(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(preparation, "_fill", altered)
        with pytest.raises(UserError, match=r"train\.en was altered while it was prepared; run"):
            prepare(config, WORDS, tmp_path)
    assert folders(tmp_path) == []
    path.write_bytes(text)
    assert "dog" in prepare(config, WORDS, tmp_path).source.vocabulary.pieces


def test_files_are_on_the_disk_before_their_folder_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed = []

    def flush(path: Path) -> None:
        assert path.exists()
        flushed.append(path.name)

    monkeypatch.setattr(data_folders, "flush_to_disk", flush)
    directory = prepare(corpus(tmp_path / "text"), WORDS, tmp_path).directory
    files = {path.name for path in directory.iterdir()}
    assert set(flushed[:-2]) == files
    assert flushed[-2:] == [f"{directory.name}.part", "prepared"]
