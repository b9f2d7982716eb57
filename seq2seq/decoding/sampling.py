"""Translations drawn at random from the model's distribution."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from seq2seq.config import DecodingConfig
from seq2seq.data.vocabulary import EOS, PAD
from seq2seq.decoding.decoder_session import (
    DecoderSession,
    Ensemble,
    SearchResult,
    ban_pieces,
    length_caps,
    length_divisors,
    sentences_to_keep,
)
from seq2seq.model.layers import to_float32
from seq2seq.model.translation import TranslationModel


@torch.no_grad()
def sample(
    model: TranslationModel | Ensemble,
    source: Int[Tensor, "B S"],
    lengths: Int[Tensor, "B"],
    config: DecodingConfig,
    numbers: Sequence[int],
    prefix: Sequence[int] = (),
) -> list[list[SearchResult]]:
    """Draw ``n_best`` hypotheses for each sentence, piece by piece.

    Logits are divided by ``temperature``. Each piece is drawn from the ``top_k`` likeliest pieces,
    and of these only from the likeliest ones that together have the share ``top_p`` of their
    probability (Holtzman et al. 2020). Pieces that :func:`ban_pieces` bans are never drawn.

    The random numbers depend only on ``config.seed``, the number of the sentence and the number of
    the sample, not on the rest of the batch.

    The other arguments are as for :func:`~seq2seq.decoding.beam_search.beam_search`; ``numbers``
    are the line numbers of the sentences. Returns the samples of each sentence in the order drawn.
    Their log-probabilities do not depend on ``temperature``, ``top_k`` and ``top_p``.
    """
    batch, device, samples = len(source), source.device, config.n_best
    caps = length_caps(lengths, config, len(prefix))
    longest = int(caps.max())
    uniform = _uniform_numbers(config, numbers, longest).to(device)
    session = DecoderSession.start(model, source, lengths, samples)

    ids = torch.full((batch, samples, longest), PAD, device=device)
    begun, token = session.begin(batch * samples, prefix, device)
    total = begun.view(batch, samples)
    ids[:, :, : len(prefix)] = token.new_tensor(prefix)
    # alive: the N sentences still decoded. done, N x W: whether each sample is complete.
    alive = torch.arange(batch, device=device)
    done = torch.zeros(batch, samples, dtype=torch.bool, device=device)
    for length in range(len(prefix) + 1, longest + 1):
        logits = to_float32(session.step(token).logits)
        log_sum = logits.logsumexp(dim=1)
        ban_pieces(logits, config)
        drawn = _draw(logits, uniform[alive, :, length - 1].flatten(), config)
        gained = logits.gather(1, drawn[:, None]).squeeze(1) - log_sum
        piece = drawn.view(done.shape).masked_fill(done, PAD)
        total[alive] += gained.view(done.shape).masked_fill(done, 0)
        ids[alive, :, length - 1] = piece
        done = done | (piece == EOS) | (caps[alive] == length)[:, None]
        kept = sentences_to_keep(~done.all(dim=1))
        if kept is not None:
            if not len(kept):
                break
            rows = torch.arange(done.numel(), device=device).view(done.shape)[kept]
            session.reorder(rows.flatten(), kept)
            alive, done, piece = alive[kept], done[kept], piece[kept]
        token = piece.flatten()

    ended = (ids == EOS).any(dim=2)
    score = total / length_divisors(longest, config).to(device)[(ids != PAD).sum(dim=2)]
    columns = (column.tolist() for column in (ids, score, total, ended))
    return [
        [
            SearchResult([i for i in row if i not in (PAD, EOS)], score, log_probability, not whole)
            for row, score, log_probability, whole in zip(*of_sentence, strict=True)
        ]
        for of_sentence in zip(*columns, strict=True)
    ]


def _uniform_numbers(
    config: DecodingConfig, numbers: Sequence[int], longest: int
) -> Float[Tensor, "B W T"]:
    """Random numbers in [0, 1), with a stream for each sample of each sentence."""
    streams = [
        np.random.default_rng([config.seed, number, sample]).random(longest)
        for number in numbers
        for sample in range(config.n_best)
    ]
    return torch.from_numpy(np.stack(streams)).view(len(numbers), config.n_best, longest)


def _draw(
    logits: Float[Tensor, "R V"], uniform: Float[Tensor, "R"], config: DecodingConfig
) -> Int[Tensor, "R"]:
    """Draw one piece for each row: the one where ``uniform`` falls in the cumulative sum."""
    count = min(config.top_k or logits.shape[1], logits.shape[1])
    scores, pieces = (logits / config.temperature).topk(count, dim=1)
    probability = scores.double().softmax(dim=1)
    likelier = probability.cumsum(dim=1) - probability
    probability = probability.masked_fill(likelier >= config.top_p, 0)
    cumulative = probability.cumsum(dim=1)
    rank = (cumulative <= uniform[:, None] * cumulative[:, -1:]).sum(dim=1)
    # Rounding must not lead beyond the last allowed piece; the allowed pieces come first.
    last = (probability > 0).sum(dim=1) - 1
    return pieces.gather(1, rank.minimum(last).clamp(min=0)[:, None]).squeeze(1)
