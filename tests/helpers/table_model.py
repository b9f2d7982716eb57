"""A model that is a random table of scores, small enough to be searched exhaustively."""

import math
from functools import cache

import torch
from torch import nn

from helpers.stepwise import Stepwise
from seq2seq.data.vocabulary import BOS, EOS, PAD
from seq2seq.model.decoder import DecoderState
from seq2seq.model.encoder import Source
from seq2seq.model.translation import Step

PIECES = 7
CODES = 11


class TableModel(Stepwise):
    """A random score for each (sentence, last two pieces, next piece).

    The sentence is read from the keys and from the memory, and the older piece from the state. So a
    search that mixes up rows of any of these gets other numbers. The weights, too, depend on
    sentence and piece.
    """

    attends = True

    def __init__(self, seed=0, sharpness=1.0, ending=0.0):
        nn.Module.__init__(self)
        generator = torch.Generator().manual_seed(seed)
        self.by_keys = sharpness * torch.randn(CODES, PIECES, PIECES, generator=generator)
        self.by_memory = sharpness * torch.randn(CODES, PIECES, PIECES, generator=generator)
        self.by_keys[..., EOS] += ending
        self.steps = 0
        self.shapes = set()
        """(sentences, rows) of each step."""

    def encode(self, source, lengths):
        mask = torch.arange(source.shape[1]) < lengths[:, None]
        memory = (source * mask).float()[:, :, None]
        keys = memory * (1 + torch.arange(memory.shape[1]))[:, None]
        return Source(memory, mask, memory.sum(dim=1), keys)

    def init_state(self, source):
        start = torch.full((1, len(source.mask), 1), float(BOS))
        nothing = start.new_empty(start.shape[1], 0)
        return DecoderState(start, start.clone(), nothing, nothing)

    def step(self, token, state, source):
        self.steps += 1
        keys = source.keys
        self.shapes.add((len(keys), len(token)))
        row = torch.arange(len(token)) // (len(token) // len(keys))
        older = state.hidden[0, :, 0].long()
        memory = source.annotations[row, :, 0]
        first = self.by_keys[keys[row, :, 0].sum(1).long() % CODES, older]
        second = self.by_memory[memory.sum(1).long() % CODES, token]
        places = torch.arange(memory.shape[1])
        looked = 3 * torch.sin(1.7 * memory + 0.9 * token[:, None] + 2.3 * places)
        weights = looked.masked_fill(~source.mask[row], -math.inf).softmax(dim=1)
        after = state._replace(hidden=token[None, :, None].float())
        return Step(first + second, after, weights)


def pad(sentences):
    width = max(map(len, sentences))
    source = torch.tensor([s + [PAD] * (width - len(s)) for s in sentences])
    return source, torch.tensor([len(s) for s in sentences])


def random_sentences(count, seed=0, longest=6):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(0, longest + 1, (count,), generator=generator).tolist()
    return [[*torch.randint(4, PIECES, (n,), generator=generator).tolist(), EOS] for n in lengths]


@cache
def step_after(model, sentence, prefix):
    source = model.encode(*pad([[*sentence]]))
    state, token = model.init_state(source), BOS
    if prefix:
        state, token = step_after(model, sentence, prefix[:-1]).state, prefix[-1]
    return model.step(torch.tensor([token]), state, source)


def next_step(model, sentence, prefix):
    """log p(piece | prefix) of one sentence, and the weights of that step."""
    step = step_after(model, (*sentence,), (*prefix,))
    return step.logits[0].log_softmax(0).tolist(), step.weights[0]


def cap_of(sentence, config):
    return math.floor(config.max_ratio * (len(sentence) - 1)) + config.max_extra
