"""OpenNMT-py 3.5: additive attention in Luong's order, with input feeding."""

import re
from pathlib import Path
from typing import Any, ClassVar

from seq2seq.benchmark.peers.setting import PeerSearch, PeerSetting
from seq2seq.benchmark.peers.text import PeerText
from seq2seq.benchmark.peers.toolkit import Toolkit, write_config

AUTOCAST_ON_CPU = """
import torch
torch.cuda.amp.autocast = lambda enabled: torch.autocast("cpu", torch.bfloat16)
from onmt.bin.train import main
main()
"""
"""Its only mixed precision is for CUDA. This points the autocast block around its forward pass and
loss at the CPU, and starts its own command line. One autocast around the whole program would not
do: the casts of the weights are kept until its end, so that updates would never reach the model."""
TRANSLATION_ON_CPU = """
import torch
from onmt.bin.translate import main
with torch.autocast("cpu", torch.bfloat16):
    main()
"""
"""It translates in half precision on CUDA only. Without updates, one autocast around all does."""


class OpenNMT(Toolkit):
    """Trains by ``onmt_train``; reads text through its own bucketing of one whole epoch."""

    name = "opennmt"
    package = "OpenNMT-py"
    module = "onmt.bin.train"
    bf16_is_forced = True
    report = re.compile(r"Step +(?P<update>\d+)/.* tok/s")
    size = re.compile(r"\* number of parameters: (?P<parameters>\d+)")
    search_time = re.compile(r"Total translation time \(s\): (?P<seconds>[\d.]+)")
    environment: ClassVar = {
        "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"
    }  # its checkpoint holds objects

    def command(
        self, text: PeerText, setting: PeerSetting, precision: str, folder: Path
    ) -> list[str]:
        """See :meth:`Toolkit.command`."""
        config: dict[str, Any] = {
            "data": {
                "train": {
                    "path_src": str(text.path("train", text.source)),
                    "path_tgt": str(text.path("train", text.target)),
                },
            },
            "src_vocab": str(text.path("words", text.source)),
            "tgt_vocab": str(text.path("words", text.target)),
            "save_model": str((folder / "model").absolute()),
            "encoder_type": "brnn",
            "decoder_type": "rnn",
            "rnn_type": "LSTM",
            "layers": 1,
            "word_vec_size": setting.embedding,
            "hidden_size": setting.hidden,
            "global_attention": "mlp",
            "input_feed": 1,
            "dropout": [setting.dropout],
            "optim": "adam",
            "learning_rate": setting.learning_rate,
            "max_grad_norm": setting.clip_norm,
            "label_smoothing": setting.label_smoothing,
            "normalization": "tokens",
            "batch_type": "sents",
            "batch_size": setting.batch_size,
            # The default bucket would hold this text several times over, and repeated sentences
            # are dropped from a batch.
            "bucket_size": text.pairs,
            "num_workers": 0,
            "train_steps": setting.total_updates,
            "report_every": setting.warm_up,
            "seed": setting.seed,
        }
        if setting.validate_every is not None:
            config["data"]["valid"] = {
                "path_src": str(text.path("valid", text.source)),
                "path_tgt": str(text.path("valid", text.target)),
            }
            config["valid_steps"] = setting.validate_every
        arguments = ["-config", write_config(folder / "config.yaml", config)]
        if precision == "bf16":
            return ["-c", AUTOCAST_ON_CPU, *arguments]
        return ["-m", self.module, *arguments]

    def translate_command(
        self, text: PeerText, setting: PeerSetting, search: PeerSearch, model: Path, folder: Path
    ) -> list[str]:
        """See :meth:`Toolkit.translate_command`."""
        arguments = [
            *("-model", str((model / f"model_step_{setting.total_updates}.pt").absolute())),
            *("-src", str(text.path("test", text.source))),
            *("-output", str((folder / self.hypotheses).absolute())),
            *("-beam_size", str(search.beam)),
            *("-batch_size", str(search.batch_size)),
            *("-max_length", str(search.max_length)),
            "-report_time",
        ]
        if search.precision == "bf16":
            return ["-c", TRANSLATION_ON_CPU, *arguments]
        return ["-m", "onmt.bin.translate", *arguments]
