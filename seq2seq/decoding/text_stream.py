"""Translation line by line: of a file, of standard input, or of lines typed at a terminal."""

import contextlib
import importlib
import io
import logging
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from tqdm.contrib.logging import logging_redirect_tqdm

from seq2seq.config import TranslateConfig
from seq2seq.data.text import LineWriter, count_lines, decode_lines, read_lines
from seq2seq.decoding.hypothesis import pharaoh
from seq2seq.decoding.translator import Translator
from seq2seq.errors import UserError
from seq2seq.files import named_file

log = logging.getLogger(__name__)


def translate_text(translator: Translator, config: TranslateConfig) -> int:
    """Translate ``config.input`` in order, in constant memory, and return the number of lines.

    An output file appears whole or not at all; after a Ctrl-C or an error, the finished lines stay
    in ``<file>.part``. Standard output receives the lines chunk by chunk.
    """
    _require_attention(translator, config)
    files = config.outputs
    places = [Path(file) if file == "-" else Path(file).resolve() for file in files.values()]
    # A pipe or a device, such as a terminal, may take several outputs.
    taken = [p for p in (Path(config.input).resolve(), *places) if not p.exists() or p.is_file()]
    if len({*taken}) < len(taken):
        raise UserError(
            f"Two of input, {', '.join(files)} share a file; set a different one for each."
        )
    lines, total = _open_input(config.input)
    printed = "-" in files.values()
    found = translator.stream(
        lines,
        config.decoding,
        attention=config.alignments is not None,
        chunk=config.chunk,
        progress="" if printed and sys.stdout.isatty() else "translating",
        total=total,
    )
    done = capped = unlinked = unknown = 0
    try:
        with contextlib.ExitStack() as stack, logging_redirect_tqdm():
            write = {key: stack.enter_context(_open_output(file)) for key, file in files.items()}
            for hypothesis in found:
                if "hypotheses" in write:
                    write["hypotheses"](hypothesis.text)
                if "n_best_list" in write:
                    # The text is between the first ||| and the last, even if it holds a ||| itself.
                    for each in [hypothesis, *hypothesis.alternatives]:
                        write["n_best_list"](f"{done} ||| {each.text} ||| {each.score:.6f}")
                if "alignments" in write:
                    links = hypothesis.links()
                    unlinked += links is None
                    write["alignments"](pharaoh(links or []))
                done += 1
                capped += hypothesis.capped
                unknown += bool(hypothesis.unknown)
                if printed and done % config.chunk == 0:
                    sys.stdout.flush()
    except (KeyboardInterrupt, SystemExit, UserError) as stop:
        parts = [f"{place}.part" for place in places if Path(f"{place}.part").is_file()]
        where = f"; those written are in {' and '.join(parts)}" if parts and done else ""
        how = "Stopped" if isinstance(stop, UserError) else "Interrupted"
        if done or how == "Interrupted":
            log.warning("%s after %d lines%s.", how, done, where)
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
    return done


def is_typed(config: TranslateConfig) -> bool:
    """Whether the text is typed at a terminal and all outputs are printed there."""
    here = config.input == "-" and set(config.outputs.values()) == {"-"}
    # A stream is None where the shell has closed it.
    return here and all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout))


def answer_prompt(translator: Translator, config: TranslateConfig) -> None:
    """Answer each line with hypotheses, scores, unknown words and, with ``alignments``, links.

    A Ctrl-C drops the line being typed or translated. Ctrl-D ends the loop, and so does a Ctrl-C on
    an empty line, or on any line without Python's ``readline``.
    """
    _require_attention(translator, config)
    for stream in (sys.stdin, sys.stdout):  # a terminal may send invalid bytes, or lack characters
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        editor = importlib.import_module("readline")  # from now on, it serves ``input``
    except ImportError:  # on Windows
        editor = None
    print("Type a sentence and press Enter; Ctrl-D ends.", file=sys.stderr)
    links = config.alignments is not None
    for number in count(1):
        typing = True
        try:
            line = input(f"{translator.source.language}> ")
            typing = False
            found = translator.translate(line, config.decoding, attention=links, first_line=number)
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            print()
            if typing and (editor is None or not editor.get_line_buffer()):
                return
            continue
        if line.strip():
            for each in [found, *found.alternatives]:
                print(f"{each.rounded_score:>9}  {each.text}")
            if links:
                between = found.links()
                unknown = "none: the model's words are not those between spaces"
                print(f"    links  {unknown if between is None else pharaoh(between)}")
            for word in found.unknown:
                print(f'    "{word}" is not in the vocabulary')


def _require_attention(translator: Translator, config: TranslateConfig) -> None:
    if config.alignments is not None and not translator.model.attends:
        raise UserError(
            "alignments needs a model with attention to words, and this one has none; remove it."
        )


def _open_input(source: str) -> tuple[Iterator[str], int | None]:
    """Open the text; return its lines and their number (None for standard input or a pipe)."""
    if source == "-":
        return decode_lines(sys.stdin.buffer, "Standard input"), None
    path = named_file("input", source, read_twice=False)
    # Counting also finds a bad byte now, not after hours. A named pipe can be read only once.
    return read_lines(path), count_lines(path) if path.is_file() else None


@contextlib.contextmanager
def _open_output(file: str) -> Iterator[Callable[[str], object]]:
    """Open an output; yield the function that writes a line."""
    if file != "-":
        with LineWriter(Path(file)) as writer:
            yield writer.write
        return
    output = sys.stdout.buffer  # on Windows, text would get another encoding and line ends
    yield lambda line: output.write(line.encode("utf-8") + b"\n")
    output.flush()
