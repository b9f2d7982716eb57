"""One start for the scripts and for the command ``seq2seq``: words in, an exit status out."""

import contextlib
import errno
import io
import logging
import os
import re
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import seq2seq
from seq2seq.config import require_choice
from seq2seq.errors import UserError
from seq2seq.interruption import STOPS, Interrupted, process_count
from seq2seq.stages import STAGES

log = logging.getLogger(__name__)


def main() -> None:
    """Run the stage that the first argument names, like ``python scripts/<name>.py``."""
    name, *words = sys.argv[1:] or ["--help"]
    if name in ("--help", "-h"):
        print("seq2seq COMMAND KEY=VALUE ..., for example: seq2seq train system=attention\n")
        for name, stage in STAGES.items():
            print(f"  {name:11}{stage.__doc__}")
        print("\nseq2seq COMMAND --help shows the settings of a command.")
    elif name == "--version":
        print(seq2seq.__version__)
    else:
        sys.argv = [f"{name}.py", *words]
        launch(name)


def launch(name: str) -> None:
    """Run the stage ``name`` with the settings in ``sys.argv``."""
    os.environ.pop("MPLBACKEND", None)  # a notebook's may not exist here, and no figure needs it
    # The shell may have closed a standard stream; no later file may take its number.
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a scheduler's locale may lack some characters
            with contextlib.suppress(OSError):
                stream.reconfigure(errors="replace")
    with exit_status():
        require_choice("command", name, STAGES)
        from seq2seq.composition import compose  # imports Hydra
        from seq2seq.help import help_page

        words = sys.argv[1:]
        if {"--help", "-h"} & {*words}:
            settings = [word for word in words if word not in ("--help", "-h", "all")]
            page = help_page(name, settings, "all" in words)
            print(STAGES[name].__doc__, page, sep="\n\n", flush=True)
            return
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
        STAGES[name](*compose(name, words))


@contextlib.contextmanager
def exit_status() -> Iterator[None]:
    """Map exceptions and signals to one line and an exit status.

    - 0: SIGTERM stopped a training that is saved, or the reader of standard output has closed it
    - 1: a UserError, a file that cannot be used, a full disk, or too little memory
    - 130: Ctrl-C; 128 + number: another signal, SIGTERM (143) included
    """
    # By default, signals would leave temporary files and workers behind. Under torchrun the default
    # stays: with a handler, a process that waits inside PyTorch would not end.
    for number in STOPS if process_count() == 1 else ():
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        yield
    except UserError as error:
        sys.exit(f"error: {error}")
    except ModuleNotFoundError as error:
        sys.exit(f"error: {error.name} is not installed here; run make install.")
    except BrokenPipeError:  # the reader of standard output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        if error.filename is None and error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        sys.exit(f"error: {error.filename or 'a file'} cannot be used ({error.strerror}).")
    except (MemoryError, RuntimeError) as error:
        lacking = re.search("allocate memory|out of memory|ALLOC_FAILED", str(error))
        if not lacking and not isinstance(error, MemoryError):
            raise
        sys.exit(
            "error: out of memory; lower training.batch_size (and raise gradient_accumulation) or "
            "decoding.batch_size, use a smaller model, or free memory."
        )
    except Interrupted as stop:
        command = shlex.join(sys.orig_argv)
        again = command if process_count() == 1 else "torchrun ..."
        log.info("%s To continue, run the same command again: %s", stop, again)
        sys.exit(stop.status)
    except KeyboardInterrupt:
        sys.exit(130)
