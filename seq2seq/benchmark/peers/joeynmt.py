"""JoeyNMT 2.3: Bahdanau's attention in Luong's order, with input feeding."""

import re
from pathlib import Path

from seq2seq.benchmark.peers.setting import PeerSetting
from seq2seq.benchmark.peers.text import PeerText
from seq2seq.benchmark.peers.toolkit import Toolkit, write_config

AUTOCAST_ON_CPU = """
import torch
from joeynmt import training
from joeynmt.__main__ import main
parse = training.parse_global_args
bfloat16 = {"device_type": "cpu", "enabled": True, "dtype": torch.bfloat16}
training.parse_global_args = lambda *a, **k: parse(*a, **k)._replace(autocast=bfloat16)
main()
"""
"""Its ``fp16`` is refused on the CPU. This puts what that setting would have become, an autocast
around its forward pass and loss, into the parsed config, and starts its own command line."""


class JoeyNMT(Toolkit):
    """Trains by ``joeynmt train``; batches are drawn at random, not by length."""

    name = "joeynmt"
    package = "joeynmt"
    module = "joeynmt.__main__"
    report = re.compile(r"Step: +(?P<update>\d+), .*Tokens per Sec: +(?P<rate>\d+),")
    size = re.compile(r"Total params: (?P<parameters>\d+)")

    def command(
        self, text: PeerText, setting: PeerSetting, precision: str, folder: Path
    ) -> list[str]:
        """See :meth:`Toolkit.command`."""
        sides = {
            side: {
                "lang": language,
                "level": "word",
                "voc_file": str(text.path("words", language)),
            }
            for side, language in (("src", text.source), ("trg", text.target))
        }
        config = {
            "name": "peer",
            "model_dir": str((folder / "model").absolute()),
            "use_cuda": False,
            "num_workers": 0,
            "random_seed": setting.seed,
            "data": {
                "train": str(text.folder.absolute() / "train"),
                "dev": str(text.folder.absolute() / "valid"),
                "dataset_type": "plain",
                **sides,
            },
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
                "epochs": 1,
                "logging_freq": setting.warm_up,
                "validation_freq": setting.warm_up * setting.total_updates,  # beyond the run's end
            },
            "testing": {"beam_size": 1},
        }
        path = write_config(folder / "config.yaml", config)
        arguments = ["train", path, "--skip-test"]
        if precision == "bf16":
            return ["-c", AUTOCAST_ON_CPU, *arguments]
        return ["-m", "joeynmt", *arguments]
