"""Random arrays for each operation, and a run of an operation on copies of them."""

from typing import NamedTuple

import torch


class Sizes(NamedTuple):
    batch: int
    positions: int
    attention: int
    hidden: int
    width: int
    words: int
    rows: int
    hypotheses: int = 1


ODD = Sizes(batch=3, positions=5, attention=7, hidden=6, width=10, words=19, rows=11)
# Past one block, and past several, of every loop and grid of every operation.
LARGE = Sizes(batch=2, positions=131, attention=261, hidden=130, width=259, words=4100, rows=37)
# In search, several rows of queries share a sentence.
SHARED = ODD._replace(hypotheses=4)
LARGE_SHARED = LARGE._replace(hypotheses=3)

OPERATIONS = ("cell", "cell_backward", "attend", "attend_backward", "scores", "scores_backward")

BFLOAT_ROUNDING = 2**-8
"""The relative error of a number rounded to bfloat16."""


def arguments(operation, sizes, narrow, wide=torch.float32, scale=1.0):
    """What ``operation`` is called with; arrays that it adds to do not start at zero.

    Arrays that it only writes hold 7, so that a place left out shows. ``scale`` multiplies what
    goes through a non-linearity.
    """
    generator = torch.Generator().manual_seed(0)
    batch, positions, attention, hidden, width, words, rows, hypotheses = sizes

    def random(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(wide)

    def blank(*shape):
        return torch.full(shape, 7.0, dtype=wide)

    def slice_of(count, columns):  # of wider rows
        return torch.full((count, columns + 6), 7.0, dtype=narrow)[:, 4 : 4 + columns]

    # One whole sentence, one of a single position, the others between.
    mask = torch.arange(positions) < torch.linspace(positions, 1, batch).long()[:, None]
    padding = ~mask.repeat_interleave(hypotheses, dim=0)
    scores = (scale * random(len(padding), positions)).masked_fill(padding, float("-inf"))
    annotations = random(batch, positions, width) * mask[:, :, None]
    gates = random(batch, 4 * hidden).sigmoid()
    gates[:, 2 * hidden : 3 * hidden].mul_(2).sub_(1)
    if operation == "cell":
        return {
            "inputs": (scale * random(batch, 4 * hidden)).to(narrow),
            "product": (scale * random(batch, 4 * hidden)).to(narrow),
            "before": random(batch, hidden),
            "gates": blank(batch, 4 * hidden),
            "after": blank(batch, hidden),
            "hidden": blank(batch, hidden),
            "narrow": slice_of(batch, hidden),
        }
    if operation == "cell_backward":
        return {
            "gates": gates,
            "before": random(batch, hidden),
            "after": scale * random(batch, hidden),
            "d_hidden": random(batch, hidden),
            "d_cell": random(batch, hidden),
            "d_gates": blank(batch, 4 * hidden).to(narrow),
        }
    if operation == "attend":
        return {
            "weights": scores,
            "annotations": annotations,
            "context": blank(batch * hypotheses, width),
            "narrow": slice_of(batch * hypotheses, width),
        }
    if operation == "attend_backward":
        return {
            "d_context": random(batch, width),
            "weights": scores.softmax(dim=1),
            "annotations": annotations,
            "d_scores": blank(batch, positions),
        }
    if operation == "scores":
        return {
            "keys": scale * random(batch, positions, attention),
            "query": scale * random(batch * hypotheses, attention),
            "vector": random(attention),
            "mask": mask,
            "scores": blank(batch * hypotheses, positions),
        }
    if operation == "scores_backward":
        return {
            "keys": scale * random(batch, positions, attention),
            "query": scale * random(batch, attention),
            "vector": random(attention),
            "d_scores": random(batch, positions) * mask,
            "d_query": blank(batch, attention),
            "d_keys": random(batch, positions, attention),
            "d_vector": random(batch, attention),
        }
    return {
        "logits": (scale * 3 * random(rows, words)).to(narrow),
        "bias": random(words),
        "targets": torch.randint(words, (rows,), generator=generator),
        "smoothing": 0.1,
        "scale": 0.37,
        "d_bias": random(words),
    }


def run(operations, operation, given, device="cpu"):
    """All of ``operation``'s arrays, and its results, after a call with copies of ``given``."""
    copies = {n: copied(x, device) if torch.is_tensor(x) else x for n, x in given.items()}
    result = getattr(operations, operation)(**copies)
    after = {n: whole(x).cpu() for n, x in copies.items() if torch.is_tensor(x)}
    if result is not None:
        after |= {name: value.cpu() for name, value in result._asdict().items()}
    return after


def whole(array):
    """The rows that a slice was cut from."""
    return array if array._base is None else array._base


def copied(array, device="cpu", dtype=None):
    """The same numbers in the same layout, slices too."""
    base = whole(array).to(device, dtype or array.dtype, copy=True)
    if array._base is None:
        return base
    return base.as_strided(array.shape, array.stride(), array.storage_offset())


def in_float64(given):
    """The same numbers for plain PyTorch in float64, which rounds nothing."""
    return {
        name: copied(x, dtype=torch.float64) if torch.is_tensor(x) and x.is_floating_point() else x
        for name, x in given.items()
    }


def assert_same(actual, expected, tolerance, narrow=BFLOAT_ROUNDING):
    """Equal to a relative ``tolerance``, or ``narrow`` for bfloat16 arrays.

    Small numbers are measured by the array's spread, since they are sums of larger ones.
    """
    assert actual.keys() == expected.keys()
    for name, array in expected.items():
        relative = narrow if actual[name].dtype == torch.bfloat16 else tolerance
        finite = array[array.isfinite()].double()
        spread = finite.square().mean().sqrt().item() if len(finite) else 0.0
        torch.testing.assert_close(
            actual[name].to(array.dtype),
            array,
            rtol=relative,
            atol=tolerance * spread,
            equal_nan=True,
            msg=lambda text, name=name: f"{name}: {text}",
        )
