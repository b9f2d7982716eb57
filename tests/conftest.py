"""Set-up of all tests: run-time checks of array shapes, settings, and the order of the tests."""

import os
import signal
from collections.abc import Iterator
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
    """Check what has arrays among its annotations. What has none is mypy's, and runs as it is."""

    def decorate(made: object) -> object:
        named = "jaxtyping" in str(getattr(made, "__annotations__", None))
        return check_shapes(made, typechecker=typechecker) if named else made

    return decorate


jaxtyping.jaxtyped = jaxtyped  # the import hook puts it above every function and class
jaxtyping.install_import_hook("seq2seq", "helpers.checked")

# A process that a shell starts in the background ignores Ctrl-C; its children would, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No power fails here, so nothing waits until it has reached the disk. What is left is the order.
os.fsync = lambda descriptor: None

# Tests are deterministic, and a busy machine is not a defect of what they test.
hypothesis.settings.register_profile("steady", deadline=None, derandomize=True)
hypothesis.settings.load_profile("steady")

CHECKED = ("data", "decoding", "evaluation", "model", "training")
"""Folders of tests in which array shapes are checked."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Check shapes only in tests that need it: a training with checks takes twice as long."""
    folder = item.path.relative_to(Path(__file__).parent).parts[0]
    checked = folder in CHECKED and not item.get_closest_marker("unchecked")
    jaxtyping.config.update("jaxtyping_disable", not checked)


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """Scripts set handlers of signals, and end; a test that runs one in this process goes on."""
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    yield
    for number, handler in before.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)


EDITION = ("study", "benchmarks", "test_package.py", "test_notebook.py", "test_experiments.py")
"""Folders and files of tests that a new edition must pass, and no change every day."""
TOGETHER = ("test_chromium", "test_grammar", "test_notebook", "test_scripts", "test_study")
"""Files whose tests share what takes seconds to make: a browser, a training, a text."""


@pytest.hookimpl(tryfirst=True)  # markers are given before -m selects by them
def pytest_collection_modifyitems(items: list) -> None:
    """The slow tests come first, so that no process works alone at the end."""
    items.sort(key=lambda item: "slow" not in item.keywords)
    for item in items:
        if item.path.relative_to(Path(__file__).parent).parts[0] in EDITION:
            item.add_marker("edition")


@pytest.hookimpl(optionalhook=True)  # there may be no pytest-xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Deal out single tests, but the tests of a file of ``TOGETHER`` to one process."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file, _, _ = nodeid.partition("::")
            return file if Path(file).stem in TOGETHER else nodeid

    return Scheduling(config, log)
