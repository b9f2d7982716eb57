"""Settings of each script."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from seq2seq.config.checks import (
    Count,
    Device,
    Natural,
    Place,
    Precision,
    Settings,
    check,
    distinct,
    nearest,
    places,
    require_choice,
)
from seq2seq.config.corpus import CorpusConfig, TokenizationConfig
from seq2seq.config.evaluation import Beam, DecodingConfig, EvaluationConfig
from seq2seq.config.model import ATTENTION_KINDS, ModelConfig
from seq2seq.config.training import TrainingConfig
from seq2seq.errors import UserError

SYSTEM_GROUPS = ("corpus", "tokenization", "model", "training", "seeds", "label")
"""Keys in which the systems of an experiment may differ; all systems share search and scoring."""


def folder_name(key: str, value: str) -> None:
    """Refuse a path that cannot be a folder of runs below ``output``."""
    path = Path(value)
    if not path.parts or ".." in path.parts or path.is_absolute() or value == "comparison":
        raise UserError(f"{key}={value} cannot name a folder of runs; set another name.")


FolderName = Annotated[str, folder_name]


def shown_names(systems: Iterable[str], labels: Mapping[str, str]) -> dict[str, str]:
    """Return system -> its name in reports, which is its label or, without a label, its own name.

    UserError if a name in reports is blank, or if two systems have the same one.
    """
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


@dataclass(kw_only=True)
class TrainConfig(Settings):
    """Settings of ``prepare`` and ``train``: one system of an experiment, trained with one seed."""

    name: FolderName
    """Name of the experiment and of its folder below ``output``."""
    system: FolderName
    """Name of the system to train, or an attention kind. With system=NAME on the command line,
    ``reproduce`` trains only NAME; with system=NAME baseline=OTHER, it trains both. Otherwise it
    trains all systems."""
    baseline: str | None = None
    """Name of the system without the component under study, with which ``compare`` compares."""
    corpus: CorpusConfig
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


@dataclass(kw_only=True)
class ReproduceConfig(TrainConfig):
    """Settings of ``reproduce``: all systems of an experiment, trained, evaluated and compared."""

    systems: dict[FolderName, dict[str, Any]]
    """Name of each system to compare -> those of its settings that differ from the common ones (in
    corpus, tokenization, model, training or seeds): {dot: {model: {attention: {kind: dot}}}}.
    ``label`` is the system's name in tables and figures: {dot: {label: dot product, ...}}."""
    baseline: str | None = None
    """Name of the system without the component under study; the others are compared with it."""
    baselines: dict[str, str] = field(default_factory=dict)
    """System -> the system to compare it with instead of ``baseline``."""
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    seeds: Annotated[list[Natural], distinct] = field(default_factory=lambda: [1])
    """Seeds to train each system with. ``systems`` may set other seeds for a system."""
    beams: Annotated[list[Beam], distinct] = field(default_factory=lambda: [1, 5])
    """Beam widths to evaluate each system with; each width has its own tables and figures."""
    test_sets: list[str] | None = None
    """Names of the test sets, as for ``evaluate``."""
    test_texts: dict[str, Place] = field(default_factory=dict)
    """More test sets, as for ``evaluate``."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, settings in self.systems.items():
            if unlike := set(settings) - set(SYSTEM_GROUPS):
                raise UserError(
                    f"systems.{name} sets {min(unlike)}; it may set {', '.join(SYSTEM_GROUPS)}."
                )
            for key, value in settings.items():
                if key not in ("seeds", "label") and not isinstance(value, dict):
                    raise UserError(
                        f"systems.{name}.{key}={value} is no group of settings; write them as "
                        f"{key}: {{NAME: VALUE}}."
                    )
        shown_names(self.systems, self.labels)
        if self.system not in (*self.systems, *ATTENTION_KINDS):
            none = "There is no Transformer here: " * ("transformer" in self.system.lower())
            ours, kinds = (nearest(self.system, of) for of in (self.systems, ATTENTION_KINDS))
            raise UserError(
                f"{none}system={self.system} is neither a system of this experiment ({ours}) nor a "
                f"kind of attention; valid, nearest first: {kinds}."
            )
        require_choice("baseline", str(self.baseline), self.systems)
        for name, its_baseline in self.baselines.items():
            require_choice("baselines: system", name, self.systems)
            require_choice(f"baselines.{name}", its_baseline, self.systems)

    @property
    def labels(self) -> dict[str, str]:
        """Label of each system that has one."""
        return {
            name: check(f"systems.{name}.label", settings["label"], str)
            for name, settings in self.systems.items()
            if "label" in settings
        }


@dataclass(kw_only=True)
class TranslatorSettings(Settings):
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


@dataclass(kw_only=True)
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

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.outputs:
            raise UserError(
                "Nothing to write; set hypotheses, n_best_list or alignments to a file."
            )

    @property
    def outputs(self) -> dict[str, str]:
        """Setting -> its output file, without settings that are null."""
        given = {key: getattr(self, key) for key in ("hypotheses", "n_best_list", "alignments")}
        return {key: file for key, file in given.items() if file is not None}


@dataclass(kw_only=True)
class EvaluateConfig(TranslatorSettings):
    """Settings of ``evaluate``: score translations that a checkpoint makes, or that a file holds.

    The model reads each word exactly as it is written. ``translate`` also tries other forms of an
    unknown word, such as lower case.
    """

    checkpoint: Place | None = None
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    beams: Annotated[list[Beam], distinct] | None = None
    """Beam widths to search with, 1 for greedy search; null for only ``decoding.beam``."""
    hypotheses: Place | None = None
    """File of translations to score instead of a checkpoint's, one per line of ``source``."""
    system: str | None = None
    """Name of the system that wrote ``hypotheses``."""
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
    reference: Annotated[Any, places] = None
    """File of reference translations of ``source``, line by line; [a,b] for several references."""
    maps: list[Count] = field(default_factory=list)
    """Numbers (from 1) of the lines whose attention maps ``compare`` draws; if [], ``compare``
    chooses a few lines, from short to long."""
    output: Place | None = None
    """Folder to write to; null for ``evaluations`` in the run folder."""
    data: Place = "data"
    """Folder for corpora and encoded text."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.checkpoint is None and self.hypotheses is None:
            raise UserError("Nothing to evaluate; set checkpoint=FOLDER or hypotheses=FILE.")
        if self.checkpoint is not None and self.hypotheses is not None:
            raise UserError("checkpoint and hypotheses are both set; set only one of them.")
        for key in () if self.hypotheses is None else ("source", "reference", "system", "output"):
            if not getattr(self, key):
                raise UserError(f"hypotheses=FILE needs {key}; set {key}=... as well.")
        searched = ("beams", "more_checkpoints", "maps")
        for key in () if self.hypotheses is None else searched:
            if getattr(self, key):
                raise UserError(f"{key} needs a checkpoint, not hypotheses=FILE; remove {key}.")
        if self.hypotheses is not None and self.decoding != DecodingConfig():
            raise UserError("decoding needs a checkpoint, not hypotheses=FILE; remove decoding.")
        if (self.source is None) != (self.reference is None):
            raise UserError("Only one of source and reference is set; set both, or neither.")
        if self.source is not None and (self.test_sets or self.test_texts or self.directory):
            raise UserError("source replaces test_sets, test_texts and directory; remove those.")
        if self.test_sets == [] and not (self.test_texts or self.source):
            raise UserError("test_sets=[] leaves nothing to evaluate; set test_texts or source.")
        if self.decoding.n_best > 1:
            raise UserError("evaluate scores one hypothesis per sentence; remove decoding.n_best.")
        if self.system is not None and self.hypotheses is None:
            raise UserError(
                f"system={self.system} is set without hypotheses, the file that this system wrote; "
                "set hypotheses=FILE, or remove system."
            )
        if "/" in (self.system or ""):
            raise UserError(f"system={self.system} has a slash; choose a name without one.")

    def searches(self) -> list[DecodingConfig]:
        """List one search per beam."""
        return [replace(self.decoding, beam=beam) for beam in self.beams or [self.decoding.beam]]


@dataclass(kw_only=True)
class CompareConfig(Settings):
    """Settings of ``compare``: several evaluations of one test set, side by side."""

    evaluations: list[Place]
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
    training_text: Place | None = None
    """File of the target side of the training text. With it, ``compare`` also groups the content
    words of the references by their count in this text, and reports what fraction of each group the
    translations contain."""
    labels: dict[str, str] = field(default_factory=dict)
    """System -> its name in tables and figures."""
