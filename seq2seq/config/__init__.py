"""Settings: one dataclass per config group, one docstring per field, checks on construction.

A checkpoint stores them as JSON. Each part of the model gets only the group that it needs.
"""

from seq2seq.config.checks import Natural, Stored, between, check, flatten
from seq2seq.config.checks import not_a_key, read_json, require_choice, setting_names, shown
from seq2seq.config.scripts import CompareConfig, EvaluateConfig, ReproduceConfig, TrainConfig
from seq2seq.config.scripts import TranslateConfig, shown_names
from seq2seq.config.settings import ATTENTION_KINDS, CORPORA, INHERITED, AttentionConfig
from seq2seq.config.settings import CorpusConfig, DecoderConfig, DecodingConfig, EncoderConfig
from seq2seq.config.settings import EuroparlCorpus, EvaluationConfig, FilesCorpus, GrammarCorpus
from seq2seq.config.settings import ModelConfig, Multi30kCorpus, OptimizerConfig
from seq2seq.config.settings import TokenizationConfig, TrainingConfig
