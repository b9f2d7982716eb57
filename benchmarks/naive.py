"""The model as it is usually first written: what the project's speed is measured against.

A packed ``nn.LSTM`` reads the source. A Python loop then writes the target, and each step computes
all it needs: embedding, both products of the alignment model, ``nn.LSTMCell``, readout, output
layer. Autograd tapes everything. It is the same function as
:class:`~seq2seq.model.translation.TranslationModel` with one layer on each side, additive or fixed
attention before each step, and a linear readout.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seq2seq.config import ModelConfig
from seq2seq.data.vocabulary import PAD
from seq2seq.model.attention.additive import AdditiveAttention
from seq2seq.model.translation import TranslationModel


class NaiveModel(nn.Module):
    """RNNsearch (Bahdanau et al. 2014), or RNNencdec where ``config.attention.kind`` is fixed."""

    def __init__(self, config: ModelConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        embedding, hidden = config.embedding_dim, config.decoder.hidden_size
        memory, attention = 2 * config.encoder.hidden_size, config.attention.size
        self.attends = config.attention.kind == "additive"
        self.scale = embedding**0.5 if config.scale_embedding else 1.0
        self.source_embedding = nn.Embedding(source_size, embedding, padding_idx=PAD)
        self.target_embedding = nn.Embedding(target_size, embedding, padding_idx=PAD)
        self.encoder = nn.LSTM(
            embedding, config.encoder.hidden_size, batch_first=True, bidirectional=True
        )
        self.initial = nn.Linear(memory, 2 * hidden)
        self.word_query = None
        if self.attends and config.decoder.query == "state_and_word":
            self.word_query = nn.Linear(embedding, hidden, bias=False)
        if self.attends:
            self.query = nn.Linear(hidden, attention, bias=False)
            self.key = nn.Linear(memory, attention, bias=False)
            self.score = nn.Linear(attention, 1, bias=False)
        self.cell = nn.LSTMCell(embedding + memory, hidden)
        self.readout = nn.Linear(hidden + embedding + memory, embedding)
        self.output = nn.Linear(embedding, target_size)
        if config.decoder.tie_embedding:
            self.output.weight = self.target_embedding.weight
        self.dropout = nn.Dropout(config.dropout)
        self.embedding_dropout = nn.Dropout(config.embedding_dropout)

    def forward(
        self,
        source: Int[Tensor, "B S"],
        lengths: Int[Tensor, "B"],
        target_input: Int[Tensor, "B T"],
    ) -> Float[Tensor, "B T V"]:
        """Logits of a known target; ``lengths`` counts the real ids of ``source``, one or more."""
        packed = pack_padded_sequence(
            self.embedding_dropout(self.source_embedding(source) * self.scale),
            lengths.cpu(),
            batch_first=True,
            enforce_sorted=False,
        )
        annotations, _ = pad_packed_sequence(self.encoder(packed)[0], batch_first=True)
        ahead, behind = annotations.chunk(2, dim=2)
        rows = torch.arange(len(source), device=source.device)
        summary = torch.cat([ahead[rows, lengths - 1], behind[:, 0]], dim=1)
        mask = torch.arange(annotations.shape[1], device=source.device) < lengths[:, None]

        hidden, cell = torch.tanh(self.initial(summary)).chunk(2, dim=1)
        logits, context = [], summary
        for token in target_input.unbind(dim=1):
            embedded = self.embedding_dropout(self.target_embedding(token) * self.scale)
            if self.attends:
                query = hidden if self.word_query is None else hidden + self.word_query(embedded)
                compared = torch.tanh(self.query(query)[:, None] + self.key(annotations))
                scores = self.score(compared).squeeze(2).masked_fill(~mask, float("-inf"))
                context = torch.bmm(scores.softmax(dim=1)[:, None], annotations).squeeze(1)
            hidden, cell = self.cell(torch.cat([embedded, context], dim=1), (hidden, cell))
            mixed = self.readout(torch.cat([hidden, context, embedded], dim=1))
            logits.append(self.output(self.dropout(mixed)))
        return torch.stack(logits, dim=1)

    @torch.no_grad()
    def load_from(self, model: TranslationModel) -> None:
        """Copy the weights of a model of the same shape.

        ``nn.LSTMCell`` has two biases where the model has one; the second becomes 0.
        """
        decoder, memory = model.decoder, model.encoder.annotation_size
        for name, weight in model.encoder.forwards[0].named_parameters():
            getattr(self.encoder, name).copy_(weight)
        for name, weight in model.encoder.backwards[0].named_parameters():
            getattr(self.encoder, f"{name}_reverse").copy_(weight)
        if isinstance(decoder.attention, AdditiveAttention):
            self.query.weight.copy_(decoder.attention.query.weight)
            self.key.weight.copy_(decoder.attention.key.weight)
            self.score.weight.copy_(decoder.attention.vector[None])
            if self.word_query is not None and decoder.attention.word_query is not None:
                self.word_query.weight.copy_(decoder.attention.word_query.weight)
        by_context, by_state = decoder.state_gates.weight.tensor_split([memory], dim=1)
        self.cell.weight_ih.copy_(torch.cat([decoder.input_gates.weight, by_context], dim=1))
        self.cell.weight_hh.copy_(by_state)
        self.cell.bias_ih.copy_(decoder.input_gates.bias)
        self.cell.bias_hh.zero_()
        for own, other in (
            (self.source_embedding, model.source_embedding),
            (self.target_embedding, model.target_embedding),
            (self.initial, decoder.initial),
            (self.readout, decoder.readout_layer),
            (self.output, model.output),
        ):
            own.load_state_dict(other.state_dict())


def naive_loss(
    logits: Float[Tensor, "B T V"], targets: Int[Tensor, "B T"], smoothing: float
) -> Float[Tensor, ""]:
    """Mean cross entropy per real target token."""
    return functional.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=PAD, label_smoothing=smoothing
    )
