"""The schema: a dataclass per config group, a docstring per field, checks on construction.

Hydra fills these from ``configs/``; a checkpoint keeps them as JSON. A module is built from its own
group only.
"""

from seq2seq.config.checks import (
    nearest,
    require_choice,
    require_range,
)
from seq2seq.config.corpus import (
    CORPORA,
    CorpusConfig,
    EuroparlCorpus,
    FilesCorpus,
    GrammarCorpus,
    Multi30kCorpus,
    TokenizationConfig,
)
from seq2seq.config.evaluation import (
    DecodingConfig,
    EvaluationConfig,
)
from seq2seq.config.model import (
    ATTENTION_KINDS,
    AttentionConfig,
    DecoderConfig,
    EncoderConfig,
    ModelConfig,
)
from seq2seq.config.serialization import (
    dotted_keys,
    flatten,
    from_json,
    to_json,
)
from seq2seq.config.stages import (
    EXAMPLES,
    CompareConfig,
    EvaluateConfig,
    ExperimentConfig,
    ExplainConfig,
    TranslateConfig,
)
from seq2seq.config.training import (
    OptimizerConfig,
    TrainingConfig,
)

__all__ = [
    "ATTENTION_KINDS",
    "CORPORA",
    "EXAMPLES",
    "AttentionConfig",
    "CompareConfig",
    "CorpusConfig",
    "DecoderConfig",
    "DecodingConfig",
    "EncoderConfig",
    "EuroparlCorpus",
    "EvaluateConfig",
    "EvaluationConfig",
    "ExperimentConfig",
    "ExplainConfig",
    "FilesCorpus",
    "GrammarCorpus",
    "ModelConfig",
    "Multi30kCorpus",
    "OptimizerConfig",
    "TokenizationConfig",
    "TrainingConfig",
    "TranslateConfig",
    "dotted_keys",
    "flatten",
    "from_json",
    "nearest",
    "require_choice",
    "require_range",
    "to_json",
]
