"""A trained model, step by step: query, scores, weights, context and probabilities of each word."""

import textwrap
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from seq2seq.config import DecodingConfig
from seq2seq.data.vocabulary import BOS, EOS, SPECIALS
from seq2seq.decoding.decoder_session import ban_pieces, length_caps
from seq2seq.decoding.translator import Translator
from seq2seq.errors import UserError
from seq2seq.evaluation.translations import AttentionMap
from seq2seq.explain.example import UNIT, WIDTH, Step
from seq2seq.files import write_whole
from seq2seq.model.encoder import Source
from seq2seq.model.translation import TranslationModel
from seq2seq.report.attention_figure import draw_map, short
from seq2seq.report.style import new_figure, render

SHOWN = 6
"""Numbers of a vector that are printed."""
BEST = 5
"""Pieces whose probability is printed."""


class WatchedSource(Source):
    """A source that keeps the scores whose softmax it takes, for the kinds that ask it to."""

    scores: Float[Tensor, "1 1 S"] | None = None

    def attend(self, scores: Float[Tensor, "1 1 S"]) -> tuple[Tensor, Tensor]:
        self.scores = scores
        return super().attend(scores)


@dataclass(frozen=True)
class WordStep:
    """One step of greedy search, in the model's own numbers."""

    query: Float[Tensor, "H"]
    scores: Float[Tensor, "S"] | None
    """None for a kind whose weights are not one softmax over the source."""
    weights: Float[Tensor, "S"]
    """All 0 without attention."""
    context: Float[Tensor, "M"]
    probabilities: Float[Tensor, "V"]
    chosen: int
    """The piece that is written."""


def greedy_steps(model: TranslationModel, ids: list[int]) -> list[WordStep]:
    """The steps of greedy search for a source that ends with EOS, the step that ends it included.

    They go through the model's plain modules: with gradients on, no compiled operation is used.
    """
    seen: list[tuple[Tensor, Tensor]] = []
    attention, search = model.decoder.attention, DecodingConfig(beam=1)
    hook = attention.register_forward_hook(lambda _, given, made: seen.append((given[0], made[0])))
    lengths = torch.tensor([len(ids)])
    source = WatchedSource(*model.encode(torch.tensor([ids]), lengths))
    state, token = model.init_state(source), BOS
    steps: list[WordStep] = []
    while token != EOS and len(steps) < length_caps(lengths, search):
        logits, state, weights = model.step(torch.tensor([token]), state, source)
        probabilities = logits.detach().softmax(dim=1)[0]
        ban_pieces(logits := logits.detach().clone(), search)
        token = int(logits.argmax())
        query, context = (part.detach()[0] for part in seen.pop())
        scores = None if source.scores is None else source.scores.detach()[0, 0]
        steps.append(WordStep(query, scores, weights.detach()[0], context, probabilities, token))
    hook.remove()
    return steps


def explain_model(checkpoint: str, text: str, output: Path) -> str:
    """The steps in which the model translates ``text``; draws its attention into ``output``.

    Raises:
        UserError: there is no such checkpoint, or no word in ``text``.
    """
    translator = Translator.load(checkpoint, "cpu", "fp32")
    model = translator.model.eval()
    assert isinstance(model, TranslationModel)  # of one checkpoint
    pieces = translator.read(text)
    if not pieces:
        raise UserError('text has no words; give a sentence, such as text="the dog sleeps".')
    steps = greedy_steps(model, [*translator.source.vocabulary.encode(pieces), EOS])
    source = [short(piece) for piece in [*pieces, SPECIALS[EOS]]]
    target = [short(piece) for piece in translator.target.vocabulary.pieces]
    written = [target[step.chosen] for step in steps]
    parts = [
        textwrap.fill(f"Source: {' '.join(source)}", WIDTH),
        textwrap.fill(f"Greedy search writes: {' '.join(written)}", WIDTH),
        *(
            _step_text(number, step, before, source, target, model.attends)
            for number, (step, before) in enumerate(zip(steps, ["<s>", *written], strict=False), 1)
        ),
    ]
    if not model.attends:
        return "\n\n".join([*parts, "This model has no attention: there are no weights to draw."])
    weights = [step.weights.tolist() for step in steps]
    drawn = AttentionMap(0, source, written, weights)
    for form, content in render(partial(_figure, drawn)).items():
        write_whole(output / f"attention.{form}", content)
    return "\n\n".join([*parts, f"The weights are drawn in {output / 'attention.png'}."])


def _step_text(
    number: int, step: WordStep, before: str, source: list[str], target: list[str], attends: bool
) -> str:
    """One step in lines of at most :data:`WIDTH` characters."""
    lines = [f"{number}. After {before}", _vector("query", step.query)]
    rows = {} if step.scores is None else {"score": step.scores}
    rows |= {"weight": step.weights} if attends else {}
    if rows:
        values = np.stack([numbers.numpy() for numbers in rows.values()])
        lines.append(Step("", "", "", values, list(rows), source, 3, UNIT).table())
    best = step.probabilities.topk(min(BEST, len(target)))
    likely = [f"{target[i]} {p:.3f}" for p, i in zip(*(x.tolist() for x in best), strict=True)]
    lines.append(_vector("context", step.context))
    text = f"  probabilities: {'  '.join(likely)}"
    lines += [textwrap.fill(text, WIDTH, subsequent_indent="  "), f"  writes {target[step.chosen]}"]
    return "\n".join(lines)


def _vector(name: str, numbers: Float[Tensor, "N"]) -> str:
    shown = " ".join(f"{number:.3f}" for number in numbers[:SHOWN].tolist())
    more = " ..." if len(numbers) > SHOWN else ""
    return f"  {name}, {len(numbers)} numbers, norm {float(numbers.norm()):.3f}: {shown}{more}"


def _figure(drawn: AttentionMap) -> Figure:
    """One map, its cells as large as their numbers need."""
    cell = min(0.5, 7 / len(drawn.source))
    height = cell * len(drawn.hypothesis) + 2.6
    note = "Across: the source; down: the translation. Black: a weight of 0, white: of 1."
    figure = new_figure(height, "Attention", "Greedy search, piece by piece", note)
    draw_map(figure.subplots(), drawn, cell)
    return figure
