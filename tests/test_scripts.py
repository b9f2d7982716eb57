"""The scripts as a user runs them: the whole line at toy size, pipes, errors, going on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOY = [
    "corpus.train=300",
    "corpus.valid=40",
    "corpus.test_per_bucket=6",
    "corpus.max_words=30",
    "model.embedding_dim=16",
    "model.encoder.hidden_size=16",
    "model.attention.size=16",
    "model.decoder.hidden_size=16",
    "training.batch_size=30",
    "training.validate_every=5",
    "training.dev_bleu_sentences=10",
    "training.device=cpu",
    "evaluation.bootstrap=100",
]


def run(
    folder: Path,
    script: str,
    *arguments: str,
    stdin: str | None = None,
    ok: bool = True,
    warnings: str = "error",
):
    """Run a script in ``folder``; its output has no colours and no bars, as in a pipe."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / f"{script}.py"), *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        timeout=240,
        env={**os.environ, "PYTHONWARNINGS": warnings, "CUDA_VISIBLE_DEVICES": ""},
    )
    if ok:
        assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory) -> Path:
    """A folder in which the toy experiment has been reproduced."""
    folder = tmp_path_factory.mktemp("reproduced")
    done = run(folder, "reproduce", *TOY)
    assert "| words" in done.stdout
    assert "no-attention" in done.stdout
    return folder


@pytest.mark.slow
def test_reproduce_leaves_runs_evaluations_and_comparisons(reproduced):
    for system in ("attention", "no-attention"):
        run_folder = reproduced / "outputs" / "quickstart" / system / "seed-1"
        assert json.loads((run_folder / "run.json").read_text())["status"] == "finished"
        for search in ("greedy", "beam5"):
            scores = json.loads(
                (run_folder / "evaluations" / f"test-{search}" / "scores.json").read_text()
            )
            (overall,) = [row for row in scores["rows"] if row["words"] == "all"]
            assert overall["sentences"] == 18
            assert scores["record"]["system"] == system
    comparison = reproduced / "outputs" / "quickstart" / "comparison" / "test-beam5"
    names = {path.name for path in comparison.iterdir()}
    assert {"table.md", "figure.png", "scores.json", "page.html"} <= names
    numbers = json.loads((comparison / "scores.json").read_text())
    assert [system["name"] for system in numbers["systems"]] == ["no-attention", "attention"]
    assert numbers["config_differences"].keys() == {"model.attention.kind"}
    assert not list(reproduced.glob("multirun")) + list(reproduced.glob(".hydra"))


@pytest.mark.slow
def test_reproduce_again_does_nothing_twice_and_says_the_same(reproduced):
    weights = reproduced / "outputs/quickstart/attention/seed-1/checkpoints/best/model.safetensors"
    before = weights.stat().st_mtime_ns
    table = reproduced / "outputs/quickstart/comparison/test-greedy/table.md"
    said = table.read_bytes()
    done = run(reproduced, "reproduce", *TOY)
    assert weights.stat().st_mtime_ns == before
    assert done.stderr.count("is already trained") == 2
    assert done.stderr.count("is already evaluated") == 4
    assert table.read_bytes() == said


@pytest.mark.slow
def test_an_output_folder_of_another_run_is_refused(reproduced):
    done = run(reproduced, "train", *TOY, "model.dropout=0.5", ok=False)
    assert done.returncode == 1
    assert "holds a run of another config: model.dropout was 0.0 and is now 0.5" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_translate_is_a_filter(reproduced):
    """One line out for each line in, whatever is in it; standard output holds nothing else."""
    lines = ["the dog sleeps .", "", "a\tb 😀 شجرة\u2028c", "the cat sees the dog ."]
    text = "\ufeff" + lines[0] + "\r\n" + "\n".join(lines[1:])  # and no newline at the end
    checkpoint = "checkpoint=outputs/quickstart/attention/seed-1"
    piped = run(reproduced, "translate", checkpoint, "decoding=greedy", stdin=text)
    assert piped.stdout.count("\n") == 4
    assert piped.stdout.split("\n")[1] == ""
    (reproduced / "in.txt").write_text(text, encoding="utf-8")
    run(
        reproduced,
        "translate",
        "checkpoint=outputs/quickstart/attention/seed-1/checkpoints/best",
        "decoding=greedy",
        "input=in.txt",
        "hypotheses=out.txt",
    )
    assert (reproduced / "out.txt").read_text(encoding="utf-8") == piped.stdout


@pytest.mark.slow
def test_translate_refuses_an_altered_checkpoint(reproduced, tmp_path):
    best = reproduced / "outputs/quickstart/no-attention/seed-1/checkpoints/best"
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in best.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    weights = bytearray((copy / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (copy / "model.safetensors").write_bytes(weights)
    done = run(tmp_path, "translate", "checkpoint=copy", stdin="a\n", ok=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: model.safetensors in copy is altered")


@pytest.mark.slow
def test_evaluate_your_own_text_and_compare(reproduced):
    """By hand what reproduce does: evaluate two checkpoints on two files, then compare."""
    (reproduced / "own.en").write_text("the dog sleeps .\n\nthe cat sees the dog .\n")
    (reproduced / "own.de").write_text("der Hund schläft .\n\ndie Katze sieht den Hund .\n")
    folders = []
    for system in ("attention", "no-attention"):
        checkpoint = f"outputs/quickstart/{system}/seed-1"
        done = run(
            reproduced,
            "evaluate",
            f"checkpoint={checkpoint}",
            "source=own.en",
            "reference=own.de",
            "decoding=greedy",
            "evaluation.bootstrap=100",
        )
        assert "| source words" in done.stdout
        folders.append(f"{checkpoint}/evaluations/own.en-greedy")
        hypotheses = (reproduced / folders[-1] / "hypotheses.txt").read_text().split("\n")
        assert len(hypotheses) == 4  # three lines, the second of them empty
        assert hypotheses[1] == ""
    names = ",".join(f"'{folder}'" for folder in folders)
    arguments = [f"evaluations=[{names}]", "baseline=no-attention", "output=own"]
    done = run(reproduced, "compare", *arguments, "evaluation.bootstrap=100")
    assert "attention" in done.stdout
    assert (reproduced / "own" / "figure.svg").exists()


@pytest.mark.slow
def test_evaluate_refuses_files_that_do_not_align(reproduced):
    (reproduced / "long.en").write_text("a\nb\n")
    (reproduced / "short.de").write_text("a\n")
    checkpoint = "checkpoint=outputs/quickstart/attention/seed-1"
    done = run(reproduced, "evaluate", checkpoint, "source=long.en", "reference=short.de", ok=False)
    assert done.returncode == 1
    assert "long.en has 2 lines, short.de has 1" in done.stderr


@pytest.mark.slow
def test_reproduce_leaves_no_run_behind_where_the_text_cannot_be_prepared(tmp_path):
    """Or the setting that mends it would be refused, as that of another run."""
    done = run(tmp_path, "reproduce", *TOY, "tokenization=sentencepiece", ok=False)
    assert "error: tokenization.vocabulary_size=8000 is more than" in done.stderr
    assert not (tmp_path / "outputs").exists()


@pytest.mark.slow
def test_prepare_is_found_by_train(tmp_path):
    """The first stage alone leaves what the next one needs."""
    run(tmp_path, "prepare", *TOY)
    prepared = list((tmp_path / "data" / "prepared").glob("*/manifest.json"))
    assert len(prepared) == 1
    run(tmp_path, "train", *TOY, "training.max_updates=2", "system=no-attention")
    assert list((tmp_path / "data" / "prepared").glob("*/manifest.json")) == prepared
    assert (tmp_path / "outputs/quickstart/no-attention/seed-1/checkpoints/best").is_dir()


@pytest.mark.parametrize(
    ("script", "arguments", "message"),
    [
        ("train", ["training.epochs=3"], "error: training.epochs is not a config key of train"),
        ("train", ["corpus=files", "corpus.directory=nowhere"], "nowhere"),
        ("train", ["training.device=cuda"], "sees no CUDA device on this machine"),
        ("reproduce", ["training.device=cuda"], "sees no CUDA device on this machine"),
        ("translate", ["checkpoint=nowhere"], "error: There is no checkpoint at nowhere"),
        ("evaluate", ["checkpoint=nowhere"], "error: There is no checkpoint at nowhere"),
        ("evaluate", ["checkpoint=x", "hypotheses=y"], "checkpoint=FOLDER"),
        ("reproduce", ["decoding.sample=true"], "decoding.sample=true would have no effect"),
        (
            "reproduce",
            ["systems.attention=['decoding.length_normalization=0']"],
            "error: systems.attention sets decoding.length_normalization, but reproduce compares",
        ),
        (
            "train",
            ["--config-name=compare"],
            "error: --config-name and --config-path would have no",
        ),
        ("train", ["--config-dir=nowhere"], "error: --config-dir=nowhere is no folder; give one"),
        ("train", ["--help", "experiment=nope"], "error: experiment=nope is not a valid choice"),
        ("compare", ["evaluations=[nowhere]"], "error: nowhere holds no evaluation"),
    ],
)
def test_bad_input_is_one_sentence_and_a_failure(tmp_path, script, arguments, message):
    done = run(tmp_path, script, *arguments, stdin="", ok=False)
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_the_config_that_is_shown_is_the_one_that_would_run(tmp_path):
    shown = run(tmp_path, "train", "system=no-attention", "--cfg", "job").stdout
    assert "kind: fixed" in shown
    shown = run(tmp_path, "train", "model.attention.kind=dot", "--help").stdout
    assert "kind: dot" in shown
    assert "system: dot" in shown


def test_an_experiment_may_lie_in_a_folder_of_ones_own(tmp_path):
    folder = tmp_path / "of mine" / "experiment"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(
        "# @package _global_\nname: mine\nsystems: {a: [], b: [model.attention.kind=fixed]}\n"
        "system: a\nbaseline: b\n"
    )
    run(tmp_path, "prepare", "--config-dir=of mine", "experiment=mine", *TOY[:5])
    assert list((tmp_path / "data" / "prepared").iterdir())


def test_a_place_that_cannot_be_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    done = run(tmp_path, "explain", "examples=[dot]", "output=file/deeper", stdin="", ok=False)
    assert done.returncode == 1
    assert done.stderr == (
        "error: file/deeper cannot be used (Not a directory); choose another place, or mend that "
        "one.\n"
    )
