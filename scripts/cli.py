"""Common start of all scripts: compose the config, report errors in one line, exit."""

import contextlib
import errno
import io
import logging
import os
import re
import shlex
import signal
import sys
import typing
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

try:
    import hydra
except ModuleNotFoundError as error:
    sys.exit(
        f"error: {error.name} is not installed here; run make install, then "
        "source .venv/bin/activate."
    )
from hydra._internal.utils import get_args_parser
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from seq2seq import composition
from seq2seq import config as schema
from seq2seq.command import command_of
from seq2seq.composition import CONFIGS, READ
from seq2seq.config.meanings import folded, settings_help
from seq2seq.errors import UserError
from seq2seq.interruption import STOPS, Interrupted, by_torchrun, process_count

log = logging.getLogger(__name__)

SHARED = ("train", "translate", "evaluate")
"""Scripts whose work torchrun can divide among several processes."""


def launch(name: str, stage: Callable[..., None]) -> None:
    """Run ``stage`` with the config that Hydra composes for script ``name``; exit if it fails.

    ``stage`` is called with the configs that :func:`build_config` returns.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) < 3:
        pass  # the shell may have closed a standard stream; no later file may take its number
    os.close(number)
    sys.stderr = sys.stderr or open(2, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a scheduler's locale may lack some characters
            stream.reconfigure(errors="replace")
    composition.register_schema(name)
    typed = sys.argv
    page = "--help" if {"--help", "-h"} & {*typed} else ""
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # have Hydra raise its errors, not print them
    stage_reached = False

    @hydra.main(version_base="1.3", config_path=str(CONFIGS), config_name=name)
    def run(config: DictConfig) -> None:
        nonlocal stage_reached, page
        if page:
            page = help_page(name, config)
            return
        stage_reached = True
        sys.argv = typed
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
        with exit_status():  # also here, or Hydra prints a line of its own first
            overrides: Any = OmegaConf.to_container(HydraConfig.get().overrides.task)
            stage(*composition.build_config(name, config, overrides))

    with exit_status():
        if process_count() > 1 and name != "train" and not (name in SHARED and by_torchrun()):
            shared = "only torchrun processes share" if name in SHARED else "one process does"
            raise UserError(
                f"RANK and WORLD_SIZE={process_count()} are set, but {shared} the work of {name}; "
                "unset both."
            )
        words = [word for word in typed[1:] if word not in ("--help", "-h")]
        refuse_words(name, words)
        sys.argv = [typed[0], *composition.quoted(words)]
        try:
            run()
            print(page, end="\n" if page else "", flush=True)
        except Exception as error:
            if stage_reached or isinstance(error, BrokenPipeError):
                raise
            raise UserError(composition.composition_error(error, name)) from None


def help_page(name: str, composed: DictConfig) -> str:
    """Text of ``--help``: examples from the config file, choices of groups, and all settings."""
    text = (CONFIGS / f"{name}.yaml").read_text(encoding="utf-8")
    examples = re.findall(r"^# ( +)python \S+(.*)", text, re.MULTILINE)
    lines = [str(sys.modules["__main__"].__doc__), ""]
    lines += [f"{space}{command_of(name)}{rest}" for space, rest in examples]
    lines += ["", "Settings are written as key=value:"]
    loader: Any = GlobalHydra.instance().config_loader()
    groups = ["experiment"] * (composition.SCHEMAS[name] is schema.ReproduceConfig)
    unread = composition.SEVERAL if name == "reproduce" else ()
    read = [field.name for field in fields(READ[name]) if field.name not in unread]
    for group in [*groups, *read]:
        if options := loader.repository.get_group_options(group):  # the loader's own is slow
            lines += folded(f"  {group}={' | '.join(options)}", 6)
    values: Any = OmegaConf.to_container(composed, resolve=True)
    lines += settings_help(READ[name], values, unread)
    return "\n".join(lines)


def refuse_words(name: str, words: list[str]) -> None:
    """Refuse a word that is neither key=value nor an option of Hydra; say what it may mean."""
    options = get_args_parser()._option_string_actions
    first = fields(READ[name])[0].name  # "name" where an experiment is run
    for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False):
        key, equals, value = word.partition("=")
        if key in options or (word[:1] != "-" and (equals or before in options or word[:1] == "~")):
            continue
        end = "put quotes around a value with spaces."
        if word.startswith("-"):
            key = key.strip("-").replace("-", "_")
            value = value or (after if re.match("[^-=]+$", after) else "true")
            near = schema.nearest_keys(key, ["experiment", *schema.setting_names(READ[name])])
            likely = near[: 1 if key in near else 2]
            meant = " or ".join(_setting(name, one, value) for one in likely)
            end = f"did you mean {meant}?" if near else "--help lists them."
        elif before.endswith("=") or after.startswith("="):
            end = "remove the spaces around =."
        elif "/" in word or Path(word).exists():
            key = first if first != "name" else "corpus.directory"
            end = f"did you mean {_setting(name, key, word)}?"
        elif first == "name" and (CONFIGS / "experiment" / f"{word}.yaml").exists():
            end = f"did you mean experiment={word}?"
        raise UserError(f"{word}: settings are written as key=value; {end}")


def _setting(name: str, key: str, value: str) -> str:
    """Write a setting of script ``name`` as one types it; a list needs brackets, and so quotes."""
    key = composition.SEVERAL.get(key, key) if name == "reproduce" else key
    several = "list[" in str(typing.get_type_hints(READ[name]).get(key))
    return f"'{key}=[{value}]'" if several else f"{key}={value}"


@contextlib.contextmanager
def exit_status() -> Iterator[None]:
    """Map exceptions and signals to one line and an exit status.

    - 0: SIGTERM stopped a training that is saved, or the reader of standard output has closed it
    - 1: a UserError, a file that cannot be used, a full disk, or too little memory
    - 130: Ctrl-C
    - 128 + number: another signal, SIGTERM (143) included

    Other exceptions pass through.
    """
    handled = list[int]()
    try:
        # By default, signals would leave temporary files and workers behind. Under torchrun the
        # default stays: with a handler, a process that waits inside PyTorch would not end.
        unset = [one for one in STOPS if signal.getsignal(one) == signal.SIG_DFL]
        handled += unset if process_count() == 1 else []
        for number in handled:
            signal.signal(number, lambda number, _: sys.exit(128 + number))
        yield
    except UserError as error:
        _fail(str(error))
    except BrokenPipeError:  # the reader of standard output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            _fail(f"No disk space for {error.filename or 'a file'}; free some space and run again.")
        if error.filename is None:
            raise
        _fail(f"{error.filename} cannot be used ({error.strerror}); choose another path.")
    except (MemoryError, RuntimeError) as error:
        lacking = re.search("allocate memory|out of memory|ALLOC_FAILED", str(error))
        if not lacking and not isinstance(error, MemoryError):
            raise
        _fail(
            "out of memory; lower training.batch_size (raise training.gradient_accumulation to "
            "keep the update the same) or decoding.batch_size, use a smaller model, or free memory."
        )
    except Interrupted as stop:
        command = shlex.join(sys.orig_argv)
        again = command if process_count() == 1 else "torchrun ..."
        log.info("%s To continue, run the same command again: %s", stop, again)
        sys.exit(stop.status)
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def _fail(sentence: str) -> typing.NoReturn:
    """Exit with status 1; only the first process that fails prints the reason."""
    with contextlib.suppress(UserError):  # process_count refuses some variables
        if process_count() > 1:
            from seq2seq.distributed import claim_report  # imports torch

            if not claim_report():
                sys.exit(1)
    sys.exit(f"error: {sentence}")
