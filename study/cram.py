"""``python study/cram.py EVALUATION OTHER...``: fit a vector to each reference, for the decoder.

The first evaluation is of a system of attention kind ``fixed``, whose decoder reads one vector. Its
weights are frozen. The vector of a test sentence starts as the encoder's and is moved by gradient
descent until the decoder finds the reference likely. Such a crammed vector is fitted to the answer,
so it is no translation: it shows what the decoder can read out of one vector, whether the encoder
writes it or not.

``results/<experiment>/cram.json`` has the bits that each evaluated system leaves open of the
references of the first test sentences of each length, and those after cramming:

- ``free``: any numbers;
- ``bounded``: numbers from -1 to 1, like the hidden states of an LSTM.

*Null* tells how much nonsense free vectors tell: the longest references with their pieces shuffled,
and pieces drawn at random.
"""

import math
import sys
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from packed import RESULTS
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from seq2seq.checkpoint import read_config
from seq2seq.config import EvaluationConfig
from seq2seq.data.corpora import load_corpus
from seq2seq.data.text import read_pairs
from seq2seq.data.vocabulary import BOS, EOS, PAD, SPECIALS
from seq2seq.decoding.translator import Translator
from seq2seq.errors import UserError
from seq2seq.evaluation.folder import read_evaluation
from seq2seq.evaluation.scores import bucket_members, source_lengths
from seq2seq.files import write_json
from seq2seq.model.encoder import Encoder, Source, length_mask
from seq2seq.model.layers import Embedding
from seq2seq.model.translation import TranslationModel

EACH, TUNED_ON = 24, 3
"""Numbers of test and of validation sentences of each length."""
STEPS, RATES, BETAS = 300, (0.01, 0.03, 0.1, 0.3), (0.9, 0.98)
Vectors = Float[Tensor, "N F"]
Rows = Sequence[Int[Tensor, "T"]]
"""Pieces of each reference, with its begin and end."""


class Given(Encoder):
    """Encoder that reads no words: a sentence's embedding is its vector."""

    def __init__(self) -> None:
        nn.Module.__init__(self)

    def forward(self, embedded: Float[Tensor, "B S F"], lengths: Int[Tensor, "B"]) -> Source:
        """Hand over the vector of the first piece."""
        mask = length_mask(lengths, embedded.shape[1])
        return Source(embedded, mask, embedded[:, 0], embedded[:, :, :0])


def handed(model: TranslationModel, vectors: Vectors) -> TranslationModel:
    """Copy of a model whose n-th source piece, after the specials, stands for vector n.

    All weights are frozen; only these vectors can be trained.
    """
    made = deepcopy(model).eval().requires_grad_(False)
    rows = functional.pad(vectors, (0, 0, len(SPECIALS), 0))
    made.encoder, made.source_embedding = Given(), Embedding(len(rows), rows.shape[1], 1.0)
    made.source_embedding.weight = nn.Parameter(rows)
    return made


def cram(
    model: TranslationModel, vectors: Vectors, rows: Rows, rate: float, largest: float = math.inf
) -> tuple[Vectors, Float[Tensor, "N"]]:
    """Move ``vectors``, with numbers of at most this size, until the pieces ``rows`` are likely.

    Returns the best vector of each sentence on the way, and the loss of its pieces in bits. No
    result depends on the other sentences.
    """
    found = []
    for start in range(0, len(rows), EACH):  # of similar lengths
        batch = slice(start, start + EACH)
        target = pad_sequence([*rows[batch]], batch_first=True, padding_value=PAD)
        found.append(_cram_batch(model, vectors[batch], target, rate, largest))
    best, losses = (torch.cat(parts) for parts in zip(*found, strict=True))
    return best, losses / math.log(2)


def _cram_batch(
    model: TranslationModel, best: Vectors, target: Int[Tensor, "N T"], rate: float, largest: float
) -> tuple[Vectors, Float[Tensor, "N"]]:
    made = handed(model, best)
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
        moved.data.clamp_(-largest, largest)
    return best, least


def nonsense(
    model: TranslationModel, vectors: Vectors, rows: Rows, counted: Rows, size: int, rate: float
) -> dict[str, dict[str, list[float]]]:
    """Bits that free vectors leave open of references, of their shuffled pieces, of random ones.

    *code*: bits of a code without a vector, which gives the end for free: for shuffled pieces by
    their counts in ``counted``, for random ones the same for all pieces. ``size`` is the number of
    pieces of the vocabulary.
    """
    luck = torch.Generator().manual_seed(1)
    counts = torch.bincount(torch.cat([row[1:-1] for row in counted]), minlength=size)
    uniform = torch.full((size,), 1 / (size - len(SPECIALS)))
    codes = {"shuffled": -(counts / counts.sum()).log2(), "random": -uniform.log2()}
    pieces = {"reference": [*rows], "shuffled": [], "random": []}
    for row in rows:
        order = 1 + torch.randperm(len(row) - 2, generator=luck)
        drawn = torch.randint(len(SPECIALS), size, order.shape, generator=luck)
        for name, inner in {"shuffled": row[order], "random": drawn}.items():
            pieces[name].append(torch.cat([row[:1], inner, row[-1:]]))
    return {
        name: {
            "crammed": cram(model, vectors, of, rate)[1].tolist(),
            "code": [float(codes[name][row[1:-1]].sum()) for row in of] if name in codes else [],
        }
        for name, of in pieces.items()
    }


@torch.no_grad()
def encoded(translator: Translator, sources: Sequence[str]) -> Vectors:
    """Vectors that the encoder hands over."""
    rows = [torch.tensor([*translator.source.encode(source), EOS]) for source in sources]
    ids = pad_sequence(rows, batch_first=True, padding_value=PAD)
    assert isinstance(translator.model, TranslationModel)  # no ensemble
    return translator.model.eval().encode(ids, torch.tensor([len(row) for row in rows])).summary


def first_of_each(sources: Sequence[str], each: int) -> list[int]:
    """Lines of the first ``each`` sources of every length bucket, the shortest bucket first."""
    members = bucket_members(source_lengths(sources), EvaluationConfig().edges).values()
    return [int(line) for of in members for line in np.flatnonzero(of)[:each]]


def main(*evaluations: str, results: Path = RESULTS) -> None:
    """Write the file."""
    read = [read_evaluation(Path(folder)) for folder in evaluations]
    translators = [Translator(Path(str(one.record.checkpoint)), "cpu", "fp32") for one in read]
    config, translator = read_config(translators[0].checkpoints[0]), translators[0]
    if config.model.attention.kind != "fixed":
        raise UserError(
            f"{evaluations[0]} is not of attention kind fixed; put such a system first."
        )

    def start(sources: Sequence[str], references: Sequence[str]) -> tuple[Vectors, Rows]:
        pieces = [[BOS, *translator.target.encode(line), EOS] for line in references]
        return encoded(translator, sources), [torch.tensor(row) for row in pieces]

    text = load_corpus(config.corpus, Path(config.data)).valid
    valid = [*read_pairs(text.source, text.target)]
    chosen = [valid[line] for line in first_of_each([source for source, _ in valid], TUNED_ON)]
    tuned_on = start(*zip(*chosen, strict=True))
    test, lines = read[0].texts, first_of_each(read[0].texts.sources, EACH)
    sources, references = ([of[line] for line in lines] for of in (test.sources, test.references))
    own, rows = start(sources, references)
    model = translator.model
    assert isinstance(model, TranslationModel)
    found: dict[str, Any] = {"steps": STEPS, "rates": {}, "bits": {}, "training": {}}
    found |= {
        "words": [*map(int, source_lengths(sources))],
        "pieces": [len(row) - 1 for row in rows],
    }
    for one, system in zip(read, translators, strict=True):
        name, scores = str(one.record.system), system.score(sources, references)
        found["bits"][name] = [-score / math.log(2) for score in scores]
        found["training"][name] = one.record.training and one.record.training.git_commit
    for name, largest in {"bounded": 1.0, "free": math.inf}.items():
        losses = {rate: float(cram(model, *tuned_on, rate, largest)[1].sum()) for rate in RATES}
        found["rates"][name] = rate = min(RATES, key=lambda rate: losses[rate])
        found["bits"][name] = cram(model, own, rows, rate, largest)[1].tolist()
    _, counted = start(test.sources, test.references)
    size = len(translator.target.vocabulary)
    null = nonsense(model, own[-EACH:], rows[-EACH:], counted, size, rate)
    found["null"] = {"training": next(iter(found["training"].values())), "bits": null}
    folder = results / str(read[0].record.experiment)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "cram.json", found)


if __name__ == "__main__":
    main(*sys.argv[1:])
