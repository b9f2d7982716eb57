"""Greedy and beam search of many sentences together.

Shape letters in addition to those of the model: N is the number of sentences that are still
searched. W is the number of hypotheses per sentence: 1 at the first step, then K, the beam. The
model reads R = N x W rows; the rows of one sentence are next to each other.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
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
from seq2seq.model.fast.choose import choose_operations
from seq2seq.model.translation import TranslationModel


@torch.no_grad()  # inference mode would cast the weights to bfloat16 at every step
def beam_search(
    model: TranslationModel | Ensemble,
    source: Int[Tensor, "B S"],
    lengths: Int[Tensor, "B"],
    config: DecodingConfig,
    prefix: Sequence[int] = (),
) -> list[list[SearchResult]]:
    """Search for the ``n_best`` hypotheses of each sentence; a beam of 1 is greedy search.

    Each step extends the hypotheses of a sentence by one piece and keeps the best extensions. Their
    number is the beam minus the number of finished hypotheses. GroundHog, the program of Bahdanau
    et al. 2014, does the same. Finished hypotheses are ranked by score. If none finishes within the
    cap (:func:`length_caps`), the unfinished ones are ranked instead.

    A log-probability never rises when a hypothesis is extended. So the score of a hypothesis cannot
    exceed its current log-probability / divisor at the cap (:func:`length_divisors`). The search of
    a sentence stops at its cap. It stops earlier if no unfinished hypothesis can exceed the score
    of the finished hypothesis of rank ``n_best``. The hypotheses of a sentence do not depend on the
    other sentences of the batch.

    Args:
        model: in evaluation mode; the caller sets autocast.
        source: ids that end with EOS, padded on the right, on the device of ``model``.
        lengths: number of real ids of each sentence, with EOS.
        config: beam, ranking, constraints and cap.
        prefix: ids with which every hypothesis begins.

    Returns:
        Hypotheses of each sentence, best first: at least one, at most ``n_best``.
    """
    batch, device = len(source), source.device
    caps = length_caps(lengths, config, len(prefix))
    shortest, longest = int(caps.min()), int(caps.max())
    divisors = length_divisors(longest, config).to(device)
    session = DecoderSession.start(model, source, lengths)
    finished = FinishedHypotheses(batch, config.beam, longest, device)

    alive = torch.arange(batch, device=device)  # the N sentences
    begun, token = session.begin(batch, prefix, device)
    # Log-probabilities, N x W; -inf where the hypothesis or its sentence is finished.
    total = begun[:, None]
    written = token.new_tensor(prefix).expand(batch, -1)

    for length in range(len(prefix) + 1, longest + 1):
        width = total.shape[1]
        total, parent, piece = _extend(total, session.step(token).logits, config)
        rows = torch.arange(len(alive), device=device)[:, None] * width + parent
        if finished.any:  # each finished hypothesis takes one place of the beam
            room = config.beam - finished.count[alive]
            beyond = torch.arange(total.shape[1], device=device) >= room[:, None]
            total = total.masked_fill(beyond, -torch.inf)
        written = torch.cat([written[rows.flatten()], piece.flatten()[:, None]], dim=1)
        score = total / divisors[length]

        ids = written.unflatten(0, total.shape)
        at_end = (piece == EOS) & (total > -torch.inf)
        if bool(at_end.any()):
            finished.add(alive, at_end, ids, total, score)
            total = total.masked_fill(at_end, -torch.inf)

        kept = None
        if finished.any or length >= shortest:  # before, no sentence can be done
            cap = caps[alive]
            if length >= shortest:
                cut = (cap == length) & (finished.count[alive] == 0)
                finished.capped[alive] |= cut
                if bool(cut.any()):
                    finished.add(alive, cut[:, None] & (total > -torch.inf), ids, total, score)
            reachable = total.amax(dim=1) / divisors[cap]
            unfinished = (reachable > finished.threshold(config.n_best)[alive]) & (cap > length)
            kept = sentences_to_keep(unfinished)
            total = total.masked_fill(~unfinished[:, None], -torch.inf)
        if kept is not None:
            if not len(kept):
                break
            alive, total, rows, ids = alive[kept], total[kept], rows[kept], ids[kept]
        session.reorder(rows.flatten(), kept)
        written = ids.flatten(0, 1)
        token = written[:, -1]

    return finished.best(config.n_best)


def _extend(
    total: Float[Tensor, "N W"], logits: Float[Tensor, "R V"], config: DecodingConfig
) -> tuple[Float[Tensor, "N K"], Int[Tensor, "N K"], Int[Tensor, "N K"]]:
    """Return the best extensions by one piece, best first: log-probability, hypothesis, piece."""
    sentences, width = total.shape
    operations = choose_operations(logits.device, torch.float32, logits.dtype)
    log_sum = operations.logsumexp(logits)
    ban_pieces(logits, config)
    # The K best extensions of a sentence are among the K best of each of its hypotheses.
    best, pieces = operations.topk(logits, min(config.beam, logits.shape[1]))
    gained = (best - log_sum[:, None]).view(sentences, width, -1)
    extended = (total[:, :, None] + gained).flatten(1)
    kept, index = extended.topk(min(config.beam, extended.shape[1]), dim=1)
    return kept, index // best.shape[1], pieces.view(sentences, -1).gather(1, index)


class FinishedHypotheses:
    """Up to K finished hypotheses per sentence, in the order in which they finished.

    There are K + 1 columns, where K is the beam. Hypotheses that are not kept are written to the
    last column. Leaving them out with a boolean index would make the CPU wait for the GPU.
    """

    def __init__(self, batch: int, beam: int, longest: int, device: torch.device) -> None:
        columns = batch, beam + 1
        self.ids = torch.full((*columns, longest), PAD, device=device)
        self.log_probability = torch.full(columns, -torch.inf, device=device)
        self.score = torch.full(columns, -torch.inf, device=device)
        """Score of each hypothesis; -inf in empty columns."""
        self.any = False
        """Whether there is a finished hypothesis."""
        self.count = torch.zeros(batch, dtype=torch.long, device=device)
        self.capped = torch.zeros(batch, dtype=torch.bool, device=device)
        """Whether the hypotheses were cut at the cap because none had reached EOS."""

    def add(
        self,
        alive: Int[Tensor, "N"],
        chosen: Bool[Tensor, "N W"],
        written: Int[Tensor, "N W T"],
        total: Float[Tensor, "N W"],
        score: Float[Tensor, "N W"],
    ) -> None:
        """Add the ``chosen`` hypotheses; row n belongs to the sentence ``alive[n]``.

        ``written`` holds ids, and ``total`` holds log-probabilities in nats.
        """
        self.any, last = True, self.score.shape[1] - 1
        column = (self.count[alive, None] + chosen.cumsum(dim=1) - 1).where(chosen, last)
        sentence = alive[:, None]
        self.ids[sentence, column, : written.shape[2]] = written
        self.log_probability[sentence, column] = total
        self.score[sentence, column] = score
        self.score[:, last] = -torch.inf
        self.count[alive] += chosen.sum(dim=1)

    def threshold(self, wanted: int) -> Float[Tensor, "B"]:
        """Score of the hypothesis of rank ``wanted`` (1 is best); -inf while there are fewer."""
        return self.score.topk(wanted, dim=1).values[:, -1]

    def best(self, wanted: int) -> list[list[SearchResult]]:
        """Return up to ``wanted`` hypotheses of each sentence, best first.

        Hypotheses of equal score are in the order in which they finished.
        """
        scores, order = self.score.sort(dim=1, descending=True, stable=True)
        order = order[:, :wanted]
        totals = self.log_probability.gather(1, order)
        ids = self.ids.gather(1, order[:, :, None].expand(-1, -1, self.ids.shape[2]))
        columns = (part.tolist() for part in (scores[:, :wanted], totals, ids, self.capped))
        return [_results(*sentence) for sentence in zip(*columns, strict=True)]


def _results(
    scores: list[float], totals: list[float], ids: list[list[int]], capped: bool
) -> list[SearchResult]:
    results = [
        SearchResult([piece for piece in row if piece not in (EOS, PAD)], score, total, capped)
        for score, total, row in zip(scores, totals, ids, strict=True)
        if score > -torch.inf
    ]
    # If every score is NaN, the result is an empty translation, which counts as cut.
    return results or [SearchResult([], -torch.inf, -torch.inf, True)]
