"""Settings of the stage ``publish``."""

from dataclasses import dataclass, field

from seq2seq.errors import UserError


@dataclass(kw_only=True)
class PublishConfig:
    """``publish``: results into a document, between the marks that name them."""

    document: str
    """Markdown file to rewrite."""
    pictures: str
    """Folder for the figures, from which the document links them."""
    comparisons: list[str] = field(default_factory=list)
    """Comparison folders; each fills the part marked ``<!-- results:<experiment>/<folder> -->``."""
    summaries: list[str] = field(default_factory=list)
    """Comparison folders; each fills the part marked ``<!-- summary:<experiment>/<folder> -->``
    with its figure, each curve, whether each gap grows with length, and the commands."""
    details: list[str] = field(default_factory=list)
    """Comparison folders; each fills the part marked ``<!-- details:<experiment>/<folder> -->``
    with chrF, brevity, unpenalised BLEU, cap hits and TER, if it was scored, by length."""
    focus: list[str] = field(default_factory=list)
    """Comparison folders; each fills the part marked ``<!-- focus:<experiment>/<folder> -->`` with
    a figure of how sharply the systems looked, by source length."""
    places: list[str] = field(default_factory=list)
    """Comparison folders; each fills the part marked ``<!-- places:<experiment>/<folder> -->`` with
    a figure of the loss by place in the reference and source length."""
    benchmarks: list[str] = field(default_factory=list)
    """Tables of ``benchmark``, such as outputs/benchmark/m.md; each fills the part marked
    ``<!-- benchmark:<file name without .md> -->``. One figure of all sizes, from the .json files
    beside the tables, fills ``<!-- benchmark:picture -->``."""
    runs: dict[str, list[str]] = field(default_factory=dict)
    """Tables of training runs: name -> run folders, such as outputs/quickstart/attention/seed-1, in
    the order of the rows; each fills the part marked ``<!-- runs:<name> -->``."""
    scores: dict[str, list[str]] = field(default_factory=dict)
    """Tables of scores: name -> evaluation folders of one test set, in the order of the rows; each
    fills the part marked ``<!-- scores:<name> -->``."""
    curves: dict[str, list[str]] = field(default_factory=dict)
    """Figures of learning curves: name -> run folders, in the order of the legend; each fills the
    part marked ``<!-- curves:<name> -->``."""
    alignments: dict[str, list[str]] = field(default_factory=dict)
    """Tables of alignment error rates: name -> evaluation folders, in the order of the rows; each
    fills the part marked ``<!-- alignments:<name> -->``."""
    table_1: dict[str, list[str]] = field(default_factory=dict)
    """Tables of BLEU beside Table 1 of Bahdanau et al. 2014: name -> evaluation folders of one test
    set; each fills the part marked ``<!-- table_1:<name> -->``."""
    maps: dict[str, str] = field(default_factory=dict)
    """Figures of attention: name -> evaluation folder; each fills the part marked
    ``<!-- maps:<name> -->``."""
    lines: dict[str, list[int]] = field(default_factory=dict)
    """The lines of the test set, from 1, that such a figure shows: name -> lines; without them a
    few of readable size."""

    def __post_init__(self) -> None:
        named = {
            "runs": self.runs,
            "scores": self.scores,
            "curves": self.curves,
            "alignments": self.alignments,
            "table_1": self.table_1,
        }
        lists = (self.comparisons, self.summaries, self.details, self.focus, self.places)
        if not (any(lists) or self.benchmarks or self.maps or any(named.values())):
            raise UserError(
                "There is nothing to publish; give comparisons=[...], summaries=[...], "
                "details=[...], focus=[...], places=[...], benchmarks=[...], "
                "runs={NAME:[...]}, scores={NAME:[...]}, curves={NAME:[...]}, "
                "alignments={NAME:[...]}, table_1={NAME:[...]} or maps={NAME:...}."
            )
        for name in self.lines:
            if name not in self.maps:
                raise UserError(f"lines names {name}, but maps does not; give maps={{{name}:...}}.")
        for table in self.benchmarks:
            if not table.endswith(".md"):
                raise UserError(f"benchmarks names tables, such as m.md; {table} is none.")
        for key, tables in named.items():
            for name, folders in tables.items():
                if not folders:
                    raise UserError(
                        f"{key} names no folder for {name}; give {key}={{{name}:[...]}}."
                    )
