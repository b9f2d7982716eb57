"""Text of ``--help``: examples, choices, and the settings that people set, or all of them."""

import inspect
import re
import textwrap
from dataclasses import fields

from omegaconf import OmegaConf

from seq2seq.composition import CONFIGS, SETTINGS, SEVERAL, read_settings
from seq2seq.config import TrainConfig, shown
from seq2seq.config.checks import groups, meanings
from seq2seq.invocation import command_of

TEXT = ("corpus.directory", "corpus.source", "corpus.target", "corpus.train", "corpus.train_pairs")
OFTEN = {
    "prepare": (*TEXT, "corpus.train_max_words", "corpus.max_words", "data", "tokenization.kind",
                "tokenization.vocabulary_size", "tokenization.max_pieces"),
    "train": ("system", "seed", "name", *TEXT, "model.dropout", "training.batch_size", "output",
              "training.max_epochs", "training.device", "training.optimizer.learning_rate"),
    "reproduce": ("system", "seeds", "beams", "name", *TEXT, "model.dropout", "output",
                  "training.batch_size", "training.max_epochs", "training.device"),
    "translate": ("checkpoint", "input", "hypotheses", "decoding.beam", "decoding.batch_size",
                  "decoding.n_best", "n_best_list", "alignments", "more_checkpoints", "device"),
    "evaluate": ("checkpoint", "hypotheses", "source", "reference", "system", "test_sets", "beams",
                 "decoding.batch_size", "evaluation.tokenize", "device", "output"),
    "compare": ("evaluations", "output", "baseline", "labels", "evaluation.length_buckets",
                "evaluation.tokenize"),
}  # fmt: skip
"""Script -> the settings that people set."""


def help_page(name: str, words: list[str], everything: bool) -> str:
    """Return the help of script ``name``, with the values that settings have after ``words``."""
    config, _, choices = read_settings(name, words)
    text = (CONFIGS / f"{name}.yaml").read_text(encoding="utf-8")
    examples = re.findall(r"^# ( +)python \S+(.*)", text, re.MULTILINE)
    lines = [f"{space}{command_of(name)}{rest}" for space, rest in examples]
    lines += ["", "Settings are written as key=value:"]
    owner, unread = SETTINGS[name], SEVERAL if name == "reproduce" else ()
    read = ["experiment"] * issubclass(owner, TrainConfig) + [one.name for one in fields(owner)]
    for group in [group for group in read if group in choices and group not in unread]:
        lines += _folded(f"  {group}={' | '.join(choices[group])}", 6)
    for title, part in [("", owner), *groups(owner)]:
        group, _, kind = title.partition("=")
        if kind in ("", OmegaConf.select(config, "corpus.kind")):
            keys = {f"{group}.{key}".strip("."): of for key, of in meanings(part).items()}
            lines += ["", *_folded((inspect.getdoc(part) or "").replace("`", ""))] * everything
            for key, meaning in keys.items():
                if key not in unread and (everything or key in OFTEN[name]):
                    setting = f"  {key}={shown(OmegaConf.select(config, key, default='???'))}"
                    lines += _folded(f"{setting:41} {meaning.replace('`', '')}", 42)
    end = "" if everything else f"\n\n{command_of(name)} --help all lists all settings."
    return "\n".join(lines) + end


def _folded(text: str, indent: int = 0) -> list[str]:
    """Fold ``text`` into lines of at most 100 characters; indent all but the first."""
    return textwrap.wrap(text, 100, subsequent_indent=" " * indent, break_on_hyphens=False)
