"""Processes that torchrun starts."""

import sys

from helpers.commands import command


def torchrun(launch: list[str], script: str, *words: str) -> list[str]:
    """Command by which torchrun, with the options ``launch``, starts processes of a script."""
    return [sys.executable, "-m", "torch.distributed.run", *launch, *command(script, *words)[1:]]
