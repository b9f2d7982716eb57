"""Processes that torchrun starts, without the seconds in which torchrun imports PyTorch."""

from pathlib import Path

from torch.distributed import run

from helpers.commands import quick


def torchrun(launch: list[str], script: str, *arguments: str) -> list[str]:
    """Command by which torchrun, with the options ``launch``, starts processes of a script."""
    words = [*launch, "--no-python", *quick(script, *arguments)]
    return quick("run", *words, room=str(Path(run.__file__).parent))
