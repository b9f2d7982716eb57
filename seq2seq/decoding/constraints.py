"""What a hypothesis may not be continued with."""

from jaxtyping import Float, Int
from torch import Tensor

from seq2seq.config import DecodingConfig
from seq2seq.data.vocabulary import BOS, EOS, PAD, UNK

NEVER = float("-inf")


class Constraints:
    """Bans pieces: the specials that are no text, and what ``config`` forbids.

    The probability of a banned piece goes to no other one.
    """

    def __init__(self, config: DecodingConfig) -> None:
        self.banned = [PAD, BOS, UNK] if config.forbid_unknown else [PAD, BOS]
        self.min_length = config.min_length
        self.ngram = config.no_repeat_ngram

    def ban(self, logits: Float[Tensor, "R V"], written: Int[Tensor, "R T"]) -> None:
        """Set the logits of what may not follow ``written`` to minus infinity.

        The end stays open, whatever ``min_length`` says, where nothing else is left to write.
        """
        for piece in self.banned:
            logits[:, piece] = NEVER
        if self.ngram:
            self._ban_repeats(logits, written)
        if written.shape[1] < self.min_length:
            end = logits[:, EOS].clone()
            logits[:, EOS] = NEVER
            stuck = logits.amax(dim=1) == NEVER
            logits[:, EOS] = end.masked_fill(~stuck, NEVER)

    def _ban_repeats(self, logits: Float[Tensor, "R V"], written: Int[Tensor, "R T"]) -> None:
        """Ban each piece that would complete an n-gram which the row already holds."""
        if written.shape[1] < self.ngram:
            return
        grams = written.unfold(1, self.ngram, 1)  # R, places, n
        newest = written[:, written.shape[1] - self.ngram + 1 :]
        seen = (grams[:, :, :-1] == newest[:, None]).all(dim=2)
        # Elsewhere PAD is named, which is banned anyway.
        logits.scatter_(1, grams[:, :, -1].where(seen, PAD), NEVER)
