"""Translation line by line: of a file, of standard input, or of lines typed at a terminal."""

import contextlib
import importlib
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tqdm.contrib.logging import logging_redirect_tqdm

from seq2seq.config import TranslateConfig
from seq2seq.data.text import LineWriter, count_lines, decode_lines, read_lines
from seq2seq.decoding.hypothesis import pharaoh
from seq2seq.decoding.translator import Translator
from seq2seq.errors import UserError
from seq2seq.files import named_file

log = logging.getLogger(__name__)


def translate_text(translator: Translator, config: TranslateConfig) -> None:
    """Translate ``config.input`` in constant memory, or lines typed.

    An output file appears whole or not at all; after a Ctrl-C or an error, the finished lines stay
    in ``<file>.part``.
    """
    if config.alignments is not None and not translator.model.attends:
        raise UserError(
            "alignments needs a model with attention to words, and this one has none; remove it."
        )
    given = {key: getattr(config, key) for key in ("hypotheses", "n_best_list", "alignments")}
    files: dict[str, str] = {key: file for key, file in given.items() if file is not None}
    printed = "-" in files.values() and sys.stdout.isatty()
    if config.input == "-" and sys.stdin.isatty() and printed and {*files.values()} == {"-"}:
        answer_prompt(translator, config)
        return
    places = [Path(file) if file == "-" else Path(file).resolve() for file in files.values()]
    # A pipe or a device, such as a terminal, may take several outputs.
    taken = [p for p in (Path(config.input).resolve(), *places) if not p.exists() or p.is_file()]
    if len({*taken}) < len(taken):
        raise UserError(
            f"Two of input, {', '.join(files)} share a file; set a different one for each."
        )
    if config.input == "-":
        lines, total = decode_lines(sys.stdin.buffer, "Standard input"), None
    else:
        path = named_file("input", config.input, read_twice=False)
        # Counting also finds a bad byte now, not after hours. A named pipe can be read only once.
        lines, total = read_lines(path), count_lines(path) if path.is_file() else None
    found = translator.stream(
        lines,
        config.decoding,
        attention=config.alignments is not None,
        chunk=config.chunk,
        progress="" if printed else "translating",
        total=total,
    )
    done = capped = unlinked = unknown = 0
    try:
        with contextlib.ExitStack() as stack, logging_redirect_tqdm():
            outputs = {key: stack.enter_context(_open_output(file)) for key, file in files.items()}
            for hypothesis in found:
                links, best = hypothesis.links(), [hypothesis, *hypothesis.alternatives]
                rows = {
                    "hypotheses": [hypothesis.text],
                    # The text is between the first ||| and the last, even if it holds a ||| itself.
                    "n_best_list": [f"{done} ||| {h.text} ||| {h.score:.6f}" for h in best],
                    "alignments": [pharaoh(links or [])],
                }
                for key, write in outputs.items():
                    for row in rows[key]:
                        write(row)
                done += 1
                unlinked += links is None
                capped += hypothesis.capped
                unknown += bool(hypothesis.unknown)
    except (KeyboardInterrupt, SystemExit, UserError, OSError) as stop:
        parts = [f"{place}.part" for place in places if Path(f"{place}.part").is_file()]
        if done and not isinstance(stop, BrokenPipeError):
            where = f"; those written are in {' and '.join(parts)}" if parts else ""
            log.warning("Stopped after %d lines%s.", done, where)
        raise
    if unlinked:
        log.warning(
            "Lines without links in alignments, because the model's words are not those between "
            f"spaces: {unlinked}."
        )
    cut = f"; {capped} translations were cut at the limit decoding.max_ratio" if capped else ""
    log.info("Lines translated: %d%s", done, cut)
    if unknown:
        log.info("Lines with words that are not in the vocabulary: %d", unknown)


def answer_prompt(translator: Translator, config: TranslateConfig) -> None:
    """Answer each typed line with hypotheses, scores and unknown words, until Ctrl-D or Ctrl-C."""
    with contextlib.suppress(ImportError):  # not on Windows
        importlib.import_module("readline")  # from now on, it serves ``input``
    print("Type a sentence and press Enter; Ctrl-D ends.", file=sys.stderr)
    links, typed = config.alignments is not None, _typed(f"{translator.source.language}> ")
    for found in translator.stream(typed, config.decoding, attention=links, chunk=1):
        if found.source.strip():
            for each in [found, *found.alternatives]:
                print(f"{each.rounded_score:>9}  {each.text}")
            if links:
                between = found.links()
                unknown = "none: the model's words are not those between spaces"
                print(f"    links  {unknown if between is None else pharaoh(between)}")
            for word in found.unknown:
                print(f'    "{word}" is not in the vocabulary')
    print()


def _typed(prompt: str) -> Iterator[str]:
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        while True:
            yield input(prompt)


@contextlib.contextmanager
def _open_output(file: str) -> Iterator[Callable[[str], object]]:
    """Open an output; yield the function that writes a line."""
    if file not in ("-", "/dev/stdout"):  # a writer would replace the file behind it
        with LineWriter(Path(file)) as writer:
            yield writer.write
        return

    def write(line: str) -> None:  # on Windows, text would get another encoding and line ends
        sys.stdout.buffer.write(f"{line}\n".encode())
        sys.stdout.buffer.flush()

    yield write
