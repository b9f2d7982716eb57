"""The README and the pages of docs/: commands, run as they stand but for a toy size, and links."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from helpers.commands import TOY, command, draw_nothing, run
from helpers.composing import compose_config
from helpers.pages import BLOCK, BLOCKS, COMMANDS, DOCS, PAGES, ROOT, SCRIPT
from helpers.reversal import write_reversal_corpus
from helpers.small_checkpoint import save

# Run by a test: those of blocks that are not marked as long.
SHORT = dict.fromkeys(
    line.replace("make reproduce", "python scripts/reproduce.py")
    for block in BLOCKS
    if not block.startswith("# long: ")
    for line in block.replace("\\\n", "").splitlines()
)
RUN = [line for line in SHORT if line.startswith(("python scripts", "cat"))]
LINK = re.compile(r"(?:\]\(|<img src=\")(?!\w+:)([^)#\"\s]*)#?([^)\"\s]*)[)\"]")
SIZES = [*TOY, "corpus.test_per_bucket=1", "training.max_updates=2"]


def toy(line: str) -> tuple[str, list[str]]:
    """Script and words of a command, with overrides that make it small."""
    _, script, arguments = SCRIPT.search(line).groups()
    words = shlex.split(arguments.replace("_pairs=500", "_pairs=10"))
    sizes = []
    if script in ("prepare", "train", "reproduce") and "--help" not in words:
        sizes = [*SIZES, "beams=[5]"] if script == "reproduce" else SIZES
        if "experiment=own_text" in words:
            sizes = [one for one in sizes if not one.startswith("corpus.")]
            sizes = [*sizes, "tokenization.vocabulary_size=20"]
    return script, words + [one for one in sizes if one.split("=")[0] not in arguments]


def test_the_pages_have_commands_of_every_script():
    shown = {match.group(2) for line in COMMANDS if (match := SCRIPT.search(line))}
    assert {path.stem for path in (ROOT / "scripts").glob("*.py")} - {"cli"} <= shown


@pytest.mark.parametrize("line", [line for line in COMMANDS if line not in RUN])
@pytest.mark.slow
def test_every_command_that_is_not_run_composes(line):
    if target := re.match(r"make ([\w-]+)", line):
        assert re.search(rf"^{target[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    elif match := SCRIPT.search(line):
        place, script, arguments = match.groups()
        if place == "scripts":
            compose_config(script, shlex.split(arguments))
    else:
        assert line == "source .venv/bin/activate"


def test_a_shell_that_expands_brackets_finds_none_outside_quotes():
    """As zsh does."""
    bare = [re.sub(r"'[^']*'|\"[^\"]*\"", "", line) for line in COMMANDS]
    assert [line for line in bare if re.search(r"[][{}*]", line)] == []


@pytest.mark.slow
def test_the_study_is_made_by_commands_that_compose():
    words = ["make", "-n", "study", "TEXT=corpus.directory=europarl"]
    made = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    experiments = re.findall(r"scripts/reproduce.py (.*)", made)
    for words in map(shlex.split, experiments):  # one system: all are composed by another test
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
    for line in RUN:
        script, words = toy(line)
        if "|" not in line:
            run(tmp_path, script, *words)
            continue
        small = line.replace(SCRIPT.search(line)[0], f"{shlex.join(command(script, *words))} ")
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", small],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONWARNINGS": "error"},
        )
        assert (done.returncode, done.stdout.count("\n")) == (0, 5), done.stderr
    assert (tmp_path / "outputs" / "quickstart" / "comparison").exists()


@pytest.mark.parametrize("page", [page for page in PAGES if "import seq2seq" in PAGES[page]])
def test_every_python_example_runs(page, tmp_path, monkeypatch, capsys):
    for name in ("quickstart", "my_text"):
        save(tmp_path / "outputs" / name / "attention" / "seed-1")
    monkeypatch.chdir(tmp_path)
    draw_nothing(monkeypatch)
    for kind, example in BLOCK.findall(PAGES[page]):
        if kind == "python":
            small = example.replace('name="short"', '*SIZES, name="short"')
            exec(compile(small, page.name, "exec"), {"SIZES": SIZES})
            assert capsys.readouterr().out


def anchors(page: Path) -> set[str]:
    """Return those that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


def test_every_link_leads_to_a_file_and_a_heading():
    text = {*PAGES, ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.ipynb")}
    dead = []
    for page in [*text, *(ROOT / "docs" / "results").rglob("*.md")]:
        for target, anchor in LINK.findall(page.read_text()):
            found = page.parent / target if target else page
            if not found.exists() or (anchor and anchor not in anchors(found)):
                dead.append(f"{page.relative_to(ROOT)}: {target}#{anchor}")
    assert dead == []


def test_the_first_page_links_every_other():
    linked = {target for target, _ in LINK.findall(PAGES[ROOT / "docs" / "index.md"])}
    assert {page.name for page in DOCS} - linked == {"index.md"}
