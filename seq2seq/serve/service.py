"""The systems of a server, each in a process of its own, and their answers.

Threads of one process would wait for Python's lock, and two systems took 1.5 times as long. This
module does not import torch, because only the processes of the systems need it.
"""

import gc
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

from seq2seq.config import DecodingConfig, ServeConfig, between, require_choice
from seq2seq.config.checks import Settings
from seq2seq.errors import UserError
from seq2seq.interruption import follow_parent
from seq2seq.looks import looks
from seq2seq.report.live.page import describe, render_live

if TYPE_CHECKING:
    from seq2seq.serve.system import System

LOST = "A system's process was killed, often for lack of memory; free memory, and run serve again."


def _at_most(most: int, unit: str) -> Any:
    """Return a check that a text or list has at most ``most`` characters or items."""

    def rule(key: str, value: Sequence[Any]) -> None:
        if len(value) > most:
            raise UserError(f"{key} has {len(value):,} {unit}; send at most {most:,}.")

    return rule


@dataclass(kw_only=True)
class Question(Settings):
    """Body of a request to translate."""

    text: Annotated[str, _at_most(2_000, "characters")]
    systems: list[str] | None = None
    """Names of the systems that answer; null for all."""
    beam: Annotated[int, between(1, 10)] | None = None
    """Number of hypotheses that the search keeps; null for the server's setting."""
    prefix: Annotated[list[str], _at_most(500, "pieces")] = field(default_factory=list)
    """Pieces with which the translation begins."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.text.strip():
            raise UserError("text is blank; send a sentence.")
        if "\n" in self.text.rstrip("\n"):
            raise UserError("text has several lines; send a request for each line.")


@dataclass(frozen=True)
class Service:
    """Processes by the names of their systems, and the page that shows the systems."""

    config: ServeConfig
    processes: dict[str, ProcessPoolExecutor]
    systems: list[dict[str, Any]]
    """Description of each system, for the page and the interface."""
    page: bytes

    @classmethod
    def load(cls, config: ServeConfig) -> "Service":
        """Load the checkpoints of ``config``; UserError if one is missing or unlike the others."""
        groups = [one if isinstance(one, list) else [one] for one in config.checkpoint]
        # "spawn": a forked child could inherit the locks of other threads.
        context = multiprocessing.get_context("spawn")
        pools = [ProcessPoolExecutor(1, context, follow_parent) for _ in groups]
        options = config.device, config.precision, config.sentences, len(groups), config.decoding
        loads = [pool.submit(_load, one, *options) for pool, one in zip(pools, groups, strict=True)]
        try:
            loaded = [load.result() for load in loads]
        except BrokenProcessPool:
            raise UserError(LOST) from None
        processes: dict[str, ProcessPoolExecutor] = {}
        systems: list[dict[str, Any]] = []
        ready = [facts.pop("ready") for facts in loaded]
        settings = [facts.pop("settings") for facts in loaded]
        parts = zip(loaded, settings, looks(settings), pools, strict=True)
        for facts, trained, (colour, *_), pool in parts:
            name, number = facts["name"], 2
            while name in processes:
                name, number = f"{facts['name']} {number}", number + 1
            processes[name] = pool
            kind = trained["model"]["attention"]["kind"]
            systems.append(facts | describe(name, kind, facts["attends"], colour))
        languages = {(system["source"], system["target"]) for system in systems}
        if len(languages) > 1:
            raise UserError(
                f"The systems have different languages ({sorted(languages)}); serve only "
                "systems of one pair of languages in checkpoint=[...]."
            )
        page = render_live(systems, languages.pop(), ready[0])
        return cls(config, processes, systems, page)

    def answer(self, question: Question) -> list[dict[str, Any]]:
        """Return the answer of each requested system, as JSON; UserError if a name is unknown.

        BrokenProcessPool if a system's process was killed.
        """
        names = question.systems or list(self.processes)
        for name in names:
            require_choice("systems", name, self.processes)
        search = self.config.decoding
        if question.beam:
            search = replace(search, beam=question.beam, n_best=1)
        asked = question.text, question.prefix, search
        begun = [(name, self.processes[name].submit(_answer, *asked)) for name in names]
        return [{"name": name} | answer.result() for name, answer in begun]


_system: "System"  # set in the process of a system only


def _load(*arguments: Any) -> dict[str, Any]:
    gc.disable()  # collections would take a tenth of the loading time
    from seq2seq.serve.system import System

    global _system
    _system = System.load(*arguments)
    gc.freeze()  # or a collection of all that is loaded halts an answer for 90 ms
    gc.enable()
    return _system.facts


def _answer(text: str, prefix: Sequence[str], search: DecodingConfig) -> dict[str, Any]:
    return _system.answer(text, prefix, search)
