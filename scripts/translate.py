"""Translate a text file, standard input or typed sentences with a checkpoint."""

from cli import launch

launch("translate")
