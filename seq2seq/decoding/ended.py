"""The hypotheses of each sentence that no piece will be added to."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seq2seq.data.vocabulary import EOS, PAD
from seq2seq.decoding.constraints import NEVER
from seq2seq.decoding.result import SearchResult


@dataclass
class Ended:
    """Up to K hypotheses of each of B sentences, in the order in which they came.

    There are P = K + 1 places for them: the last one takes all that is not to be kept. To choose by
    boolean index instead would wait for a GPU's answer.
    """

    ids: Int[Tensor, "B P T"]
    log_probability: Float[Tensor, "B P"]
    score: Float[Tensor, "B P"]
    """NEVER where there is no hypothesis."""
    count: Int[Tensor, "B"]
    capped: Bool[Tensor, "B"]
    """The hypotheses were cut at the longest length, since none had come to EOS."""

    @classmethod
    def none(cls, batch: int, beam: int, longest: int, device: torch.device) -> "Ended":
        """Nothing found yet."""
        never = torch.full((batch, beam + 1), NEVER, device=device)
        return cls(
            torch.full((batch, beam + 1, longest), PAD, device=device),
            never,
            never.clone(),
            torch.zeros(batch, dtype=torch.long, device=device),
            torch.zeros(batch, dtype=torch.bool, device=device),
        )

    def add(
        self,
        alive: Int[Tensor, "N"],
        chosen: Bool[Tensor, "N W"],
        written: Int[Tensor, "N W T"],
        total: Float[Tensor, "N W"],
        score: Float[Tensor, "N W"],
    ) -> None:
        """Take in the ``chosen`` of these hypotheses of the sentences ``alive``."""
        bin_ = self.score.shape[1] - 1
        place = self.count[alive, None] + chosen.cumsum(dim=1) - 1
        place = place.where(chosen, bin_)
        sentence = alive[:, None]
        self.ids[sentence, place, : written.shape[2]] = written
        self.log_probability[sentence, place] = total
        self.score[sentence, place] = score
        self.score[:, bin_] = NEVER
        self.count[alive] += chosen.sum(dim=1)

    def threshold(self, wanted: int) -> Float[Tensor, "B"]:
        """The score to beat to be among the ``wanted`` best; NEVER while there are fewer."""
        return self.score.topk(wanted, dim=1).values[:, -1]

    def best(self, wanted: int) -> list[list[SearchResult]]:
        """Up to ``wanted`` of each sentence, best first; of equals, the first to come."""
        scores, order = self.score.sort(dim=1, descending=True, stable=True)
        columns = (
            scores[:, :wanted],
            self.log_probability.gather(1, order)[:, :wanted],
            self.ids.gather(1, order[:, :wanted, None].expand(-1, -1, self.ids.shape[2])),
            self.capped,
        )
        return [
            _results(*row) for row in zip(*(column.tolist() for column in columns), strict=True)
        ]


def _results(
    scores: list[float], totals: list[float], ids: list[list[int]], capped: bool
) -> list[SearchResult]:
    found = [
        SearchResult(_text_ids(row), score, total, capped)
        for score, total, row in zip(scores, totals, ids, strict=True)
        if score > NEVER
    ]
    # A model whose scores are no numbers finds nothing.
    return found or [SearchResult([], NEVER, NEVER, True)]


def _text_ids(ids: list[int]) -> list[int]:
    """What comes before the first EOS or PAD: neither is ever part of a text."""
    end = next((place for place, piece in enumerate(ids) if piece in (EOS, PAD)), len(ids))
    return ids[:end]
