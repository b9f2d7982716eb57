"""The stage ``explain``: how a trained model translates a sentence, word by word, in numbers."""

import textwrap
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from seq2seq.config import DecodingConfig, ExplainConfig
from seq2seq.data.vocabulary import BOS, EOS, PAD, SPECIALS
from seq2seq.decoding.decoder_session import length_caps
from seq2seq.decoding.translator import Translator
from seq2seq.drawing import map_figure, render, short
from seq2seq.errors import UserError
from seq2seq.files import write_whole
from seq2seq.model.encoder import Source
from seq2seq.model.translation import TranslationModel

WIDTH = 100
"""Maximum number of characters of a line; the rest of a wider table follows below."""


class WatchedSource(Source):
    """A source that keeps the scores which attention kinds pass to :meth:`softmax_sum`."""

    scores: Float[Tensor, "1 1 S"] | None = None

    def softmax_sum(self, scores: Float[Tensor, "1 1 S"]) -> tuple[Tensor, Tensor]:
        self.scores = scores
        return super().softmax_sum(scores)


class WordStep(NamedTuple):
    """Numbers of one step of greedy search."""

    query: Float[Tensor, "H"]
    scores: Float[Tensor, "S"] | None
    """Attention scores; None for a kind whose weights are not one softmax over the source."""
    weights: Float[Tensor, "S"] | None
    """Attention weights of the source pieces; None if the model has none."""
    context: Float[Tensor, "M"]
    probabilities: Float[Tensor, "V"]
    chosen: int
    """Id of the piece that is written."""


@torch.no_grad()
def greedy_steps(model: TranslationModel, ids: list[int]) -> list[WordStep]:
    """Return the steps of greedy search on a source that ends with EOS.

    The search stops after EOS or at its length limit. It runs the code that defines the model, and
    not :mod:`seq2seq.model.fast`: ``model.decoder.fast`` is set to False.
    """
    model.decoder.fast = False
    seen: list[tuple[Tensor, Tensor]] = []
    search, lengths = DecodingConfig(beam=1), torch.tensor([len(ids)])
    hook = model.decoder.attention.register_forward_hook(
        lambda _, given, made: seen.append((given[0][0], made[0][0]))
    )
    source = WatchedSource(*model.encode(torch.tensor([ids]), lengths))
    state, token = model.init_state(source), BOS
    steps: list[WordStep] = []
    while token != EOS and len(steps) < length_caps(lengths, search):
        logits, state, weights = model.step(torch.tensor([token]), state, source)
        # Slots and linear attention have scores of their pooled vectors, not of source positions.
        watched = source.scores if model.attends else None
        scores = None if watched is None else watched[0, 0]
        probabilities = logits.softmax(dim=1)[0]
        logits[:, [PAD, BOS]] = -torch.inf
        token = int(logits.argmax())
        looked = weights[0] if model.attends else None
        query, context = seen.pop()
        steps.append(WordStep(query, scores, looked, context, probabilities, token))
    hook.remove()
    return steps


def explain(config: ExplainConfig) -> str:
    """Describe the steps in which a model translates ``config.text``, and draw its attention.

    UserError if the checkpoint does not exist, or the text has no words.
    """
    translator, output = Translator.load(config.checkpoint, "cpu", "fp32"), Path(config.output)
    model = translator.model.eval()
    assert isinstance(model, TranslationModel)  # one checkpoint is no ensemble
    pieces = translator.read(config.text)
    if not pieces:
        raise UserError('text has no words; set a sentence, such as text="the dog sleeps".')
    steps = greedy_steps(model, [*translator.source.vocabulary.encode(pieces), EOS])
    source = [short(piece) for piece in [*pieces, SPECIALS[EOS]]]
    target = [short(piece) for piece in translator.target.vocabulary.pieces]
    written = [target[step.chosen] for step in steps]
    first = f"Source: {' '.join(source)}", f"Greedy search writes: {' '.join(written)}"
    lines = [textwrap.fill(line, WIDTH) for line in first]
    for number, step in enumerate(steps):
        before = written[number - 1] if number else SPECIALS[BOS]
        lines += ["", f"{number + 1}. After {before}", *_step_lines(step, source, target)]
    weights = [step.weights.tolist() for step in steps if step.weights is not None]
    if not weights:
        return "\n".join([*lines, "", "This model has no weights of source pieces to draw."])
    draw = partial(map_figure, source, written, weights, "Greedy search, piece by piece")
    output.mkdir(parents=True, exist_ok=True)
    for form, content in render(draw).items():
        write_whole(output / f"attention.{form}", content)
    return "\n".join([*lines, "", f"The weights are drawn in {output / 'attention.png'}."])


def _step_lines(step: WordStep, source: list[str], target: list[str]) -> list[str]:
    """Format one decoding step as lines of at most :data:`WIDTH` characters."""
    known = {"score": step.scores, "weight": step.weights}
    rows = {name: numbers.tolist() for name, numbers in known.items() if numbers is not None}
    best = step.probabilities.argsort(descending=True)[:5].tolist()
    likely = "  ".join(f"{target[piece]} {step.probabilities[piece]:.3f}" for piece in best)
    lines = [_vector("query", step.query), *_table(rows, source), _vector("context", step.context)]
    lines.append(textwrap.fill(f"  probabilities: {likely}", WIDTH, subsequent_indent="  "))
    return [*lines, f"  writes {target[step.chosen]}"]


def _table(rows: dict[str, list[float]], columns: list[str]) -> list[str]:
    """Format rows as lines, each with its name first; columns that do not fit follow below."""
    texts = {"": columns} | {
        name: [f"{number:.3f}" for number in numbers] for name, numbers in rows.items()
    }
    margin = max(map(len, texts))
    cell = 2 + max(len(text) for row in texts.values() for text in row)
    together = max(1, (WIDTH - 2 - margin) // cell)
    return [
        f"  {name:<{margin}}" + "".join(f"{text:>{cell}}" for text in row[start : start + together])
        for start in range(0, len(columns) if rows else 0, together)
        for name, row in texts.items()
    ]


def _vector(name: str, numbers: Float[Tensor, "N"]) -> str:
    shown = " ".join(f"{number:.3f}" for number in numbers[:6].tolist())
    return f"  {name}, {len(numbers)} numbers, norm {float(numbers.norm()):.3f}: {shown} ..."
