"""The speed of this project beside that of other public toolkits, on equal terms.

Each toolkit runs as a user would run it, by its own command line in a process of its own, on the
same text, with the same vocabulary and the same sizes. Nothing of theirs is copied or changed: the
configs are written here, and their log lines are read. One file per toolkit says what it is told
and how it writes down its speed; :mod:`~seq2seq.benchmark.peers.comparison` takes the turns.
"""

from seq2seq.benchmark.peers.comparison import PEERS, PRECISIONS, PeerComparison, compare_with_peers
from seq2seq.benchmark.peers.quality import compare_quality, draw_quality, quality_markdown
from seq2seq.benchmark.peers.setting import PeerSearch, PeerSetting
from seq2seq.benchmark.peers.tables import comparison_markdown
from seq2seq.benchmark.peers.translation_comparison import (
    TranslationComparison,
    compare_translations,
)
from seq2seq.benchmark.peers.translation_tables import translation_markdown

__all__ = [
    "PEERS",
    "PRECISIONS",
    "PeerComparison",
    "PeerSearch",
    "PeerSetting",
    "TranslationComparison",
    "compare_quality",
    "compare_translations",
    "compare_with_peers",
    "comparison_markdown",
    "draw_quality",
    "quality_markdown",
    "translation_markdown",
]
