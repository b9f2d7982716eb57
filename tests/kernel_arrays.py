"""Random arrays for each kernel, and a run of a kernel on copies of them."""

from typing import NamedTuple

import torch


class Sizes(NamedTuple):
    batch: int
    positions: int
    attention: int
    hidden: int
    memory: int
    words: int
    rows: int
    hypotheses: int = 1


ODD = Sizes(batch=3, positions=5, attention=7, hidden=6, memory=10, words=19, rows=11)
# Past one block, and past several, of every loop and grid of every kernel.
LARGE = Sizes(batch=2, positions=131, attention=261, hidden=130, memory=259, words=4100, rows=37)
# In search, several rows of queries share a sentence.
SHARED = ODD._replace(hypotheses=4)
LARGE_SHARED = LARGE._replace(hypotheses=3)

KERNELS = (
    "cell",
    "cell_backward",
    "attend",
    "attend_backward",
    "additive_scores",
    "additive_scores_backward",
    "softmax_loss",
)

EXCLUDING = ("attend", "attend_backward", "additive_scores", "additive_scores_backward")
"""Those that must not look at padding."""


def ragged_mask(sizes):
    """One whole sentence, one of a single position, the others between."""
    lengths = torch.linspace(sizes.positions, 1, sizes.batch).long()
    return torch.arange(sizes.positions) < lengths[:, None]


def arguments(kernel, sizes, narrow, wide=torch.float32, seed=0, scale=1.0):
    """What ``kernel`` is called with; arrays that it adds to do not start at zero.

    Arrays that it only writes hold 7, so that a place left out shows. ``scale`` multiplies what
    goes through a non-linearity.
    """
    generator = torch.Generator().manual_seed(seed)
    batch, positions, attention, hidden, memory, words, rows, hypotheses = sizes

    def random(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(wide)

    def blank(*shape):
        return torch.full(shape, 7.0, dtype=wide)

    def slice_of(count, width):  # of wider rows
        return torch.full((count, width + 6), 7.0, dtype=narrow)[:, 4 : 4 + width]

    mask = ragged_mask(sizes)
    padding = ~mask.repeat_interleave(hypotheses, dim=0)
    scores = (scale * random(len(padding), positions)).masked_fill(padding, float("-inf"))
    real_memory = random(batch, positions, memory) * mask[:, :, None]
    gates = random(batch, 4 * hidden).sigmoid()
    gates[:, 2 * hidden : 3 * hidden].mul_(2).sub_(1)
    if kernel == "cell":
        return {
            "inputs": (scale * random(batch, 4 * hidden)).to(narrow),
            "product": (scale * random(batch, 4 * hidden)).to(narrow),
            "before": random(batch, hidden),
            "gates": blank(batch, 4 * hidden),
            "after": blank(batch, hidden),
            "hidden": blank(batch, hidden),
            "narrow": slice_of(batch, hidden),
        }
    if kernel == "cell_backward":
        return {
            "gates": gates,
            "before": random(batch, hidden),
            "after": scale * random(batch, hidden),
            "d_hidden": random(batch, hidden),
            "d_cell": random(batch, hidden),
            "d_gates": blank(batch, 4 * hidden).to(narrow),
        }
    if kernel == "attend":
        return {
            "weights": scores,
            "memory": real_memory,
            "context": blank(batch * hypotheses, memory),
            "narrow": slice_of(batch * hypotheses, memory),
        }
    if kernel == "attend_backward":
        return {
            "d_context": random(batch, memory),
            "weights": scores.softmax(dim=1),
            "memory": real_memory,
            "d_scores": blank(batch, positions),
        }
    if kernel == "additive_scores":
        return {
            "keys": scale * random(batch, positions, attention),
            "query": scale * random(batch * hypotheses, attention),
            "vector": random(attention),
            "mask": mask,
            "scores": blank(batch * hypotheses, positions),
        }
    if kernel == "additive_scores_backward":
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


def spoil_padding(given, kernel):
    """The same with NaN at the padding of what is attended to; and the name of that array."""
    name, excluded = {
        "attend": lambda: ("memory", given["weights"].isinf()),
        "attend_backward": lambda: ("memory", given["weights"] == 0),
        "additive_scores": lambda: ("keys", ~given["mask"]),
        "additive_scores_backward": lambda: ("keys", given["d_scores"] == 0),
    }[kernel]()
    return given | {name: given[name].masked_fill(excluded[:, :, None], float("nan"))}, name


def run(kernels, kernel, given, device="cpu"):
    """All of ``kernel``'s arrays, and its results, after a call with copies of ``given``."""
    copies = {
        name: copied(value, device) if isinstance(value, torch.Tensor) else value
        for name, value in given.items()
    }
    result = getattr(kernels, kernel)(**copies)
    after = {n: whole(value).cpu() for n, value in copies.items() if torch.is_tensor(value)}
    if result is not None:
        after |= {name: value.cpu() for name, value in result._asdict().items()}
    return after


def whole(array):
    """The rows that a slice was cut from."""
    return array if array._base is None else array._base


BFLOAT_ROUNDING = 2**-8
"""The relative error of a number rounded to bfloat16."""


def in_float64(given):
    """The same numbers for the definition in float64, which rounds nothing."""
    exact = {}
    for name, value in given.items():
        if torch.is_tensor(value) and value.is_floating_point():
            base = whole(value).double()
            value = base.as_strided(value.shape, value.stride(), value.storage_offset())
        exact[name] = value
    return exact


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


def copied(array, device):
    """The same numbers in the same layout, slices too."""
    if array._base is None:
        return array.to(device, copy=True)
    base = array._base.to(device, copy=True)
    return base.as_strided(array.shape, array.stride(), array.storage_offset())
