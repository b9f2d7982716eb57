"""Greedy and beam search of many sentences together.

Shape letters in addition to those of the model: N is the number of sentences that are still
searched. W is the number of hypotheses per sentence: 1 at the first step, then K, the beam. The
model reads R = N x W rows; the rows of one sentence are next to each other.
"""

from collections.abc import Sequence
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seq2seq.config import DecodingConfig
from seq2seq.data.vocabulary import BOS, EOS, PAD
from seq2seq.decoding.decoder_session import (
    DecoderSession,
    Ensemble,
    SearchResult,
    Seen,
    ban_pieces,
    length_caps,
    length_divisors,
    sentences_to_keep,
)
from seq2seq.model.fast.choose import choose_operations
from seq2seq.model.layers import to_float32
from seq2seq.model.translation import TranslationModel


@torch.no_grad()  # inference mode would cast the weights to bfloat16 at every step
def beam_search(
    model: TranslationModel | Ensemble,
    source: Int[Tensor, "B S"],
    lengths: Int[Tensor, "B"],
    config: DecodingConfig,
    prefix: Sequence[int] = (),
    choices: int | None = None,
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
        choices: number of likeliest pieces to return for each step of a hypothesis, with the
            attention weights (:class:`Seen`); None for neither.

    Returns:
        Hypotheses of each sentence, best first: at least one, at most ``n_best``.
    """
    batch, device = len(source), source.device
    caps = length_caps(lengths, config, len(prefix))
    shortest, longest = int(caps.min()), int(caps.max())
    divisors = length_divisors(longest, config).to(device)
    session = DecoderSession.start(model, source, lengths)
    finished = FinishedHypotheses(batch, config.beam, longest, device)
    history = None if choices is None else History(choices)

    alive = torch.arange(batch, device=device)  # the N sentences
    # Log-probabilities, N x W; -inf where the hypothesis or its sentence is finished.
    total = torch.zeros(batch, 1, device=device)
    token = torch.full((batch,), BOS, device=device)
    written = token.new_tensor(prefix).expand(batch, -1)
    for forced in prefix:
        scores = session.step(token)
        logits = to_float32(scores.logits)
        total = total + (logits[:, forced] - logits.logsumexp(dim=1))[:, None]
        if history:
            history.add(scores.weights, *_likeliest(logits, config, history.choices))
            history.parents.append(alive)
        token = torch.full_like(token, forced)

    for length in range(len(prefix) + 1, longest + 1):
        width = total.shape[1]
        scores = session.step(token)
        most = max(config.beam, history.choices if history else 0)
        gained, pieces = _likeliest(scores.logits, config, most)
        if history:
            history.add(scores.weights, gained, pieces)
        total, parent, piece = _extend(total, gained, pieces, config.beam)
        rows = torch.arange(len(alive), device=device)[:, None] * width + parent
        if finished.any:  # each finished hypothesis takes one place of the beam
            room = config.beam - finished.count[alive]
            beyond = torch.arange(total.shape[1], device=device) >= room[:, None]
            total = total.masked_fill(beyond, -torch.inf)
        written = torch.cat([written[rows.flatten()], piece.flatten()[:, None]], dim=1)
        ids = written.unflatten(0, total.shape)
        at_end = (piece == EOS) & (total > -torch.inf)
        if bool(at_end.any()):
            finished.add(alive, at_end, ids, rows, total, total / divisors[length])
            total = total.masked_fill(at_end, -torch.inf)

        kept = None
        if finished.any or length >= shortest:  # before, no sentence can be done
            cap = caps[alive]
            if length >= shortest:
                cut = (cap == length) & (finished.count[alive] == 0)
                finished.capped[alive] |= cut
                if bool(cut.any()):
                    whole = cut[:, None] & (total > -torch.inf)
                    finished.add(alive, whole, ids, rows, total, total / divisors[length])
            reachable = total.amax(dim=1) / divisors[cap]
            unfinished = (reachable > finished.threshold(config.n_best)[alive]) & (cap > length)
            kept = sentences_to_keep(unfinished)
            total = total.masked_fill(~unfinished[:, None], -torch.inf)
        if kept is not None:
            if not len(kept):
                break
            alive, total, rows = alive[kept], total[kept], rows[kept]
            written = ids[kept].flatten(0, 1)
        rows = rows.flatten()
        session.reorder(rows, kept)
        if history:
            history.parents.append(rows)
        token = written[:, -1]

    return finished.best(config.n_best, history)


def _likeliest(
    logits: Float[Tensor, "R V"], config: DecodingConfig, count: int
) -> tuple[Float[Tensor, "R C"], Int[Tensor, "R C"]]:
    """Return the ``count`` likeliest pieces (at most V) and their log-probabilities, best first."""
    operations = choose_operations(logits.device, torch.float32, logits.dtype)
    log_sum = operations.logsumexp(logits)
    ban_pieces(logits, config)
    best, pieces = operations.topk(logits, max(1, min(count, logits.shape[1])))
    return best - log_sum[:, None], pieces


def _extend(
    total: Float[Tensor, "N W"], gained: Float[Tensor, "R C"], pieces: Int[Tensor, "R C"], beam: int
) -> tuple[Float[Tensor, "N K"], Int[Tensor, "N K"], Int[Tensor, "N K"]]:
    """Return the best extensions by one piece, best first: log-probability, hypothesis, piece."""
    # The K best extensions of a sentence are among the K best of each of its hypotheses.
    gained, pieces = gained[:, :beam], pieces[:, :beam]
    extended = (total[:, :, None] + gained.unflatten(0, total.shape)).flatten(1)
    kept, index = extended.topk(min(beam, extended.shape[1]), dim=1)
    return kept, index // gained.shape[1], pieces.reshape(len(total), -1).gather(1, index)


class History:
    """What each step of a search saw, and the way back from a row to the steps before."""

    def __init__(self, choices: int) -> None:
        self.choices = choices
        self.steps: list[Seen] = []
        self.parents: list[Tensor] = []
        """For each step, the rows that the rows of the next step extend."""

    def add(
        self,
        weights: Float[Tensor, "R S"],
        gained: Float[Tensor, "R C"],
        pieces: Int[Tensor, "R C"],
    ) -> None:
        """Add a step: its attention weights, and log-probabilities of its likeliest pieces."""
        self.steps.append(Seen(weights, gained[:, : self.choices], pieces[:, : self.choices]))

    @cached_property
    def _ways(self) -> list[list[int]]:
        return [rows.tolist() for rows in self.parents]

    def follow(self, row: int, steps: int) -> Seen:
        """Return what the first ``steps`` steps of a hypothesis saw; the last had this ``row``."""
        rows = [row]
        for parents in reversed(self._ways[: steps - 1]):
            rows.append(parents[rows[-1]])
        path = [*zip(self.steps, reversed(rows), strict=False)]
        return Seen(*(torch.stack([step[part][row] for step, row in path]) for part in range(3)))


class FinishedHypotheses:
    """Up to K finished hypotheses per sentence, in the order in which they finished.

    There are K + 1 columns, where K is the beam. Hypotheses that are not kept are written to the
    last column. Leaving them out with a boolean index would make the CPU wait for the GPU.
    """

    def __init__(self, batch: int, beam: int, longest: int, device: torch.device) -> None:
        columns = batch, beam + 1
        self.ids = torch.full((*columns, longest), PAD, device=device)
        self.rows = torch.zeros(columns, dtype=torch.long, device=device)
        """Row of each hypothesis in its last step."""
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
        rows: Int[Tensor, "N W"],
        total: Float[Tensor, "N W"],
        score: Float[Tensor, "N W"],
    ) -> None:
        """Add the ``chosen`` hypotheses; row n belongs to the sentence ``alive[n]``.

        ``written`` holds ids, ``rows`` the rows of the step that has just been taken, and ``total``
        log-probabilities in nats.
        """
        self.any, last = True, self.score.shape[1] - 1
        column = (self.count[alive, None] + chosen.cumsum(dim=1) - 1).where(chosen, last)
        sentence = alive[:, None]
        self.ids[sentence, column, : written.shape[2]] = written
        self.rows[sentence, column] = rows
        self.log_probability[sentence, column] = total
        self.score[sentence, column] = score
        self.score[:, last] = -torch.inf
        self.count[alive] += chosen.sum(dim=1)

    def threshold(self, wanted: int) -> Float[Tensor, "B"]:
        """Score of the hypothesis of rank ``wanted`` (1 is best); -inf while there are fewer."""
        return self.score.topk(wanted, dim=1).values[:, -1]

    def best(self, wanted: int, history: "History | None") -> list[list[SearchResult]]:
        """Return up to ``wanted`` hypotheses of each sentence, best first.

        Hypotheses of equal score are in the order in which they finished. With ``history``, each
        has what its steps saw.
        """
        scores, order = self.score.sort(dim=1, descending=True, stable=True)
        order = order[:, :wanted]
        totals = self.log_probability.gather(1, order)
        ids = self.ids.gather(1, order[:, :, None].expand(-1, -1, self.ids.shape[2]))
        rows = self.rows.gather(1, order)
        columns = [part.tolist() for part in (scores[:, :wanted], totals, ids, rows, self.capped)]
        return [_results(history, *sentence) for sentence in zip(*columns, strict=True)]


def _results(
    history: History | None,
    scores: list[float],
    totals: list[float],
    ids: list[list[int]],
    rows: list[int],
    capped: bool,
) -> list[SearchResult]:
    results = []
    for score, total, padded, row in zip(scores, totals, ids, rows, strict=True):
        if score > -torch.inf:
            written = [piece for piece in padded if piece != PAD]
            seen = history.follow(row, len(written)) if history else None
            pieces = [piece for piece in written if piece != EOS]
            results.append(SearchResult(pieces, score, total, capped, seen))
    # If every score is NaN, the result is an empty translation, which counts as cut.
    return results or [SearchResult([], -torch.inf, -torch.inf, True)]
