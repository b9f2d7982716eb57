"""The scripts as functions, with the same settings, checks and folders.

Settings are words of the command line or keyword arguments; a group of settings is a dict:
``train("experiment=multi30k", seed=2, training={"max_epochs": 3})``.
"""

from typing import Any

from seq2seq.composition import compose
from seq2seq.config import flatten, shown
from seq2seq.evaluation.comparison import Comparison
from seq2seq.evaluation.evaluate import evaluate as evaluate_config
from seq2seq.evaluation.folder import Evaluation
from seq2seq.experiment import reproduce_runs
from seq2seq.invocation import called_as
from seq2seq.training.run_folder import RunFolder
from seq2seq.training.trainer import train_run


def train(*settings: str, **groups: Any) -> RunFolder:
    """Train one system, as ``scripts/train.py`` does; return its run folder.

    It has the ``record()`` of the training, its ``metrics``, and the ``translator`` of its best
    checkpoint. A finished training is not repeated."""
    with called_as(["train.py", *(words := _words(settings, groups))]):
        return train_run(*compose("train", words))


def reproduce(*settings: str, **groups: Any) -> dict[str, Comparison]:
    """Train, evaluate and compare all systems of an experiment, as ``scripts/reproduce.py`` does.

    Return folder -> comparison, one for each test set and search (and kept epoch)."""
    with called_as(["reproduce.py", *(words := _words(settings, groups))]):
        return reproduce_runs(*compose("reproduce", words))


def evaluate(*settings: str, **groups: Any) -> list[Evaluation]:
    """Translate and score test sets, as ``scripts/evaluate.py`` does; return the evaluations.

    Each has a ``directory``, the ``texts``, the ``overall`` scores, and ``rows`` by length."""
    with called_as(["evaluate.py", *(words := _words(settings, groups))]):
        return evaluate_config(*compose("evaluate", words))


def _words(settings: tuple[str, ...], groups: dict[str, Any]) -> list[str]:
    """Write settings as the words of a command line."""
    return [*settings, *(f"{key}={shown(value)}" for key, value in flatten(groups).items())]
