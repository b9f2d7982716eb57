"""Compare several evaluations of one test set: table, figures, significance."""

from cli import launch

launch("compare")
