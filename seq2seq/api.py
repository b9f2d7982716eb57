"""The scripts as functions, with the same settings, checks and folders.

Settings are words of the command line or keyword arguments; a group of settings is a dict:
``train("experiment=multi30k", seed=2, training={"max_epochs": 3})``.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from seq2seq.composition import compose
from seq2seq.config import flatten, shown
from seq2seq.evaluation.comparison import Comparison
from seq2seq.evaluation.evaluate import evaluate as evaluate_config
from seq2seq.evaluation.folder import Evaluation
from seq2seq.record import called

if TYPE_CHECKING:
    from seq2seq.training.run_folder import RunFolder

Result = TypeVar("Result")


def train(*settings: str, **groups: Any) -> "RunFolder":
    """Train one system, as ``scripts/train.py`` does; return its run folder.

    It has the ``record()`` of the training, its ``metrics``, and the ``translator`` of its best
    checkpoint. A finished training is not repeated."""
    from seq2seq.training.trainer import train_run

    return _run("train", train_run, settings, groups)


def reproduce(*settings: str, **groups: Any) -> dict[str, Comparison]:
    """Train, evaluate and compare all systems of an experiment, as ``scripts/reproduce.py`` does.

    Return folder -> comparison, one for each test set and search (and kept epoch)."""
    from seq2seq.experiment import reproduce_runs

    return _run("reproduce", reproduce_runs, settings, groups)


def evaluate(*settings: str, **groups: Any) -> list[Evaluation]:
    """Translate and score test sets, as ``scripts/evaluate.py`` does; return the evaluations.

    Each has a ``directory``, the ``texts``, the ``overall`` scores, and ``rows`` by length."""
    return _run("evaluate", evaluate_config, settings, groups)


def _run(
    name: str, work: Callable[..., Result], settings: tuple[str, ...], groups: dict[str, Any]
) -> Result:
    """Do the work of script ``name``; the records that it makes have the script's command."""
    words = [*settings, *(f"{key}={shown(value)}" for key, value in flatten(groups).items())]
    before = called.set([f"{name}.py", *words])
    try:
        return work(*compose(name, words))
    finally:
        called.reset(before)
