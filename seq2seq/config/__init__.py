"""Settings: one dataclass per config group, one docstring per field, checks on construction.

Hydra fills the dataclasses from ``configs/``; a checkpoint stores them as JSON. Each module is
built from its own group only.
"""

from seq2seq.config.checks import Natural as Natural
from seq2seq.config.checks import Stored as Stored
from seq2seq.config.checks import between as between
from seq2seq.config.checks import check as check
from seq2seq.config.checks import nearest as nearest
from seq2seq.config.checks import not_a_key as not_a_key
from seq2seq.config.checks import require_choice as require_choice
from seq2seq.config.corpus import CORPORA as CORPORA
from seq2seq.config.corpus import CleanedCorpus as CleanedCorpus
from seq2seq.config.corpus import CorpusConfig as CorpusConfig
from seq2seq.config.corpus import EuroparlCorpus as EuroparlCorpus
from seq2seq.config.corpus import FilesCorpus as FilesCorpus
from seq2seq.config.corpus import GrammarCorpus as GrammarCorpus
from seq2seq.config.corpus import MtdataCorpus as MtdataCorpus
from seq2seq.config.corpus import Multi30kCorpus as Multi30kCorpus
from seq2seq.config.corpus import TokenizationConfig as TokenizationConfig
from seq2seq.config.corpus import in_words as in_words
from seq2seq.config.decoding import DecodingConfig as DecodingConfig
from seq2seq.config.evaluation import EvaluationConfig as EvaluationConfig
from seq2seq.config.model import ATTENTION_KINDS as ATTENTION_KINDS
from seq2seq.config.model import AttentionConfig as AttentionConfig
from seq2seq.config.model import DecoderConfig as DecoderConfig
from seq2seq.config.model import EncoderConfig as EncoderConfig
from seq2seq.config.model import ModelConfig as ModelConfig
from seq2seq.config.scripts import CompareConfig as CompareConfig
from seq2seq.config.scripts import EvaluateConfig as EvaluateConfig
from seq2seq.config.scripts import ExplainConfig as ExplainConfig
from seq2seq.config.scripts import ReproduceConfig as ReproduceConfig
from seq2seq.config.scripts import ServeConfig as ServeConfig
from seq2seq.config.scripts import TrainConfig as TrainConfig
from seq2seq.config.scripts import TranslateConfig as TranslateConfig
from seq2seq.config.scripts import shown_names as shown_names
from seq2seq.config.serialization import REMOVED as REMOVED
from seq2seq.config.serialization import flatten as flatten
from seq2seq.config.serialization import from_json as from_json
from seq2seq.config.serialization import read_json as read_json
from seq2seq.config.training import OptimizerConfig as OptimizerConfig
from seq2seq.config.training import TrainingConfig as TrainingConfig
