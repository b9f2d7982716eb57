"""What each script reads: one dataclass per script, made of the groups."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from seq2seq.config.checks import nearest, require_choice, require_distinct, require_range
from seq2seq.config.corpus import CorpusConfig, TokenizationConfig
from seq2seq.config.evaluation import DecodingConfig, EvaluationConfig
from seq2seq.config.model import ModelConfig
from seq2seq.config.training import TrainingConfig
from seq2seq.errors import UserError

EXAMPLES = ("additive", "dot", "local", "scaled_dot", "softmax_axis", "multi_head")
"""What ``explain`` can walk through."""
ARM = ("corpus", "tokenization", "model", "training", "seeds")
"""What the systems of an experiment may differ in; searched and scored they are alike."""


@dataclass(kw_only=True)
class ExperimentConfig:
    """What prepare, train and reproduce read: one system of one experiment, end to end."""

    name: str
    """Name of the experiment: the first folder below ``output``."""
    systems: dict[str, dict[str, Any]]
    """The arms under comparison: name -> the settings of corpus, tokenization, model or training
    that make it, and ``seeds``, if it has its own: {attention: {model: {attention: {kind: dot}}}}.
    """
    system: str
    """Which of ``systems`` to train, or a kind of attention, which is a system by itself;
    ``reproduce`` runs them all, or, where this is given, this one and its baseline."""
    baseline: str
    """The system without the component under study: the others are compared with it."""
    baselines: dict[str, str] = field(default_factory=dict)
    """System -> the system that it is compared with, where that is not ``baseline``."""
    corpus: CorpusConfig
    tokenization: TokenizationConfig
    model: ModelConfig
    training: TrainingConfig
    decoding: DecodingConfig
    evaluation: EvaluationConfig
    seed: int = 1
    """Seed of initialisation, batch order and dropout."""
    seeds: list[int] = field(default_factory=lambda: [1])
    """``reproduce`` trains each system once with each of these; where none are given, a system of
    the experiment may have its own."""
    beams: list[int] = field(default_factory=lambda: [1, 5])
    """``reproduce`` evaluates with each of these beam widths; each gets its table and figure."""
    test_texts: dict[str, str] = field(default_factory=dict)
    """More test sets for ``reproduce``: name -> path of its two files without their endings, which
    are the language codes."""
    data: str = "data"
    """Folder for corpora and encoded text."""
    output: str = "outputs"
    """Folder for runs: ``<output>/<name>/<system>/seed-<seed>``."""

    def __post_init__(self) -> None:
        for seed in (self.seed, *self.seeds):
            require_range("seed", seed, 0)
        for name in (self.name, *self.systems):
            parts = Path(name).parts
            if not parts or ".." in parts or Path(name).is_absolute() or name == "comparison":
                raise UserError(f"name={name} is not free to be a folder below output; change it.")
        for name, arm in self.systems.items():
            if unlike := set(arm) - set(ARM):
                raise UserError(
                    f"systems.{name} sets {min(unlike)}, but systems may differ in "
                    f"{', '.join(ARM)} alone; set it for the whole experiment."
                )
        named = [("system", self.system), ("baseline", self.baseline)]
        named += [("baselines", name) for pair in self.baselines.items() for name in pair]
        for key, system in named:
            if system not in self.systems:
                raise UserError(
                    f"{key}={system} is not a system of {self.name}; "
                    f"nearest valid: {nearest(system, self.systems)}."
                )
        for beam in self.beams:
            require_range("beams", beam, 1)
        require_distinct("seeds", self.seeds)
        require_distinct("beams", self.beams)


@dataclass(kw_only=True)
class TranslateConfig:
    """``translate``: a text file through a checkpoint."""

    checkpoint: str
    """Checkpoint folder, or a run folder (its best checkpoint is taken)."""
    decoding: DecodingConfig
    more_checkpoints: list[str] = field(default_factory=list)
    """Others to translate together with it, as an ensemble; their vocabularies are the same."""
    average: bool = False
    """Make one model of the mean of their weights instead; for checkpoints of one training."""
    input: str = "-"
    """Text file, one sentence a line; - for standard input."""
    hypotheses: str | None = "-"
    """File to write, one line per input line; - for standard output, null for none."""
    n_best_list: str | None = None
    """File for the ``decoding.n_best`` hypotheses of each input line, as Moses writes them but for
    its feature scores: ``line number from 0 ||| text ||| score``; - for standard output."""
    alignments: str | None = None
    """File for the word links of the best hypotheses in Pharaoh's format, ``source-target`` from 0,
    one line per input line; - for standard output. Each target word is linked to the source word
    that it looked at most, so the model must have attention. Words are those between spaces: not
    for models of Moses' words, and a line that a subword model cuts into others has no links."""
    chunk: int = 4_096
    """Lines read before they are translated; fewer take less memory, more are faster, and 1 answers
    each line of a slow pipe at once."""
    device: str = "auto"
    """auto | cpu | cuda."""
    precision: str = "auto"
    """auto | fp32 | bf16."""

    def __post_init__(self) -> None:
        require_choice("device", self.device, ("auto", "cpu", "cuda"))
        require_choice("precision", self.precision, ("auto", "fp32", "bf16"))
        require_range("chunk", self.chunk, 1)
        _require_company(self.average, self.more_checkpoints)
        if not self.outputs:
            raise UserError(
                "There is nothing to write; give hypotheses, n_best_list or alignments."
            )

    @property
    def outputs(self) -> dict[str, str]:
        """Where to write what: those of the three that are given, by their keys."""
        given = {key: getattr(self, key) for key in ("hypotheses", "n_best_list", "alignments")}
        return {key: file for key, file in given.items() if file is not None}


@dataclass(kw_only=True)
class EvaluateConfig:
    """``evaluate``: translations of a test set, a checkpoint's or a file's, scored by length."""

    decoding: DecodingConfig
    evaluation: EvaluationConfig
    checkpoint: str | None = None
    """Checkpoint folder, or a run folder (its best checkpoint is taken)."""
    more_checkpoints: list[str] = field(default_factory=list)
    """Others to translate together with it, as an ensemble; their vocabularies are the same."""
    average: bool = False
    """Make one model of the mean of their weights instead; for checkpoints of one training."""
    beams: list[int] | None = None
    """Search with each of these beam widths, 1 being greedy; null for ``decoding.beam`` alone."""
    no_unk: bool = False
    """Search once more without <unk>, and print both columns of Bahdanau et al. 2014, Table 1; for
    vocabularies of words."""
    hypotheses: str | None = None
    """Translations to score without a model, one per line of ``source``; instead of checkpoint."""
    system: str | None = None
    """What to call the system that wrote ``hypotheses``."""
    test_sets: list[str] | None = None
    """Names of test sets of the corpus the model was trained on; null for all of them, [] for
    none."""
    test_texts: dict[str, str] = field(default_factory=dict)
    """More test sets: name -> path of its two files without their endings, which are the
    language codes, such as newstest2014: texts/newstest2014 for newstest2014.en, newstest2014.fr.
    """
    directory: str | None = None
    """Where the corpus's files are now; null for where they were in training."""
    source: str | None = None
    """A source text of your own instead of the corpus's test sets; goes with ``reference``."""
    reference: str | None = None
    """The reference translations of ``source``, line by line."""
    gold: str | None = None
    """Gold word links between ``source`` and ``reference``, a line for each pair: 2-1 a sure one,
    2p1 a possible one. Attention's links are scored against them, as against the
    ``<test set>.align`` of a corpus."""
    maps: list[int] = field(default_factory=list)
    """Lines of the test set, from 1, whose attention ``compare`` draws; without them it draws a few
    of several lengths."""
    output: str | None = None
    """Folder to write to; null for ``evaluations`` in the run folder."""
    data: str = "data"
    """Folder for corpora and encoded text."""
    device: str = "auto"
    """auto | cpu | cuda."""
    precision: str = "auto"
    """auto | fp32 | bf16."""

    def __post_init__(self) -> None:
        require_choice("device", self.device, ("auto", "cpu", "cuda"))
        require_choice("precision", self.precision, ("auto", "fp32", "bf16"))
        _require_company(self.average, self.more_checkpoints)
        for line in self.maps:
            require_range("maps", line, 1)
        for beam in self.beams or []:
            require_range("beams", beam, 1)
        if self.beams is not None:
            require_distinct("beams", self.beams)
        if (self.checkpoint is None) == (self.hypotheses is None):
            raise UserError(
                "give checkpoint=FOLDER to translate with a model, or hypotheses=FILE to score "
                "translations that are there already: one of the two."
            )
        if (self.source is None) != (self.reference is None):
            raise UserError("source and reference go together; give both, or neither.")
        if self.gold is not None and self.source is None:
            raise UserError("gold goes with source and reference; give all three.")
        if self.source is not None and (self.test_sets or self.test_texts or self.directory):
            raise UserError(
                "source is a text of your own; leave out test_sets, test_texts and directory."
            )
        if self.test_sets == [] and not (self.test_texts or self.source or self.hypotheses):
            raise UserError("test_sets=[] leaves nothing to evaluate; give test_texts or source.")
        if self.no_unk and self.decoding.forbid_unknown:
            raise UserError(
                "no_unk=true searches with and without <unk>; leave out decoding.forbid_unknown."
            )
        if self.decoding.n_best > 1:
            raise UserError(
                f"decoding.n_best={self.decoding.n_best}: only the best hypothesis is scored; "
                "leave it out."
            )
        if self.beams is not None and self.decoding.sample:
            raise UserError("beams are widths of searches; leave it out with decoding.sample.")
        if self.hypotheses is not None:
            for key in ("source", "reference", "system", "output"):
                if not getattr(self, key):
                    raise UserError(f"hypotheses={self.hypotheses} needs {key}=...; give it too.")
        # The name becomes a part of a folder's.
        if self.system is not None and (self.hypotheses is None or "/" in self.system):
            raise UserError(
                f"system={self.system} names who wrote hypotheses=FILE, in a word without slashes."
            )

    def searches(self) -> list[DecodingConfig]:
        """Every search asked for; with ``no_unk``, each is followed by its like without <unk>."""
        searches = []
        for beam in self.beams or [self.decoding.beam]:
            search = replace(self.decoding, beam=beam)
            searches.append(search)
            if self.no_unk:
                searches.append(replace(search, forbid_unknown=True))
        return searches


@dataclass(kw_only=True)
class CompareConfig:
    """``compare``: several evaluations of one test set, side by side."""

    evaluations: list[str]
    """Evaluation folders, or patterns such as outputs/mine/*/seed-*/evaluations/test-beam5; of one
    system and several seeds the scores are averaged."""
    output: str
    """Folder for table, figures and page."""
    evaluation: EvaluationConfig
    baseline: str | None = None
    """The system without the component under study; null for the first named."""
    baselines: dict[str, str] = field(default_factory=dict)
    """System -> the system that it is compared with, where that is not ``baseline``. One that
    others are compared with is compared itself only where it is named here, too."""


@dataclass(kw_only=True)
class ExplainConfig:
    """``explain``: worked examples of attention, step by step."""

    examples: list[str] = field(default_factory=list)
    """additive | dot | local | scaled_dot | softmax_axis | multi_head: those to walk through, in
    this order; empty for all."""
    output: str = "outputs/explain"
    """Folder for the pictures."""

    def __post_init__(self) -> None:
        for name in self.examples:
            require_choice("examples", name, EXAMPLES)
        if self.examples:
            require_distinct("examples", self.examples)


def _require_company(average: bool, more_checkpoints: Sequence[str]) -> None:
    """Refuse to average one checkpoint."""
    if average and not more_checkpoints:
        raise UserError("average=true needs more than one checkpoint; give more_checkpoints=[...].")
