"""Greedy and beam search of many sentences together.

Shape letters in addition to those of the model: N is the number of sentences that are still
searched. W is the number of hypotheses per sentence: 1 until a piece is chosen, then at most K,
the beam. The model reads R = N x W rows; the rows of one sentence are next to each other.
"""

from collections.abc import Sequence

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
    length_caps,
    length_divisors,
    sentences_to_keep,
)
from seq2seq.model.fast.choose import choose_operations
from seq2seq.model.fast.operations import Extensions
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
    finished = FinishedHypotheses(batch, config.beam, device)
    history = History(choices)

    alive = torch.arange(batch, device=device)  # the N sentences
    # Log-probabilities, N x W; -inf where there is no hypothesis to extend.
    total = torch.zeros(batch, 1, device=device)
    token = torch.full((batch,), BOS, device=device)
    banned = token.new_tensor([PAD, BOS])

    def extend(logits: Float[Tensor, "R V"]) -> Extensions:
        operations = choose_operations(device, torch.float32, logits.dtype)
        count = min(max(config.beam, choices or 1), logits.shape[1])
        return operations.extend(logits, banned, total, config.beam, count)

    for forced in prefix:
        logits, weights = session.step(token)
        wide = to_float32(logits)
        gained = wide[:, forced] - wide.logsumexp(dim=1)  # before a piece is banned
        history.see(weights, extend(logits))
        total, token = total + gained[:, None], torch.full_like(token, forced)
        history.move(alive, token)

    for length in range(len(prefix) + 1, longest + 1):
        logits, weights = session.step(token)
        longer = extend(logits)
        history.see(weights, longer)
        total, rows, added = longer.total, longer.rows, longer.added
        if finished.any:  # each finished hypothesis takes one place of the beam
            room = config.beam - finished.count[alive]
            beyond = torch.arange(total.shape[1], device=device) >= room[:, None]
            total = total.masked_fill(beyond, -torch.inf)
        at_end = (added == EOS) & (total > -torch.inf)
        if bool(at_end.any()):
            finished.add(alive, at_end, length, rows, added, total, total / divisors[length])
            total = total.masked_fill(at_end, -torch.inf)

        kept = None
        if finished.any or length >= shortest:  # before, no sentence can be done
            cap = caps[alive]
            if length >= shortest:
                cut = (cap == length) & (finished.count[alive] == 0)
                finished.capped[alive] |= cut
                if bool(cut.any()):
                    whole = cut[:, None] & (total > -torch.inf)
                    score = total / divisors[length]
                    finished.add(alive, whole, length, rows, added, total, score)
            reachable = total.amax(dim=1) / divisors[cap]
            unfinished = (reachable > finished.threshold(config.n_best)[alive]) & (cap > length)
            kept = sentences_to_keep(unfinished)
            total = total.masked_fill(~unfinished[:, None], -torch.inf)
        if kept is not None:
            if not len(kept):
                break
            alive, total, rows, added = alive[kept], total[kept], rows[kept], added[kept]
        rows, token = rows.flatten(), added.flatten()
        session.reorder(rows, kept)
        history.move(rows, token)

    return finished.best(config.n_best, history)


class History:
    """What each step of a search saw and wrote, and the way back from a row to earlier steps."""

    def __init__(self, choices: int | None) -> None:
        """Keep the ``choices`` likeliest pieces of each step, and its weights; None for neither."""
        self._choices = choices
        self._seen: list[Seen] = []
        self._moves: list[tuple[Tensor, Tensor]] = []
        self._ways: list[tuple[list[int], list[int]]] = []

    def see(self, weights: Float[Tensor, "R S"], after: Extensions) -> None:
        """Add what a step saw: its attention weights, and the likeliest pieces."""
        if (most := self._choices) is not None:
            self._seen.append(Seen(weights, after.gained[:, :most], after.pieces[:, :most]))

    def move(self, rows: Int[Tensor, "R"], token: Int[Tensor, "R"]) -> None:
        """Add for each row of the next step the row that it extends and the piece that it adds."""
        self._moves.append((rows, token))

    def follow(self, row: int, steps: int) -> tuple[list[int], Seen | None]:
        """Return the pieces before step ``steps`` (from 1) of ``row``, and what its steps saw."""
        known = len(self._ways)
        self._ways += [(rows.tolist(), token.tolist()) for rows, token in self._moves[known:]]
        written, path = [], [row]
        for rows, token in reversed(self._ways[: steps - 1]):
            written.append(token[path[-1]])
            path.append(rows[path[-1]])
        if self._choices is None:
            return written[::-1], None
        seen = [*zip(self._seen, reversed(path), strict=False)]
        parts = (torch.stack([step[part][row] for step, row in seen]) for part in range(3))
        return written[::-1], Seen(*parts)


class FinishedHypotheses:
    """Up to K finished hypotheses per sentence, in the order in which they finished.

    There are K + 1 columns, where K is the beam. Hypotheses that are not kept are written to the
    last column. Leaving them out with a boolean index would make the CPU wait for the GPU.
    """

    def __init__(self, batch: int, beam: int, device: torch.device) -> None:
        columns = batch, beam + 1
        self.steps = torch.zeros(columns, dtype=torch.long, device=device)
        """Number of steps of each hypothesis, with those of its forced beginning."""
        self.rows = torch.zeros_like(self.steps)
        """Row that the last step of each hypothesis extended."""
        self.added = torch.zeros_like(self.steps)
        """Id of the piece that the last step of each hypothesis added."""
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
        steps: int,
        rows: Int[Tensor, "N W"],
        added: Int[Tensor, "N W"],
        total: Float[Tensor, "N W"],
        score: Float[Tensor, "N W"],
    ) -> None:
        """Add the ``chosen`` hypotheses; line n of each tensor is of the sentence ``alive[n]``.

        The step number ``steps`` has extended ``rows`` (of the model) by the pieces ``added``.
        ``total`` holds the log-probabilities in nats.
        """
        self.any, last = True, self.score.shape[1] - 1
        column = (self.count[alive, None] + chosen.cumsum(dim=1) - 1).where(chosen, last)
        sentence = alive[:, None]
        self.steps[sentence, column] = steps
        self.rows[sentence, column] = rows
        self.added[sentence, column] = added
        self.log_probability[sentence, column] = total
        self.score[sentence, column] = score
        self.score[:, last] = -torch.inf
        self.count[alive] += chosen.sum(dim=1)

    def threshold(self, wanted: int) -> Float[Tensor, "B"]:
        """Score of the hypothesis of rank ``wanted`` (1 is best); -inf while there are fewer."""
        return self.score.topk(wanted, dim=1).values[:, -1]

    def best(self, wanted: int, history: History) -> list[list[SearchResult]]:
        """Return up to ``wanted`` hypotheses of each sentence, best first.

        Hypotheses of equal score are in the order in which they finished.
        """
        scores, order = self.score.sort(dim=1, descending=True, stable=True)
        order = order[:, :wanted]
        parts = self.log_probability, self.steps, self.rows, self.added
        chosen = [scores[:, :wanted], *(part.gather(1, order) for part in parts)]
        columns = [part.tolist() for part in (self.capped, *chosen)]
        return [_results(history, *sentence) for sentence in zip(*columns, strict=True)]


def _results(history: History, capped: bool, *columns: list[float]) -> list[SearchResult]:
    results = []
    for score, total, steps, row, added in zip(*columns, strict=True):
        if score > -torch.inf:
            ids, seen = history.follow(row, steps)
            ids += [added] if added != EOS else []
            results.append(SearchResult(ids, score, total, capped, seen))
    # If every score is NaN, the result is an empty translation, which counts as cut.
    return results or [SearchResult([], -torch.inf, -torch.inf, True)]
