"""Exercise 9: an attention of your own, in the trainer of this project.

Fill in ``scores`` and ask grade.py. Then train it (about 20 minutes) and see its curve:

    python docs/exercises/own_attention.py
"""

import sys

import seq2seq
from seq2seq.config import AttentionConfig
from seq2seq.model.attention import Attention, Past, Query, Scores
from seq2seq.model.encoder import Source
from seq2seq.model.layers import Projection


@seq2seq.attention("mine")  # to train another version, name it "mine_2": no name is trained twice
class Mine(Attention):
    """Compares each query with the keys of all words; softmax and context are made for you."""

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, annotation_size, config)
        self.query = Projection(query_size, config.size, bias=False)  # W_a
        self.key = Projection(annotation_size, config.size, bias=False)  # U_a

    def scores(self, query: Query, source: Source, state: Past) -> Scores:
        """Return how well each word fits each query: N sentences x W queries x S words.

        ``self.query(query)`` is N x W x A, and ``source.keys``, made by ``self.key``, N x S x A.
        """
        raise NotImplementedError


if __name__ == "__main__":
    for folder in seq2seq.reproduce(*sys.argv[1:], system="mine", baseline="no-attention"):
        print(f"The curve is in {folder}/page.html.")
