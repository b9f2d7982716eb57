"""Download or generate a corpus, learn its tokenizers and encode it, ready for training."""

from cli import launch

launch("prepare")
