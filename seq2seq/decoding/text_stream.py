"""The translate command: a file, standard input or a prompt, to files or standard output."""

import contextlib
import importlib
import io
import logging
import sys
from collections.abc import Callable, Iterator
from itertools import count, tee
from pathlib import Path
from types import ModuleType

from tqdm.contrib.logging import logging_redirect_tqdm

from seq2seq.config import TranslateConfig
from seq2seq.data.text import LineWriter, bounded_lines, count_lines, decode_lines, read_lines
from seq2seq.data.tokenization import MosesWordTokenizer
from seq2seq.decoding.translator import Hypothesis, Translator
from seq2seq.decoding.word_links import link_words, pharaoh
from seq2seq.errors import UserError

logger = logging.getLogger(__name__)

Describe = Callable[[int, str, Hypothesis], list[str]]
"""The lines that an output gets for an input line: its number from 0, itself, its translation."""


def translate_text(translator: Translator, config: TranslateConfig) -> int:
    """Translate ``config.input`` in order, in constant memory, and return the number of lines.

    A file appears whole or not at all, but what was written before a Ctrl-C, or before a line that
    cannot be read, stays in ``<file>.part``. To standard output, lines are written chunk by chunk.

    Raises:
        UserError: the text cannot be read, or is not UTF-8; an output cannot be written, or would
            be written over the text or another output, or two of them would share standard output;
            no output is for the other hypotheses that are asked for; the model has no attention to
            make alignments of, or other words than the files.
    """
    _refuse_mixture(config)
    _refuse_overwriting(config)
    _refuse_unread(config)
    require_attention(translator, config)
    refuse_other_words(translator, config)
    lines, total = _open_input(config.input)
    lines, texts = tee(lines)  # which holds no more than a chunk
    files = list(config.outputs.values())
    found = translator.stream(
        lines,
        config.decoding,
        attention=config.alignments is not None,
        chunk=config.chunk,
        progress=not ("-" in files and sys.stdout.isatty()),  # there, the text itself shows it
        total=total,
    )
    links = _Links(translator)
    describes: dict[str, Describe] = {
        "hypotheses": lambda _, __, hypothesis: [hypothesis.text],
        "n_best_list": _n_best_lines,
        "alignments": links.describe,
    }
    done = capped = 0
    with contextlib.ExitStack() as stack, logging_redirect_tqdm():
        opened = {
            key: stack.enter_context(_open_output(file)) for key, file in config.outputs.items()
        }
        outputs = [(write, describes[key]) for key, (write, _) in opened.items()]
        unfinished = [part for _, part in opened.values()]
        try:
            for hypothesis, text in zip(found, texts, strict=False):  # in this order: see tee
                for write, describe in outputs:
                    for line in describe(done, text, hypothesis):
                        write(line)
                done += 1
                capped += hypothesis.capped
                if done % config.chunk == 0:
                    sys.stdout.buffer.flush()
        except (KeyboardInterrupt, SystemExit, UserError) as stop:
            parts = [str(part) for part in unfinished if part is not None]
            where = f"; they are in {' and '.join(parts)}" if parts and done else ""
            how = "Stopped" if isinstance(stop, UserError) else "Interrupted"
            logger.warning("%s after %d lines%s.", how, done, where)
            raise
    if links.left_out:
        logger.warning(
            "Lines of alignments left empty: %d, whose texts the model cuts into other words than "
            "those between spaces.",
            links.left_out,
        )
    logger.info("Translated %d lines; %d hypotheses were cut at the length cap", done, capped)
    return done


def require_attention(translator: Translator, config: TranslateConfig) -> None:
    """Refuse what a model without attention cannot know: what it looked at."""
    asked = {
        "alignments": config.alignments is not None,
        "decoding.replace_unknown": config.decoding.replace_unknown,
    }
    for key, given in asked.items():
        if given and not translator.model.attends:
            raise UserError(
                f"A model without attention has no alignments; leave out {key}, or take a "
                "checkpoint of a model with attention."
            )


def refuse_other_words(translator: Translator, config: TranslateConfig) -> None:
    """Refuse links between words that are in neither text: those between spaces are counted."""
    tokenizers = translator.source.tokenizer, translator.target.tokenizer
    if config.alignments is not None and MosesWordTokenizer.kind in {t.kind for t in tokenizers}:
        raise UserError(
            "Alignments count the words between spaces, and this model reads the words of "
            "tokenization=moses; leave out alignments, or take a checkpoint that was trained with "
            "tokenization=sentencepiece or whitespace."
        )


class _Links:
    """Tells of the words' links, and counts the lines of which it cannot."""

    def __init__(self, translator: Translator) -> None:
        self._tokenizers = translator.source.tokenizer, translator.target.tokenizer
        self.left_out = 0

    def describe(self, _: int, text: str, hypothesis: Hypothesis) -> list[str]:
        links = link_words(text, hypothesis, *self._tokenizers)
        self.left_out += links is None
        return [pharaoh(links or [])]


def _n_best_lines(number: int, _: str, hypothesis: Hypothesis) -> list[str]:
    """The lines of an n-best list, best first: ``number ||| text ||| score``.

    The text is between the first ``|||`` and the last, whatever it holds.
    """
    every = [hypothesis, *hypothesis.alternatives]
    return [f"{number} ||| {each.text} ||| {each.score:.6f}" for each in every]


def _refuse_mixture(config: TranslateConfig) -> None:
    mixed = [key for key, file in config.outputs.items() if file == "-"]
    if len(mixed) > 1:
        raise UserError(
            f"{' and '.join(mixed)} cannot share standard output; give a file to all but one of "
            "them, or null to write none."
        )


def _refuse_overwriting(config: TranslateConfig) -> None:
    """Refuse two names of one file, be one of them that of lines under way."""
    taken: dict[Path, str] = {}
    if config.input != "-":
        taken[Path(config.input).resolve()] = f"input={config.input}"
    for key, file in config.outputs.items():
        if file == "-":
            continue
        writer = LineWriter(Path(file))
        if writer.path.exists() and not writer.path.is_file():
            continue  # a pipe or a device, such as a terminal, may take more than one
        for path in (writer.path.resolve(), writer.part.resolve()):
            if path in taken:
                raise UserError(
                    f"{key}={file} would be written over {taken[path]}; give it a file of its own "
                    f"({path} serves both)."
                )
            taken[path] = f"{key}={file}"


def _refuse_unread(config: TranslateConfig) -> None:
    if config.decoding.n_best > 1 and config.n_best_list is None:
        raise UserError(
            f"Only the best of decoding.n_best={config.decoding.n_best} would be written; leave it "
            "out, or give n_best_list=FILE for all of them."
        )


def _open_input(source: str) -> tuple[Iterator[str], int | None]:
    """The lines, and how many there are, where that can be known beforehand."""
    if source == "-":
        return decode_lines(bounded_lines(sys.stdin.buffer), "Standard input"), None
    path = Path(source)
    # Counting also finds a bad byte now, not after hours. A named pipe can be read only once.
    return read_lines(path), count_lines(path) if path.is_file() else None


@contextlib.contextmanager
def _open_output(file: str) -> Iterator[tuple[Callable[[str], None], Path | None]]:
    """What writes a line to it, and where lines stay that were written before a failure."""
    if file != "-":
        with LineWriter(Path(file), keep_unfinished=True) as writer:
            yield writer.write, None if writer.part == writer.path else writer.part
        return
    yield _write_standard_output, None
    sys.stdout.buffer.flush()


def _write_standard_output(line: str) -> None:
    # Bytes: on Windows, the text layer would change encoding and line ends.
    sys.stdout.buffer.write(line.encode("utf-8") + b"\n")


def is_typed(config: TranslateConfig) -> bool:
    """Whether the text is typed at a terminal and all answers are read there.

    Raises UserError where standard input is read and closed.
    """
    if config.input != "-":
        return False
    if sys.stdin is None:
        raise UserError("Standard input is closed; give input=FILE.")
    return sys.stdin.isatty() and sys.stdout.isatty() and set(config.outputs.values()) == {"-"}


def answer_prompt(translator: Translator, config: TranslateConfig) -> None:
    """Answer each line with its hypotheses and their scores, and links where alignments are asked.

    A Ctrl-C drops the line being typed or translated. Ctrl-D ends, and so does a Ctrl-C on an empty
    line. Lines have a history and can be edited where Python has ``readline``.

    Raises:
        UserError: alignments are asked of a model without attention, or of Moses' words.
    """
    require_attention(translator, config)
    refuse_other_words(translator, config)
    for stream in (sys.stdin, sys.stdout):  # what a terminal may send or cannot show
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    editor = _line_editor()
    print("Each line is translated as it is entered; Ctrl-D ends.", file=sys.stderr)
    links = config.alignments is not None
    for number in count(1):
        try:
            line = input(f"{translator.source.language}> ")
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            print()
            if editor is None or not editor.get_line_buffer():
                return
            continue
        try:
            found = translator.translate(line, config.decoding, attention=links, first_line=number)
        except KeyboardInterrupt:
            print()
            continue
        if line.strip():
            print(_answer(translator, line, found, links), flush=True)


def _answer(translator: Translator, line: str, found: Hypothesis, links: bool) -> str:
    lines = [f"{each.score:9.3f}  {each.text}" for each in [found, *found.alternatives]]
    if links:
        tokenizers = translator.source.tokenizer, translator.target.tokenizer
        between = link_words(line, found, *tokenizers)
        unknown = "none: the model cuts this line into other words"
        lines.append(f"    links  {unknown if between is None else pharaoh(between)}")
    return "\n".join(lines)


def _line_editor() -> ModuleType | None:
    """Once imported, it serves ``input``; only here, since it may write to the terminal."""
    try:
        return importlib.import_module("readline")
    except ImportError:  # on Windows
        return None
