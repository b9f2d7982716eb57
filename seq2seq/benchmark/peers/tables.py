"""A comparison with the peers as a Markdown table."""

import statistics

from seq2seq.benchmark.peers.comparison import PeerComparison
from seq2seq.benchmark.peers.ours import Ours
from seq2seq.benchmark.peers.setting import PeerSetting
from seq2seq.benchmark.peers.text import PeerText
from seq2seq.report.tables import markdown_table

HEADER = [
    "program",
    "precision",
    "tokens/s",
    "seq2seq over it",
    "parameters",
]


def comparison_markdown(comparison: PeerComparison) -> str:
    """The table, and the conditions below."""
    table = markdown_table(HEADER, _rows(comparison))
    return table + "\n" + "".join(f"- {note}\n" for note in notes(comparison))


def notes(comparison: PeerComparison) -> list[str]:
    """What was measured, how, and with which versions: one sentence or list each."""
    setting, text = comparison.setting, comparison.text
    rounds = max((run.round for run in comparison.runs), default=0)
    return [
        f"Target tokens per second of the whole training program, ends of sentence counted and "
        f"padding not: the sentences of {setting.updates} updates after {setting.warm_up} of "
        "warm-up, times their mean length, by one clock for all programs; median "
        f"of {rounds} rounds in turns; ratios within a round, median and range.",
        describe_text(text),
        *describe_models(setting),
        describe_versions(comparison.versions),
        *comparison.left_out,
    ]


def describe_text(text: PeerText) -> str:
    """One sentence on what all programs trained on."""
    return (
        f"Text: {text.pairs:,} pairs {text.source}-{text.target}, "
        f"{text.target_tokens / text.pairs:.1f} target tokens each; words "
        f"{text.words[0]:,} and {text.words[1]:,}, specials not counted."
    )


def describe_models(setting: PeerSetting) -> list[str]:
    """What the models have in common, and what they have not."""
    return [
        f"Embedding {setting.embedding}, encoder {setting.hidden // 2} per direction, decoder "
        f"and attention {setting.hidden}; batch {setting.batch_size}, Adam, dropout "
        f"{setting.dropout:g}, label smoothing {setting.label_smoothing:g}, "
        f"{setting.threads} threads.",
        "The models are of one kind, not equal: in the peers attention follows the decoder's step "
        "(Luong's order), and their output layer reads as many units as the decoder has; here "
        "attention comes first (Bahdanau's), and the output layer reads as many as an embedding.",
        "Batches are each program's own: JoeyNMT's are drawn at random and padded to their longest "
        "sentence, ours hold sentences of like length.",
    ]


def describe_versions(versions: dict[str, dict[str, str]]) -> str:
    """One line on what ran."""
    each = (
        ", ".join(f"{package} {version}" for package, version in found.items())
        for found in versions.values()
    )
    return f"Versions: {'; '.join(each)}."


def _rows(comparison: PeerComparison) -> list[list[str]]:
    """One row per precision and program, in the order of their first turns."""
    rows = []
    for precision, toolkit in dict.fromkeys(
        (run.precision, run.toolkit) for run in comparison.runs
    ):
        runs = comparison.of(toolkit, precision)
        ratio = "1"
        if toolkit != Ours.name:
            ratios = comparison.ratios(toolkit, precision)
            ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"
        rows.append(
            [
                toolkit,
                precision,
                f"{comparison.speed(toolkit, precision):,.0f}",
                ratio,
                f"{runs[0].parameters:,}" if runs[0].parameters else "",
            ]
        )
    return rows
