"""A trained model, step by step: query, scores, weights, context and probabilities of each word."""

import textwrap
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from seq2seq.config import DecodingConfig
from seq2seq.data.vocabulary import BOS, EOS, SPECIALS
from seq2seq.decoding.decoder_session import ban_pieces, length_caps
from seq2seq.decoding.translator import Translator
from seq2seq.drawing import map_figure, render, short
from seq2seq.errors import UserError
from seq2seq.explain.example import UNIT, WIDTH, Step
from seq2seq.files import write_whole
from seq2seq.model.encoder import Source
from seq2seq.model.translation import TranslationModel


class WatchedSource(Source):
    """A source that keeps the scores whose softmax it takes, for the kinds that ask it to."""

    scores: Float[Tensor, "1 1 S"] | None = None

    def attend(self, scores: Float[Tensor, "1 1 S"]) -> tuple[Tensor, Tensor]:
        self.scores = scores
        return super().attend(scores)


class WordStep(NamedTuple):
    """One step of greedy search, in the model's own numbers."""

    query: Float[Tensor, "H"]
    scores: Float[Tensor, "S"] | None
    """None for a kind whose weights are not one softmax over the source."""
    weights: Float[Tensor, "S"] | None
    """None without attention."""
    context: Float[Tensor, "M"]
    probabilities: Float[Tensor, "V"]
    chosen: int
    """The piece that is written."""


def greedy_steps(model: TranslationModel, ids: list[int]) -> list[WordStep]:
    """The steps of greedy search for a source that ends with EOS, the step that ends it included.

    They go through the model's plain modules: with gradients on, no compiled operation is used.
    """
    seen: list[tuple[Tensor, Tensor]] = []
    search, lengths = DecodingConfig(beam=1), torch.tensor([len(ids)])
    hook = model.decoder.attention.register_forward_hook(
        lambda _, given, made: seen.append((given[0].detach()[0], made[0].detach()[0]))
    )
    source = WatchedSource(*model.encode(torch.tensor([ids]), lengths))
    state, token = model.init_state(source), BOS
    steps: list[WordStep] = []
    while token != EOS and len(steps) < length_caps(lengths, search):
        logits, state, weights = model.step(torch.tensor([token]), state, source)
        scores = None if source.scores is None else source.scores.detach()[0, 0]
        probabilities = logits.detach().softmax(dim=1)[0]
        ban_pieces(allowed := logits.detach().clone(), search)
        token = int(allowed.argmax())
        looked = weights.detach()[0] if model.attends else None
        query, context = seen.pop()
        steps.append(WordStep(query, scores, looked, context, probabilities, token))
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
    first = f"Source: {' '.join(source)}", f"Greedy search writes: {' '.join(written)}"
    lines = [textwrap.fill(line, WIDTH) for line in first]
    for number, step in enumerate(steps):
        before = written[number - 1] if number else SPECIALS[BOS]
        lines += ["", f"{number + 1}. After {before}", *_step_lines(step, source, target)]
    weights = [step.weights.tolist() for step in steps if step.weights is not None]
    if not weights:
        return "\n".join([*lines, "", "This model has no attention: there are no weights to draw."])
    draw = partial(map_figure, source, written, weights, "Greedy search, piece by piece")
    for form, content in render(draw).items():
        write_whole(output / f"attention.{form}", content)
    return "\n".join([*lines, "", f"The weights are drawn in {output / 'attention.png'}."])


def _step_lines(step: WordStep, source: list[str], target: list[str]) -> list[str]:
    """Its numbers, in lines of at most :data:`WIDTH` characters."""
    known = {"score": step.scores, "weight": step.weights}
    rows = {name: numbers.numpy() for name, numbers in known.items() if numbers is not None}
    table = []
    if rows:
        values = np.stack(list(rows.values()))
        table = [Step("", "", "", values, list(rows), source, 3, UNIT).table()]
    best = step.probabilities.argsort(descending=True)[:5].tolist()
    likely = "  ".join(f"{target[piece]} {step.probabilities[piece]:.3f}" for piece in best)
    lines = [_vector("query", step.query), *table, _vector("context", step.context)]
    lines.append(textwrap.fill(f"  probabilities: {likely}", WIDTH, subsequent_indent="  "))
    return [*lines, f"  writes {target[step.chosen]}"]


def _vector(name: str, numbers: Float[Tensor, "N"]) -> str:
    shown = " ".join(f"{number:.3f}" for number in numbers[:6].tolist())
    return f"  {name}, {len(numbers)} numbers, norm {float(numbers.norm()):.3f}: {shown} ..."
