"""Settings of each script."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import MinLen
from pydantic import AfterValidator, BeforeValidator

from seq2seq.config.checks import Count, Device, Natural, Place, Precision, require_choice, settings
from seq2seq.config.settings import (
    ATTENTION_KINDS,
    Beam,
    Corpus,
    DecodingConfig,
    EvaluationConfig,
    ModelConfig,
    TokenizationConfig,
    TrainingConfig,
)
from seq2seq.errors import UserError

SystemKey = Literal["corpus", "tokenization", "model", "training", "seeds", "label"]
"""Key in which the systems of an experiment may differ; all systems share search and scoring."""


def _folder_name(name: str) -> str:
    parts = Path(name).parts
    if not parts or {"..", "/"} & {*parts} or name == "comparison":
        raise ValueError("it cannot name a folder of runs")
    return name


FolderName = Annotated[str, AfterValidator(_folder_name)]


def shown_names(systems: Iterable[str], labels: Mapping[str, str]) -> dict[str, str]:
    """Return system -> its name in reports: its label or, without one, its own name."""
    shown: dict[str, str] = {}
    for system in systems:
        label = labels.get(system, system)
        if not label.strip() or label in shown.values():
            raise UserError(
                f"{system} would be called '{label}', which is blank or another system's name; set "
                f"another label for {system}."
            )
        shown[system] = label
    return shown


@settings
class TrainConfig:
    """Settings of ``prepare`` and ``train``: one system of an experiment, trained with one seed."""

    name: FolderName
    """Name of the experiment and of its folder below ``output``."""
    system: FolderName
    """Name of the system to train, or an attention kind. With system=NAME on the command line,
    ``reproduce`` trains only NAME; with system=NAME baseline=OTHER, it trains both. Otherwise it
    trains all systems."""
    baseline: str | None = None
    """Name of the system without the component under study, with which ``compare`` compares."""
    corpus: Corpus
    tokenization: TokenizationConfig
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    seed: Natural = 1
    """Seed of initialisation, batch order and dropout; ``reproduce`` reads ``seeds`` instead."""
    data: Place = "data"
    """Folder for corpora and encoded text."""
    output: Place = "outputs"
    """Folder for runs: ``<output>/<name>/<system>/seed-<seed>``."""


@settings
class ReproduceConfig(TrainConfig):
    """Settings of ``reproduce``: all systems of an experiment, trained, evaluated and compared."""

    systems: dict[FolderName, dict[SystemKey, Any]]
    """Name of each system to compare -> those of its settings that differ from the common ones (in
    corpus, tokenization, model, training or seeds): {dot: {model: {attention: {kind: dot}}}}.
    ``label`` is the system's name in tables and figures: {dot: {label: dot product, ...}}."""
    baselines: dict[str, str] = field(default_factory=dict)
    """System -> the system to compare it with instead of ``baseline``."""
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    seeds: Annotated[list[Natural], MinLen(1)] = field(default_factory=lambda: [1])
    """Seeds to train each system with. ``systems`` may set other seeds for a system."""
    beams: Annotated[list[Beam], MinLen(1)] = field(default_factory=lambda: [1, 5])
    """Beam widths to evaluate each system with; each width has its own tables and figures."""
    test_sets: list[str] | None = None
    """Names of the test sets, as for ``evaluate``."""
    test_texts: dict[str, Place] = field(default_factory=dict)
    """More test sets, as for ``evaluate``."""

    def __post_init__(self) -> None:
        shown_names(self.systems, self.labels)
        require_choice("system", self.system, [*self.systems, *ATTENTION_KINDS])
        require_choice("baseline", str(self.baseline), self.systems)
        for name, its_baseline in self.baselines.items():
            require_choice("baselines: system", name, self.systems)
            require_choice(f"baselines.{name}", its_baseline, self.systems)

    @property
    def labels(self) -> dict[str, str]:
        """Label of each system that has one."""
        return {name: of["label"] for name, of in self.systems.items() if "label" in of}


@settings
class TranslatorSettings:
    """Settings of both ``translate`` and ``evaluate``: models, search, device and precision."""

    checkpoint: Place | None
    """Checkpoint folder, or run folder (for its best checkpoint)."""
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    more_checkpoints: list[Place] = field(default_factory=list)
    """Other checkpoints, for an ensemble; all must have the same vocabularies."""
    device: Device = "auto"
    """auto (cuda if available) | cpu | cuda."""
    precision: Precision = "auto"
    """Precision of matrix products: auto (bf16 where it is fast, otherwise fp32) | fp32 | bf16."""


@settings
class TranslateConfig(TranslatorSettings):
    """Settings of ``translate``: a checkpoint translates a text file."""

    checkpoint: Place
    input: Place = "-"
    """Text file, one sentence per line; - for standard input."""
    hypotheses: Place | None = "-"
    """File for the translations, one line per input line; - for standard output, null for none."""
    n_best_list: Place | None = None
    """File for the ``decoding.n_best`` hypotheses of each line:
    ``line number from 0 ||| text ||| score``; - for standard output."""
    alignments: Place | None = None
    """File for the word links of each line's best hypothesis in Pharaoh format, ``source-target``,
    words counted from 0; - for standard output. Each target word is linked to the source word with
    the largest attention weight. Needs attention, and words separated by spaces (no
    subwords of languages without spaces)."""
    chunk: Count = 4_096
    """Number of lines to read before they are translated; with 1, each line is translated before
    the next one is read."""


@settings
class EvaluateConfig(TranslatorSettings):
    """Settings of ``evaluate``: score translations that a checkpoint makes, or that a file holds.

    The model reads each word exactly as it is written. ``translate`` also tries other forms of an
    unknown word, such as lower case.
    """

    checkpoint: Place | None = None
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    beams: list[Beam] | None = None
    """Beam widths to search with, 1 for greedy search; null for only ``decoding.beam``."""
    hypotheses: Place | None = None
    """File of translations to score instead of a checkpoint's, one per line of ``source``."""
    system: str | None = None
    """Name of the system that wrote ``hypotheses``."""
    scores: dict[str, Place] = field(default_factory=dict)
    """Other scores of ``hypotheses``, such as {comet: FILE, human: FILE}, with a number on each
    line; ``compare`` shows their means."""
    test_sets: list[str] | None = None
    """Names of test sets of the training corpus, or of sacreBLEU, such as wmt14; null for all test
    sets of the corpus, [] for none."""
    test_texts: dict[str, Place] = field(default_factory=dict)
    """Name of another test set -> path of its two files without their language codes.
    {newstest2014: texts/news} reads texts/news.en and texts/news.fr as newstest2014."""
    directory: Place | None = None
    """Folder of the corpus files, if they have moved since training."""
    source: Place | None = None
    """Your own source text, instead of the corpus's test sets; needs ``reference``."""
    reference: Annotated[
        list[Place] | None, BeforeValidator(lambda one: [one] if isinstance(one, str) else one)
    ] = None
    """File of reference translations of ``source``, line by line; [a,b] for several references."""
    maps: list[Count] = field(default_factory=list)
    """Numbers (from 1) of the lines whose attention maps ``compare`` draws; if [], ``compare``
    chooses a few lines, from short to long."""
    output: Place | None = None
    """Folder to write to; null for ``evaluations`` in the run folder."""
    data: Place = "data"
    """Folder for corpora and encoded text."""

    def __post_init__(self) -> None:
        if (self.checkpoint is None) == (self.hypotheses is None):
            raise UserError("Set checkpoint=FOLDER or hypotheses=FILE, and not both.")
        for key in ("source", "reference", "system", "output") if self.hypotheses else ():
            if not getattr(self, key):
                raise UserError(f"hypotheses=FILE needs {key}; set {key}=... as well.")
        if self.scores and not self.hypotheses:
            raise UserError("scores={...} needs hypotheses=FILE.")
        if (self.source is None) != (self.reference is None):
            raise UserError("Only one of source and reference is set; set both, or neither.")


@settings
class CompareConfig:
    """Settings of ``compare``: several evaluations of one test set, side by side."""

    evaluations: Annotated[list[Place], MinLen(1)]
    """Evaluation folders, or run folders, or patterns such as outputs/mine/*/seed-*; scores are
    averaged over the seeds of a system."""
    output: Place
    """Folder for table, figures and page."""
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    baseline: str | None = None
    """Name of the system without the component under study; null for the experiment's, or else for
    the first system of ``evaluations``."""
    baselines: dict[str, str] = field(default_factory=dict)
    """System -> the system to compare it with instead of ``baseline``. A baseline has
    no baseline of its own unless it is listed here."""
    labels: dict[str, str] = field(default_factory=dict)
    """System -> its name in tables and figures."""
