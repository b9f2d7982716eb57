"""A command line becomes one config, or one sentence; whatever stops a script, an exit status."""

import dataclasses
import errno
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import cli
import hydra
import psutil
import pytest
import torch
from cli import exit_status
from helpers.composing import compose, compose_config, compose_runs
from hydra.core.global_hydra import GlobalHydra

from seq2seq import composition
from seq2seq.errors import UserError
from seq2seq.interruption import Interrupted, process_count

ROOT = Path(__file__).resolve().parent.parent
PATHS = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'scripts'}"}

REFUSED = [
    # an unknown key, by itself or forced in, in a system
    ("train", "training.max_epoch=3", "training.max_epochs"),
    ("train", "+training.lr=3", r"valid: training.optimizer.learning_rate\."),
    ("train", "+lr=3", r"valid: training.optimizer.learning_rate\."),
    ("evaluate", "+foo=b", "^foo(?!.*nearest)"),
    ("train", "systems.attention={model: {atention: {kind: dot}}}", "model.attention"),
    # one that has its place elsewhere, in another script, or another name here
    ("train", "hidden_size=1", r"valid: model.encoder.hidden_size, model.decoder.hidden_size\."),
    ("train", "kind=1", r"valid: [\w.]+, [\w.]+, [\w.]+\.$"),  # three are enough
    ("train", "vocab=1", "valid: tokenization.vocabulary_size"),
    ("train", "dropuot=1", "valid: model.dropout"),
    ("train", "words=1", "valid: corpus.max_words"),
    ("train", "corpus.dir=1", "valid: corpus.directory"),
    ("train", "attention=1", "valid: model.attention.kind"),
    ("reproduce", "beam_size=5", "valid: beams"),
    ("translate", "beam_size=5", "valid: decoding.beam"),
    # one that nothing here could mean
    ("reproduce", "scale=cpu", r"^scale(?!.*nearest)"),
    ("reproduce", "same_content=true", "^same_content(?!.*nearest)"),
    # a choice that does not exist: the first that is named is the one meant
    ("train", "corpus=europrl", "corpus=europrl .* first: europarl"),
    ("reproduce", "system=atention", "system=atention .* attention"),
    ("train", "system=bahdanau", "first: additive, .*dot"),
    ("reproduce", "system=transformer", "no Transformer"),
    ("train", "training.device=gpu", "first: cuda, .*auto"),
    # a value of the wrong type or out of range, by itself or by interpolation
    ("train", "training.max_epochs=many", "training.max_epochs"),
    ("train", "training.max_epochs=", "training.max_epochs.* whole number"),
    ("train", "model.dropout=a", "model.dropout.* a number"),
    ("train", "training.deterministic=maybe", "training.deterministic.* true or false"),
    ("train", "seed=null", "seed.* not null"),
    ("train", "name=[a,b]", "name.* without brackets"),
    ("train", "training=3", r"training .*training\.NAME"),
    ("train", "experiment=[a]", "experiment/a.yaml"),
    ("train", "experiment=/no/such", "experiment=/no/such is not"),
    ("train", "name=${", r"name.*write \\\$"),
    ("train", "corpus=[1,[2]]", "composed"),
    ("train", "seed=${oc.env:NO_SUCH_VARIABLE}", "NO_SUCH_VARIABLE"),
    ("reproduce", "beams=5", r"beams=\[\.\.\.\]"),
    # what the script, or the system, would not read
    ("train", "seeds=[1,2]", "seeds"),
    ("train", "baselines={}", "^baselines is a setting of reproduce"),
    ("prepare", "decoding.beam=3", "decoding.beam"),
    ("prepare", "corpus.mirror=https://a.b/", "corpus.mirror"),
    ("reproduce", "seed=2", "seeds="),
    ("reproduce", "decoding=greedy", "beams="),
    ("train", "model.attention={kind: fixed}", "model.attention.kind=fixed .* system=attention"),
    # a setting that the experiment does not have, and a baseline of one system
    ("reproduce", "systems.attention.label=x", r"\+systems\.NAME"),
    ("reproduce", "systems={a: {seeds: [1]}}", r"\+systems\.NAME"),
    ("reproduce", "baselines={attention: nobody}", r"baselines\.attention=nobody"),
    # a system that is no folder, or that could not be compared
    ("train", "+systems.attention.decoding={beam: 3}", "systems.attention sets decoding"),
    ("reproduce", "+systems.attention={seeds: [1], model: small}", "systems.attention.model=small"),
    # a label that another system has, or that nobody could see
    ("train", "+systems.attention.label=no-attention", "called 'no-attention'.* label"),
    ("train", "+systems.attention.label=' '", "attention .*called ' '.* label"),
    ("train", "name=../elsewhere", "name="),
    ("train", "output=out-\udce9", "output="),  # a byte that is not UTF-8
    # a value that is missing, and a line that Hydra cannot parse
    ("translate", "input=x", "checkpoint"),
    ("train", "+=[1]", "config"),
]


@pytest.mark.parametrize(("script", "override", "match"), REFUSED, ids=lambda text: text)
def test_a_bad_override_is_one_sentence(script, override, match):
    with pytest.raises(UserError, match=match) as caught:
        compose_config(script, [override])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("script", composition.SCHEMAS)
def test_help_shows_examples_that_compose_and_what_the_script_reads(monkeypatch, script):
    monkeypatch.setenv("VIRTUAL_ENV", "active")
    composition.register_schema(script)
    with hydra.initialize_config_dir(str(composition.CONFIGS), version_base="1.3"):
        composed = hydra.compose(script)
        lines = cli.help_page(script, composed).split("\n")
    assert max(map(len, lines)) <= 100
    examples = [line.partition(".py ")[2] for line in lines if line.startswith("  python ")]
    assert len(examples) == 3
    for example in examples:
        compose_config(script, shlex.split(example.partition("<")[0]))
    keys = {line.strip().partition("=")[0] for line in lines if re.match(r"  [\w.]+=", line)}
    assert keys >= {*composition._keys(script, composed)}
    read = {field.name for field in dataclasses.fields(composition.READ[script])}
    for group in ("corpus", "model", "decoding", "evaluation"):
        assert any(line.startswith(f"  {group}") for line in lines) == (group in read)
    choices = any(line.startswith("  decoding=") for line in lines)
    assert choices == ("decoding" in read and script != "reproduce")


MEANT = [
    ("train", "--epochs 5", "training.max_epochs=5?"),
    ("train", "seed=2 --batch-size=8 --x", "training.batch_size=8?"),
    ("reproduce", "--experiment smoke", "experiment=smoke?"),
    ("train", "--hidden-size 7", "model.encoder.hidden_size=7 or model.decoder.hidden_size=7?"),
    ("evaluate", "--average", "average=true?"),
    ("translate", "--sauce x", "--help"),
    ("train", "corpus.train = 100", "spaces"),
    ("train", "corpus.train= 100", "spaces"),
    ("translate", "runs/a/seed-1", "checkpoint=runs/a/seed-1?"),
    ("compare", "runs/a", "'evaluations=[runs/a]'?"),
    ("reproduce", "--seed=1", "'seeds=[1]'?"),
    ("reproduce", "--beam 5", "'beams=[5]'?"),
    ("train", "multi30k", "experiment=multi30k?"),
    ("reproduce", "runs/text", "corpus.directory=runs/text?"),
    ("translate", "checkpoint=a my file.txt", "quotes"),
]


@pytest.mark.parametrize(("script", "typed", "meant"), MEANT)
def test_what_is_not_key_value_leads_to_what_was_meant(script, typed, meant):
    with pytest.raises(UserError, match=re.escape(meant)):
        cli.refuse_words(script, typed.split(" "))


def test_what_hydra_reads_is_left_to_it():
    words = "-m a=1,2 ~b --config-dir c --cfg job -sc install=bash"
    cli.refuse_words("train", words.split(" "))


@pytest.mark.slow
def test_reproduce_runs_each_system_with_each_seed_and_a_chosen_one_alone():
    chosen = "experiment=figure2"

    def runs(*more: str) -> list[tuple[int, str]]:
        return [(run.seed, run.system) for run in compose_runs([chosen, *more])]

    both = runs()
    first, second = ([system for seed, system in both if seed == n] for n in (1, 2))
    assert both == [(1, system) for system in first] + [(2, system) for system in second]
    systems = compose_config("reproduce", [chosen]).systems
    twice = {system for system, settings in systems.items() if settings.get("seeds") == ["1", "2"]}
    assert {*second} == twice  # of two seeds of their own; the others have one
    assert 0 < len(twice) < len({*first})
    assert {seed for seed, _ in runs("seeds=[7]")} == {7}
    wide = ["experiment=width", "system=width-512", "seeds=[4]"]
    alone, runs_alone = compose("reproduce", wide)
    assert [alone.baseline] == [run.system for run in runs_alone] == ["width-512"]
    pair, runs_of_pair = compose("reproduce", [*wide, "baseline=width-128"])
    assert [run.system for run in runs_of_pair] == ["width-512", "width-128"]
    assert (pair.baseline, pair.baselines) == ("width-128", {})
    (kind,) = compose_runs(["system=general"])
    assert kind.model.attention.kind == "general"
    followed = compose_runs(["corpus.seed=${seed}", "seeds=[5]"])
    assert [run.corpus.seed for run in followed] == [5, 5]
    parents = "+systems.no-attention.training.init_from=outputs/${system}/seed-${seed}"
    own = [run.training.init_from for run in compose_runs([parents, "seeds=[4,5]"])]
    assert own == [None, "outputs/no-attention/seed-4", None, "outputs/no-attention/seed-5"]


def test_a_program_of_hydra_can_compose_too():
    with hydra.initialize(version_base=None):
        outer = GlobalHydra.instance().hydra
        assert compose_config("train", []).system == "attention"
        assert GlobalHydra.instance().hydra is outer


@pytest.mark.parametrize(
    "word", ["corpus.kind=multi30k", "corpus=europarl corpus.sample=study corpus.test_pairs=7"]
)
def test_a_setting_that_would_change_nothing_is_refused(word):
    with pytest.raises(UserError, match=word.split()[-1].partition("=")[0]):
        compose_config("train", word.split())


def test_text_in_lists_and_dicts_is_taken_as_it_is_written():
    words = ["evaluations=[2024_11,'it s, 1e3']", "labels={a: 1e-3, b: 'x: y', c: 2024_11}"]
    config = compose_config("compare", [*words, "output=o"])
    assert config.evaluations == ["2024_11", "it s, 1e3"]
    assert config.labels == {"a": "1e-3", "b": "x: y", "c": "2024_11"}


def test_an_empty_dict_does_not_empty_one():
    with pytest.raises(UserError, match="~baselines"):
        compose("reproduce", ["experiment=figure2", "baselines={}"])
    assert compose_config("reproduce", ["experiment=figure2", "~baselines"]).baselines == {}


TEXTS = {
    "2024_11_25": "2024_11_25",
    "1.10": "1.10",
    "TRUE": "TRUE",
    "my file, part=2 (a).txt": "my file, part=2 (a).txt",
    "it's": "it's",
    "'in quotes'": "in quotes",
    "~/a": "/home/me/a",
    r"\${x}": "${x}",
    "": None,
    "${x}": None,
}


@pytest.mark.parametrize("given", TEXTS)
def test_a_setting_that_is_text_is_taken_as_it_is_written(monkeypatch, given):
    monkeypatch.setenv("HOME", "/home/me")
    words = [f"input={given}", "checkpoint=c"]
    if TEXTS[given] is None:
        with pytest.raises(UserError, match="input"):
            compose_config("translate", words)
    else:
        assert compose_config("translate", words).input == TEXTS[given]


def test_texts_in_lists_and_groups_are_taken_as_they_are_written(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    texts = compose_config("compare", ["evaluations=[2024_11, ~/b ,c d]", "output=1.0"])
    assert (texts.evaluations, texts.output) == (["2024_11", "/home/me/b", "c d"], "1.0")
    words = ["checkpoint=c", "+test_texts.news=~/n", "directory=null", "test_sets=[]"]
    config = compose_config("evaluate", words)
    assert (config.directory, config.test_sets) == (None, [])
    assert config.test_texts == {"news": "/home/me/n"}
    config = compose_config("train", ["experiment=own_text", "corpus.directory=~/t"])
    assert config.corpus.directory == "/home/me/t"
    assert composition.quoted(["name=1_0,2_0", "--multirun"])[0] == "name='1_0','2_0'"
    for text in ("'tis [late], he said", "[Applause]", "'Hello.'", "null", "{a}"):
        assert compose_config("translate", ["checkpoint=c", f"prefix={text}"]).prefix == text


def test_an_experiment_on_own_text_has_the_name_of_its_folder(tmp_path):
    (folder := tmp_path / "europarl.v7").mkdir()
    settings = ["corpus.source=en", "corpus.target=fr", f"corpus.directory={folder}"]
    assert compose_config("train", ["experiment=own_text", *settings]).name == "europarl.v7"


YAML = """# @package _global_
name: 2024_11_25
systems: {a: {training: {optimizer: {learning_rate: 1e-3}}}, no: {}, 2014: {}}
system: a
baseline: no
defaults: [override /corpus: files]
corpus: {source: no, target: en, directory: ., train_pairs: 1_000}
training: {deterministic: yes, clip_norm: 1_6}
baselines: {2014: no}
"""


def test_a_file_of_settings_may_begin_with_a_mark_and_keeps_its_texts(tmp_path):
    chosen = [f"hydra.searchpath=['file://{tmp_path}']", "experiment=mine"]
    mine = tmp_path / "experiment" / "mine.yaml"
    mine.parent.mkdir()
    mine.write_text("name: mine\n")
    with pytest.raises(UserError, match="# @package _global_"):
        compose_config("train", chosen)
    mine.write_text(YAML, encoding="utf-8-sig")
    config = compose_config("train", [*chosen, "training.optimizer.learning_rate=0.001"])
    experiment = compose_config("reproduce", chosen)
    assert (config.name, experiment.baseline, config.corpus.source) == ("2024_11_25", "no", "no")
    assert (config.corpus.train_pairs, config.training.deterministic) == (1_000, True)
    assert config.training.optimizer.learning_rate == 1e-3
    assert (config.training.clip_norm, experiment.baselines) == (16, {"2014": "no"})
    with pytest.raises(UserError, match=r"learning_rate=0\.002 would have no effect"):
        compose_config("train", [*chosen, "training.optimizer.learning_rate=0.002"])


@pytest.fixture(autouse=True)
def handler_of_sigterm():
    """A script that ends may leave its own."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


RUN = """
import runpy, sys
sys.argv = sys.argv[1:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit as stop:
    print(stop.code)
assert "torch" not in sys.modules
"""


@pytest.mark.parametrize(
    ("words", "said"),
    [("--help corpus=files", "  corpus.kind=files"), ("training.max_epoch=3", "error: training.")],
)
def test_help_and_a_refusal_come_without_importing_torch(tmp_path, words, said):
    command = [sys.executable, "-c", RUN, str(ROOT / "scripts" / "train.py"), *words.split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", env=PATHS)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"\n{said}" in f"\n{done.stdout}"
    assert not list(tmp_path.iterdir())


def test_without_the_environment_one_line_says_how_to_make_it():
    train = [sys.executable, "-S", "-E", str(ROOT / "scripts" / "train.py")]  # without packages
    done = subprocess.run(train, capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "make install" in done.stderr


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UserError("There is no text."), "There is no text."),
        (OSError(errno.ENOSPC, "No space left", "a/b"), "a/b"),
        (OSError(errno.EACCES, "Permission denied", "a/b"), "a/b .*Permission denied"),
        (MemoryError(), "training.batch_size"),
        (torch.OutOfMemoryError("CUDA out of memory."), "training.batch_size"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "training.batch_size"),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED"), "training.batch_size"),
        (Interrupted(signal.SIGINT, "Stopped."), 130),
        (Interrupted(signal.SIGTERM, "Stopped."), 0),
        (KeyboardInterrupt(), 130),
        (RuntimeError("a fault"), None),
        (OSError("without a file"), None),
    ],
    ids=repr,
)
def test_what_stops_a_script_becomes_one_line_and_a_status(error, status):
    if status is None:  # a defect of the program keeps its traceback
        with pytest.raises(type(error), match=str(error)), exit_status():
            raise error
        return
    with pytest.raises(SystemExit) as stop, exit_status():
        raise error
    if isinstance(status, int):
        assert stop.value.code == status
    else:
        assert stop.match(f"^error: .*{status}")
        assert "\n" not in stop.value.code


def test_what_a_job_script_leaves_behind_is_not_taken_for_torchrun(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    assert process_count() == 1
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    assert process_count() == 2


STAGE = """
import os, sys
from cli import launch
def stage(config):
    with open("file", "x"):
        os.write(1, b"said, ")  # as libraries in C do
        os.write(2, b"logged, ")
        print("said")
        sys.stderr.write("logged")
launch("prepare", stage)
"""


@pytest.mark.parametrize("closed", ["2>&-", ">&-"])
def test_a_stream_that_the_shell_has_closed_stops_no_script(tmp_path, closed):
    """And what goes there comes into no file that is opened later."""
    (tmp_path / "script.py").write_text(STAGE)
    command = ["bash", "-c", f"{sys.executable} script.py {closed}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, env=PATHS)
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) in ((b"said, said\n", b""), (b"", b"logged, logged"))
    assert (tmp_path / "file").read_text() == ""


WORK = """
import sys, tempfile, time
from cli import exit_status
with exit_status(), tempfile.TemporaryDirectory(dir=sys.argv[1]):
    print("at work", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize(("processes", "status"), [("1", 143), ("2", -signal.SIGTERM)])
def test_sigterm_cleans_up(tmp_path, processes, status):
    """But for processes that train together, one of which could wait for the others forever."""
    script = subprocess.Popen(
        [sys.executable, "-c", WORK, str(tmp_path)],
        env={**PATHS, "WORLD_SIZE": processes, "TORCHELASTIC_RUN_ID": "none"},
        stdout=subprocess.PIPE,
    )
    with script:
        assert script.stdout.readline() == b"at work\n"
        script.terminate()
        assert script.wait() == status
    assert bool(list(tmp_path.iterdir())) == (processes == "2")


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_no_workers_are_left_behind(tmp_path, number, status):
    """Those that tokenise wait for work, and would wait for it forever."""
    for split, lines in (("train", 200_000), ("valid", 10), ("test", 10)):
        for side in ("source", "target"):
            text = "a few words that have to be cut into their pieces .\n" * lines
            (tmp_path / f"{split}.{side}").write_text(text)
    command = [sys.executable, str(ROOT / "scripts" / "prepare.py"), "experiment=own_text"]
    command += [f"corpus.directory={tmp_path}", "tokenization=whitespace", "tokenization.workers=2"]
    data = tmp_path / "data"
    with psutil.Popen([*command, f"data={data}"], stderr=subprocess.DEVNULL) as script:
        while len(workers := script.children(recursive=True)) < 3:  # and what counts semaphores
            assert script.poll() is None
            time.sleep(0.05)
        time.sleep(0.5)  # past the start of the workers: they are at work
        script.send_signal(number)
        assert script.wait() == status
    assert not psutil.wait_procs(workers, timeout=600)[1]
    assert bool(list(data.rglob("*.part"))) == (number == signal.SIGKILL)
