"""Set-up of all tests: run-time checks of array shapes, settings, and the order of the tests."""

import os
import signal
from pathlib import Path

# Before torch is imported: tests run side by side, so each keeps to one thread.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Without a GPU, Triton's own interpreter runs its programs. This is set before Triton is imported,
# and so before PyTorch, parts of which import it.
if not Path("/dev/nvidiactl").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")

import hypothesis
import jaxtyping
import pytest

check_shapes = jaxtyping.jaxtyped


def jaxtyped(*, typechecker: object) -> object:
    """Check what has arrays among its annotations. What has none, as Triton's programs, stays."""

    def decorate(made: object) -> object:
        named = "jaxtyping" in str(getattr(made, "__annotations__", None))
        return check_shapes(made, typechecker=typechecker) if named else made

    return decorate


jaxtyping.jaxtyped = jaxtyped  # the import hook puts it above every function and class

# A process that a shell starts in the background ignores Ctrl-C; its children would, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No power fails here, so nothing waits until it has reached the disk. What is left is the order.
os.fsync = lambda descriptor: None

# Tests are deterministic, and a busy machine is not a defect of what they test.
hypothesis.settings.register_profile("steady", deadline=None, derandomize=True)
hypothesis.settings.load_profile("steady")

EDITION = ("study", "benchmarks", "test_package.py", "test_notebook.py", "test_experiments.py")
"""Folders and files of tests that a new edition must pass, and no change every day."""
CHECKED = ("data", "decoding", "evaluation", "model", "training")
"""Folders of tests in which array shapes are checked; every day, only in model."""
TOGETHER = ("test_chromium", "test_grammar", "test_study")
"""Files whose tests share what takes seconds to make: a browser, a text."""


def room(item: pytest.Item) -> str:
    """The folder or file below tests/ that holds a test."""
    return item.path.relative_to(Path(__file__).parent).parts[0]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "xdist_group: tests for one process of pytest-xdist")
    config.daily = "not edition" in config.option.markexpr
    rooms = ["model"] if config.daily else CHECKED
    jaxtyping.install_import_hook([f"seq2seq.{one}" for one in rooms], "helpers.checked")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Check shapes only in tests that need it: a training with checks takes twice as long."""
    checked = room(item) in (["model"] if item.config.daily else CHECKED)
    unchecked = not checked or item.get_closest_marker("unchecked")
    jaxtyping.config.update("jaxtyping_disable", bool(unchecked))


@pytest.hookimpl(tryfirst=True)  # sets markers before -m selects by them
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow tests come first, so that no process works alone at the end."""
    items.sort(key=lambda item: "slow" not in item.keywords)
    for item in items:
        if room(item) in EDITION:
            item.add_marker("edition")
        if item.path.stem in TOGETHER:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
