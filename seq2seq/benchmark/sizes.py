"""What is trained: models and batches of fixed shapes, with random ids for text."""

from dataclasses import dataclass

import numpy as np
import torch

from seq2seq.config import AttentionConfig, DecoderConfig, EncoderConfig, ModelConfig
from seq2seq.data.batching import Batch
from seq2seq.data.vocabulary import BOS, EOS, SPECIALS


@dataclass(frozen=True)
class Size:
    """The widths of a model of one layer, and the shape of its batches."""

    embedding: int
    encoder: int
    """Units per direction."""
    decoder: int
    attention: int
    vocabulary: int
    """Pieces of each side."""
    batch: int
    """Sentences."""
    source: int
    """Positions of every source sentence."""
    target: int
    """Steps of every target sentence, the end included."""

    def widths(self, attention: str) -> str:
        """The model in words, of this kind of attention."""
        attends = f"attention {self.attention:,}" if attention == "additive" else "no attention"
        return (
            f"embedding {self.embedding:,}, encoder {self.encoder:,} per direction, decoder "
            f"{self.decoder:,}, {attends}, vocabularies of {self.vocabulary:,}"
        )

    @property
    def target_tokens(self) -> int:
        """Target tokens that one update learns from; none is padding."""
        return self.batch * self.target

    def operations(self, attention: str) -> int:
        """Multiplications and additions in the matrix products of one update.

        Each product of the way forward has two on the way back: one for the gradient of what went
        in, one for that of the weight. Element-wise work, such as tanh(q + k), does not count.
        """
        read, written = self.batch * self.source, self.batch * self.target
        memory = 2 * self.encoder
        encoder = read * memory * 4 * (self.embedding + self.encoder)
        start = self.batch * memory * 2 * self.decoder
        seen = written if attention == "additive" else self.batch  # a fixed context enters once
        gates = (written * (self.embedding + self.decoder) + seen * memory) * 4 * self.decoder
        readout = written * (self.decoder + self.embedding + memory) * self.embedding
        output = written * self.embedding * self.vocabulary
        forward = encoder + start + gates + readout + output
        if attention == "additive":
            forward += read * memory * self.attention + written * self.decoder * self.attention
            # The word's share of the query, by one matrix made of two.
            forward += self.attention * self.embedding * (self.decoder + written)
        return 3 * 2 * forward

    def model(self, attention: str, recurrence: str) -> ModelConfig:
        """The model's config; all that is not named here is the default, dropout included."""
        return ModelConfig(
            embedding_dim=self.embedding,
            encoder=EncoderConfig(hidden_size=self.encoder),
            attention=AttentionConfig(kind=attention, size=self.attention),
            decoder=DecoderConfig(hidden_size=self.decoder, recurrence=recurrence),
        )

    def random_batch(self, seed: int) -> Batch:
        """A batch on the host without padding; equal seeds, equal ids."""
        generator = torch.Generator().manual_seed(seed)

        def pieces(length: int) -> torch.Tensor:
            shape = (self.batch, length)
            return torch.randint(len(SPECIALS), self.vocabulary, shape, generator=generator)

        target = pieces(self.target - 1)
        return Batch(
            source=pieces(self.source),
            source_lengths=torch.full((self.batch,), self.source),
            target_input=torch.cat([torch.full((self.batch, 1), BOS), target], dim=1),
            target_output=torch.cat([target, torch.full((self.batch, 1), EOS)], dim=1),
            target_cells=torch.arange(self.batch * self.target),
            indices=np.arange(self.batch),
        )


SIZES = {
    "tiny": Size(16, 16, 32, 32, vocabulary=100, batch=8, source=7, target=6),
    "m": Size(256, 256, 512, 512, vocabulary=8_000, batch=64, source=14, target=13),
    "m30": Size(256, 256, 512, 512, vocabulary=8_000, batch=64, source=30, target=30),
    "l": Size(620, 1_000, 1_000, 1_000, vocabulary=30_000, batch=80, source=30, target=30),
}
"""``m`` is the default model on sentences of Multi30k's length, ``l`` has the widths of Bahdanau et
al. 2014 and ``tiny`` only shows that everything runs."""
