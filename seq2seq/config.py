"""The schema: one dataclass per config group, one docstring per field, checks on construction.

Hydra fills these from ``configs/``; a checkpoint keeps them as JSON. Nothing below this module
knows where a value came from, and every module of the package is built from its own group only.
"""

import dataclasses
import difflib
import types
import typing
from dataclasses import dataclass, field
from typing import Any, TypeVar

from seq2seq.errors import UserError

T = TypeVar("T")

LANGUAGES_OF_MULTI30K = ("en", "de", "fr")


def nearest(word: str, choices: typing.Iterable[str]) -> str:
    """Name the choices closest to ``word``, or all of them when none is close."""
    names = list(choices)
    close = difflib.get_close_matches(word, names, n=3, cutoff=0.5) or names
    return ", ".join(close)


def require_choice(key: str, value: str, choices: typing.Sequence[str]) -> None:
    """Refuse a ``value`` outside ``choices``, naming the nearest valid ones."""
    if value not in choices:
        raise UserError(
            f"{key}={value} is not a valid choice; nearest valid: {nearest(str(value), choices)}."
        )


def require_range(key: str, value: float | None, low: float, high: float = float("inf")) -> None:
    """Refuse a ``value`` outside [low, high]; None stands for "not set" and passes."""
    if value is not None and not low <= value <= high:
        bounds = f"at least {low:g}" if high == float("inf") else f"between {low:g} and {high:g}"
        raise UserError(f"{key}={value} is out of range; it must be {bounds}.")


@dataclass(kw_only=True)
class CorpusConfig:
    """Where parallel text comes from; one subclass per kind of corpus."""

    kind: str
    """grammar | multi30k | europarl | files."""
    source: str
    """Language code of the source side."""
    target: str
    """Language code of the target side."""
    directory: str | None = None
    """Folder that already holds the corpus files (plain, .gz or .xz); nothing is downloaded."""
    mirror: str | None = None
    """Base URL (http, https or file) to download from instead of the public one."""
    train_pairs: int | None = None
    """Train on the first so many pairs only; null for all."""
    train_max_words: int | None = None
    """Leave out training pairs with a side of more words (the paper's -30 and -50 systems).

    Never applied to validation or test text."""

    def __post_init__(self) -> None:
        require_range("corpus.train_pairs", self.train_pairs, 1)
        require_range("corpus.train_max_words", self.train_max_words, 1)
        if self.source == self.target:
            raise UserError(
                f"corpus.source and corpus.target are both {self.source}; name two languages."
            )


@dataclass(kw_only=True)
class GrammarCorpus(CorpusConfig):
    """The embedded English-German grammar: no download, any size, gold alignments."""

    kind: str = "grammar"
    source: str = "en"
    target: str = "de"
    seed: int = 1
    """Seed of the text itself, apart from the seed of the training."""
    train: int = 60_000
    """Training pairs."""
    valid: int = 1_000
    """Validation pairs, of the training distribution of lengths."""
    test_per_bucket: int = 200
    """Test pairs in each band of ten source words (1-10, 11-20, ..., up to max_words)."""
    max_words: int = 70
    """The longest source sentence written, in words."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("corpus.source", self.source, ("en", "de"))
        require_choice("corpus.target", self.target, ("en", "de"))
        require_range("corpus.train", self.train, 1)
        require_range("corpus.valid", self.valid, 1)
        require_range("corpus.test_per_bucket", self.test_per_bucket, 1)
        require_range("corpus.max_words", self.max_words, 10, 120)


@dataclass(kw_only=True)
class Multi30kCorpus(CorpusConfig):
    """Multi30k image captions (Elliott et al. 2016): 29,000 short pairs."""

    kind: str = "multi30k"
    source: str = "de"
    target: str = "en"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("corpus.source", self.source, LANGUAGES_OF_MULTI30K)
        require_choice("corpus.target", self.target, LANGUAGES_OF_MULTI30K)


@dataclass(kw_only=True)
class EuroparlCorpus(CorpusConfig):
    """Europarl v7 (Koehn 2005), English-French: the long sentences of the paper's own corpus."""

    kind: str = "europarl"
    source: str = "en"
    target: str = "fr"
    max_words: int = 100
    """Cleaning: drop pairs with a side of more words (from every split of the raw archive)."""
    max_ratio: float = 3.0
    """Cleaning: drop pairs whose word counts differ by more than this factor."""
    valid_pairs: int = 2_000
    """Validation pairs, chosen by content hash."""
    test_pairs: int = 4_000
    """Test pairs, chosen by content hash."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("corpus.source", self.source, ("en", "fr"))
        require_choice("corpus.target", self.target, ("en", "fr"))
        require_range("corpus.max_words", self.max_words, 1)
        require_range("corpus.max_ratio", self.max_ratio, 1)
        require_range("corpus.valid_pairs", self.valid_pairs, 1)
        require_range("corpus.test_pairs", self.test_pairs, 1)


@dataclass(kw_only=True)
class FilesCorpus(CorpusConfig):
    """Your own line-aligned text: six paths, or ``directory`` with train/valid/test.{source,target}."""

    kind: str = "files"
    train_source: str | None = None
    """Path of the source side of the training text; likewise the five below."""
    train_target: str | None = None
    valid_source: str | None = None
    valid_target: str | None = None
    test_source: str | None = None
    test_target: str | None = None


@dataclass(kw_only=True)
class TokenizationConfig:
    """How text becomes pieces, and pieces ids."""

    kind: str
    """sentencepiece | moses | whitespace."""
    vocabulary_size: int | None = None
    """Most pieces kept per vocabulary, specials included; null for no limit (not sentencepiece)."""
    min_frequency: int = 1
    """Words seen less often in training become <unk> (moses and whitespace)."""
    joint: bool = False
    """One subword model over both languages instead of one per side (sentencepiece)."""
    max_pieces: int = 250
    """Training pairs with more pieces on a side are left out; longer lines to translate are cut
    with a warning."""
    workers: int | None = None
    """Processes that tokenise; null for one per core."""

    def __post_init__(self) -> None:
        require_choice("tokenization.kind", self.kind, ("sentencepiece", "moses", "whitespace"))
        require_range("tokenization.vocabulary_size", self.vocabulary_size, 8)
        require_range("tokenization.min_frequency", self.min_frequency, 1)
        require_range("tokenization.max_pieces", self.max_pieces, 1)
        require_range("tokenization.workers", self.workers, 1)
        if self.kind == "sentencepiece" and self.vocabulary_size is None:
            raise UserError(
                "tokenization.vocabulary_size is null; sentencepiece needs a size, such as 8000."
            )
        if self.joint and self.kind != "sentencepiece":
            raise UserError(
                f"tokenization.joint=true goes with sentencepiece only, not {self.kind}; "
                "set it to false."
            )


@dataclass(kw_only=True)
class EncoderConfig:
    """The bidirectional LSTM that reads the source."""

    hidden: int = 256
    """Units per direction."""
    layers: int = 1
    """Stacked bidirectional layers."""

    def __post_init__(self) -> None:
        require_range("model.encoder.hidden", self.hidden, 1)
        require_range("model.encoder.layers", self.layers, 1)


@dataclass(kw_only=True)
class AttentionConfig:
    """What the decoder sees of the source at each step: the one component under study."""

    kind: str = "additive"
    """additive (Bahdanau et al. 2014) | fixed (the encoder's summary at every step)."""
    size: int = 512
    """Width of the alignment model's hidden layer (n' in the paper); unused by ``fixed``."""

    def __post_init__(self) -> None:
        require_choice("model.attention.kind", self.kind, ("additive", "fixed"))
        require_range("model.attention.size", self.size, 1)


@dataclass(kw_only=True)
class DecoderConfig:
    """The LSTM that writes the target."""

    hidden: int = 512
    """Units per layer."""
    layers: int = 1
    """Stacked layers; the context enters the first, the query comes from the top one."""
    readout: str = "tanh"
    """tanh | maxout (the paper's, pairs of units): the layer between state and softmax."""
    tie_embedding: bool = True
    """Share the target embedding with the softmax (Press & Wolf 2017)."""

    def __post_init__(self) -> None:
        require_range("model.decoder.hidden", self.hidden, 1)
        require_range("model.decoder.layers", self.layers, 1)
        require_choice("model.decoder.readout", self.readout, ("tanh", "maxout"))


@dataclass(kw_only=True)
class ModelConfig:
    """The translation model; the arms of a comparison differ in ``attention`` alone."""

    embedding: int = 256
    """Width of source and target embeddings, and of the readout."""
    dropout: float = 0.2
    """Dropped share of embeddings, annotations, states between layers and readout."""
    initialization: str = "xavier"
    """xavier (orthogonal recurrences, forget bias 1) | paper (appendix B.1 of the paper)."""
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    attention: AttentionConfig = field(default_factory=AttentionConfig)
    decoder: DecoderConfig = field(default_factory=DecoderConfig)

    def __post_init__(self) -> None:
        require_range("model.embedding", self.embedding, 1)
        require_range("model.dropout", self.dropout, 0, 0.95)
        require_choice("model.initialization", self.initialization, ("xavier", "paper"))


@dataclass(kw_only=True)
class OptimizerConfig:
    """The update rule and its learning-rate schedule."""

    kind: str = "adam"
    """adam | adadelta (the paper's) | sgd."""
    learning_rate: float = 1e-3
    """Step size after warm-up (Adadelta: the factor on its own step, 1 in the paper)."""
    epsilon: float = 1e-8
    """Denominator constant of Adam and Adadelta (1e-6 in the paper)."""
    rho: float = 0.95
    """Adadelta's decay."""
    betas: tuple[float, float] = (0.9, 0.999)
    """Adam's decays."""
    momentum: float = 0.0
    """SGD's momentum."""
    weight_decay: float = 0.0
    """L2 penalty."""
    warmup_updates: int = 0
    """Updates over which the rate rises linearly from zero."""
    decay: str = "plateau"
    """constant | plateau (multiply by decay_factor when the dev measure stalls) | inverse_sqrt."""
    decay_factor: float = 0.5
    """Plateau: factor on the rate."""
    decay_patience: int = 1
    """Plateau: validations without a better dev measure before the rate falls."""

    def __post_init__(self) -> None:
        require_choice("training.optimizer.kind", self.kind, ("adam", "adadelta", "sgd"))
        require_choice(
            "training.optimizer.decay", self.decay, ("constant", "plateau", "inverse_sqrt")
        )
        require_range("training.optimizer.learning_rate", self.learning_rate, 0)
        require_range("training.optimizer.warmup_updates", self.warmup_updates, 0)
        require_range("training.optimizer.decay_factor", self.decay_factor, 0, 1)
        require_range("training.optimizer.decay_patience", self.decay_patience, 0)


@dataclass(kw_only=True)
class TrainingConfig:
    """How a model is trained, and when training ends."""

    batch_size: int = 64
    """Sentences, or target tokens with batch_unit=tokens, in a micro-batch."""
    batch_unit: str = "sentences"
    """sentences | tokens."""
    accumulate: int = 1
    """Micro-batches per update; the loss is normalised by the tokens of all of them."""
    max_epochs: int = 30
    """Training ends after so many passes over the data."""
    max_updates: int | None = None
    """Training ends after so many updates; null for no limit."""
    validate_every: int | None = None
    """Updates between validations; null for once an epoch."""
    patience: int = 5
    """Training ends after so many validations without a better dev measure."""
    measure: str = "loss"
    """loss | bleu: the dev measure that picks the best checkpoint and drives patience."""
    clip_norm: float = 1.0
    """Largest gradient norm; longer gradients are scaled down to it."""
    label_smoothing: float = 0.1
    """Share of the target probability spread evenly over the vocabulary."""
    precision: str = "auto"
    """auto (bf16 where the processor has it, else fp32) | fp32 | bf16."""
    device: str = "auto"
    """auto (cuda when there is one) | cpu | cuda."""
    dev_bleu_sentences: int = 500
    """Dev sentences translated greedily at each validation for BLEU by length; 0 for none."""
    log_every: int = 50
    """Updates between two lines of metrics."""
    tensorboard: bool = False
    """Write TensorBoard events beside metrics.jsonl (needs the ``tensorboard`` extra)."""
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)

    def __post_init__(self) -> None:
        require_choice("training.batch_unit", self.batch_unit, ("sentences", "tokens"))
        require_choice("training.measure", self.measure, ("loss", "bleu"))
        require_choice("training.precision", self.precision, ("auto", "fp32", "bf16"))
        require_choice("training.device", self.device, ("auto", "cpu", "cuda"))
        for name in ("batch_size", "accumulate", "max_epochs", "max_updates", "log_every"):
            require_range(f"training.{name}", getattr(self, name), 1)
        for name in ("validate_every", "patience"):
            require_range(f"training.{name}", getattr(self, name), 1)
        require_range("training.clip_norm", self.clip_norm, 0)
        require_range("training.label_smoothing", self.label_smoothing, 0, 0.99)
        if self.measure == "bleu" and self.dev_bleu_sentences < 1:
            raise UserError(
                "training.measure=bleu needs dev translations; "
                "set training.dev_bleu_sentences to 1 or more."
            )


@dataclass(kw_only=True)
class DecodingConfig:
    """How a trained model searches for a translation."""

    beam: int = 5
    """Hypotheses kept per sentence; 1 is greedy search."""
    length_normalization: float = 1.0
    """Finished hypotheses rank by log-probability / length ** this; 0 for none, 1 for average."""
    batch_size: int = 64
    """Sentences searched together; changes speed only."""
    max_ratio: float = 2.0
    """A hypothesis ends at max_ratio x source pieces + max_extra pieces."""
    max_extra: int = 10
    """See max_ratio."""

    def __post_init__(self) -> None:
        require_range("decoding.beam", self.beam, 1)
        require_range("decoding.length_normalization", self.length_normalization, 0)
        require_range("decoding.batch_size", self.batch_size, 1)
        require_range("decoding.max_ratio", self.max_ratio, 0)
        require_range("decoding.max_extra", self.max_extra, 1)

    @property
    def name(self) -> str:
        """``greedy`` or ``beam5``: how folders and tables call this search."""
        return "greedy" if self.beam == 1 else f"beam{self.beam}"


@dataclass(kw_only=True)
class EvaluationConfig:
    """How translations are scored: buckets of source length and intervals."""

    edges: list[int] = field(default_factory=lambda: [10, 20, 30, 40, 50, 60])
    """Upper edges of the length buckets in source words; the last bucket is open."""
    bootstrap: int = 1_000
    """Bootstrap resamples for intervals and paired tests."""
    seed: int = 12_345
    """Seed of the resampling."""
    confidence: float = 0.95
    """Coverage of the intervals."""

    def __post_init__(self) -> None:
        if not self.edges or sorted(set(self.edges)) != list(self.edges) or self.edges[0] < 1:
            raise UserError(
                f"evaluation.edges={list(self.edges)} must be rising positive numbers of words, "
                "such as [10, 20, 30]."
            )
        require_range("evaluation.bootstrap", self.bootstrap, 100)
        require_range("evaluation.confidence", self.confidence, 0.5, 0.999)


@dataclass(kw_only=True)
class ExperimentConfig:
    """What prepare, train and reproduce read: one system of one experiment, end to end."""

    experiment: str
    """Name of the experiment: the first folder below ``output``."""
    systems: dict[str, list[str]]
    """The arms under comparison: name -> Hydra overrides that make it. Keep them to one component."""
    system: str
    """Which of ``systems`` to train; ``reproduce`` runs them all."""
    corpus: CorpusConfig
    tokenization: TokenizationConfig
    model: ModelConfig
    training: TrainingConfig
    decoding: DecodingConfig
    evaluation: EvaluationConfig
    seed: int = 1
    """Seed of initialisation, batch order and dropout."""
    data: str = "data"
    """Folder for corpora and encoded text."""
    output: str = "outputs"
    """Folder for runs: <output>/<experiment>/<system>/seed=<seed>."""

    def __post_init__(self) -> None:
        if self.system not in self.systems:
            raise UserError(
                f"system={self.system} is not a system of experiment {self.experiment}; "
                f"nearest valid: {nearest(self.system, self.systems)}."
            )


@dataclass(kw_only=True)
class ReproduceConfig(ExperimentConfig):
    """``reproduce``: every system of the experiment, for every seed, scored and compared."""

    seeds: list[int] = field(default_factory=lambda: [1])
    """One training per system and seed."""
    beams: list[int] = field(default_factory=lambda: [1, 5])
    """Beam widths to evaluate with; each gets its own table and figure."""


@dataclass(kw_only=True)
class TranslateConfig:
    """``translate``: a text file through a checkpoint."""

    checkpoint: str
    """Checkpoint folder, or a run folder (its best checkpoint is taken)."""
    decoding: DecodingConfig
    input: str = "-"
    """Text file, one sentence a line; - for standard input."""
    hypotheses: str = "-"
    """File to write, one line per input line; - for standard output."""
    device: str = "auto"
    """auto | cpu | cuda."""
    precision: str = "auto"
    """auto | fp32 | bf16."""

    def __post_init__(self) -> None:
        require_choice("device", self.device, ("auto", "cpu", "cuda"))
        require_choice("precision", self.precision, ("auto", "fp32", "bf16"))


@dataclass(kw_only=True)
class EvaluateConfig:
    """``evaluate``: a checkpoint's translations of a test set, scored by source length."""

    checkpoint: str
    """Checkpoint folder, or a run folder (its best checkpoint is taken)."""
    decoding: DecodingConfig
    evaluation: EvaluationConfig
    test_sets: list[str] | None = None
    """Names of test sets of the corpus the model was trained on; null for all of them."""
    source: str | None = None
    """A source text of your own instead of the corpus's test sets; goes with ``reference``."""
    reference: str | None = None
    """The reference translations of ``source``, line by line."""
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
        if (self.source is None) != (self.reference is None):
            raise UserError("source and reference go together; give both, or neither.")


@dataclass(kw_only=True)
class CompareConfig:
    """``compare``: several evaluations of one test set, side by side."""

    evaluations: list[str]
    """Evaluation folders; those of one system and several seeds are pooled into a band."""
    output: str
    """Folder for the table and the figure."""
    evaluation: EvaluationConfig
    baseline: str | None = None
    """The system without the component under study; null for the first named."""


CORPORA: dict[str, type[CorpusConfig]] = {
    "grammar": GrammarCorpus,
    "multi30k": Multi30kCorpus,
    "europarl": EuroparlCorpus,
    "files": FilesCorpus,
}


def to_json(config: Any) -> dict[str, Any]:
    """A config dataclass as plain JSON data."""
    return dataclasses.asdict(config)


def from_json(schema: type[T], data: dict[str, Any], where: str) -> T:
    """Rebuild a config dataclass from the JSON that :func:`to_json` made, strictly.

    ``where`` names the file in the message when a field is missing, unknown or ill-typed.
    """
    if schema is CorpusConfig:
        kind = data.get("kind")
        if kind not in CORPORA:
            raise UserError(f"{where}: corpus kind {kind!r} is unknown; valid: {list(CORPORA)}.")
        schema = typing.cast(type[T], CORPORA[kind])
    hints = typing.get_type_hints(schema)
    known = {f.name for f in dataclasses.fields(schema)}  # type: ignore[arg-type]
    if unknown := set(data) - known:
        raise UserError(f"{where}: unknown config key {sorted(unknown)[0]!r}; was it altered?")
    values = {}
    for key, value in data.items():
        hint = hints[key]
        if dataclasses.is_dataclass(hint):
            values[key] = from_json(typing.cast(type, hint), value, where)
        elif typing.get_origin(hint) is tuple:
            values[key] = tuple(value)
        elif not _fits(value, hint):
            raise UserError(f"{where}: config key {key!r} holds {value!r}, not a {hint}.")
        else:
            values[key] = value
    try:
        return schema(**values)
    except TypeError as error:
        raise UserError(f"{where}: a config key is missing ({error}).") from None


def _fits(value: Any, hint: Any) -> bool:
    origin = typing.get_origin(hint)
    if origin in (types.UnionType, typing.Union):
        return any(_fits(value, option) for option in typing.get_args(hint))
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, origin or hint)
