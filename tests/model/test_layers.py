"""Dropout: the share, the scale, the gradient, and where a model has it."""

from collections import Counter

import pytest
import torch
from helpers.small_model import LENGTHS, SOURCE, TARGET, build

from seq2seq.config import AttentionConfig, DecoderConfig, EncoderConfig, ModelConfig
from seq2seq.model.layers import Dropout
from seq2seq.model.translation import TranslationModel


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5, 0.9])
def test_the_share_is_dropped_and_the_mean_kept(share):
    torch.manual_seed(1)
    x = torch.ones(200, 1000, requires_grad=True)
    y = Dropout(share)(x)
    spread = (share * (1 - share) / x.numel()) ** 0.5
    assert abs((y == 0).double().mean().item() - share) < 5 * spread
    assert y.double().mean().item() == pytest.approx(1, abs=5 * spread / (1 - share))
    assert len(y.unique()) == 2
    y.sum().backward()  # passes where the number passed
    torch.testing.assert_close(x.grad, y.detach())


def test_every_place_and_neighbourhood_is_dropped_as_often():
    """Four elements share one draw: they must not share their fate."""
    torch.manual_seed(2)
    rows = 20_000
    drops = torch.cat([(Dropout(0.5)(torch.ones(rows // 10, 8)) == 0) for _ in range(10)]).double()
    assert (drops.mean(0) - 0.5).abs().max() < 5 * 0.5 / rows**0.5
    correlation = torch.corrcoef(drops.T) - torch.eye(8)
    assert correlation.abs().max() < 5 / rows**0.5


@pytest.mark.parametrize("order", ["bahdanau", "luong"])
def test_dropout_is_seeded_and_only_in_training(order):
    model = build(order=order)
    model.decoder.dropout.share = 0.37
    torch.manual_seed(4)
    first, second = (model(SOURCE, LENGTHS, TARGET)[0] for _ in range(2))
    assert not torch.equal(first, second)
    torch.manual_seed(4)
    assert torch.equal(model(SOURCE, LENGTHS, TARGET)[0], first)
    model.eval()
    assert torch.equal(model(SOURCE, LENGTHS, TARGET)[0], model(SOURCE, LENGTHS, TARGET)[0])


@pytest.mark.parametrize(
    ("order", "feeding", "recurrence"),
    [
        ("bahdanau", False, "fast"),
        ("bahdanau", False, "reference"),
        ("luong", False, "fast"),
        ("luong", False, "reference"),
        ("luong", True, "fast"),
    ],
)
@pytest.mark.parametrize(("below", "layers"), [(1, 1), (2, 1), (1, 3)])
def test_a_model_drops_of_everything_that_its_config_names(
    monkeypatch, below, layers, order, feeding, recurrence
):
    """Embeddings by their share; states between layers and readout by theirs: each number once.

    The annotations are whole: one mask would fall on the fixed vector of the baseline, where
    attention has neighbours that tell nearly the same.
    """
    # By width, which tells what they are, and share.
    numbers: Counter[tuple[int, float]] = Counter()

    def count(self: Dropout, x: torch.Tensor) -> torch.Tensor:
        numbers[x.shape[-1], self.share] += x.numel() // x.shape[-1]
        return x

    monkeypatch.setattr(Dropout, "forward", count)
    config = ModelConfig(
        embedding_dim=6,
        dropout=0.37,
        embedding_dropout=0.21,
        encoder=EncoderConfig(hidden_size=5, layers=below),
        attention=AttentionConfig(size=4),
        decoder=DecoderConfig(
            hidden_size=8, layers=layers, order=order, input_feeding=feeding, recurrence=recurrence
        ),
    )
    TranslationModel(config, 11, 13)(SOURCE, LENGTHS, TARGET)
    rows, source, target = 3, 4, 4
    read, written = rows * source * (below - 1), rows * target * (layers - 1)
    expected = {
        (6, 0.21): rows * (source + target),
        (6, 0.37): rows * target,
        (10, 0.37): read,
        (8, 0.37): written,
    }
    assert numbers == {key: count for key, count in expected.items() if count}
