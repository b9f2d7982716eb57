"""Alignment error rates of evaluations, one below the other."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seq2seq.errors import UserError
from seq2seq.evaluation.folder import read_evaluation
from seq2seq.evaluation.test_set import ALIGNMENT
from seq2seq.files import parse_object
from seq2seq.record import describe_environments
from seq2seq.report.tables import escaped, markdown_table


def alignment_markdown(folders: Sequence[str]) -> str:
    """A row for each evaluation, and one for a straight line through each test set.

    Raises:
        UserError: an evaluation is missing or damaged, or its test set had no gold links.
    """
    rows, records = [], []
    straight: dict[tuple[str, str], list[str]] = {}  # by name and links: names need not be unique
    for folder in map(Path, folders):
        evaluation, content = read_evaluation(folder), _read(folder / ALIGNMENT)
        name, test_set = escaped(evaluation.system), escaped(str(evaluation.record.get("test_set")))
        try:
            found, line = content["shifts"], content["diagonal"]
            moved = [f"{found[by]['aer']:.3f}" for by in ("-1", "1")]
            rows.append([name, test_set, *_cells(content, found["0"]), *moved])
            which = test_set, str(content["gold_sha256"])
            straight[which] = ["a straight line", test_set, *_cells(content, line), "", ""]
        except (KeyError, TypeError, ValueError):
            raise _damaged(folder / ALIGNMENT) from None
        records.append(evaluation.record)
    header = ["system", "test set", "sentences", "AER", "precision", "recall"]
    header += ["AER, moved back", "AER, moved on"]
    lines = [
        "AER: alignment error rate (Och & Ney 2003), 0 is best. Links: of each word of the "
        "reference to the source word that the model looked at most when it wrote it; precision "
        "against the possible links of people, recall of their sure ones. Moved: every link by one "
        "target word; if the attention were one step off, one of the two would be lower. A "
        "straight line: from the first words to the last, without a model.",
        *describe_environments(records),
    ]
    table = markdown_table(header, [*rows, *straight.values()])
    return table + "\n" + "\n".join(f"- {line}" for line in lines)


def _cells(content: dict[str, Any], score: dict[str, float]) -> list[str]:
    rates = [f"{score[key]:.3f}" for key in ("aer", "precision", "recall")]
    return [f"{content['sentences']:,}", *rates]


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise UserError(
            f"{path.parent} holds no {ALIGNMENT}: its test set has no gold links or its model does "
            "not attend; evaluate with gold=FILE, or leave this evaluation out."
        )
    try:
        return parse_object(path.read_bytes())
    except ValueError:
        raise _damaged(path) from None


def _damaged(path: Path) -> UserError:
    return UserError(f"{path} is damaged; evaluate again.")
