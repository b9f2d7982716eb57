"""The README and the pages of docs/: commands, run as they stand but for a toy size, and links."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from helpers.commands import TOY, quick
from helpers.composing import compose_config
from helpers.pages import BLOCK, BLOCKS, COMMANDS, DOCS, PAGES, ROOT, SCRIPT
from helpers.reversal import write_reversal_corpus
from helpers.small_checkpoint import save
from helpers.warm import sketch

from seq2seq.report import compare
from seq2seq.report import page as page_module

# Run by a test: those of blocks that are not marked as long.
SHORT = dict.fromkeys(
    line.replace("make reproduce", "python scripts/reproduce.py")
    for block in BLOCKS
    if not block.startswith("# long: ")
    for line in block.replace("\\\n", "").splitlines()
)
RUN = [line for line in SHORT if line.startswith(("python scripts", "cat"))]
SIZES = [*TOY, "corpus.test_per_bucket=1", "training.max_updates=2"]


def toy(command: str) -> str:
    """The command with this interpreter, these scripts, and overrides that make it small."""
    match = SCRIPT.search(command)
    assert match is not None
    _, script, arguments = match.groups()
    overrides = []
    if script in ("prepare", "train", "reproduce") and "--help" not in arguments:
        overrides = [*SIZES, "'beams=[5]'"] if script == "reproduce" else SIZES
        if "own_text" in arguments:
            overrides = [o for o in overrides if not o.startswith("corpus.")]
            overrides = [*overrides, "tokenization.vocabulary_size=20"]
        overrides = [o for o in overrides if o.split("=")[0] not in arguments]
    arguments = arguments.replace("_pairs=500", "_pairs=10")
    small = " ".join([*quick(script), arguments, *overrides])
    return command.replace(match.group(0), f"{small} ")


def test_the_pages_have_commands_of_every_script():
    shown = {match.group(2) for command in COMMANDS if (match := SCRIPT.search(command))}
    assert {path.stem for path in (ROOT / "scripts").glob("*.py")} - {"cli"} <= shown


@pytest.mark.parametrize("command", [line for line in COMMANDS if line not in RUN])
def test_every_command_that_is_not_run_composes(command):
    if target := re.match(r"make ([\w-]+)", command):
        assert re.search(rf"^{target[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    elif match := SCRIPT.search(command):
        place, script, arguments = match.groups()
        if place == "scripts":
            words = shlex.split(arguments)
            compose_config(script, [word for word in words if word not in ("--help", "all")])
    else:
        assert command == "source .venv/bin/activate"


def test_a_shell_that_expands_brackets_finds_none_outside_quotes():
    """As zsh does."""
    bare = [re.sub(r"'[^']*'|\"[^\"]*\"", "", command) for command in COMMANDS]
    assert [command for command in bare if re.search(r"[][{}*]", command)] == []


@pytest.mark.slow
def test_the_study_is_made_by_commands_that_compose():
    command = ["make", "-n", "study", "TEXT=corpus.directory=europarl"]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8").stdout
    scripts = [shlex.split(line)[1:] for line in made.replace("\\\n", "").split("\n") if line]
    experiments = [words[1:] for words in scripts if words[0] == "scripts/reproduce.py"]
    for words in experiments:  # one system is enough: all are composed by another test
        assert f"outputs/{compose_config('train', words).name}/" in made
    assert "corpus.directory=europarl" in experiments[0]
    assert [path for path in re.findall(r"study/\w+\.py", made) if not (ROOT / path).exists()] == []


@pytest.mark.slow
def test_every_command_runs(tmp_path):
    for name in ("my_text", "my_subject", "only_train"):
        write_reversal_corpus(tmp_path / name, 100)
    for text in tmp_path.glob("*/*"):
        text.rename(text.with_suffix({".source": ".en", ".target": ".de"}[text.suffix]))
    for text in tmp_path.glob("*/test.*"):
        text.write_text("".join(text.read_text().splitlines(keepends=True)[:10]))
    for text in tmp_path.glob("only_train/[vt][ae][ls]*"):
        text.unlink()
    for command in RUN:
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", toy(command)],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONWARNINGS": "error"},
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        if "| head -n 5" in command:
            assert done.stdout.count("\n") == 5
    assert (tmp_path / "outputs" / "quickstart" / "comparison").exists()


@pytest.mark.parametrize("page", [page for page in PAGES if "import seq2seq" in PAGES[page]])
def test_every_python_example_runs(page, tmp_path, monkeypatch, capsys):
    for name in ("quickstart", "my_text"):
        save(tmp_path / "outputs" / name / "attention" / "seed-1")
    monkeypatch.chdir(tmp_path)
    for module in (compare, page_module):
        monkeypatch.setattr(module, "render", sketch)
    for kind, example in BLOCK.findall(PAGES[page]):
        if kind == "python":
            small = example.replace('name="short"', '*SIZES, name="short"')
            exec(compile(small, page.name, "exec"), {"SIZES": SIZES})
            assert capsys.readouterr().out


def anchors(page: Path) -> set[str]:
    """Of the headings, as GitHub and MkDocs name them."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_of_a_page_leads_somewhere(page):
    text = re.sub(r"`[^`]*`", "", BLOCK.sub("", PAGES[page]))
    for path, _, anchor in re.findall(r"\]\((?!http)([^)#]*)(#?)([^)]*)\)", text):
        target = page.parent / path if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), anchor


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.stem)
def test_a_page_begins_with_an_abstract_and_is_short(page):
    title, abstract, *_ = PAGES[page].split("\n\n")
    assert re.fullmatch(r"# .*", title)
    assert re.match(r"[\w*]", abstract)
    assert len(abstract.splitlines()) <= (6 if page.stem == "study" else 3)
    assert len(PAGES[page].splitlines()) <= 250
