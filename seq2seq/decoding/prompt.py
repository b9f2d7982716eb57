"""A prompt at a terminal: each line that is typed is translated at once."""

import importlib
import io
import sys
from itertools import count
from types import ModuleType

from seq2seq.config import TranslateConfig
from seq2seq.decoding.alignment import link_words, pharaoh
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.stream import refuse_other_words, require_attention
from seq2seq.decoding.translator import Translator


def is_typed(config: TranslateConfig) -> bool:
    """Whether the text is typed at a terminal and all answers are to be read there."""
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    return config.input == "-" and at_terminal and set(config.outputs.values()) == {"-"}


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
