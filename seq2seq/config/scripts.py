"""What each script reads."""

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
    distinct,
    require_choice,
)
from seq2seq.config.corpus import CorpusConfig, TokenizationConfig
from seq2seq.config.decoding import Beam, DecodingConfig
from seq2seq.config.evaluation import EvaluationConfig
from seq2seq.config.model import ATTENTION_KINDS, ModelConfig
from seq2seq.config.training import TrainingConfig
from seq2seq.errors import UserError

SYSTEM_GROUPS = ("corpus", "tokenization", "model", "training", "seeds")
"""What the systems of an experiment may differ in; they are searched and scored alike."""


def folder_name(key: str, value: str) -> None:
    """The rule that a text can be the path of a folder of runs below another."""
    path = Path(value)
    if not path.parts or ".." in path.parts or path.is_absolute() or value == "comparison":
        raise UserError(f"{key}={value} cannot be a folder below output; choose another name.")


FolderName = Annotated[str, folder_name]


@dataclass(kw_only=True)
class TrainConfig(Settings):
    """``prepare`` and ``train``: one system of an experiment, trained with one seed."""

    name: FolderName
    """Name of the experiment: the first folder below ``output``."""
    system: FolderName
    """Which of the experiment's systems to train, or a kind of attention. ``reproduce`` runs them
    all, or, where this is given, this one, and ``baseline`` if that is given, too."""
    corpus: CorpusConfig
    tokenization: TokenizationConfig
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    seed: Natural = 1
    """Seed of initialisation, batch order and dropout; ``reproduce`` takes ``seeds`` instead."""
    data: Place = "data"
    """Folder for corpora and encoded text."""
    output: Place = "outputs"
    """Folder for runs: ``<output>/<name>/<system>/seed-<seed>``."""


@dataclass(kw_only=True)
class ReproduceConfig(TrainConfig):
    """``reproduce``: all systems of an experiment, trained, evaluated and compared."""

    systems: dict[FolderName, dict[str, Any]]
    """The systems to compare: name -> what it changes in corpus, tokenization, model, training,
    and its own ``seeds``, if any: {attention: {model: {attention: {kind: dot}}}}."""
    baseline: str
    """The system without the component under study: the others are compared with it."""
    baselines: dict[str, str] = field(default_factory=dict)
    """System -> the system that it is compared with, where that is not ``baseline``."""
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    seeds: Annotated[list[Natural], distinct] = field(default_factory=lambda: [1])
    """Each system is trained with each of these, unless it has its own."""
    beams: Annotated[list[Beam], distinct] = field(default_factory=lambda: [1, 5])
    """Each system is evaluated with each of these beam widths; each gets its table and figure."""
    test_sets: list[str] | None = None
    """Which test sets to take, as for ``evaluate``."""
    test_texts: dict[str, Place] = field(default_factory=dict)
    """More test sets, as for ``evaluate``."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, settings in self.systems.items():
            if unlike := set(settings) - set(SYSTEM_GROUPS):
                raise UserError(
                    f"systems.{name} sets {min(unlike)}; it may set {', '.join(SYSTEM_GROUPS)}."
                )
        require_choice("system", self.system, [*self.systems, *ATTENTION_KINDS])
        require_choice("baseline", self.baseline, self.systems)
        for name in (*self.baselines, *self.baselines.values()):
            require_choice("baselines", name, self.systems)


@dataclass(kw_only=True)
class TranslatorSettings(Settings):
    """What translate and evaluate share: the models, and what they run on."""

    checkpoint: Place | None
    """Checkpoint folder, or a run folder (its best checkpoint is taken)."""
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    more_checkpoints: list[Place] = field(default_factory=list)
    """Other checkpoints to translate with, as an ensemble; their vocabularies must be the same."""
    average: bool = False
    """Not an ensemble, but one model with their mean weights; for checkpoints of one training."""
    device: Device = "auto"
    """auto | cpu | cuda."""
    precision: Precision = "auto"
    """auto | fp32 | bf16."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.average and not self.more_checkpoints:
            raise UserError("average=true averages checkpoints; give more_checkpoints=[...].")


@dataclass(kw_only=True)
class TranslateConfig(TranslatorSettings):
    """``translate``: a text file through a checkpoint."""

    checkpoint: Place
    input: Place = "-"
    """Text file, one sentence a line; - for standard input."""
    hypotheses: Place | None = "-"
    """File to write, one line per input line; - for standard output, null for none."""
    n_best_list: Place | None = None
    """File for the ``decoding.n_best`` hypotheses of each line, in Moses' format without features:
    ``line number from 0 ||| text ||| score``; - for standard output."""
    alignments: Place | None = None
    """File for the word links of the best hypotheses in Pharaoh's format, ``source-target`` from 0;
    - for standard output. Each target word is linked to the source word that it looked at most, so
    the model must have attention, and not Moses' words. A line cut into others has no links."""
    chunk: Count = 4_096
    """Lines read before they are translated; 1 answers each line of a slow pipe at once."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.outputs:
            raise UserError("nothing to write; give hypotheses, n_best_list or alignments.")

    @property
    def outputs(self) -> dict[str, str]:
        """Where to write what: those of the three that are given, by their keys."""
        given = {key: getattr(self, key) for key in ("hypotheses", "n_best_list", "alignments")}
        return {key: file for key, file in given.items() if file is not None}


@dataclass(kw_only=True)
class EvaluateConfig(TranslatorSettings):
    """``evaluate``: translations of a test set, a checkpoint's or a file's, scored by length."""

    checkpoint: Place | None = None
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    beams: Annotated[list[Beam], distinct] | None = None
    """Search with each of these beam widths, 1 being greedy; null for ``decoding.beam`` alone."""
    no_unk: bool = False
    """Search once more without ``<unk>``, for both columns of Bahdanau et al. 2014, Table 1."""
    hypotheses: Place | None = None
    """Translations to score without a model, one per line of ``source``; instead of checkpoint."""
    system: str | None = None
    """Name of the system that wrote ``hypotheses``."""
    test_sets: list[str] | None = None
    """Test sets of the corpus that the model was trained on, or of sacreBLEU, such as wmt14; null
    for all of the corpus, [] for none."""
    test_texts: dict[str, Place] = field(default_factory=dict)
    """More test sets: name -> path of its two files without the language codes at their ends:
    newstest2014: texts/newstest2014 for texts/newstest2014.en and texts/newstest2014.fr."""
    directory: Place | None = None
    """Where the corpus's files are now; null for where they were in training."""
    source: Place | None = None
    """A source text of your own instead of the corpus's test sets; goes with ``reference``."""
    reference: Place | None = None
    """The reference translations of ``source``, line by line."""
    gold: Place | None = None
    """Gold word links between ``source`` and ``reference``, a line for each pair, to score
    attention's against: 2-1 a sure one, 2p1 a possible one; as in ``<test set>.align``."""
    maps: list[Count] = field(default_factory=list)
    """Lines of the test set, from 1, whose attention ``compare`` draws; empty for a few lengths."""
    output: Place | None = None
    """Folder to write to; null for ``evaluations`` in the run folder."""
    data: Place = "data"
    """Folder for corpora and encoded text."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.checkpoint is None and self.hypotheses is None:
            raise UserError("Nothing to evaluate; give checkpoint=FOLDER or hypotheses=FILE.")
        if self.checkpoint is not None and self.hypotheses is not None:
            raise UserError("checkpoint and hypotheses do not go together; leave one of them out.")
        for key in () if self.hypotheses is None else ("source", "reference", "system", "output"):
            if not getattr(self, key):
                raise UserError(f"hypotheses=FILE needs {key}=...; give it too.")
        if (self.source is None) != (self.reference is None):
            raise UserError("source and reference go together; give both, or neither.")
        if self.gold is not None and self.source is None:
            raise UserError("gold goes with source and reference; give all three.")
        if self.source is not None and (self.test_sets or self.test_texts or self.directory):
            raise UserError("source is your own; leave out test_sets, test_texts and directory.")
        if self.test_sets == [] and not (self.test_texts or self.source):
            raise UserError("test_sets=[] leaves nothing to evaluate; give test_texts or source.")
        if self.decoding.n_best > 1:
            raise UserError("Only one hypothesis is scored; leave out decoding.n_best.")
        if self.system is not None and (self.hypotheses is None or "/" in self.system):
            raise UserError(f"system={self.system}: no slashes, and only with hypotheses=FILE.")

    def searches(self) -> list[DecodingConfig]:
        """Every search asked for; with ``no_unk``, each is followed by its like without <unk>."""
        unknown = [False, True] if self.no_unk else [self.decoding.forbid_unknown]
        return [
            replace(self.decoding, beam=beam, forbid_unknown=forbidden)
            for beam in self.beams or [self.decoding.beam]
            for forbidden in unknown
        ]


@dataclass(kw_only=True)
class CompareConfig(Settings):
    """``compare``: several evaluations of one test set, side by side."""

    evaluations: list[Place]
    """Evaluation folders, or patterns such as outputs/mine/*/seed-*/evaluations/test-beam5; the
    scores of a system's seeds are averaged."""
    output: Place
    """Folder for table, figures and page."""
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    baseline: str | None = None
    """The system without the component under study; null for the first named."""
    baselines: dict[str, str] = field(default_factory=dict)
    """System -> the system that it is compared with, where that is not ``baseline``. A system used
    as a baseline is not compared itself unless it is listed here."""


@dataclass(kw_only=True)
class ExplainConfig(Settings):
    """``explain``: a trained model, word by word."""

    checkpoint: Place
    """A checkpoint folder, or a run folder."""
    text: str
    """The sentence that it translates."""
    output: Place = "outputs/explain"
    """Folder for the picture of the attention."""
