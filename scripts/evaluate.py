"""Translate test sets with a checkpoint, or read translations from a file; score by length."""

from cli import launch

launch("evaluate")
