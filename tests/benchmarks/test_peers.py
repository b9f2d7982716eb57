"""Other toolkits, none installed: what they are told, and what is read in what they print."""

import json
import sys
from pathlib import Path

import peers
import pytest
import torch
from harness import compose_config
from helpers.composing import compose_config as compose_script
from helpers.peer_corpus import write_corpus
from helpers.reversal import reversal_experiment, write_reversal_corpus
from helpers.small_training import train
from omegaconf import OmegaConf
from peers import benchmark_peers
from toolkits import CONFIGS, OURS, PEERS, PeerText, Toolkit, write_text

from seq2seq.errors import UserError

STAMP = "[2024-05-01 10:00:00,123 INFO]"
OPENNMT = {
    "update": f"{STAMP} Step 40/  220; acc: 11.1; ppl: 590.2; lr: 0.001; 1503/1999 tok/s; 21 sec;",
    "parameters": f"{STAMP} * number of parameters: 11302184",
    "perplexity": f"{STAMP} Validation perplexity: 13.25",
}
LINES = {
    "opennmt": {**OPENNMT, "seconds": f"{STAMP} Total translation time (s): 3.5"},
    "eole": {**OPENNMT, "seconds": f"{STAMP} Subsequent prediction time including all (s): 3.5"},
    "joeynmt": {
        "update": "INFO - joeynmt.training - Epoch   1, Step:       40, Batch Loss:     4.851134, "
        "Batch Acc: 0.102553, Tokens per Sec:     1999, Lr: 0.001000",
        "parameters": "INFO - joeynmt.model - Total params: 11302184",
        "perplexity": "joeynmt.training - Evaluation result (greedy): loss: 2.58, ppl: 13.25",
        "seconds": "INFO - joeynmt.prediction - Generation took 3.5000[sec].",
    },
    "seq2seq": {
        "update": "update 40 of at most 220: loss 6.3715, 1,999 target tokens/s",
        "parameters": "attention: 11,302,184 parameters, 29,000 training pairs, 454 updates",
        "perplexity": "update 454, epoch 1.00: dev loss 2.5840, perplexity 13.25 (best)",
        "seconds": "translated 1000 lines in 3.5000 s",
    },
}
NUMBERS = {"update": 40, "parameters": 11_302_184, "perplexity": 13.25, "seconds": 3.5}
TOLD = {
    **{"embedding": 6, "hidden": 14, "half_hidden": 7, "dropout": 0.37, "label_smoothing": 0.23},
    **{"batch_size": 3, "learning_rate": 0.0123, "clip_norm": 4.5, "min_frequency": 2, "seed": 77},
    **{"updates": 100, "validate_every": 44, "epochs": 34, "beam": 9, "max_length": 41},
    **{"embedding_dropout": 0.11, "schedule": "linear", "order": "luong", "warmup_updates": 5},
    **{"device": "cpu", "beta2": 0.97, "half_updates": 50, "tenth_updates": 10},
}
TRAINING = (6, 14, 0.37, 0.23, 3, 0.0123, 0.97, 4.5, 77, 100, 44)


@pytest.fixture
def text(tmp_path) -> PeerText:
    return write_text(write_corpus(tmp_path / "corpus"), tmp_path / "text", min_frequency=4)


@pytest.fixture
def told(text, tmp_path):
    """The words of a program's training, and its config file, with other settings than ``TOLD``."""

    def tell(name: str, **settings: object) -> tuple[list[str], dict]:
        common = {**TOLD, **text._asdict(), "precision": "bf16", "model": tmp_path}
        words = Toolkit(name, Path("python")).command("train", tmp_path, {**common, **settings})
        file = tmp_path / "config.yaml"
        return words, json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    return tell


def leaves(config: object) -> list[object]:
    """All values of a config, however deep."""
    if isinstance(config, dict):
        config = list(config.values())
    if isinstance(config, list):
        return [leaf for value in config for leaf in leaves(value)]
    return [config]


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_is_told_every_setting_and_no_file_that_lacks(name, told, text, tmp_path):
    model = tmp_path / "model"
    _, config = told(name, model=model)
    for value in TRAINING:
        assert value in leaves(config)
    files = [Path(leaf) for leaf in leaves(config) if str(leaf).startswith(str(text.text))]
    assert files
    for file in files:
        assert file.is_file() or Path(f"{file}.de").is_file()  # JoeyNMT adds the languages
    (tmp_path / "config.yaml").unlink()
    variables = {**TOLD, **text._asdict(), "precision": "bf16", "model": model}
    words = " ".join(Toolkit(name, Path("python")).command("translate", tmp_path, variables))
    if (tmp_path / "config.yaml").exists():
        words += (tmp_path / "config.yaml").read_text(encoding="utf-8")
    for value in ("9", "41", str(model), str(text.text / "test"), str(tmp_path / "output")):
        assert value in words


@pytest.mark.parametrize("schedule", ["constant", "linear"])
def test_the_rate_of_a_peer_falls_if_ours_does(schedule, told):
    (_, opennmt), (_, eole) = (told(name, schedule=schedule) for name in ("opennmt", "eole"))
    falls = schedule == "linear"
    assert (opennmt["start_decay_steps"] == 50) == falls
    assert (eole["training"]["decay_method"] == "cosine") == falls


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_ours_is_told_the_same(told, text, device):
    (script, *overrides), _ = told(OURS, device=device)
    assert Path(script).is_file()
    config = compose_script("train", overrides)
    model, training = config.model, config.training
    assert (model.embedding_dim, model.dropout, model.embedding_dropout) == (6, 0.37, 0.11)
    assert (model.encoder.hidden_size, model.decoder.hidden_size) == (7, 14)
    assert (training.optimizer.betas, training.optimizer.warmup_updates) == ([0.9, 0.97], 5)
    assert (training.precision, training.max_updates, training.batch_size) == ("bf16", 100, 3)
    assert (config.tokenization.kind, config.corpus.directory) == ("whitespace", str(text.text))
    assert training.device == device


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("name", ["opennmt", "eole"])
def test_with_a_gpu_a_peer_is_told_its_rank_too_and_no_autocast_of_the_cpu(name, precision, told):
    _, on_cpu = told(name, precision=precision)
    words, on_gpu = told(name, precision=precision, device="cuda")
    assert words[0] == "-m"
    more = {"world_size": 1, "gpu_ranks": [0]}
    if name == "eole":
        on_cpu["training"] |= more
    else:
        on_cpu |= {**more, "model_dtype": {"fp32": "fp32", "bf16": "fp16"}[precision]}
    assert on_gpu == on_cpu


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_each_program_sees_a_gpu_only_where_it_has_one(device, tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    program = Toolkit(OURS, Path(sys.executable))
    code = "import os; print(os.environ['CUDA_VISIBLE_DEVICES'])"
    monkeypatch.setattr(program, "command", lambda *_: ["-S", "-c", code])
    ((line, _),) = program.run("train", tmp_path, {"device": device})
    assert line.strip() == {"cpu": "", "cuda": "0"}[device]


@pytest.mark.parametrize("name", LINES)
def test_each_number_is_found_in_its_line_alone(name):
    toolkit = Toolkit(name, Path("python"))
    found = {
        kind: {k: toolkit.find(kind, line) for k, line in LINES[name].items()} for kind in NUMBERS
    }
    assert found == {
        k: {other: NUMBERS[k] if other == k else None for other in NUMBERS} for k in NUMBERS
    }


def test_the_trainers_own_log_is_read(tmp_path, caplog):
    """The line above could be out of date."""
    write_reversal_corpus(tmp_path / "corpus")
    with caplog.at_level("INFO"):
        train(reversal_experiment(tmp_path, log_every=5, max_updates=10))
    ours = Toolkit(OURS, Path("python"))
    found = {kind: [n for m in caplog.messages if (n := ours.find(kind, m))] for kind in NUMBERS}
    assert found["update"] == [5, 10]
    line = next(message for message in caplog.messages if ours.find("update", message))
    assert ours.find("update", line.replace("update 5 ", "update 1,005 ")) == 1005
    assert found["parameters"]
    assert found["perplexity"]


class Pretender(Toolkit):
    """A program that counts its trainings and translates by writing the reference."""

    def version(self):
        if self.name == "eole":
            raise UserError("eole is left out.")
        return f"{self.name} 1"

    def command(self, task, folder, variables):
        lines = LINES[self.name]
        update = lines["update"].replace("40", "{}")
        best = "13.25" if variables["learning_rate"] == 0.002 else "15.5"
        said = [lines["parameters"], *(update.format(n) for n in (20, 40))]
        said.append(lines["perplexity"].replace("13.25", best))
        said = said if task == "train" else [lines["seconds"]]
        code = f"import os, time\nfor line in {said!r}: time.sleep(0.02); print(line)\n"
        if task == "translate":
            test = Path(variables["text"]) / "test.en"
            name = OmegaConf.load(CONFIGS / f"{self.name}.yaml").hypotheses
            code += f"open({name!r}, 'w').write(open({str(test)!r}).read())"
        with Path(variables["model"], "..", "started").open("a") as started:
            started.write(f"{task} {self.name}\n")
        return ["-I", "-S", "-c", code]


@pytest.mark.parametrize("measure", ["training", "translation", "quality"])
def test_the_programs_take_turns_and_who_is_left_out_is_named(tmp_path, monkeypatch, measure):
    corpus = write_corpus(tmp_path / "corpus")
    monkeypatch.setattr(peers, "Toolkit", Pretender)
    monkeypatch.setattr(peers, "load_corpus", lambda config, data: corpus)
    monkeypatch.setattr(peers, "choose_precision", lambda name, device: torch.float32)
    given = [f"measure={measure}", "peers=[opennmt,eole]", "updates=20", "train_updates=40"]
    given += ["rounds=2", "beams=[1]", "setting.batch_size=0.2", f"output={tmp_path}"]
    given += [f"peers_python={sys.executable}", "perplexities=[14,13]", "rates=[0.001,0.002]"]
    given += ["validate_every=20"]
    for _ in range(2):
        table = benchmark_peers(compose_config("peers", given))
    started = (tmp_path / f"peers-{measure}" / "started").read_text().splitlines()
    both = [f"{task} {name}" for task in ("train", "translate") for name in ("seq2seq", "opennmt")]
    turns = {
        "training": 4 * both[:2],
        "translation": both[:2] + 4 * both[2:],  # the models are kept
        "quality": 4 * both[:2],
    }
    assert started == turns[measure]
    text = table.read_text(encoding="utf-8")
    assert "eole is left out." in text
    assert "opennmt 1" in text
    rows = [line for line in text.splitlines() if line.startswith(("| seq2seq", "| opennmt"))]
    assert len(rows) == 2
    number = {"training": "11,302,184", "translation": "100.0", "quality": "13.25 (0.002)"}[measure]
    assert number in rows[1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["peers=[openmt]"], "peers"),
        (["updates=30"], "updates"),
        (["measure=speed"], "measure"),
        (["device=gpu"], "device"),
        (["validate_every=1020", "measure=quality"], "validate_every"),
        (["validate_every=200", "measure=quality", "best.seq2seq.updates=100"], "validate_every"),
        (["device=cuda", "peers=[joeynmt]"], "joeynmt"),
        (["device=cuda", "peers=[eole]", "measure=translation"], "training and quality only"),
        (["device=cuda", "peers=[eole]", "measure=training"], "sees no CUDA device"),
    ],
)
def test_a_comparison_that_cannot_be_made_is_refused_before_a_download(monkeypatch, given, message):
    monkeypatch.setattr(peers, "load_corpus", lambda *_: pytest.fail("obtained"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match=message):
        benchmark_peers(compose_config("peers", given))
