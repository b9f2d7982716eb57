"""BLEU on the paper's own test set, beside what the paper says."""

from collections.abc import Sequence
from typing import Any

from seq2seq.evaluation.folder import Evaluation
from seq2seq.record import describe_environments
from seq2seq.report.tables import escaped, interval_text, markdown_table, signature_note

# Bahdanau, Cho & Bengio 2014, Table 1, column "All": newstest2014, English to French.
TABLE_1 = {
    (False, 30): ("RNNencdec-30", 13.93),
    (True, 30): ("RNNsearch-30", 21.50),
    (False, 50): ("RNNencdec-50", 17.82),
    (True, 50): ("RNNsearch-50", 26.75),
}
"""By whether a system attends, and the longest sentences it was trained on."""


def paper_markdown(evaluations: Sequence[Evaluation]) -> str:
    """A row for each evaluation, with the paper's system of its like; what differs is below."""
    rows, notes = [], []
    settings = evaluations[0].scores.settings  # of one confidence and one tokenisation, all rows
    several_searches = len({one.record.get("search") for one in evaluations}) > 1
    for evaluation in evaluations:
        record, scores = evaluation.record, evaluation.scored_with(settings)
        name, published = _like(record)
        search = f", {record.get('search')}" if several_searches else ""
        rows.append(
            [
                escaped(evaluation.system + search),
                interval_text(scores.overall),
                name,
                "–" if published is None else f"{published:.2f}",
            ]
        )
        notes.append(signature_note(scores.signatures.bleu, scores.signatures.chrf))
    header = ["system", f"BLEU on {evaluations[0].record.get('test_set')}", "in the paper", "All"]
    lines = [
        "All: BLEU of all sentences of newstest2014 in Table 1 of Bahdanau, Cho & Bengio 2014, of "
        "text in tokens, with a vocabulary of 30,000 words; trained on far more text by far larger "
        "models, and its RNNencdec reads the source in one direction: neither the levels nor what "
        "attention adds compare exactly.",
        *dict.fromkeys(notes),
        *describe_environments([evaluation.record for evaluation in evaluations]),
    ]
    return markdown_table(header, rows) + "\n" + "\n".join(f"- {line}" for line in lines)


def _like(record: dict[str, Any]) -> tuple[str, float | None]:
    """The paper's system of this test set, languages, kind, order and limit, with its BLEU."""
    trained = record.get("config") or {}
    corpus, model = trained.get("corpus", {}), trained.get("model", {})
    kind = model.get("attention", {}).get("kind")
    search = trained.get("decoding") or {}
    alike = (
        record.get("test_set") == "newstest2014"
        and (corpus.get("source"), corpus.get("target")) == ("en", "fr")
        and kind in ("additive", "fixed")
        and model.get("decoder", {}).get("order", "bahdanau") == "bahdanau"
        and not search.get("forbid_unknown")  # that is the paper's other column
        and "together" not in record.get("identity", {})  # of several models as one
    )
    if not alike:
        return "–", None
    return TABLE_1.get((kind == "additive", corpus.get("train_max_words")), ("–", None))
