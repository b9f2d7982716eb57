"""Greedy and beam search of many sentences together, and the scores of known targets.

Shape letters in addition to those of the model: N is the number of sentences that are still
searched. W is the number of hypotheses per sentence: 1 until a piece is chosen, then at most K,
the beam. The model reads R = N x W rows; the rows of one sentence are next to each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seq2seq.config import DecodingConfig
from seq2seq.data.vocabulary import BOS, EOS, PAD
from seq2seq.decoding.ensemble import Ensemble
from seq2seq.model.fast.compiled import choose_operations
from seq2seq.model.layers import to_float32
from seq2seq.model.translation import TranslationModel

IDLE_SHARE = 0.2
"""Fraction of finished sentences at which a batch drops them: dropping copies all others."""
CELLS = 2_048
"""Largest number of target positions, padding included, that forced decoding reads together."""


@dataclass(frozen=True)
class SearchResult:
    """One hypothesis for one sentence, with the scores of a :class:`Hypothesis`."""

    ids: list[int]
    """Ids of the pieces, without BOS and EOS."""
    score: float
    log_probability: float
    capped: bool
    weights: Float[Tensor, "T S"] | None = field(default=None, compare=False)
    """Attention weights of each piece, and of EOS if it was reached; None if not asked for."""


@torch.no_grad()  # inference mode would cast the weights to bfloat16 at every step
def beam_search(
    model: TranslationModel | Ensemble,
    source: Int[Tensor, "B S"],
    lengths: Int[Tensor, "B"],
    config: DecodingConfig,
    prefix: Sequence[int] = (),
    attention: bool = False,
) -> list[list[SearchResult]]:
    """Search for the ``n_best`` hypotheses of each sentence, best first; a beam of 1 is greedy.

    Each step keeps the best extensions; each finished hypothesis takes one place of the beam (as in
    GroundHog, the program of Bahdanau et al. 2014). These are ranked by log-probability / length **
    length_penalty, EOS counted; if none finishes within the cap, the unfinished ones are ranked.

    A log-probability never rises, and the divisor never falls. So a sentence is done when no
    log-probability / divisor at the cap exceeds the score of the finished one of rank ``n_best``.

    ``source`` ends with EOS, which ``lengths`` count. Every hypothesis begins with ``prefix``.
    """
    batch, device = len(source), source.device
    # The most pieces, with EOS; the source counts without it. A prefix leaves room for max_extra.
    caps = ((lengths - 1).double() * config.max_ratio).floor().long()
    caps = caps.clamp(min=len(prefix)) + config.max_extra
    shortest, longest = int(caps.min()), int(caps.max())
    divisors = torch.arange(longest + 1, dtype=torch.float64) ** config.length_penalty
    divisors = divisors.float().to(device)
    read: Any = model.encode(source, lengths)
    state: Any = model.init_state(read)
    finished = FinishedHypotheses(batch, config.beam, device)
    seen: list[Tensor] = []
    moves: list[tuple[Tensor, Tensor]] = []  # the row that each row extends, and its new piece

    alive = torch.arange(batch, device=device)  # the N sentences
    # Log-probabilities, N x W; -inf where there is no hypothesis to extend.
    total = torch.zeros(batch, 1, device=device)
    token = torch.full((batch,), BOS, device=device)
    banned = token.new_tensor([PAD, BOS])  # never written

    for length in range(1, longest + 1):
        logits, state, weights = model.step(token, state, read)
        if length <= len(prefix):
            wide, forced = to_float32(logits), prefix[length - 1]
            expected = wide[:, forced] - wide.logsumexp(dim=1)  # before a piece is banned
        operations = choose_operations(device, logits.dtype)
        near = min(config.beam, logits.shape[1])  # the best of a sentence are among these
        gained, pieces = operations.likeliest(logits, banned, near)
        if attention:
            seen.append(weights)
        if length <= len(prefix):
            total, token = total + expected[:, None], torch.full_like(token, forced)
            moves.append((alive, token))
            continue
        longer = (total[:, :, None] + gained.unflatten(0, total.shape)).flatten(1)
        first = torch.arange(0, len(logits), total.shape[1], device=device)[:, None]
        ranked = longer.sort(dim=1, descending=True, stable=True)  # equal ones keep their order
        total, places = ranked.values[:, : config.beam], ranked.indices[:, : config.beam]
        rows = first + places // near
        added = pieces.reshape(longer.shape).gather(1, places)
        if finished.any:  # each finished hypothesis takes one place of the beam
            room = config.beam - finished.count[alive]
            beyond = torch.arange(total.shape[1], device=device) >= room[:, None]
            total = total.masked_fill(beyond, -torch.inf)
        at_end = (added == EOS) & (total > -torch.inf)
        if bool(at_end.any()):
            finished.add(alive, at_end, total / divisors[length], total, length, rows, added)
            total = total.masked_fill(at_end, -torch.inf)

        if finished.any or length >= shortest:  # before, no sentence can be done
            cap = caps[alive]
            if length >= shortest:
                cut = (cap == length) & (finished.count[alive] == 0)
                finished.capped[alive] |= cut
                if bool(cut.any()):
                    whole, score = cut[:, None] & (total > -torch.inf), total / divisors[length]
                    finished.add(alive, whole, score, total, length, rows, added)
            threshold = finished.parts[0].topk(config.n_best, dim=1).values[alive, -1]
            unfinished = (total.amax(dim=1) / divisors[cap] > threshold) & (cap > length)
            total = total.masked_fill(~unfinished[:, None], -torch.inf)
            if int(unfinished.sum()) <= (1 - IDLE_SHARE) * len(unfinished):
                kept = unfinished.nonzero().flatten()
                if not len(kept):
                    break
                alive, total, rows, added = alive[kept], total[kept], rows[kept], added[kept]
                read = read.select(kept)
        rows, token = rows.flatten(), added.flatten()
        state = state.select(rows)
        moves.append((rows, token))

    return _results(finished, config.n_best, moves, seen)


class FinishedHypotheses:
    """Up to K finished hypotheses per sentence, in the order in which they finished.

    Others go to column K + 1: a boolean index would make the CPU wait for the GPU.
    """

    def __init__(self, batch: int, beam: int, device: torch.device) -> None:
        shape = 5, batch, beam + 1
        self.parts = torch.full(shape, -torch.inf, dtype=torch.float64, device=device)
        """Score (-inf in empty columns), log-probability, number of steps, row that the last step
        extended, and piece that it added."""
        self.any = False
        """Whether there is a finished hypothesis."""
        self.count = torch.zeros(batch, dtype=torch.long, device=device)
        self.capped = torch.zeros(batch, dtype=torch.bool, device=device)
        """Whether the hypotheses were cut at the cap because none had reached EOS."""

    def add(
        self,
        alive: Int[Tensor, "N"],
        chosen: Bool[Tensor, "N W"],
        score: Float[Tensor, "N W"],
        total: Float[Tensor, "N W"],
        steps: int,
        rows: Int[Tensor, "N W"],
        added: Int[Tensor, "N W"],
    ) -> None:
        """Add the ``chosen`` hypotheses of the sentences ``alive``; other parts as in ``parts``."""
        self.any, last = True, self.parts.shape[2] - 1
        column = (self.count[alive, None] + chosen.cumsum(dim=1) - 1).where(chosen, last)
        parts = score.double(), total, torch.full_like(total, steps), rows, added
        self.parts[:, alive[:, None], column] = torch.stack(parts)
        self.parts[0, :, last] = -torch.inf
        self.count[alive] += chosen.sum(dim=1)


def _results(
    finished: FinishedHypotheses, most: int, moves: list[tuple[Tensor, Tensor]], seen: list[Tensor]
) -> list[list[SearchResult]]:
    """Return up to ``most`` hypotheses of each sentence; the first finished of equal ones."""
    order = finished.parts[0].sort(dim=1, descending=True, stable=True).indices[:, :most]
    best = finished.parts.gather(2, order.expand(5, -1, -1)).transpose(0, 1).tolist()
    ways = [(rows.tolist(), token.tolist()) for rows, token in moves]
    results: list[list[SearchResult]] = []
    for capped, columns in zip(finished.capped.tolist(), best, strict=True):
        results.append([])
        for score, total, steps, row, added in zip(*columns, strict=True):
            if score == -torch.inf:
                continue
            ids, path = [int(added)] * (added != EOS), [int(row)]
            for rows, token in reversed(ways[: int(steps) - 1]):
                ids.insert(0, token[path[-1]])
                path.append(rows[path[-1]])
            own = [*zip(seen, reversed(path), strict=False)]
            weights = torch.stack([step[at] for step, at in own]) if own else None
            results[-1].append(SearchResult(ids, score, total, capped, weights))
        if not results[-1]:  # every score is NaN
            results[-1].append(SearchResult([], -torch.inf, -torch.inf, True))
    return results


@torch.no_grad()
def forced_decode(
    model: TranslationModel | Ensemble,
    source: Int[Tensor, "N S"],
    lengths: Int[Tensor, "N"],
    target: Int[Tensor, "N T"],
) -> tuple[Float[Tensor, "N T"], Float[Tensor, "N T S"]]:
    """Return the log-probability (nats; 0 at padding) and the attention weights of each piece.

    ``target`` holds ids without BOS, padded on the right; one without EOS is scored as a prefix.
    The weights are 0 in fixed, init_only and none."""
    together = max(1, CELLS // target.shape[1])
    if len(target) > together:
        split = (x.split(together) for x in (source, lengths, target))
        found = [forced_decode(model, *part) for part in zip(*split, strict=True)]
        gained, weights = map(torch.cat, zip(*found, strict=True))
        return gained, weights
    before = torch.cat([torch.full_like(target[:, :1], BOS), target[:, :-1]], dim=1)
    readouts, weights = model(source, lengths, before)
    logits = model.logits(readouts)
    gained = logits.gather(2, target[:, :, None]).squeeze(2) - logits.logsumexp(dim=2)
    return gained.masked_fill(target == PAD, 0.0), weights
