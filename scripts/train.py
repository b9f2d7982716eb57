"""Train one system of an experiment, or resume its training."""

from cli import launch

launch("train")
