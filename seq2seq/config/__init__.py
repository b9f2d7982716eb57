"""Settings: one dataclass per config group, one docstring per field, checks on construction.

A checkpoint stores them as JSON. Each part of the model gets only the group that it needs.
"""

from seq2seq.config.checks import Natural, Stored, between, check, flatten
from seq2seq.config.checks import nearest, not_a_key, read_json, require_choice
from seq2seq.config.checks import setting_names, shown
from seq2seq.config.corpus import CORPORA, CorpusConfig, EuroparlCorpus, FilesCorpus
from seq2seq.config.corpus import GrammarCorpus, Multi30kCorpus, TokenizationConfig
from seq2seq.config.evaluation import DecodingConfig, EvaluationConfig
from seq2seq.config.model import ATTENTION_KINDS, AttentionConfig, DecoderConfig, EncoderConfig
from seq2seq.config.model import ModelConfig
from seq2seq.config.scripts import CompareConfig, EvaluateConfig, ReproduceConfig, TrainConfig
from seq2seq.config.scripts import TranslateConfig, shown_names
from seq2seq.config.training import INHERITED, OptimizerConfig, TrainingConfig
