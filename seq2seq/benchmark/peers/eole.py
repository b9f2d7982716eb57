"""Eole 0.6, the successor of OpenNMT-py: additive attention in Luong's order, input feeding."""

import re
from pathlib import Path
from typing import Any

from seq2seq.benchmark.peers.setting import PeerSearch, PeerSetting
from seq2seq.benchmark.peers.text import PeerText
from seq2seq.benchmark.peers.toolkit import Toolkit, write_config


class Eole(Toolkit):
    """Trains by ``eole train``; mixed precision on the CPU is a setting of its own."""

    name = "eole"
    package = "eole"
    module = "eole.bin.main"
    report = re.compile(r"Step +(?P<update>\d+)/.* tok/s")
    size = re.compile(r"\* number of parameters: (?P<parameters>\d+)")
    # The first step of each batch, encoder included, has a line of its own where it is timed.
    search_time = re.compile(
        r"(Step 0 time|prediction time including all) \(s\): (?P<seconds>[\d.]+)"
    )

    def command(
        self, text: PeerText, setting: PeerSetting, precision: str, folder: Path
    ) -> list[str]:
        """See :meth:`Toolkit.command`."""
        config: dict[str, Any] = {
            "data": {
                "train": {
                    "path_src": str(text.path("train", text.source)),
                    "path_tgt": str(text.path("train", text.target)),
                    "transforms": [],
                    "weight": 1,
                },
            },
            "src_vocab": str(text.path("words", text.source)),
            "tgt_vocab": str(text.path("words", text.target)),
            "report_every": setting.warm_up,
            "seed": setting.seed,
            "model": {
                "architecture": "custom",  # its "rnn" has no bidirectional encoder
                "embeddings": {
                    "word_vec_size": setting.embedding,
                    "position_encoding_type": None,
                },
                "encoder": {
                    "encoder_type": "brnn",
                    "layers": 1,
                    "hidden_size": setting.hidden,
                    "rnn_type": "LSTM",
                },
                "decoder": {
                    "decoder_type": "rnn",
                    "layers": 1,
                    "hidden_size": setting.hidden,
                    "rnn_type": "LSTM",
                    "global_attention": "mlp",
                },
                "input_feed": 1,
            },
            "training": {
                "model_path": str((folder / "model").absolute()),
                "compute_dtype": precision,
                "dropout": [setting.dropout],
                "optim": "adam",
                "learning_rate": setting.learning_rate,
                "max_grad_norm": setting.clip_norm,
                "label_smoothing": setting.label_smoothing,
                "normalization": "tokens",
                "batch_type": "sents",
                "batch_size": setting.batch_size,
                "bucket_size": text.pairs,  # as for OpenNMT-py, whose loader this is
                "num_workers": 0,
                "train_steps": setting.total_updates,
            },
        }
        if setting.validate_every is not None:
            config["data"]["valid"] = {
                "path_src": str(text.path("valid", text.source)),
                "path_tgt": str(text.path("valid", text.target)),
                "transforms": [],
            }
            config["training"]["valid_steps"] = setting.validate_every
        return ["-m", self.module, "train", "-config", write_config(folder / "config.yaml", config)]

    def translate_command(
        self, text: PeerText, setting: PeerSetting, search: PeerSearch, model: Path, folder: Path
    ) -> list[str]:
        """See :meth:`Toolkit.translate_command`."""
        return [
            *("-m", self.module, "predict"),
            *("-model_path", str((model / "model").absolute())),
            *("-src", str(text.path("test", text.source))),
            *("-output", str((folder / self.hypotheses).absolute())),
            *("-beam_size", str(search.beam)),
            *("-batch_size", str(search.batch_size)),
            *("-max_length", str(search.max_length)),
            *("-compute_dtype", search.precision),
            "-report_time",
        ]
