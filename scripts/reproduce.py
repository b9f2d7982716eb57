"""Train, evaluate and compare all systems of an experiment, or resume this work."""

from cli import launch

launch("reproduce")
