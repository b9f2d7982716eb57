"""What a model says of a test set's references: how likely they are, and which words it knows.

Their negative log-likelihood per piece is the loss of training's dev set, on any test set and by
source length: unlike BLEU it does not depend on a search.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from tqdm import tqdm

from seq2seq.data.tokenization import SentencePieceTokenizer
from seq2seq.data.vocabulary import EOS, PAD, UNK
from seq2seq.decoding.forced import force
from seq2seq.decoding.translator import Translator
from seq2seq.device import mixed_precision
from seq2seq.evaluation.scores import ReferenceScores


def score_references(
    translator: Translator, sources: Sequence[str], references: Sequence[str], batch_size: int
) -> ReferenceScores:
    """Score each reference given its source, by the steps that search takes.

    A source is cut where translating cuts it (``Translator.max_pieces``); a reference is never cut.
    Takes about as long as greedy search.

    Args:
        translator: a model or an ensemble with its codecs.
        sources: running text; a blank one is not scored.
        references: their translations; a blank one is not scored.
        batch_size: sentences scored together; changes speed only.
    """
    read = [translator.source.encode(source) for source in sources]
    said = [translator.target.encode(reference) for reference in references]
    subwords = isinstance(translator.source.tokenizer, SentencePieceTokenizer)
    known = [UNK not in [*source, *target] for source, target in zip(read, said, strict=True)]

    log_probabilities: list[float | None] = [None] * len(read)
    pieces = [0] * len(read)
    scored = [i for i in range(len(read)) if read[i] and said[i]]
    # References of like length share a batch; the longest first, to run out of memory early.
    scored.sort(key=lambda i: (-len(said[i]), -len(read[i])))
    model, device = translator.model, translator.device
    was_training = model.training
    model.eval()
    try:
        with (
            tqdm(total=len(scored), desc="references", unit="sentence", disable=None) as bar,
            mixed_precision(device, translator.precision),
        ):
            for start in range(0, len(scored), batch_size):
                batch = scored[start : start + batch_size]
                source = [[*read[i][: translator.max_pieces], EOS] for i in batch]
                lengths = torch.tensor([len(ids) for ids in source], device=device)
                target = [[*said[i], EOS] for i in batch]
                found = force(model, _padded(source, device), lengths, _padded(target, device))
                sums = found.log_probabilities.double().sum(dim=1).tolist()
                for i, ids, value in zip(batch, target, sums, strict=True):
                    pieces[i] = len(ids)
                    log_probabilities[i] = value if math.isfinite(value) else None
                bar.update(len(batch))
    finally:
        model.train(was_training)
    return ReferenceScores(log_probabilities, pieces, None if subwords else known)


def _padded(rows: Sequence[Sequence[int]], device: torch.device) -> Int[Tensor, "N S"]:
    tensors = [torch.tensor(row) for row in rows]
    return pad_sequence(tensors, batch_first=True, padding_value=PAD).to(device)
