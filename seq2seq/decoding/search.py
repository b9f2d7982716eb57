"""Greedy and beam search over :meth:`TranslationModel.step`, many sentences at once.

Shape letters beside those of the model: N sentences still searched, W hypotheses of each (1 at the
first step, then K, the beam), R = N x W rows given to the model, sentence by sentence.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seq2seq.config import DecodingConfig
from seq2seq.data.vocabulary import BOS, EOS, PAD
from seq2seq.model.translation import TranslationModel

NEVER = float("-inf")
# Rows of finished sentences are carried along until they are this share of the batch: taking them
# out copies the annotations of all others.
IDLE_SHARE = 0.2


@dataclass(frozen=True)
class SearchResult:
    """The best hypothesis found for one sentence."""

    ids: list[int]
    """Without BOS and EOS."""
    score: float
    """``log_probability / length ** length_normalization``; the length counts EOS."""
    log_probability: float
    """Sum over all pieces and EOS, in nats."""
    capped: bool
    """No hypothesis came to EOS within the cap; this is the likeliest unfinished one."""


def length_caps(lengths: Int[Tensor, "B"], config: DecodingConfig) -> Int[Tensor, "B"]:
    """Most pieces, EOS included, a hypothesis may have: max_ratio x source pieces + max_extra.

    ``lengths`` count the source's EOS, which is no piece.
    """
    return ((lengths - 1).double() * config.max_ratio).floor().long() + config.max_extra


@torch.inference_mode()
def beam_search(
    model: TranslationModel,
    source: Int[Tensor, "B S"],
    lengths: Int[Tensor, "B"],
    config: DecodingConfig,
) -> list[SearchResult]:
    """Find a likely translation of each sentence; beam 1 is greedy search.

    At each step the K best one-piece extensions of a sentence's hypotheses are kept, K being the
    beam less the hypotheses that have already ended, as in Bahdanau et al. 2014. Of those that
    ended, the one with the best ``log_probability / length ** length_normalization`` wins.

    A sentence is left early only when that cannot change its result: log-probabilities only fall,
    so a hypothesis with p so far ends at best with ``p / cap ** length_normalization``. The result
    for a sentence does not depend on the other sentences of the batch.

    Args:
        model: in evaluation mode; the caller sets autocast.
        source: ids that end with EOS, padded on the right, on the device of ``model``.
        lengths: real ids of each sentence, EOS included.
        config: beam, length normalisation and cap.
    """
    batch, device = len(source), source.device
    alpha = config.length_normalization
    caps = length_caps(lengths, config)
    most = int(caps.max())

    encoded = model.encode(source, lengths)
    keys = model.keys(encoded.memory)
    state = model.initial_state(encoded)
    token = torch.full((batch,), BOS, device=device)

    # N: the sentences that the rows belong to.  N W: log-probabilities; NEVER where there is no
    # hypothesis, be it that it ended, or that its sentence is done.
    alive = torch.arange(batch, device=device)
    total = torch.zeros(batch, 1, device=device)
    # Every kept hypothesis: its last piece, and which one of the step before it extends.
    pieces = torch.full((most, batch, config.beam), PAD, device=device)
    parents = torch.zeros((most, batch, config.beam), dtype=torch.long, device=device)
    best = _Best.none(batch, device)

    for step in range(most):
        logits, state, _ = model.step(token, state, encoded, keys)
        length, old_width = step + 1, total.shape[1]
        total, parent, piece = _extend(total, logits, config.beam)
        width = total.shape[1]
        # The beam narrows by each hypothesis that has ended.
        room = config.beam - best.ended[alive]
        total = total.masked_fill(torch.arange(width, device=device) >= room[:, None], NEVER)
        pieces[step, alive, :width] = piece
        parents[step, alive, :width] = parent

        ended = (piece == EOS) & (total > NEVER)
        best.offer(alive, total.masked_fill(~ended, NEVER), length, alpha)
        best.ended[alive] += ended.sum(dim=1)
        total = total.masked_fill(ended, NEVER)

        cap = caps[alive]
        cut = (cap == length) & (best.ended[alive] == 0)
        best.offer(alive, total.masked_fill(~cut[:, None], NEVER), length, alpha)
        within_reach = total.amax(dim=1) / cap**alpha
        going_on = (within_reach > best.score[alive]) & (cap > length)
        total = total.masked_fill(~going_on[:, None], NEVER)

        count = int(going_on.sum())
        if count == 0:
            break
        if count <= (1 - IDLE_SHARE) * len(alive):
            kept = going_on.nonzero().flatten()
        else:
            kept = torch.arange(len(alive), device=device)
        if len(kept) < len(alive) or width != old_width:
            copies = (kept * old_width).repeat_interleave(width)
            encoded, keys = encoded.select(copies), keys[copies]
        state = state.select((kept[:, None] * old_width + parent[kept]).flatten())
        alive, total, token = alive[kept], total[kept], piece[kept].flatten()

    return best.trace(pieces, parents)


def forced_score(
    model: TranslationModel,
    source: Int[Tensor, "B S"],
    lengths: Int[Tensor, "B"],
    target: Int[Tensor, "B T"],
) -> Float[Tensor, "B"]:
    """Log-probability of given targets, in nats, by the same steps that search takes.

    ``target`` has no BOS; it ends with EOS (or does not: then it scores an unfinished hypothesis)
    and is padded on the right.
    """
    encoded = model.encode(source, lengths)
    keys = model.keys(encoded.memory)
    state = model.initial_state(encoded)
    token = torch.full_like(target[:, 0], BOS)
    score = torch.zeros(len(target), device=target.device)
    for following in target.unbind(dim=1):
        logits, state, _ = model.step(token, state, encoded, keys)
        gained = logits.log_softmax(dim=1).gather(1, following[:, None]).squeeze(1)
        score = score + gained.masked_fill(following == PAD, 0.0)
        token = following
    return score


def _extend(
    total: Float[Tensor, "N W"], logits: Float[Tensor, "R V"], beam: int
) -> tuple[Float[Tensor, "N K"], Int[Tensor, "N K"], Int[Tensor, "N K"]]:
    """The best extensions by one piece: log-probability (falling), hypothesis extended, piece."""
    sentences, width = total.shape
    gained = logits.log_softmax(dim=1)
    for banned in (PAD, BOS):
        gained[:, banned] = NEVER  # after the softmax: their probability goes to no other piece
    # The K best of a sentence are among the K best of each of its hypotheses.
    gained, pieces = gained.topk(min(beam, logits.shape[1]), dim=1)
    extended = (total[:, :, None] + gained.view(sentences, width, -1)).flatten(1)
    best, index = extended.topk(min(beam, extended.shape[1]), dim=1)
    return best, index // gained.shape[1], pieces.view(sentences, -1).gather(1, index)


@dataclass
class _Best:
    """The best hypothesis of each sentence so far, by its place among all that were kept."""

    score: Float[Tensor, "B"]
    log_probability: Float[Tensor, "B"]
    length: Int[Tensor, "B"]
    slot: Int[Tensor, "B"]
    ended: Int[Tensor, "B"]
    """How many hypotheses have come to EOS."""

    @classmethod
    def none(cls, batch: int, device: torch.device) -> "_Best":
        """Nothing found yet."""
        never = torch.full((batch,), NEVER, device=device)
        zero = torch.zeros(batch, dtype=torch.long, device=device)
        return cls(never, never.clone(), zero, zero.clone(), zero.clone())

    def offer(
        self, alive: Int[Tensor, "N"], total: Float[Tensor, "N W"], length: int, alpha: float
    ) -> None:
        """Take in each sentence's best of ``total`` where it beats the one held."""
        log_probability, slot = total.max(dim=1)
        score = log_probability / length**alpha
        better = score > self.score[alive]
        # Selected by value, not by boolean index, which on a GPU would wait for the answer.
        self.score[alive] = torch.where(better, score, self.score[alive])
        self.log_probability[alive] = torch.where(
            better, log_probability, self.log_probability[alive]
        )
        self.slot[alive] = torch.where(better, slot, self.slot[alive])
        self.length[alive] = torch.where(better, length, self.length[alive])

    def trace(
        self, pieces: Int[Tensor, "T B K"], parents: Int[Tensor, "T B K"]
    ) -> list[SearchResult]:
        """Follow the best ones back to their first pieces."""
        batch = torch.arange(len(self.slot), device=self.slot.device)
        slot = self.slot
        ids = torch.full((len(batch), int(self.length.max())), PAD, device=self.slot.device)
        for step in reversed(range(ids.shape[1])):
            on_path = step < self.length
            ids[:, step] = torch.where(on_path, pieces[step, batch, slot], PAD)
            slot = torch.where(on_path, parents[step, batch, slot], slot)
        columns = (ids, self.length, self.score, self.log_probability, self.ended)
        return [
            SearchResult(
                ids=row[: length - 1] if ended else row[:length],
                score=score,
                log_probability=log_probability,
                capped=not ended,
            )
            for row, length, score, log_probability, ended in zip(
                *(column.tolist() for column in columns), strict=True
            )
        ]
