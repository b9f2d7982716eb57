"""Dropout: the share, the scale, the gradient."""

from collections import Counter

import pytest
import torch

from seq2seq.config import AttentionConfig, DecoderConfig, EncoderConfig, ModelConfig
from seq2seq.model.dropout import Dropout
from seq2seq.model.translation import TranslationModel


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5, 0.9])
def test_the_share_is_dropped_and_the_mean_kept(share):
    torch.manual_seed(1)
    x = torch.ones(200, 1000)
    y = Dropout(share)(x)
    n = x.numel()
    spread = (share * (1 - share) / n) ** 0.5
    assert abs((y == 0).double().mean().item() - share) < 5 * spread
    assert y.double().mean().item() == pytest.approx(1, abs=5 * spread / (1 - share))
    assert len(y.unique()) == 2


def test_every_place_and_neighbourhood_is_dropped_as_often():
    """Four elements share one draw: they must not share their fate."""
    torch.manual_seed(2)
    drops = torch.stack([Dropout(0.5)(torch.ones(8)) == 0 for _ in range(20000)]).double()
    assert (drops.mean(0) - 0.5).abs().max() < 5 * 0.5 / 20000**0.5
    correlation = torch.corrcoef(drops.T) - torch.eye(8)
    assert correlation.abs().max() < 5 / 20000**0.5


def test_the_gradient_passes_where_the_number_passed():
    torch.manual_seed(3)
    x = torch.randn(5, 7, requires_grad=True)
    y = Dropout(0.4)(x)
    y.sum().backward()
    assert torch.equal(x.grad == 0, y == 0)
    torch.testing.assert_close(x.grad * x, y)


def test_seeded_and_only_in_training():
    x = torch.ones(3, 5)
    dropout = Dropout(0.5)
    torch.manual_seed(4)
    first = dropout(x)
    torch.manual_seed(4)
    assert torch.equal(dropout(x), first)
    assert dropout.eval()(x) is x
    assert Dropout(0.0)(x) is x


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
    numbers: Counter[tuple[int, float]] = (
        Counter()
    )  # by width, which tells what they are, and share

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
    rows, source, target = 3, 7, 5
    model = TranslationModel(config, 11, 13)
    ids = torch.randint(4, 11, (rows, source)), torch.randint(4, 11, (rows, target))
    model(ids[0], torch.tensor([7, 2, 4]), ids[1])
    embeddings, readouts = rows * (source + target), rows * target
    read, written = rows * source * (below - 1), rows * target * (layers - 1)
    expected = {(6, 0.21): embeddings, (6, 0.37): readouts, (10, 0.37): read, (8, 0.37): written}
    assert numbers == {key: count for key, count in expected.items() if count}


@pytest.mark.parametrize("order", ["bahdanau", "luong"])
def test_a_model_draws_anew_with_each_pass_and_only_in_training(order):
    torch.manual_seed(5)
    config = ModelConfig(
        embedding_dim=6,
        dropout=0.37,
        encoder=EncoderConfig(hidden_size=4),
        attention=AttentionConfig(size=4),
        decoder=DecoderConfig(hidden_size=8, order=order),
    )
    model = TranslationModel(config, 11, 13)
    pair = torch.tensor([[5, 6, 3]]), torch.tensor([3]), torch.tensor([[2, 7, 8]])
    assert not torch.equal(model(*pair), model(*pair))
    model.eval()
    assert torch.equal(model(*pair), model(*pair))
