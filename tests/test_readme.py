"""The README's commands, run as they stand but for a toy size, in the order of the page."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from composing import compose_config
from reversal import write_reversal_corpus
from small_checkpoint import save
from test_scripts import TOY

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"```bash\n(.*?)```", README, re.DOTALL)
    for line in block.strip().split("\n")
]
PAGES = {
    page: page.read_text(encoding="utf-8")
    for page in [*sorted((ROOT / "docs").glob("*.md")), ROOT / "data" / "README.md"]
}
# Minutes, other toolkits, other text: composed here, and run small by the tests of each stage.
PAGE_COMMANDS = re.findall(r"^python scripts/.*$", "\n".join(PAGES.values()), re.MULTILINE)
SCRIPT = re.compile(r"python scripts/(\w+)\.py([^|]*)")
# Their text is downloaded: composed here, run by hand and in the tests of each corpus.
DOWNLOADED = ("multi30k", "europarl")
# Run at toy size by tests/test_experiments.py, which knows what can be made small of them.
STUDY = ("figure2", "bottleneck_width", "controls")


def toy(command: str) -> str:
    """The command with this interpreter, these scripts, and overrides that make it small."""
    match = SCRIPT.search(command)
    assert match is not None
    script, arguments = match.groups()
    overrides = []
    if script in ("prepare", "train", "reproduce") and "--help" not in arguments:
        overrides = TOY
        if "own_text" in arguments:
            overrides = [o for o in TOY if not o.startswith("corpus.")]
            overrides = [*overrides, "tokenization.vocabulary_size=20", "training.max_updates=10"]
        overrides = [o for o in overrides if o.split("=")[0] not in arguments]
    small = " ".join([sys.executable, f"{ROOT}/scripts/{script}.py", arguments, *overrides])
    return command.replace(match.group(0), f"{small} ")


def test_the_page_has_commands_of_every_script():
    scripts = {match.group(1) for command in COMMANDS if (match := SCRIPT.search(command))}
    stages = {"prepare", "train", "translate", "evaluate", "compare", "reproduce"}
    assert scripts == stages | {"explain"}


@pytest.mark.parametrize(
    "command", [c for c in [*COMMANDS, *PAGE_COMMANDS] if SCRIPT.search(c) and "--" not in c]
)
def test_every_command_composes(command):
    match = SCRIPT.search(command)
    assert match is not None
    compose_config(match.group(1), shlex.split(match.group(2)))


@pytest.mark.parametrize("target", re.findall(r"^make (\w+)$", "\n".join(COMMANDS), re.MULTILINE))
def test_every_make_target_exists(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def made(*variables: str) -> subprocess.CompletedProcess[str]:
    """What ``make study`` would do; with a variable for the text, else it refuses."""
    return subprocess.run(
        ["make", "-n", "study", *variables], cwd=ROOT, capture_output=True, encoding="utf-8"
    )


def test_the_study_is_made_by_commands_that_compose_and_ends_with_comparisons():
    said = made("FIGURE2=corpus.directory=europarl test_texts.newstest2014=news/n").stdout
    results = {path.stem for path in (ROOT / "docs" / "results").iterdir()}
    loops = re.findall(r"for set in ([^;]+); do \\\n(.*); done", said)
    assert loops
    for sets, body in loops:
        command = body.strip().removesuffix(" || exit 1")
        for name in sets.split():
            script, *overrides = _after_python(command.replace("$set", name))
            assert script == "scripts/compare.py"
            compared = compose_config("compare", overrides)
            assert Path(compared.output).parent == Path("docs/results")
            assert Path(compared.output).name in results
    experiments = [_after_python(line) for line in said.split("\n") if "reproduce.py" in line]
    names = [compose_config("reproduce", overrides)[0].name for _, *overrides in experiments]
    assert names == ["figure2-cpu", "bottleneck_width", "controls"]


def _after_python(command: str) -> list[str]:
    return shlex.split(command)[1:]


def test_the_study_asks_for_its_text_before_it_begins():
    commands = made().stdout.split("\n")
    refusal = next(place for place, line in enumerate(commands) if line.startswith("test -n ''"))
    first = next(place for place, line in enumerate(commands) if "reproduce.py" in line)
    assert refusal < first
    assert subprocess.run(["sh", "-c", commands[refusal]], capture_output=True).returncode == 1


@pytest.mark.slow
def test_every_command_runs(tmp_path):
    write_reversal_corpus(tmp_path / "my_text")
    for command in COMMANDS:
        if not SCRIPT.search(command) or any(name in command for name in DOWNLOADED + STUDY):
            continue
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", toy(command)],
            cwd=tmp_path,
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            env={**os.environ, "PYTHONWARNINGS": "error"},
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        if "| head -n 5" in command:
            assert done.stdout.count("\n") == 5
    figure = tmp_path / "outputs" / "comparison" / "figure.png"
    assert figure.exists()


def test_the_python_example_runs(tmp_path, monkeypatch, capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    save(tmp_path / "outputs" / "my_text" / "attention" / "seed-1")
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), {})
    assert capsys.readouterr().out


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.stem)
def test_every_file_a_page_links_to_exists(page):
    links = re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text(encoding="utf-8"))
    assert links or page not in (ROOT / "README.md", ROOT / "docs" / "study.md")
    for link in links:
        assert (page.parent / link).exists(), link
