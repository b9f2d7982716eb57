"""Shapes named in signatures are checked at run time in every test."""

import os
import signal
from pathlib import Path

# Before torch is imported: tests run side by side, so each keeps to one thread.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Without a GPU, Triton's own interpreter runs its programs. It must be asked before Triton is
# imported, which parts of PyTorch do.
if not Path("/dev/nvidiactl").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")

import hypothesis
import jaxtyping
import pytest
from jaxtyping import install_import_hook

install_import_hook("seq2seq", "helpers.checked")

# What a shell starts in the background ignores Ctrl-C, and so would all that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests are deterministic, and a busy machine is not a defect of what they test.
hypothesis.settings.register_profile("steady", deadline=None, derandomize=True)
hypothesis.settings.load_profile("steady")


@pytest.fixture
def unchecked():
    """Without checks of shapes, which take a fifth of the time of a training."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def pytest_collection_modifyitems(items: list) -> None:
    """The slow tests come first, so that no process works alone at the end."""
    items.sort(key=lambda item: "slow" not in item.keywords)
