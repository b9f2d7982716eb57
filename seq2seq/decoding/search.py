"""Greedy and beam search, many sentences at once.

Shape letters beside those of the model: N sentences still searched, W hypotheses of each (1 at the
first step, then K, the beam), R = N x W rows given to the model, sentence by sentence. What is
known of a sentence is shared by its hypotheses, never copied for them.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seq2seq.config import DecodingConfig
from seq2seq.data.vocabulary import BOS, EOS
from seq2seq.decoding.constraints import NEVER, Constraints
from seq2seq.decoding.ended import Ended
from seq2seq.decoding.ranking import coverage_penalty, length_caps, length_divisors
from seq2seq.decoding.result import SearchResult
from seq2seq.decoding.writer import begin, remaining
from seq2seq.model.encoder import length_mask
from seq2seq.model.ensemble import Ensemble
from seq2seq.model.kernels import choose_kernels
from seq2seq.model.translation import TranslationModel


@torch.no_grad()  # inference mode would cast the weights to bfloat16 anew at each step
def beam_search(
    model: TranslationModel | Ensemble,
    source: Int[Tensor, "B S"],
    lengths: Int[Tensor, "B"],
    config: DecodingConfig,
) -> list[list[SearchResult]]:
    """Find likely translations of each sentence; beam 1 is greedy search.

    At each step the K best one-piece extensions of a sentence's hypotheses are kept, K being the
    beam less the hypotheses that have already ended, as in GroundHog, the program of Bahdanau et
    al. 2014. Those that ended are ranked by :mod:`seq2seq.decoding.ranking`; where none has
    ended within the cap, the unfinished ones are.

    A sentence is left early only when that cannot change its result, the ``n_best`` best:
    log-probabilities only fall and a coverage penalty is never above 0, so a hypothesis ends at
    best with what it has now, divided by the divisor of the cap. The result for a sentence does not
    depend on the other sentences of the batch.

    Args:
        model: in evaluation mode; the caller sets autocast.
        source: ids that end with EOS, padded on the right, on the device of ``model``.
        lengths: real ids of each sentence, EOS included.
        config: beam, ranking, constraints and cap.

    Returns:
        For each sentence its ``n_best`` hypotheses, best first: fewer where fewer have ended, and
        at least one.
    """
    batch, device = len(source), source.device
    caps = length_caps(lengths, config)
    most = int(caps.max())
    divisors = length_divisors(most, config).to(device)
    constraints = Constraints(config)
    writer = begin(model, source, lengths)
    ended = Ended.none(batch, config.beam, most, device)

    # N: the sentences that the rows belong to.  N W: log-probabilities; NEVER where there is no
    # hypothesis, be it that it ended, or that its sentence is done.
    alive = torch.arange(batch, device=device)
    total = torch.zeros(batch, 1, device=device)
    token = torch.full((batch,), BOS, device=device)
    written = token.new_empty(batch, 0)
    mask = length_mask(lengths, source.shape[1])
    coverage = torch.zeros(mask.shape, device=device)

    for length in range(1, most + 1):
        logits, weights = writer.step(token)
        old_width = total.shape[1]
        total, parent, piece = _extend(total, logits, written, constraints, config.beam)
        rows = torch.arange(len(alive), device=device)[:, None] * old_width + parent
        # The beam narrows by each hypothesis that has ended.
        room = config.beam - ended.count[alive]
        total = total.masked_fill(
            torch.arange(total.shape[1], device=device) >= room[:, None], NEVER
        )
        written = torch.cat([written[rows.flatten()], piece.flatten()[:, None]], dim=1)
        score = total / divisors[length]
        if config.coverage_penalty:
            coverage = coverage + weights
            shown = mask[alive].repeat_interleave(old_width, dim=0)
            score = score + coverage_penalty(coverage, shown, config.coverage_penalty)[rows]

        ids = written.unflatten(0, total.shape)
        at_end = (piece == EOS) & (total > NEVER)
        ended.add(alive, at_end, ids, total, score)
        total = total.masked_fill(at_end, NEVER)

        cap = caps[alive]
        cut = (cap == length) & (ended.count[alive] == 0)
        ended.capped[alive] |= cut
        ended.add(alive, cut[:, None] & (total > NEVER), ids, total, score)
        within_reach = total.amax(dim=1) / divisors[cap]
        going_on = (within_reach > ended.threshold(config.n_best)[alive]) & (cap > length)
        kept = remaining(going_on)
        total = total.masked_fill(~going_on[:, None], NEVER)
        if kept is not None:
            if not len(kept):
                break
            alive, total, rows, ids = alive[kept], total[kept], rows[kept], ids[kept]
        writer.keep(rows.flatten(), kept)
        written = ids.flatten(0, 1)
        token = written[:, -1]
        if config.coverage_penalty:
            coverage = coverage[rows.flatten()]

    return ended.best(config.n_best)


def _extend(
    total: Float[Tensor, "N W"],
    logits: Float[Tensor, "R V"],
    written: Int[Tensor, "R T"],
    constraints: Constraints,
    beam: int,
) -> tuple[Float[Tensor, "N K"], Int[Tensor, "N K"], Int[Tensor, "N K"]]:
    """The best extensions by one piece: log-probability (falling), hypothesis extended, piece."""
    sentences, width = total.shape
    kernels = choose_kernels(logits.device, total.dtype, logits.dtype)
    log_sum = kernels.log_sums(logits)
    constraints.ban(logits, written)
    # The K best of a sentence are among the K best of each of its hypotheses.
    best, pieces = kernels.largest(logits, min(beam, logits.shape[1]))
    gained = (best - log_sum[:, None]).view(sentences, width, -1)
    extended = (total[:, :, None] + gained).flatten(1)
    found, index = extended.topk(min(beam, extended.shape[1]), dim=1)
    return found, index // best.shape[1], pieces.view(sentences, -1).gather(1, index)
