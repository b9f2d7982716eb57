"""Nine exercises on attention: minimal.py with eight blanks, and an attention of your own.

    python docs/exercises/grade.py

The first call writes docs/exercises/blanks.py. Fill in its blanks, and then own_attention.py beside
it. Each exercise is graded with right answers to all others. When all are right, the commands
python docs/exercises/blanks.py and python docs/exercises/own_attention.py train your translators.
"""

import argparse
import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

HERE = Path(__file__).resolve().parent
MINIMAL = (HERE.parents[1] / "minimal.py").read_text(encoding="utf-8")


class Module(dict[str, Any]):
    """Names that the text of a module defines, as attributes."""

    def __init__(self, text: str) -> None:
        super().__init__(__name__="blanks")
        exec(compile(text, "blanks.py", "exec"), self)

    def __getattr__(self, name: str) -> Any:
        return self[name]

    def translator(self, attends: bool = True) -> Any:
        """Make a small translator, always with the same weights; E is 4, H 4, D 8 and A 4."""
        torch.manual_seed(1)
        return self.Translator(12, 12, attends, 4)


# ---- What is graded: three sentences, their translations, and a step -----------------------------

SOURCES = torch.tensor(
    [[4, 5, 6, 7, 8, 9, 4, 3], [5, 9, 3, 0, 0, 0, 0, 0], [6, 4, 3, 0, 0, 0, 0, 0]]
)
TARGETS = torch.tensor([[7, 6, 3, 0], [4, 5, 9, 3], [8, 3, 0, 0]])
RIGHT = Module(MINIMAL)


def numbers(*sizes: int, seed: int = 0) -> Tensor:
    """Draw numbers; with the same seed, always the same ones."""
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed))


def equal(found: Tensor, expected: Tensor) -> bool:
    return found.shape == expected.shape and torch.allclose(found, expected, atol=1e-5)


def attention_weights(module: Module, mask: Tensor, seed: int = 0) -> Tensor:
    """Return the weights of a step for each sentence; the seed draws the state."""
    torch.manual_seed(1)
    attention = module.Attention(4, 4, 8, 4)
    count = len(mask)
    annotations = torch.eye(8).expand(count, 8, 8)  # so the context is the weights
    source = module.Source(annotations, numbers(3, 8, 4)[:count], mask, numbers(3, 8)[:count])
    weights: Tensor = attention(numbers(3, 8, seed=seed)[:count], numbers(3, 4)[:count], source)
    return weights


def step(module: Module, attends: bool, seed: int = 0) -> tuple[Any, Any]:
    """Make a step; return its state, cell and context, and the source that it saw."""
    model = module.translator(attends)
    source = RIGHT.translator(attends).encode(SOURCES)
    result = model.step(numbers(3, 4), numbers(3, 8, seed=seed), numbers(3, 8, seed=2), source)
    return result, source


def loss(module: Module, targets: Tensor = TARGETS) -> tuple[Tensor, Tensor]:
    """Return the loss, or NaN if it failed, and the words that the decoder read."""
    model, read = module.translator(), list[Tensor]()
    model.target_words.register_forward_hook(lambda _, given, __: read.append(given[0]))
    try:
        return model(SOURCES, targets).detach(), read[0]
    except Exception:
        if not read:
            raise
        return torch.tensor(torch.nan), read[0]


# ---- The exercises: what a blank asks for; each returns what is wrong, or nothing ----------------


def scores(work: Module) -> str:
    """How well does each word fit the query? Write the equation above."""
    mask = torch.ones(3, 8, dtype=torch.bool)
    found = attention_weights(work, mask)
    if equal(found, attention_weights(RIGHT, mask)):
        return ""
    if equal(found, torch.full_like(found, 1 / 8)):
        return "all words of a sentence have the same score; it must depend on their keys."
    if equal(found, attention_weights(work, mask, seed=1)):
        return "the weights are the same for all queries; between v_a and the sum stands a tanh."
    return "these are not the scores v_a tanh(W_a query + keys)."


def weights(work: Module) -> str:
    """The weights of a sentence sum to 1, and padding has none."""
    mask = SOURCES != 0
    found = attention_weights(work, mask)
    if equal(found, attention_weights(RIGHT, mask)):
        return ""
    if not equal(found[:1], attention_weights(work, mask[:1])):
        return "a sentence's weights depend on the other sentences; the softmax has the wrong axis."
    if found[~mask].any():
        return "padding has weight; its score must be minus infinity."
    if not equal(found.sum(dim=1), torch.ones(3)):
        return "the weights of the words do not sum to 1; the mask must come before the softmax."
    return "these are not the softmax of the scores."


def back(work: Module) -> str:
    """Read backwards by self.back, with reverse() of below; state j stands at word j."""
    found, expected = (one.translator().encode(SOURCES)[0][:, :, 4:] for one in (work, RIGHT))
    mask = SOURCES != 0
    if equal(found[mask], expected[mask]):
        return ""
    if equal(found, RIGHT.reverse(expected, mask)):
        return "state j does not stand at word j; the states must be reversed, too."
    if not equal(found[1, :3], work.translator().encode(SOURCES[1:2, :3])[0][0, :, 4:]):
        return "the states of a short sentence depend on its padding, which is read first."
    changed = SOURCES.where(SOURCES != 3, 10)  # another last word
    if equal(found[:, 0], work.translator().encode(changed)[0][:, 0, 4:]):
        return "the state at the first word does not know the last word; read backwards."
    return "these are not the states of the reader self.back."


def summary(work: Module) -> str:
    """The last state of the reader ahead, and that of the one back, side by side."""
    source, found = (one.translator().encode(SOURCES) for one in (RIGHT, work))
    (ahead, backward), ours = source.annotations.chunk(2, dim=2), found.summary
    if equal(ours, source.summary):
        return ""
    if equal(ours[:, :4], ahead[:, -1]):
        return "for short sentences, ahead[:, -1] stands at padding; take the state at last."
    last = (SOURCES != 0).sum(dim=1) - 1
    if any(equal(ours[:, 4:], backward[torch.arange(3), one]) for one in (last, -1)):
        return "the backward reader starts at the last word, so its last state is at the first."
    return "it is not the last state of the reader ahead and then that of the reader back."


def context(work: Module) -> str:
    """What is it with attention, and what without?"""
    (*_, found), source = step(work, attends=False)
    if not equal(found, source.summary):
        return "without attention, the context is always the summary of the source."
    (*_, found), _ = step(work, attends=True)
    if equal(found, step(RIGHT, attends=True)[0][2]):
        return ""
    if equal(found, step(work, attends=True, seed=1)[0][2]):
        return "with attention, the context must change with the state hidden, which is the query."
    return "with attention, it is not the context for the state, the word and the source."


def cell(work: Module) -> str:
    """The new cell of the LSTM; i, f and g have not been through sigmoid or tanh."""
    if equal(step(work, attends=True)[0][1], step(RIGHT, attends=True)[0][1]):
        return ""
    model, given = work.translator(), numbers(3, 8)
    nn.init.zeros_(model.gates.weight)
    with torch.no_grad():
        for gate, value in zip(model.gates.bias.chunk(4), (-40, 40, 0.5, 0), strict=True):
            gate.fill_(value)
    source = RIGHT.translator().encode(SOURCES)
    if not equal(model.step(numbers(3, 4), given, given, source)[1], given):
        return "with the forget gate f open and the input gate i shut, the old cell must stay."
    return "with the input gate i open and the forget gate f shut, it must become tanh(g)."


def before(work: Module) -> str:
    """The words that the steps read (B T), as numbers."""
    read, expected = loss(work)[1], loss(RIGHT)[1]
    if read.shape != expected.shape:
        return "the decoder must read one word for each word that it writes."
    mask = TARGETS != 0
    if torch.equal(read[mask], expected[mask]):
        return ""
    if torch.equal(read, TARGETS):
        return "each step reads the word that it should guess; it must read the word before."
    if (read[:, 0] != RIGHT.BEGIN).any():
        return "the first step must read BEGIN, as in translate()."
    return "step i must read word i - 1 of the translation."


def real(work: Module) -> str:
    """True at each word that the loss counts (B T)."""
    found, padded = (loss(work, nn.functional.pad(TARGETS, (0, more)))[0] for more in (0, 2))
    if equal(found, loss(RIGHT)[0]):
        return ""
    if found.isnan():
        return "it must be True or False for each word of the translations."
    if not equal(padded, found):
        return "the loss changes with the padding, which must not count."
    return "the loss must count all words, END included."


def own_attention(work: Module) -> str:
    """Any attention that looks at its query, and uses all of its parameters."""
    from seq2seq.config import AttentionConfig
    from seq2seq.model.attention import OWN, build_attention
    from seq2seq.model.encoder import Source

    kinds = [name for name, kind in OWN.items() if kind in work.values()]
    if not kinds:
        return 'no class stands below @seq2seq.attention("NAME").'
    torch.manual_seed(1)
    attention = build_attention(AttentionConfig(kind=kinds[-1], size=8), 8, 8)
    for parameter in attention.parameters():
        nn.init.normal_(parameter, std=0.3)  # so that no softmax chooses one word
    query, mask, given = numbers(6, 8), SOURCES != 0, numbers(3, 8, 8)

    def attend(count: int) -> tuple[Tensor, Tensor]:
        source = Source(given, mask, given[:, 0], given).select(torch.arange(count))
        source = attention.read(source)
        state = attention.init_state(source).repeat_interleave(2, dim=0)
        context, weights = attention(query[: 2 * count], source, state)
        return context, weights.unflatten(0, (count, 2))

    context, found = attend(3)
    if equal(found[:, 0], found[:, 1]):
        return "the weights are the same for all queries."
    if not equal(found[:1], attend(1)[1]):
        return "a sentence's weights depend on the other sentences of its batch."
    if context.requires_grad:
        context.square().sum().backward()
    idle = [name for name, one in attention.named_parameters() if one.grad is None]
    return f"the weights do not depend on {', '.join(idle)}." if idle else ""


# ---- The report ----------------------------------------------------------------------------------


BLANKS = (scores, weights, back, summary, context, cell, before, real)


def exercises(answers: bool = False) -> str:
    """Return minimal.py with two marks around each blank; its line stays there for ``answers``."""
    text = MINIMAL.replace("Path(__file__).parent.", "Path().")  # it runs where minimal.py lies
    for number, check in enumerate(BLANKS, 1):
        blank = r"\g<0>" if answers else r"\1\2...\3\n"
        marked = rf"\1# Exercise {number}. {check.__doc__}\n{blank}\1# End of exercise {number}.\n"
        line = rf"^( +)({check.__name__} = ).*?(  # .*)?\n"
        text = re.sub(line, marked, text, count=1, flags=re.MULTILINE)
    return f"# mypy: ignore-errors\n{text}"


def with_answers(text: str, number: int) -> str:
    """Return the exercises with the work of one, from ``text``, and right answers to the others."""
    blank = rf"(# Exercise {number}\..*\n)((?:.*\n)*?)( *# End of exercise {number}\.)"
    theirs = re.search(blank, text)
    if not theirs:
        raise ValueError(
            f"The lines # Exercise {number}. and # End of exercise {number}. must stay."
        )
    if re.search(r"= \.\.\.", theirs[2]):
        raise NotImplementedError
    right = exercises(answers=True)
    return re.sub(blank, lambda ours: ours[1] + theirs[2] + ours[3], right)


def grade(folder: Path) -> dict[str, str]:
    """Say what is wrong with each exercise of a folder; nothing if it is right."""
    blanks, own = (
        (folder / name).read_text(encoding="utf-8") for name in ("blanks.py", "own_attention.py")
    )
    said = {}
    for number, check in enumerate((*BLANKS, own_attention), 1):
        try:
            work = own if check is own_attention else with_answers(blanks, number)
            said[check.__name__] = check(Module(work))
        except NotImplementedError:
            said[check.__name__] = "still blank."
        except Exception as error:  # whatever it is, it is the work's
            first = str(error.msg if isinstance(error, SyntaxError) else error).partition("\n")[0]
            said[check.__name__] = f"{type(error).__name__}: {first}"
    return said


def main() -> None:
    """Grade the exercises, or write their answers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    place = "folder of blanks.py and own_attention.py (docs/exercises)"
    parser.add_argument("folder", nargs="?", type=Path, default=HERE, help=place)
    parser.add_argument("--answers", action="store_true", help="write answers.py there instead")
    options = parser.parse_args()
    if options.answers:
        (options.folder / "answers.py").write_text(exercises(answers=True), encoding="utf-8")
        return
    blanks = options.folder / "blanks.py"
    if not blanks.exists():
        blanks.write_text(exercises(), encoding="utf-8")
        print(f"Fill in the blanks of {blanks}.")
    said = grade(options.folder)
    for number, (name, wrong) in enumerate(said.items(), 1):
        print(f"{number} {name:15}{wrong or 'done'}")
    print(f"{[*said.values()].count('')} of {len(said)} done")


if __name__ == "__main__":
    main()
