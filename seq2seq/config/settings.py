"""Settings of text, model, training, search and scoring."""

import re
from dataclasses import field, replace
from itertools import permutations
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Interval, Len
from pydantic import Field

from seq2seq.config.checks import (
    Count,
    Device,
    FileName,
    Natural,
    Place,
    Precision,
    between,
    one_of,
    settings,
)
from seq2seq.errors import UserError


@settings
class CorpusConfig:
    """Settings of the parallel text; one subclass per kind of corpus."""

    kind: str
    """grammar | multi30k | europarl | files."""
    source: FileName
    """Language code of the source side."""
    target: FileName
    """Language code of the target side."""
    directory: Place | None = None
    """Folder that already holds the corpus files (plain, .gz or .xz), instead of a download; not
    with grammar."""
    mirror: str | None = None
    """Base URL (http or https) to download from instead of the public one; only of multi30k
    and europarl."""
    train_pairs: Count | None = None
    """Number of training pairs to read, from the start of the text; null for all. Pairs that are
    blank or too long count towards this number, but are left out."""
    train_max_words: Count | None = None
    """Maximum number of words on each side of a training pair (30 or 50 in the paper); longer pairs
    are left out. In languages without spaces (see ``evaluation.length_unit``), two characters count
    as one word, here and in ``max_words``."""

    def __post_init__(self) -> None:
        if self.source == self.target:
            raise UserError(f"corpus.source and corpus.target are both {self.source}.")


@settings
class GrammarCorpus(CorpusConfig):
    """The embedded English-German grammar: no download, any size."""

    kind: Literal["grammar"] = "grammar"
    source: Annotated[str, one_of("en", "de")] = "en"
    target: Annotated[str, one_of("en", "de")] = "de"
    seed: int = 1
    """Seed of the text itself, not of the training."""
    train: Count = 120_000
    """Number of training pairs."""
    valid: Count = 1_000
    """Number of validation pairs; their lengths have the same distribution as in training."""
    test_per_bucket: Count = 200
    """Number of test pairs in each range of source length: 1-10 words, 11-20 words, and so on up to
    max_words."""
    max_words: Annotated[int, between(10, 120)] = 70
    """Longest source sentence, in words."""


@settings
class Multi30kCorpus(CorpusConfig):
    """Multi30k image captions (Elliott et al. 2016): 29,000 short pairs."""

    kind: Literal["multi30k"] = "multi30k"
    source: Annotated[str, one_of("en", "de", "fr")] = "de"
    target: Annotated[str, one_of("en", "de", "fr")] = "en"


@settings
class EuroparlCorpus(CorpusConfig):
    """Europarl v7 (Koehn 2005), English-French: long sentences, a part of the paper's corpus."""

    kind: Literal["europarl"] = "europarl"
    source: Annotated[str, one_of("en", "fr")] = "en"
    target: Annotated[str, one_of("en", "fr")] = "fr"
    max_words: Count = 100
    """Maximum number of words on each side of a pair; cleaning drops longer pairs before the text
    is split."""
    valid_pairs: Count = 2_000
    """Number of validation pairs, chosen by a hash of the source sentence."""
    test_pairs: Count = 4_000
    """Number of test pairs, chosen by a hash of the source sentence."""


@settings
class FilesCorpus(CorpusConfig):
    """Your own line-aligned text; ``directory`` is a folder with train.LANGUAGE, valid.LANGUAGE and
    test.LANGUAGE files."""

    kind: Literal["files"] = "files"
    source: FileName = "auto"
    """Language code of the source side; auto: the ending of train.* that is not ``target``'s."""
    target: FileName = "auto"
    """Language code of the target side; auto: the ending of train.* that is not ``source``'s."""
    valid_pairs: Count | None = None
    """Number of validation pairs to split off the training text; refused with a valid file."""
    test_pairs: Count | None = None
    """Number of test pairs to split off the training text; refused with a test file."""

    def __post_init__(self) -> None:
        if "auto" in (self.source, self.target):
            self.source, self.target = _languages(self.source, self.target, self.directory)
        super().__post_init__()


Corpus = Annotated[
    GrammarCorpus | Multi30kCorpus | EuroparlCorpus | FilesCorpus, Field(discriminator="kind")
]
CORPORA: dict[str, type[CorpusConfig]] = {
    one.kind: one for one in (GrammarCorpus, Multi30kCorpus, EuroparlCorpus, FilesCorpus)
}


def _languages(source: str, target: str, directory: str | None) -> tuple[str, str]:
    """Find each language that is "auto"; if both are, and only de and en are there, en is first."""
    files = [path for path in Path(directory or "no folder").glob("train.?*") if path.is_file()]
    names = [path.name.split(".")[1:] for path in files]
    endings = {ending for ending, *packed in names if packed in ([], ["gz"], ["xz"])}
    found = sorted(endings) or ["source", "target"]
    if found == ["source", "target"]:
        return (found[0] if source == "auto" else source, found[1] if target == "auto" else target)
    pairs = permutations(found, 2)
    ways = [way for way in pairs if source in (way[0], "auto") and target in (way[1], "auto")]
    if len(ways) == 1 or (ways and found == ["de", "en"]):
        return ways[-1]
    given = " or ".join(f"corpus.source={one} corpus.target={other}" for one, other in ways[:2])
    raise UserError(
        f"{directory} has train.{' and train.'.join(found)}; set {given or 'two of these'} to say "
        "which way to translate."
    )


@settings
class TokenizationConfig:
    """Settings of the tokenizers, which cut text into pieces, and of the vocabularies, which number
    the pieces."""

    kind: Annotated[str, one_of("sentencepiece", "whitespace")]
    """sentencepiece (subwords) | whitespace (words of text already tokenised)."""
    vocabulary_size: Annotated[int, between(8)] | None = None
    """Maximum vocabulary size, including special pieces such as ``<unk>``; null for no limit (not
    with sentencepiece)."""
    min_frequency: Count = 1
    """Minimum count of a word in training; rarer words become ``<unk>`` (whitespace)."""
    joint: bool = False
    """Whether both languages share one subword model (sentencepiece)."""
    target_normalization: Annotated[str, one_of("identity", "nfkc", "nmt_nfkc")] | None = None
    """Normalisation of the target, and with ``joint`` also of the source (sentencepiece): identity
    (keeps every character) | nfkc | nmt_nfkc (nfkc, and control characters are removed; always
    that of the source without ``joint``); null for identity. White space always becomes single
    spaces. A model cannot write a character that the normalisation removes."""
    max_pieces: Count = 250
    """Maximum number of pieces on each side of a training or validation pair; longer pairs are left
    out. In translation, a longer line is cut."""

    def __post_init__(self) -> None:
        if self.kind == "sentencepiece" and self.vocabulary_size is None:
            raise UserError("tokenization.vocabulary_size is null; sentencepiece needs a number.")
        target = self.target_normalization or "identity"
        self.target_normalization = target if self.kind == "sentencepiece" else None


# The limits exceed any useful size. They are there because a checkpoint's model is built before
# its tensors are checked.
Size = Annotated[int, between(1, 1_000_000)]
Layers = Annotated[int, between(1, 100)]
Dropout = Annotated[float, between(0, 0.95)]

ATTENTION_KINDS = {
    "additive": "additive.AdditiveAttention",
    "coverage": "additive.CoverageAttention",
    "dot": "dot_product.DotAttention",
    "general": "dot_product.GeneralAttention",
    "scaled_dot": "dot_product.ScaledDotAttention",
    "multi_head": "dot_product.MultiHeadAttention",
    "location": "local.LocationAttention",
    "local_m": "local.MonotonicLocalAttention",
    "local_p": "local.PredictiveLocalAttention",
    "fixed": "controls.FixedContext",
    "init_only": "controls.NoContext",
    "none": "controls.NoSource",
    "uniform": "controls.UniformAttention",
    "slots": "pooled.SlotAttention",
    "linear": "pooled.LinearAttention",
    "elu": "pooled.EluAttention",
    "delta": "pooled.DeltaAttention",
}
"""Attention kind -> class in ``seq2seq/model/attention/``."""


@settings
class EncoderConfig:
    """Settings of the LSTM that reads the source, in both directions by default."""

    hidden_size: Size = 256
    """Number of units per direction."""
    layers: Layers = 1
    """Number of stacked layers."""
    directions: Annotated[str, one_of("both", "forward", "backward")] = "both"
    """both | forward (the paper's own baseline) | backward (Sutskever et al. 2014)."""
    summary: Annotated[str, one_of("top", "all")] = "top"
    """Final states that start the decoder: top (those of the top layer) | all (those of all layers;
    Sutskever et al. 2014). attention.kind=fixed reads them at every step."""


@settings
class AttentionConfig:
    """Settings of attention, the one component under study: how the decoder sees the source."""

    kind: Annotated[str, one_of(others=ATTENTION_KINDS)] = "additive"
    """additive (Bahdanau et al. 2014) | dot, general, location, local_m, local_p (Luong et al.
    2015) | scaled_dot, multi_head (Vaswani et al. 2017) | coverage (additive; Tu et al. 2016);
    with a memory of fixed size: slots (additive attention to a few vectors, which learned queries
    pool) | linear (Shen et al. 2021) | elu (Katharopoulos et al. 2020) | delta (Schlag et al.
    2021); without attention: fixed (the encoder's summary at every step) | init_only (the summary
    only in the first state) | none (no source at all) | uniform (the mean of all annotations)."""
    size: Size = 512
    """Width of the hidden layer of additive kinds (n' in the paper), or of queries and keys of
    scaled_dot and multi_head (all heads together)."""
    heads: Size = 8
    """Number of heads of multi_head."""
    window: Size = 10
    """Number of positions that local_m and local_p see on each side of the window's centre (D in
    Luong et al. 2015)."""
    slots: Size = 8
    """Number of vectors into which the kinds slots, linear, elu and delta write the source."""


@settings
class DecoderConfig:
    """Settings of the LSTM that writes the target."""

    hidden_size: Size = 512
    """Number of units per layer."""
    layers: Layers = 1
    """Number of stacked layers. The lowest layer reads the input word, and with order=bahdanau also
    the context. The state of the top layer is the query or a part of it."""
    order: Annotated[str, one_of("bahdanau", "luong")] = "bahdanau"
    """bahdanau (attend before each step: the context enters the recurrence) | luong (attend after
    each step: the context enters only the readout; Luong et al. 2015)."""
    input_feeding: bool = False
    """Whether each step also reads the readout of the step before (Luong et al. 2015); needs
    order=luong."""
    query: Annotated[str, one_of("state_and_word", "state")] = "state_and_word"
    """Query with order=bahdanau: state_and_word (the state before the step plus the input word) |
    state (the state alone, as in the paper)."""
    readout: Annotated[str, one_of("linear", "tanh", "maxout")] = "linear"
    """Layer before the softmax: linear | tanh | maxout (the paper's; needs order=bahdanau)."""
    recurrence: Annotated[str, one_of("fast", "reference")] = "fast"
    """fast (one operation with its own gradient for all steps, if the model allows it) | reference
    (a plain loop with autograd). Both compute the same numbers."""
    tie_embedding: bool = True
    """Whether softmax layer and target embedding share their weights (Press & Wolf 2017)."""

    def __post_init__(self) -> None:
        if self.input_feeding and self.order != "luong":
            raise UserError("model.decoder.input_feeding=true needs model.decoder.order=luong.")
        if self.readout == "maxout" and self.order == "luong":
            raise UserError("model.decoder.readout=maxout needs model.decoder.order=bahdanau.")


@settings
class ModelConfig:
    """Settings of the translation model; ``attention`` alone decides whether it is a baseline."""

    embedding_dim: Size = 256
    """Width of source and target embeddings, and of the readout."""
    scale_embedding: bool = True
    """Whether embeddings are multiplied by sqrt(embedding_dim) (Vaswani et al. 2017, 3.4)."""
    dropout: Dropout = 0.2
    """Dropout rate in the readout and between stacked layers."""
    embedding_dropout: Dropout = 0.0
    """Dropout rate in source and target embeddings."""
    initialization: Annotated[str, one_of("uniform", "paper")] = "uniform"
    """uniform (seq2seq/model/translation.py) | paper (appendix B.1 of the paper)."""
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    attention: AttentionConfig = field(default_factory=AttentionConfig)
    decoder: DecoderConfig = field(default_factory=DecoderConfig)

    @property
    def embedding_scale(self) -> float:
        """Factor of embeddings as they are read."""
        return self.embedding_dim**0.5 if self.scale_embedding else 1.0

    def __post_init__(self) -> None:
        memory = self.encoder.hidden_size * (2 if self.encoder.directions == "both" else 1)
        if self.attention.kind == "dot" and self.decoder.hidden_size != memory:
            raise UserError(f"model.attention.kind=dot needs model.decoder.hidden_size={memory}.")
        size, heads = self.attention.size, self.attention.heads
        if self.attention.kind == "multi_head" and (size % heads or memory % heads):
            raise UserError(
                f"model.attention.heads={heads} must divide model.attention.size={size}, and the "
                f"width of the annotations, {memory}."
            )


NonNegative = Annotated[float, Interval(ge=0)]
Decay = Annotated[float, Interval(ge=0, lt=1)]


INHERITED = re.compile(
    r"model\.(?!dropout|embedding_dropout|initialization|decoder\.recurrence)"
    r"|corpus\.(source|target)$|tokenization\.(?!max_pieces)"
)
"""Pattern of the settings that a training has from its ``init_from``."""


@settings
class OptimizerConfig:
    """Settings of the optimizer and of the learning-rate schedule."""

    kind: Annotated[str, one_of("adam", "adadelta", "sgd")] = "adam"
    """adam | adadelta (the paper's) | sgd."""
    learning_rate: NonNegative = 2e-3
    """Learning rate after warm-up. Adadelta multiplies the step that it computes by it (1 in the
    paper)."""
    betas: Annotated[list[Decay], Len(2, 2)] = field(default_factory=lambda: [0.9, 0.98])
    """Decay rates of Adam."""
    warmup_updates: Natural = 100
    """Number of updates over which the learning rate rises linearly from zero."""
    schedule: Annotated[str, one_of("average", "constant", "inverse_sqrt", "linear")] = "average"
    """Learning rate after warm-up: average (constant; validation and checkpoints use the average of
    the weights over about the last tenth of the updates) | constant | inverse_sqrt (falls
    with 1 / sqrt(update)) | linear (falls to zero at the end of max_epochs or max_updates)."""


@settings
class TrainingConfig:
    """Settings of the training: batches, loss, limits, validation, checkpoints, logs."""

    batch_size: Count = 64
    """Maximum number of sentence pairs per micro-batch."""
    gradient_accumulation: Count = 1
    """Number of micro-batches per update; the loss is the mean over all of them."""
    loss_normalization: Annotated[str, one_of("token", "sentence")] = "token"
    """token (mean loss per target token) | sentence (mean loss per sentence, as in the paper; its
    gradients are larger)."""
    init_from: Place | None = None
    """Fine-tuning: run or checkpoint folder whose weights, tokenizers, vocabularies and their
    settings training starts from; null for new ones. Optimizer, schedule and limits are new."""
    max_epochs: Count = 30
    """Maximum number of passes over the training data. A finished run continues if max_epochs,
    max_updates or patience is raised; with schedule=linear, only patience may be raised."""
    max_updates: Count | None = None
    """Maximum number of updates; null for no limit."""
    validate_every: Count | None = None
    """Number of updates between validations; null for one validation per epoch."""
    patience: Count = 5
    """Number of validations in a row without improvement after which training ends."""
    early_stopping_metric: Annotated[str, one_of("loss", "bleu")] = "loss"
    """Dev-set metric, loss | bleu, that selects the best checkpoint. Training ends when it stops
    improving (see patience)."""
    clip_norm: NonNegative = 1.0
    """Maximum gradient norm; larger gradients are scaled down to it. 0 for no limit."""
    label_smoothing: Annotated[float, Interval(ge=0, le=0.99)] = 0.1
    """Fraction of the target probability that is spread evenly over the vocabulary."""
    precision: Precision = "auto"
    """Precision of matrix products: auto (bf16 where it is fast, otherwise fp32) | fp32 | bf16."""
    device: Device = "auto"
    """auto (cuda if available) | cpu | cuda."""
    dev_bleu_sentences: Natural = 500
    """Number of dev sentences translated greedily at each validation for BLEU; 0 for none."""
    deterministic: bool = False
    """Whether to refuse CUDA operations that are not deterministic; on a CPU, all operations are
    deterministic."""
    save_minutes: NonNegative = 10.0
    """Minutes between two saves of the state, in addition to the save at each validation."""
    keep_epochs: list[Count] = field(default_factory=list)
    """Epochs to come, such as [1,2,4], whose final state is kept as checkpoints/epoch-<n>."""
    log_every: Count = 50
    """Number of updates between two lines of metrics."""
    logger: Annotated[str, one_of("none", "tensorboard", "wandb")] = "none"
    """Program that shows the metrics (install it with pip): none | tensorboard | wandb."""
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)

    def __post_init__(self) -> None:
        if self.early_stopping_metric == "bleu" and self.dev_bleu_sentences < 1:
            raise UserError("training.early_stopping_metric=bleu needs dev_bleu_sentences.")


Beam = Annotated[int, between(1, 10_000)]
TOKENIZERS = ("13a", "zh", "ja-mecab", "ko-mecab", "flores200", "spm", "intl", "char", "none")
BLEU_TOKENIZERS = {
    **dict.fromkeys(("zh", "zho", "cmn", "yue"), "zh"),
    **dict.fromkeys(("ja", "jpn"), "ja-mecab"),
    **dict.fromkeys(("ko", "kor"), "ko-mecab"),
    **dict.fromkeys(("bo", "km", "lo", "my", "th", "bod", "khm", "lao", "mya", "tha"), "char"),
}
"""Language -> tokenizer of sacreBLEU, where it is not 13a."""
UNSPACED = ("zh", "ja-mecab", "char")
"""Tokenizers of languages that are written without spaces between words."""
UNITS = {"words": 1, "characters": 2}
"""Unit of length -> number of these units that count as one word in the default limits."""


def bleu_tokenizer(code: str) -> str:
    """Tokenizer of sacreBLEU for a language code; zh-TW and zho_Hans are Chinese, too."""
    return BLEU_TOKENIZERS.get(code.lower().replace("_", "-").partition("-")[0], "13a")


def unspaced(language: str) -> bool:
    """Whether the language with this code is written without spaces between words."""
    return bleu_tokenizer(language) in UNSPACED


@settings
class DecodingConfig:
    """Settings of the search for translations."""

    beam: Beam = 5
    """Number of hypotheses kept per sentence; 1 is greedy search."""
    n_best: Beam = 1
    """Number of hypotheses returned per sentence, at most ``beam``; fewer if fewer are finished."""
    length_penalty: Annotated[float, between(0)] = 1.0
    """Exponent of the length in a hypothesis's score, log-probability / length ** length_penalty:
    0 for no penalty, 1 for the mean log-probability per piece."""
    batch_size: Count = 128
    """Number of sentences translated together. In float32 it changes only speed and memory; with
    bfloat16 also some translations, so compare systems with one value."""
    max_ratio: Annotated[float, between(0, 1000)] = 2.0
    """Factor in the maximum length of a hypothesis: max_ratio x source pieces + max_extra pieces.
    """
    max_extra: Annotated[int, between(1, 1_000_000)] = 10
    """Number of pieces added to the maximum length of a hypothesis; see max_ratio."""

    def __post_init__(self) -> None:
        if self.n_best > self.beam:
            raise UserError(
                f"decoding.n_best={self.n_best} is larger than decoding.beam={self.beam}."
            )

    @property
    def name(self) -> str:
        """Name of this search in folders and tables; another one where results may differ."""
        words = ["greedy" if self.beam == 1 else f"beam{self.beam}"]
        for key in ("length_penalty", "max_ratio", "max_extra"):
            value = getattr(self, key)
            if value != getattr(DecodingConfig, key):
                word = key.removeprefix("max_").replace("_", "-")
                words.append(word + repr(value).removesuffix(".0"))
        return "-".join(words)


@settings
class EvaluationConfig:
    """Settings of the scoring: length buckets, bootstrap, tokenization for BLEU."""

    seed = 12_345  # of the bootstrap; no setting
    confidence = 0.95  # level of the intervals; no setting
    length_unit: Annotated[str, one_of(*UNITS)] | None = None
    """Unit of source length: words (between spaces) | characters (spaces do not count). null:
    in ``compare``, the unit of the evaluations; elsewhere characters for the source languages bo,
    ja, km, lo, my, th and zh, and words for all others."""
    length_buckets: list[Count] | None = None
    """Upper limits of the length buckets, counted in length_unit; a last bucket holds all longer
    sentences. null for 10, 20, 30, 40, 50 and 60 words, or for 20, 40, ..., 120 characters."""
    buckets: Place | None = None
    """File with a label for each source, line by line, such as its domain: scores are then grouped
    by label, not by length."""
    bootstrap: Annotated[int, between(100, 1_000_000)] = 1_000
    """Number of bootstrap resamples for intervals and paired tests."""
    tokenize: Annotated[str, one_of(*TOKENIZERS)] | None = None
    """Tokenizer of sacreBLEU, also for dev BLEU: 13a (the usual one) | zh | ja-mecab | ko-mecab |
    flores200 | spm | intl | char | none (splits at spaces, for tokenized text). null: by target
    language (zh, ja-mecab, ko-mecab; char for bo, km, lo, my and th; 13a for all others); in
    ``compare``, the tokenizer of the evaluations."""

    @property
    def unit(self) -> str:
        return self.length_unit or "words"

    @property
    def grouping(self) -> str:
        """What the labels of the buckets are."""
        return f"source {self.unit}" if self.buckets is None else Path(self.buckets).name

    @property
    def caption(self) -> str:
        return "BLEU by source length" if self.buckets is None else f"BLEU by {self.grouping}"

    @property
    def edges(self) -> list[int]:
        usual = [10 * UNITS[self.unit] * n for n in range(1, 7)]
        return sorted({*(self.length_buckets or usual)})

    @property
    def ends(self) -> tuple[int, int]:
        """The largest length of a short source, and the length above which a source is long.

        Both depend on ``length_unit`` alone, so that nobody can fit them to results."""
        return 20 * UNITS[self.unit], 30 * UNITS[self.unit]

    def for_languages(self, source: str, target: str) -> "EvaluationConfig":
        """Copy with ``tokenize`` and ``length_unit`` of two languages, unless they are set."""
        unit = "characters" if unspaced(source) else "words"
        unit, tokenize = self.length_unit or unit, self.tokenize or bleu_tokenizer(target)
        return replace(self, tokenize=tokenize, length_unit=unit)
