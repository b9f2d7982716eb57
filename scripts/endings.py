"""How a script ends: whatever stops it becomes one sentence and an exit status."""

import contextlib
import errno
import logging
import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from typing import NoReturn

from seq2seq.errors import UserError
from seq2seq.training.interruption import Interrupted

log = logging.getLogger(__name__)

LACKING = (
    "DefaultCPUAllocator",
    "CUDA error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
)
"""What PyTorch says of memory in errors that have no type of their own."""


@contextlib.contextmanager
def in_one_sentence() -> Iterator[None]:
    """A context for a script's work, which ends the script if it fails.

    A UserError ends it with its one sentence and status 1, as do a file that cannot be used and
    memory that does not suffice; an interrupt with status 130, SIGTERM with 143 (a training that
    it stopped, with all saved, with 0). What began in the context is cleaned up in each case.
    """
    _end_on_sigterm()
    try:
        yield
    except UserError as error:
        fail(error)
    except BrokenPipeError:  # whoever read standard output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            where = error.filename or "the disk"
            sys.exit(f"error: {where} is full; free some space and run the same command again.")
        if error.filename is None:
            raise
        sys.exit(
            f"error: {error.filename} cannot be used ({error.strerror}); choose another place, "
            "or mend that one."
        )
    except (MemoryError, RuntimeError) as error:
        if not _lacks_memory(error):
            raise
        sys.exit(
            "error: out of memory; set a smaller training.batch_size (with "
            "training.gradient_accumulation for the same update), decoding.batch_size or model, "
            "or free some memory, and run the same command again."
        )
    except Interrupted as stop:
        log.info("%s To go on: %s", stop, _same_command())
        sys.exit(stop.status)
    except KeyboardInterrupt:
        sys.exit(130)


def fail(error: UserError) -> NoReturn:
    """End with one sentence; of several processes, the first to fail says it."""
    if processes() > 1:
        from seq2seq.training.distributed import speaks  # PyTorch, which not every script needs

        if not speaks():
            sys.exit(1)
    sys.exit(f"error: {error}")


def processes() -> int:
    """How many processes torchrun has started to train together; 1 without it."""
    # A job script may leave the one variable behind; torchrun sets both.
    return int(os.environ.get("WORLD_SIZE") or "1") if "RANK" in os.environ else 1


def _end_on_sigterm() -> None:
    """Let SIGTERM unwind the script; by itself it would leave temporary files and workers behind.

    Not where several processes train together: one that waits for the others in PyTorch's code
    would not come to its end.
    """
    usual = signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if usual and processes() == 1 and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


def _lacks_memory(error: Exception) -> bool:
    """Whether it is Python, a GPU, or PyTorch's allocator on the processor that lacks memory."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return any(said in str(error) for said in LACKING)


def _same_command() -> str:
    """How to start this script again, as far as it can know."""
    if processes() > 1:
        return "the same torchrun command"
    return shlex.join(["python", *sys.argv])
