"""Other toolkits, none installed: what they are told, and what is read in what they print."""

import json
import re
from pathlib import Path

import peers
import pytest
from harness import compose_config
from helpers.reversal import write_reversal_corpus
from toolkits import OURS, PEERS, Toolkit

STAMP = "[2024-05-01 10:00:00,123 INFO]"
TRAINING = [
    f"{STAMP} * number of parameters: 11302184",
    f"{STAMP} Step 20/  40; acc: 11.1; ppl: 590.2; lr: 0.001; 1503/1999 tok/s;     21 sec;",
    f"{STAMP} Step 40/  40; acc: 11.1; ppl: 590.2; lr: 0.001; 1503/1999 tok/s;     42 sec;",
    f"{STAMP} Validation perplexity: 13.25",
]
"""Lines that OpenNMT-py prints in a training; Eole prints the same."""
TRANSLATION = {
    "opennmt": f"{STAMP} Total translation time (s): 3.5",
    "eole": f"{STAMP} Subsequent prediction time including all (s): 3.5",
}
SETTINGS = {
    **{"embedding": 61, "hidden": 142, "half_hidden": 71, "dropout": 0.37, "label_smoothing": 0.23},
    **{"batch_size": 37, "learning_rate": 0.0123, "clip_norm": 4.5, "min_frequency": 2, "beam": 19},
    **{"updates": 1111, "validate_every": 444, "epochs": 34, "max_length": 41, "seed": 7707},
    **{"embedding_dropout": 0.11, "order": "luong", "schedule": "linear", "half_updates": 555},
    **{"device": "cpu", "beta2": 0.97, "tenth_updates": 108, "warmup_updates": 5, "pairs": 9},
    **{"precision": "bf16", "source": "de", "target": "en", "text": "texts", "model": "made"},
}
TOLD = {
    "train": {61, 142, 0.37, 0.23, 37, 0.0123, 0.97, 4.5, 7707, 1111, 444},
    "translate": {19, 37, 41},
}
"""Numbers that every program has to be told."""


@pytest.mark.parametrize("task", TOLD)
@pytest.mark.parametrize("name", [OURS, *PEERS])
def test_every_program_is_told_the_same(name, task, tmp_path):
    said = " ".join(Toolkit(name, Path("python")).command(task, tmp_path, SETTINGS))
    config = tmp_path / "config.yaml"
    said += config.read_text(encoding="utf-8") if config.exists() else ""
    assert TOLD[task] <= {float(number) for number in re.findall(r"\d+\.?\d*", said)}
    assert "texts" in said
    if task == "train":  # the rate of ours falls in a straight line
        falls = {OURS: "schedule=linear", "opennmt": "555", "eole": "cosine", "joeynmt": ""}
        assert falls[name] in said


class Pretender(Toolkit):
    """A peer as if it were installed; it translates by writing the reference."""

    def version(self):
        return f"{self.name} 1" if self.name in TRANSLATION else super().version()

    def command(self, task, folder, variables):
        if self.name == OURS:
            return super().command(task, folder, variables)
        lines = TRAINING if task == "train" else [TRANSLATION[self.name]]
        if variables["learning_rate"] == 0.001:
            lines = [line.replace("13.25", "15.5") for line in lines]
        code = "import os, shutil, time\nassert not os.environ['CUDA_VISIBLE_DEVICES']\n"
        code += f"for line in {lines!r}: time.sleep(0.02); print(line)\n"
        code += f"shutil.copy('{variables['text']}/test.de', 'output')"
        return ["-I", "-S", "-c", code]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measure", "shown"),
    [("training", "11,302,184"), ("translation", "100.0"), ("quality", r"13.25 \(0.002\)")],
)
def test_programs_take_turns_and_who_is_left_out_is_named(measure, shown, tmp_path, monkeypatch):
    """Ours trains and translates; lines as the others print them are read."""
    write_reversal_corpus(tmp_path / "corpus")
    monkeypatch.setattr(peers, "Toolkit", Pretender)
    words = f"measure={measure} precisions=[fp32] rounds=2 beams=[1] rates=[0.001,0.002] "
    words += "updates=20 train_updates=40 best.seq2seq.updates=40 validate_every=20 "
    words += "setting.batch_size=3 setting.embedding=6 setting.hidden=14 corpus=files "
    words += f"corpus.directory={tmp_path}/corpus corpus.source=en corpus.target=de "
    config = compose_config("peers", f"{words}data={tmp_path} output={tmp_path}".split())
    table = peers.benchmark_peers(config)
    runs = json.loads(table.with_suffix(".json").read_text())["runs"]
    assert [run["program"] for run in runs] == 2 * [OURS, "opennmt", "eole"]
    text = table.read_text(encoding="utf-8")
    assert "joeynmt is left out" in text
    for name in TRANSLATION:
        assert re.search(rf"^\| {name} .* {shown} ", text, re.MULTILINE)
