"""A comparison of searches with the peers' as a Markdown table."""

import statistics

from seq2seq.benchmark.peers.ours import Ours
from seq2seq.benchmark.peers.tables import describe_models, describe_text, describe_versions
from seq2seq.benchmark.peers.translation_comparison import TranslationComparison
from seq2seq.report.tables import markdown_table

HEADER = [
    "program",
    "search",
    "precision",
    "sentences/s",
    "seq2seq over it",
    "BLEU",
    "words",
]


def translation_markdown(comparison: TranslationComparison) -> str:
    """The table, and the conditions below."""
    table = markdown_table(HEADER, _rows(comparison))
    return table + "\n" + "".join(f"- {note}\n" for note in _notes(comparison))


def _rows(comparison: TranslationComparison) -> list[list[str]]:
    """One row per search and program, in the order of their first turns."""
    rows = []
    for search in comparison.searches:
        for toolkit in comparison.versions:
            runs = comparison.of(toolkit, search.precision, search.beam)
            ratio = "1"
            if toolkit != Ours.name:
                ratios = comparison.ratios(toolkit, search.precision, search.beam)
                ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"
            speed = comparison.speed(toolkit, search.precision, search.beam)
            rows.append(
                [
                    toolkit,
                    _name(search.beam),
                    search.precision,
                    f"{speed:,.1f}",
                    ratio,
                    f"{statistics.median(run.bleu for run in runs):.1f}",
                    f"{statistics.median(run.words for run in runs):.1f}",
                ]
            )
    return rows


def _notes(comparison: TranslationComparison) -> list[str]:
    """What was measured, how, and with which versions: one sentence or list each."""
    setting, first = comparison.setting, comparison.searches[0]
    rounds = max((run.round for run in comparison.runs), default=0)
    sentences = max((run.sentences for run in comparison.runs), default=0)
    notes = [
        f"Sentences per second of the search as each program tells it, without its start and the "
        f"model's loading; {sentences:,} test sentences, {first.batch_size} at a time, outputs "
        f"of at most {first.max_length} words; median of {rounds} rounds in turns; ratios within a "
        "round and a precision, median and range.",
        f"Each model was trained for {setting.total_updates:,} updates in {comparison.trained_in}; "
        "a model that has learnt little writes up to the limit. BLEU on the tokens of the "
        "lower-cased text, words: mean length of a translation.",
        "What ends a search and ranks its results is each program's default, but JoeyNMT's length "
        "penalty of 1.",
    ]
    peers = [name for name in comparison.versions if name != Ours.name]
    for beam in dict.fromkeys(search.beam for search in comparison.searches):
        searched = [search.precision for search in comparison.searches if search.beam == beam]
        if peers:
            own = {name: ["fp32"] if name in comparison.forced else searched for name in peers}
            notes.append(
                f"{_name(beam).capitalize()}, each program by the fastest of its own settings: "
                f"seq2seq has {_ratios(comparison, beam, own)}."
            )
        if comparison.forced:
            notes.append(
                f"{_name(beam).capitalize()}, each program in the precision that it is faster in, "
                "bfloat16 forced upon those that have none: "
                f"seq2seq has {_ratios(comparison, beam, dict.fromkeys(peers, searched))}."
            )
    return [
        *notes,
        describe_text(comparison.text),
        *describe_models(setting),
        describe_versions(comparison.versions),
        *comparison.left_out,
    ]


def _ratios(comparison: TranslationComparison, beam: int, precisions: dict[str, list[str]]) -> str:
    """This project's best over that of each peer in its ``precisions``."""
    return ", ".join(
        f"{comparison.best_ratio(name, beam, allowed):.2f} times {name}"
        for name, allowed in precisions.items()
    )


def _name(beam: int) -> str:
    return "greedy" if beam == 1 else f"beam {beam}"
