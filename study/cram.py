"""``python study/cram.py EVALUATION OTHER...``: fit a vector to each reference, for the decoder.

The first evaluation is of a system of attention kind ``fixed``, whose decoder reads one vector. Its
weights are frozen. The vector of a test sentence is moved by gradient descent until the decoder
finds the reference likely. Such a crammed vector is fitted to the answer, so it is no translation:
it shows what the decoder can read out of one vector, whether the encoder writes it or not.

All evaluations are cut to the first test sentences of each length: the test set ``<name>-cram``.
The evaluations of crammed vectors are written next to the first one. ``<start>`` is where the
vectors begin: ``encoder``, ``zero``, or ``other`` (the encoder's vector of another sentence).

- ``free-<start>``: any numbers;
- ``bounded-<start>``: numbers from -1 to 1, like the hidden states of an LSTM;
- ``within-<start>``: no further from the mean than 99% of the encoder's vectors, in Mahalanobis
  length.

Each has a second version ``-rounded``, with 8 bits a number. Vectors that are there already are not
crammed again.
"""

import sys
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from packed import LOSSES, piece_losses
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from seq2seq.checkpoint import read_config
from seq2seq.config import DecodingConfig, EvaluationConfig
from seq2seq.data.corpora import load_corpus
from seq2seq.data.text import read_pairs
from seq2seq.data.tokenization import TextCodec, WhitespaceTokenizer
from seq2seq.data.vocabulary import BOS, EOS, PAD, SPECIALS, Vocabulary
from seq2seq.decoding.translator import Translator
from seq2seq.errors import UserError
from seq2seq.evaluation.evaluate import score_references
from seq2seq.evaluation.folder import SCORES, Evaluation, read_evaluation, write_evaluation
from seq2seq.evaluation.scores import bucket_members, source_lengths
from seq2seq.evaluation.translations import Translations
from seq2seq.files import digest, write_json
from seq2seq.model.encoder import Encoder, Source, length_mask
from seq2seq.model.layers import Embedding
from seq2seq.model.translation import TranslationModel
from seq2seq.record import environment_record

EACH, TUNED_ON, SEEN = 24, 3, 10_000
"""Numbers of test and of validation sentences of each length, and of training sources read."""
STEPS, RATES, BETAS = 300, (0.01, 0.03, 0.1, 0.3), (0.9, 0.98)
QUANTILE = 0.99
"""Share of the encoder's vectors whose Mahalanobis length is within the limit."""
LEVELS = 127
"""Largest number of a rounded vector, in steps of the rounding."""
Vectors = Float[Tensor, "N F"]


@dataclass(frozen=True)
class Frame:
    """Coordinates in which vectors are moved: vector = mean + coordinates @ root."""

    mean: Float[Tensor, "F"]
    root: Float[Tensor, "F F"]
    radius: float = float("inf")
    """Greatest length of the coordinates."""
    largest: float = float("inf")
    """Greatest absolute value of a coordinate."""

    @classmethod
    def free(cls, width: int, largest: float = float("inf")) -> "Frame":
        """Frame whose coordinates are the numbers of the vectors themselves."""
        return cls(torch.zeros(width), torch.eye(width), largest=largest)

    @classmethod
    def within(cls, vectors: Vectors) -> "Frame":
        """Frame in which ``vectors`` have unit covariance, and 99% lie within the radius."""
        values, axes = torch.linalg.eigh(torch.cov(vectors.double().T))
        root = values.clamp_min(1e-8).sqrt()[:, None] * axes.T
        frame = cls(vectors.mean(dim=0), root.float())
        lengths = frame.coordinates(vectors).norm(dim=1)
        return replace(frame, radius=float(lengths.quantile(QUANTILE)))

    def vectors(self, coordinates: Float[Tensor, "*N F"]) -> Float[Tensor, "*N F"]:
        return self.mean + coordinates @ self.root

    def coordinates(self, vectors: Vectors) -> Vectors:
        """Coordinates of ``vectors``, moved into the limits."""
        moved = (vectors - self.mean).double()
        return self.limited(torch.linalg.solve(self.root.double(), moved, left=False).float())

    def limited(self, coordinates: Vectors) -> Vectors:
        coordinates = coordinates.clamp(-self.largest, self.largest)
        lengths = coordinates.norm(dim=1, keepdim=True).clamp_min(1e-9)
        return coordinates * (self.radius / lengths).clamp(max=1)


class Given(Encoder):
    """Encoder that reads no words: a sentence's embedding holds the coordinates of its vector."""

    def __init__(self, frame: Frame) -> None:
        nn.Module.__init__(self)
        self.frame = frame

    def forward(self, embedded: Float[Tensor, "B S F"], lengths: Int[Tensor, "B"]) -> Source:
        """Hand over the vector of the first piece."""
        vectors, mask = self.frame.vectors(embedded), length_mask(lengths, embedded.shape[1])
        return Source(vectors, mask, vectors[:, 0], vectors[:, :, :0])


def single(translator: Translator) -> TranslationModel:
    """Model of a translator that is no ensemble, in evaluation mode."""
    assert isinstance(translator.model, TranslationModel)
    return translator.model.eval()


def handed(translator: Translator, coordinates: Vectors, frame: Frame) -> TranslationModel:
    """Copy of the model whose n-th source piece, after the specials, stands for vector n.

    All weights are frozen; only these vectors can be trained.
    """
    made = deepcopy(single(translator)).requires_grad_(False)
    rows = functional.pad(coordinates, (0, 0, len(SPECIALS), 0))
    made.encoder, made.source_embedding = Given(frame), Embedding(len(rows), rows.shape[1], 1.0)
    made.source_embedding.weight = nn.Parameter(rows)
    return made


def cram(
    translator: Translator, vectors: Vectors, references: Sequence[str], frame: Frame, rate: float
) -> tuple[Vectors, Float[Tensor, "N"]]:
    """Move ``vectors`` until the references are likely.

    Returns the best vector of each sentence on the way, and the loss of its reference in nats. No
    result depends on the other sentences.
    """
    rows = [torch.tensor([BOS, *translator.target.encode(line), EOS]) for line in references]
    found = []
    for start in range(0, len(rows), EACH):  # of similar lengths
        batch = slice(start, start + EACH)
        target = pad_sequence(rows[batch], batch_first=True, padding_value=PAD)
        found.append(_cram_batch(translator, vectors[batch], target, frame, rate))
    best, losses = (torch.cat(parts) for parts in zip(*found, strict=True))
    return best, losses


def _cram_batch(
    translator: Translator, vectors: Vectors, target: Int[Tensor, "N T"], frame: Frame, rate: float
) -> tuple[Vectors, Float[Tensor, "N"]]:
    best = frame.coordinates(vectors)
    made = handed(translator, best, frame)
    moved = made.source_embedding.weight
    source = torch.arange(len(SPECIALS), len(moved))
    least = torch.full_like(best[:, 0], torch.inf)
    optimizer = torch.optim.Adam([moved], rate, BETAS)
    for step in range(STEPS + 1):
        readouts, _ = made(source[:, None], torch.ones_like(source), target[:, :-1])
        scores = made.logits(readouts)
        losses = functional.cross_entropy(
            scores.transpose(1, 2), target[:, 1:], ignore_index=PAD, reduction="none"
        ).sum(dim=1)
        better = losses.detach() < least
        best = moved.detach()[source].where(better[:, None], best)
        least = losses.detach().where(better, least)
        optimizer.param_groups[0]["lr"] = rate * (1 - step / STEPS)
        optimizer.zero_grad()
        losses.sum().backward()
        optimizer.step()
        moved.data = frame.limited(moved.data)
    return frame.vectors(best), least


def rounded(vectors: Vectors) -> Vectors:
    """Round each number to one of 255 levels between plus and minus the vector's largest."""
    level = vectors.abs().amax(dim=1, keepdim=True).clamp_min(1e-9) / LEVELS
    return (vectors / level).round() * level


def sizes(vectors: Vectors) -> str:
    """Text that says how large the numbers of ``vectors`` are."""
    size = vectors.abs()
    beyond = (size >= 1).float().mean()
    return f"mean size {size.mean():.2f}, largest {size.max():.2f}, 1 or more {beyond:.2f}"


@torch.no_grad()
def encoded(translator: Translator, sources: Sequence[str]) -> Vectors:
    """Vectors that the encoder hands over."""
    rows = [torch.tensor([*translator.source.encode(source), EOS]) for source in sources]
    ids = pad_sequence(rows, batch_first=True, padding_value=PAD).split(100)
    lengths = torch.tensor([len(row) for row in rows]).split(100)
    encode = single(translator).encode
    return torch.cat([encode(*batch).summary for batch in zip(ids, lengths, strict=True)])


def reading(
    translator: Translator, sources: Sequence[str], vectors: Vectors
) -> tuple[Translator, list[str]]:
    """Translator that reads vectors in place of sources, and the line that stands for each."""
    names = [str(number) for number in range(len(vectors))]
    codec = TextCodec(WhitespaceTokenizer("vectors"), Vocabulary(names, [1] * len(names)))
    model = handed(translator, vectors, Frame.free(vectors.shape[1]))
    given = Translator.of_parts(**{**vars(translator), "model": model, "source": codec})
    # As many pieces as the source has: the limit of length depends on them.
    lengths = [len(translator.source.encode(source)) for source in sources]
    return given, [" ".join([name] * n) for name, n in zip(names, lengths, strict=True)]


def translate(translator: Translator, texts: Translations, vectors: Vectors) -> Translations:
    """Translate from each vector, greedily, and score the references given the vectors."""
    given, lines = reading(translator, texts.sources, vectors)
    said = given.translate(lines, DecodingConfig(beam=1))
    return replace(
        texts,
        hypotheses=[one.text for one in said],
        capped=[one.capped for one in said],
        log_probabilities=[one.log_probability for one in said],
        reference_scores=score_references(given, lines, texts.references, 128),
    )


def first_of_each(sources: Sequence[str], each: int) -> list[int]:
    """Lines of the first ``each`` sources of every length bucket, the shortest bucket first."""
    members = bucket_members(source_lengths(sources), EvaluationConfig().edges).values()
    return [int(line) for of in members for line in np.flatnonzero(of)[:each]]


def part(evaluation: Evaluation, lines: Sequence[int]) -> Evaluation:
    """Cut an evaluation to some lines, and write it next to the whole one."""

    def cut(columns: Any) -> Any:
        whole = {one.name: getattr(columns, one.name) for one in fields(columns)}
        return replace(columns, **{k: [of[i] for i in lines] for k, of in whole.items() if of})

    scores, record = evaluation.texts.reference_scores, evaluation.record
    texts = cut(replace(evaluation.texts, maps=[], reference_scores=None))
    texts = replace(texts, reference_scores=scores and cut(scores))
    sides = {"source": texts.sources, "reference": texts.references}
    digests = {side: digest(f"{line}\n".encode() for line in of) for side, of in sides.items()}
    test_set, identity = f"{record.test_set}-cram", {**record.identity, **digests}
    record = replace(record, test_set=test_set, identity=identity, maps=[])
    folder = evaluation.directory.with_name(f"{test_set}-{record.search}")
    return write_evaluation(folder, texts, evaluation.settings, record)


def main(evaluation: str, *others: str) -> None:
    """Write the evaluations."""
    read = [read_evaluation(Path(folder)) for folder in (evaluation, *others)]
    lines = first_of_each(read[0].texts.sources, EACH)
    base, *_ = (part(one, lines) for one in read)
    checkpoint = Path(str(base.record.checkpoint))
    translator, config = Translator(checkpoint, "cpu", "fp32"), read_config(checkpoint)
    if config.model.attention.kind != "fixed":
        raise UserError(f"{evaluation} is not of attention kind fixed; put such a system first.")
    corpus = load_corpus(config.corpus, Path(config.data))
    train = islice(read_pairs(corpus.train.source, corpus.train.target), SEEN)
    valid = [*read_pairs(corpus.valid.source, corpus.valid.target)]
    tuned_on = [valid[line] for line in first_of_each([source for source, _ in valid], TUNED_ON)]
    own = encoded(translator, base.texts.sources)
    frames = {
        "free": Frame.free(own.shape[1]),
        "bounded": Frame.free(own.shape[1], 1.0),
        "within": Frame.within(encoded(translator, [source for source, _ in train])),
    }

    @cache
    def rate_of(which: str) -> float:
        sources, targets = zip(*tuned_on, strict=True)
        vectors = encoded(translator, sources)
        losses = {
            rate: float(cram(translator, vectors, targets, frames[which], rate)[1].sum())
            for rate in RATES
        }
        print(which, losses)
        return min(RATES, key=lambda rate: losses[rate])

    def folder_of(name: str) -> Path:
        return base.directory.with_name(f"{base.directory.name}-{name}")

    def identity_of(name: str) -> dict[str, Any]:
        return {**base.record.identity, "crammed": name, "steps": STEPS}

    def write(name: str, vectors: Vectors, how: dict[str, Any]) -> None:
        record = replace(
            base.record,
            system=name,
            config={**(base.record.config or {}), "crammed": how},
            identity=identity_of(name),
            **environment_record(translator.device),
        )
        texts = translate(translator, base.texts, vectors)
        given = reading(translator, texts.sources, vectors)
        folder_of(name).mkdir(exist_ok=True)
        write_json(folder_of(name) / LOSSES, piece_losses(*given, texts.references))
        print(write_evaluation(folder_of(name), texts, base.settings, record))

    print("encoder", sizes(own[-EACH:]))
    starts = {"encoder": own, "zero": 0 * own, "other": own.roll(-1, 0)}
    for which, start in product(frames, starts):
        name = f"{which}-{start}"
        there = (folder_of(name) / SCORES).exists()
        if there and read_evaluation(folder_of(name)).record.identity == identity_of(name):
            continue
        rate, frame = rate_of(which), frames[which]
        vectors = cram(translator, starts[start], base.texts.references, frame, rate)[0]
        print(name, sizes(vectors[-EACH:]))
        limits = {"radius": str(frame.radius), "largest": str(frame.largest)}
        how = {"rate": rate, "steps": STEPS, **limits}
        # The rounded vectors come first: if ``name`` exists, its rounded version does, too.
        write(f"{name}-rounded", rounded(vectors), how)
        write(name, vectors, how)
    write("encoder-rounded", rounded(own), {})


if __name__ == "__main__":
    main(*sys.argv[1:])
