"""This project, started and read like any other program."""

import re
from pathlib import Path

import seq2seq
from seq2seq.benchmark.peers.setting import PeerSearch, PeerSetting
from seq2seq.benchmark.peers.text import PeerText
from seq2seq.benchmark.peers.toolkit import Toolkit

SCRIPT = Path(seq2seq.__file__).resolve().parent.parent / "scripts" / "train.py"


class Ours(Toolkit):
    """Trains by ``scripts/train.py``, translates by ``Translator``."""

    name = "seq2seq"
    package = "seq2seq"
    module = "seq2seq.training.trainer"
    report = re.compile(r"update (?P<update>\d+) of at most .* target tokens/s")
    size = re.compile(r"(?P<parameters>[\d,]+) parameters \(")
    perplexity = re.compile(r"dev loss [\d.]+, perplexity (?P<found>[\d.]+)")
    search_time = re.compile(r"^translated \d+ lines in (?P<seconds>[\d.]+) s")

    def command(
        self, text: PeerText, setting: PeerSetting, precision: str, folder: Path
    ) -> list[str]:
        """See :meth:`Toolkit.command`."""
        return [
            str(SCRIPT),
            "experiment=own_text",
            "name=peer",
            "corpus=files",
            f"corpus.directory='{text.folder.absolute()}'",
            f"corpus.source={text.source}",
            f"corpus.target={text.target}",
            "tokenization=whitespace",
            f"tokenization.min_frequency={setting.min_frequency}",
            f"model.embedding_dim={setting.embedding}",
            f"model.encoder.hidden_size={setting.hidden // 2}",
            f"model.decoder.hidden_size={setting.hidden}",
            f"model.attention.size={setting.hidden}",
            "model.decoder.tie_embedding=false",  # the peers cannot tie at these sizes
            f"model.dropout={setting.dropout}",
            f"training.precision={precision}",
            "training.device=cpu",
            f"training.batch_size={setting.batch_size}",
            f"training.optimizer.learning_rate={setting.learning_rate}",
            f"training.clip_norm={setting.clip_norm}",
            f"training.label_smoothing={setting.label_smoothing}",
            f"training.max_updates={setting.total_updates}",
            f"training.log_every={setting.warm_up}",
            "training.dev_bleu_sentences=0",
            "training.optimizer.schedule=constant",  # as the peers
            "training.patience=1000",
            "training.max_epochs=1000",
            *(f"training.validate_every={n}" for n in [setting.validate_every] if n is not None),
            f"seed={setting.seed}",
            f"data='{(folder / 'data').absolute()}'",
            f"output='{(folder / 'runs').absolute()}'",
        ]

    def translate_command(
        self, text: PeerText, setting: PeerSetting, search: PeerSearch, model: Path, folder: Path
    ) -> list[str]:
        """See :meth:`Toolkit.translate_command`."""
        run = model / "runs" / "peer" / "attention" / f"seed-{setting.seed}"
        checkpoint = run / "checkpoints" / f"update-{setting.total_updates}"
        return [
            *("-m", "seq2seq.benchmark.peers.timed_translation"),
            *("--checkpoint", str(checkpoint.absolute())),
            *("--source", str(text.path("test", text.source))),
            *("--output", str((folder / self.hypotheses).absolute())),
            *("--beam", str(search.beam)),
            *("--batch-size", str(search.batch_size)),
            *("--max-length", str(search.max_length)),
            *("--precision", search.precision),
        ]
