"""Six exercises on attention. Fill in the blanks, then run: pytest docs/exercises

Letters of shapes: B sentences, S source positions, T target words, H numbers in a state, M numbers
in an annotation, A numbers in a key.
"""

from collections.abc import Callable, Sequence

from torch import Tensor


def masked_softmax(scores: Tensor, lengths: Tensor) -> Tensor:
    """Exercise 1, the mask: return the weights (B x S) of ``scores`` (B x S).

    Sentence b has ``lengths[b]`` positions (at least 1); the rest of its row is padding. The
    weights of a row sum to 1, and those of padding are 0.
    """
    raise NotImplementedError


def additive_scores(
    query: Tensor, annotations: Tensor, W_a: Tensor, U_a: Tensor, v_a: Tensor
) -> Tensor:
    """Exercise 2, the additive score: return e_j = v_a . tanh(W_a q + U_a h_j) for each j (S).

    ``query`` q has H numbers, and ``annotations`` (S x M) has a row h_j for each position. W_a is
    A x H, U_a is A x M, and v_a has A numbers.
    """
    raise NotImplementedError


def contexts(scores: Tensor, annotations: Tensor) -> Tensor:
    """Exercise 3, the axis of the softmax: return a context for each target word (T x M).

    ``scores`` is T x S and ``annotations`` S x M. One line below is wrong: correct it.
    """
    weights = scores.softmax(dim=0)
    return weights @ annotations


def decoder_step(
    order: str,
    state: Tensor,
    word: Tensor,
    attend: Callable[[Tensor], Tensor],
    lstm: Callable[[Tensor, Tensor, Tensor | None], Tensor],
) -> tuple[Tensor, Tensor]:
    """Exercise 4, when the query is taken: return the new state and the context of this step.

    ``attend(query)`` returns a context, and ``lstm(state, word, context)`` the next state. In
    Bahdanau's order ("bahdanau"), the query is the state before the step, and the LSTM reads the
    context. In Luong's order ("luong"), the query is the state after the step, and the LSTM reads
    no context: pass None.
    """
    raise NotImplementedError


def fixed_vector(forward: Tensor, backward: Tensor, lengths: Tensor) -> Tensor:
    """Exercise 5, the fixed vector: return the two states that have read the whole sentence.

    ``forward[b, j]`` is the state of the forward LSTM after it has read the positions 0 to j of
    sentence b. ``backward[b, j]`` is the state of the backward LSTM, which reads from the right,
    after it has read the positions from the last one down to j. Both are B x S x H. Sentence b has
    ``lengths[b]`` positions; the rest of its row is padding. Return the forward state, then the
    backward one, side by side (B x 2H).
    """
    raise NotImplementedError


def bleu(hypothesis: Sequence[str], reference: Sequence[str]) -> float:
    """Exercise 6, BLEU: return the BLEU of one sentence, from 0 to 100.

    A 1-gram is a word, a 4-gram four words in a row. For n = 1, 2, 3, 4, the precision is the share
    of the hypothesis' n-grams that are found in the reference; an n-gram counts at most as often as
    it occurs there. BLEU is 100 times the geometric mean of the four precisions, times
    exp(1 - r / h) if the hypothesis has fewer words (h) than the reference (r). If a precision is
    0, BLEU is 0. Both texts have at least four words.
    """
    raise NotImplementedError
