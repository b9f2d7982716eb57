"""JoeyNMT 2.3: Bahdanau's attention in Luong's order, with input feeding."""

import math
import re
from pathlib import Path
from typing import Any

from seq2seq.benchmark.peers.setting import PeerSearch, PeerSetting
from seq2seq.benchmark.peers.text import PeerText
from seq2seq.benchmark.peers.toolkit import Toolkit, write_config

AUTOCAST_ON_CPU = """
import torch
from joeynmt import prediction, training
from joeynmt.__main__ import main
parse = training.parse_global_args
bfloat16 = {"device_type": "cpu", "enabled": True, "dtype": torch.bfloat16}
def told(*a, **k):
    return parse(*a, **k)._replace(autocast=bfloat16)
training.parse_global_args = prediction.parse_global_args = told
main()
"""
"""Its ``fp16`` is refused on the CPU. This puts what that setting would have become, an autocast
around its forward pass, loss and search, into the parsed config, and starts its command line."""


class JoeyNMT(Toolkit):
    """Trains by ``joeynmt train``; batches are drawn at random, not by length."""

    name = "joeynmt"
    package = "joeynmt"
    module = "joeynmt.__main__"
    bf16_is_forced = True
    report = re.compile(r"Step: +(?P<update>\d+), .*Tokens per Sec: ")
    size = re.compile(r"Total params: (?P<parameters>\d+)")
    search_time = re.compile(r"Generation took (?P<seconds>[\d.]+)\[sec\]")
    perplexity = re.compile(r"Evaluation result.* ppl: +(?P<found>[\d.]+)")
    hypotheses = "output.test"

    def command(
        self, text: PeerText, setting: PeerSetting, precision: str, folder: Path
    ) -> list[str]:
        """See :meth:`Toolkit.command`."""
        config = self._config(text, setting, folder / "model")
        config["data"]["train"] = str(text.stem("train"))
        config["data"]["dev"] = str(text.stem("valid"))
        config["testing"] = {"beam_size": 1}
        path = write_config(folder / "config.yaml", config)
        return _arguments(precision, ["train", path, "--skip-test"])

    def translate_command(
        self, text: PeerText, setting: PeerSetting, search: PeerSearch, model: Path, folder: Path
    ) -> list[str]:
        """See :meth:`Toolkit.translate_command`."""
        config = self._config(text, setting, model / "model")
        config["data"]["test"] = str(text.stem("test"))
        checkpoint = model / "model" / f"{setting.total_updates}.ckpt"
        config["testing"] = {
            "load_model": str(checkpoint.absolute()),
            "beam_size": search.beam,
            "beam_alpha": 1.0,
            "batch_size": search.batch_size,
            "batch_type": "sentence",
            "max_output_length": search.max_length,
        }
        path = write_config(folder / "config.yaml", config)
        output = (folder / self.hypotheses).with_suffix("")  # it adds the name of the test set
        return _arguments(search.precision, ["test", path, "-o", str(output.absolute())])

    def _config(self, text: PeerText, setting: PeerSetting, model: Path) -> dict[str, Any]:
        """What training and translating are told alike; it wants all of it each time."""
        sides = {
            side: {
                "lang": language,
                "level": "word",
                "voc_file": str(text.path("words", language)),
            }
            for side, language in (("src", text.source), ("trg", text.target))
        }
        return {
            "name": "peer",
            "model_dir": str(model.absolute()),
            "use_cuda": False,
            "num_workers": 0,
            "random_seed": setting.seed,
            "data": {"dataset_type": "plain", **sides},
            "model": {
                "encoder": {
                    "type": "recurrent",
                    "rnn_type": "lstm",
                    "embeddings": {"embedding_dim": setting.embedding},
                    "hidden_size": setting.hidden // 2,
                    "bidirectional": True,
                    "num_layers": 1,
                    "dropout": setting.dropout,
                },
                "decoder": {
                    "type": "recurrent",
                    "rnn_type": "lstm",
                    "embeddings": {"embedding_dim": setting.embedding},
                    "hidden_size": setting.hidden,
                    "num_layers": 1,
                    "dropout": setting.dropout,
                    "hidden_dropout": setting.dropout,
                    "attention": "bahdanau",
                    "init_hidden": "bridge",
                    "input_feeding": True,
                },
            },
            "training": {
                "optimizer": "adam",
                "learning_rate": setting.learning_rate,
                "scheduling": "exponential",  # it wants one; by a factor of 1 the rate stays
                "decrease_factor": 1.0,
                "clip_grad_norm": setting.clip_norm,
                "label_smoothing": setting.label_smoothing,
                "normalization": "tokens",
                "batch_type": "sentence",
                "batch_size": setting.batch_size,
                "shuffle": True,
                "updates": setting.total_updates,
                "epochs": math.ceil(setting.total_updates * setting.batch_size / text.pairs),
                "logging_freq": setting.warm_up,
                "validation_freq": setting.warm_up * setting.total_updates,  # beyond the run's end
            },
        }


def _arguments(precision: str, arguments: list[str]) -> list[str]:
    """The program in this precision, and what it is told."""
    program = ["-c", AUTOCAST_ON_CPU] if precision == "bf16" else ["-m", "joeynmt"]
    return [*program, *arguments]
