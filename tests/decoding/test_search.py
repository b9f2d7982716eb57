"""Search against slow references, on a random table of scores that can be searched exhaustively."""

import itertools
import math

import pytest
import torch
from torch import nn

from seq2seq.config import (
    AttentionConfig,
    DecoderConfig,
    DecodingConfig,
    EncoderConfig,
    ModelConfig,
)
from seq2seq.data.vocabulary import BOS, EOS, PAD, UNK
from seq2seq.decoding.search import beam_search, forced_score, length_caps
from seq2seq.model.decoder import DecoderState
from seq2seq.model.encoder import Encoded
from seq2seq.model.translation import Step, TranslationModel

PIECES = 7
CODES = 11


class TableModel(TranslationModel):
    """A random score for each (sentence, last two pieces, next piece).

    The sentence is read from the keys and from the memory, and the older piece from the state, so
    that a search which mixes up any row of them gets other numbers.
    """

    def __init__(self, seed=0, sharpness=1.0, ending=0.0):
        nn.Module.__init__(self)
        generator = torch.Generator().manual_seed(seed)
        self.by_keys = sharpness * torch.randn(CODES, PIECES, PIECES, generator=generator)
        self.by_memory = sharpness * torch.randn(CODES, PIECES, PIECES, generator=generator)
        self.by_keys[..., EOS] += ending
        self.steps = 0

    def encode(self, source, lengths):
        mask = torch.arange(source.shape[1]) < lengths[:, None]
        memory = (source * mask).float()[:, :, None]
        return Encoded(memory, mask, memory.sum(dim=1))

    def keys(self, memory):
        return memory * (1 + torch.arange(memory.shape[1]))[:, None]

    def initial_state(self, encoded):
        start = torch.full((1, len(encoded.memory), 1), float(BOS))
        return DecoderState(start, start.clone())

    def step(self, token, state, encoded, keys):
        self.steps += 1
        older = state.hidden[0, :, 0].long()
        first = self.by_keys[keys[:, :, 0].sum(1).long() % CODES, older]
        second = self.by_memory[encoded.memory[:, :, 0].sum(1).long() % CODES, token]
        weights = torch.zeros_like(encoded.memory[:, :, 0])
        return Step(first + second, DecoderState(token[None, :, None].float(), state.cell), weights)


def pad(sentences):
    width = max(map(len, sentences))
    source = torch.tensor([s + [PAD] * (width - len(s)) for s in sentences])
    return source, torch.tensor([len(s) for s in sentences])


def random_sentences(count, seed=0, longest=6):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(0, longest + 1, (count,), generator=generator).tolist()
    return [[*torch.randint(4, PIECES, (n,), generator=generator).tolist(), EOS] for n in lengths]


def score_of(model, sentence, ids):
    source, lengths = pad([sentence])
    return forced_score(model, source, lengths, torch.tensor([ids])).item()


def next_scores(model, sentence, prefix):
    """log p(piece | prefix) of one sentence, from the first step on."""
    source, lengths = pad([sentence])
    encoded = model.encode(source, lengths)
    state, token = model.initial_state(encoded), BOS
    for piece in [*prefix, None]:
        step = model.step(torch.tensor([token]), state, encoded, model.keys(encoded.memory))
        state, token = step.state, piece
    return step.logits[0].log_softmax(0).tolist()


def cap_of(sentence, config):
    return math.floor(config.max_ratio * (len(sentence) - 1)) + config.max_extra


def slow_beam_search(model, sentence, config):
    """The documented procedure on lists, one sentence at a time, never stopping early."""
    live, ended = [(0.0, [])], []
    for _ in range(cap_of(sentence, config)):
        extended = [
            (total + gained, [*ids, piece])
            for total, ids in live
            for piece, gained in enumerate(next_scores(model, sentence, ids))
            if piece not in (PAD, BOS)
        ]
        kept = sorted(extended, reverse=True)[: config.beam - len(ended)]
        ended += [item for item in kept if item[1][-1] == EOS]
        live = [item for item in kept if item[1][-1] != EOS]
    total, ids = max(
        ended or live, key=lambda item: item[0] / len(item[1]) ** config.length_normalization
    )
    return total, ids


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("beam", [1, 2, 3, 5, 9])
def test_equals_a_slow_search_that_never_stops_early(beam, alpha):
    config = DecodingConfig(beam=beam, length_normalization=alpha, max_ratio=1.5, max_extra=1)
    for seed in range(3):
        model = TableModel(seed)
        sentences = random_sentences(14, seed)
        for sentence, found in zip(
            sentences, beam_search(model, *pad(sentences), config), strict=True
        ):
            total, ids = slow_beam_search(model, sentence, config)
            assert found.ids == [i for i in ids if i != EOS]
            assert found.capped == (ids[-1] != EOS)
            assert found.log_probability == pytest.approx(total, abs=1e-4)
            assert found.score == pytest.approx(total / len(ids) ** alpha, abs=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_huge_beam_finds_what_exhaustive_search_finds(alpha):
    config = DecodingConfig(beam=400, length_normalization=alpha, max_ratio=1.0, max_extra=2)
    model = TableModel(seed=3)
    sentences = [[EOS], [4, EOS], [6, 5, EOS]]
    results = beam_search(model, *pad(sentences), config)
    for sentence, found in zip(sentences, results, strict=True):
        every = [
            [*ids, EOS]
            for length in range(cap_of(sentence, config))
            for ids in itertools.product([UNK, 4, 5, 6], repeat=length)
        ]
        scores = [score_of(model, sentence, ids) / len(ids) ** alpha for ids in every]
        best = max(range(len(every)), key=scores.__getitem__)
        assert [*found.ids, EOS] == every[best]
        assert found.score == pytest.approx(scores[best], abs=1e-5)
        assert not found.capped


def test_beam_one_is_the_greedy_loop():
    config = DecodingConfig(beam=1, max_ratio=2.0, max_extra=3)
    model = TableModel(seed=4)
    sentences = random_sentences(20, seed=4)
    for sentence, found in zip(sentences, beam_search(model, *pad(sentences), config), strict=True):
        greedy = []
        while len(greedy) < cap_of(sentence, config):
            scores = next_scores(model, sentence, greedy)
            scores[PAD] = scores[BOS] = -math.inf
            if (piece := scores.index(max(scores))) == EOS:
                break
            greedy.append(piece)
        assert found.ids == greedy


def test_the_cap_counts_source_pieces_without_eos():
    config = DecodingConfig(max_ratio=1.1, max_extra=3)
    assert length_caps(torch.tensor([1, 2, 10, 11, 31]), config).tolist() == [3, 4, 12, 14, 36]


@pytest.mark.parametrize("beam", [1, 3])
def test_a_hypothesis_at_the_cap_is_kept_and_marked(beam):
    config = DecodingConfig(beam=beam, max_ratio=2.0, max_extra=2)
    model = TableModel(ending=-50.0)
    sentences = [[EOS], [4, EOS], [4, 5, 6, EOS]]
    for sentence, found in zip(sentences, beam_search(model, *pad(sentences), config), strict=True):
        assert found.capped
        assert len(found.ids) == cap_of(sentence, config)
        assert found.log_probability == pytest.approx(
            score_of(model, sentence, found.ids), abs=1e-4
        )


def test_an_ended_hypothesis_is_preferred_to_a_likelier_unfinished_one():
    # The end is never likelier than going on, but the beam holds it as its second best.
    model = TableModel(sharpness=0.0)
    model.by_keys[..., 4] += 3.0
    model.by_keys[..., EOS] += 2.0
    found = beam_search(model, *pad([[4, EOS]]), DecodingConfig(beam=2, max_ratio=1, max_extra=3))[
        0
    ]
    assert not found.capped
    greedy = beam_search(model, *pad([[4, EOS]]), DecodingConfig(beam=1, max_ratio=1, max_extra=3))
    assert greedy[0].capped
    assert greedy[0].score > found.score


def test_padding_and_begin_are_never_written_and_unknown_may_be():
    model = TableModel()
    model.by_keys[..., [PAD, BOS]] += 20.0
    model.by_keys[..., UNK] += 10.0
    results = beam_search(model, *pad(random_sentences(8)), DecodingConfig(beam=4))
    written = {piece for found in results for piece in found.ids}
    assert UNK in written
    assert not written & {PAD, BOS, EOS}


@pytest.mark.parametrize("beam", [1, 4])
def test_company_and_order_change_nothing(beam):
    model = TableModel(seed=5)
    config = DecodingConfig(beam=beam, max_ratio=1.5, max_extra=2)
    sentences = random_sentences(30, seed=5)
    together = beam_search(model, *pad(sentences), config)
    for sentence, found in zip(sentences, together, strict=True):
        assert beam_search(model, *pad([sentence]), config) == [found]
    assert beam_search(model, *pad(sentences[::-1]), config) == together[::-1]


def test_stops_as_soon_as_nothing_better_can_come():
    eager = TableModel(ending=8.0)
    beam_search(eager, *pad(random_sentences(10)), DecodingConfig(beam=5, max_extra=100))
    assert eager.steps < 30


@pytest.mark.parametrize("kind", ["additive", "fixed"])
@pytest.mark.parametrize("beam", [1, 4])
def test_the_score_of_a_real_model_is_its_forced_score(kind, beam):
    torch.manual_seed(0)
    config = ModelConfig(
        embedding=8,
        encoder=EncoderConfig(hidden=5, layers=2),
        attention=AttentionConfig(kind=kind, size=6),
        decoder=DecoderConfig(hidden=9, layers=2),
    )
    model = TranslationModel(config, source_size=PIECES, target_size=150).eval()
    for parameter in model.parameters():
        parameter.data *= 3  # a peaked distribution, as after training
    decoding = DecodingConfig(beam=beam, max_ratio=1.0, max_extra=4)
    sentences = random_sentences(12, seed=6)
    source, lengths = pad(sentences)
    results = beam_search(model, source, lengths, decoding)
    targets, _ = pad([found.ids + [EOS] * (not found.capped) for found in results])
    with torch.no_grad():
        forced = forced_score(model, source, lengths, targets)
    expected = torch.tensor([found.log_probability for found in results])
    torch.testing.assert_close(forced, expected, rtol=1e-4, atol=1e-4)
    for sentence, found in zip(sentences, results, strict=True):
        [alone] = beam_search(model, *pad([sentence]), decoding)
        assert alone.ids == found.ids
