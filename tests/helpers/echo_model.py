"""A model whose translation is the source itself."""

import torch
from torch import nn

from helpers.stepwise import Stepwise
from seq2seq.config import DecodingConfig
from seq2seq.data.tokenization import TextCodec, WhitespaceTokenizer
from seq2seq.data.vocabulary import EOS, Vocabulary
from seq2seq.decoding.translator import Translator
from seq2seq.model.decoder import DecoderState
from seq2seq.model.encoder import Source
from seq2seq.model.translation import Step

WORDS = ["der", "hund", "läuft", "heim", "🐕", "a\u2028b", "c\x0bd", "e\r", "f\ng"]
CPU = torch.device("cpu")
GREEDY = DecodingConfig(beam=1)


class EchoModel(Stepwise):
    """Writes the source's pieces; records the lengths, mode and autocast of each batch."""

    attends = True

    def __init__(self, size):
        nn.Module.__init__(self)
        self.size = size
        self.batches = []
        self.saw = set()

    def encode(self, source, lengths):
        assert source[torch.arange(len(source)), lengths - 1].eq(EOS).all()
        self.batches.append(lengths.tolist())
        self.saw.add((self.training, torch.is_autocast_enabled("cpu")))
        mask = torch.arange(source.shape[1]) < lengths[:, None]
        memory = source.float()[:, :, None]
        return Source(memory, mask, memory[:, 0], memory)

    def init_state(self, source):
        position = torch.zeros(1, len(source.mask), 1)
        nothing = position.new_empty(position.shape[1], 0)
        return DecoderState(position, position, nothing, nothing)

    def step(self, token, state, source):
        memory = source.annotations
        rows = torch.arange(len(token)) // (len(token) // len(memory))
        place = state.hidden[0, :, 0].long()
        following = memory[rows, place, 0].long()
        scores = 20.0 * nn.functional.one_hot(following, self.size).float()
        position = (state.hidden + 1).clamp(max=memory.shape[1] - 1)
        weights = nn.functional.one_hot(place, memory.shape[1]).float()
        return Step(scores, state._replace(hidden=position, cell=position), self.attends * weights)


def echo(max_pieces=50, precision=torch.float32):
    codec = TextCodec(WhitespaceTokenizer("de"), Vocabulary(WORDS, [1] * len(WORDS)))
    model = EchoModel(len(codec.vocabulary))
    sides = {"source": codec, "target": codec, "max_pieces": max_pieces}
    return Translator.of_parts(model, **sides, device=CPU, precision=precision)
