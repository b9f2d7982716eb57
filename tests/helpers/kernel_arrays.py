"""Random arrays for each operation, and a run of an operation on copies of them."""

from typing import NamedTuple

import torch


class Sizes(NamedTuple):
    """Sizes by the letters of the operations' shapes: N sentences, W rows of each, L logit rows."""

    N: int
    S: int
    A: int
    H: int
    M: int
    V: int
    L: int
    W: int = 1


ODD = Sizes(N=3, S=5, A=7, H=6, M=10, V=19, L=11)
# Every loop and grid of every operation needs more than one block, and some need several.
LARGE = Sizes(N=2, S=131, A=261, H=130, M=259, V=4100, L=37)

SHAPES = {
    **dict.fromkeys(("inputs", "product", "gates", "d_gates"), "RG"),
    **dict.fromkeys(("before", "after", "hidden", "d_hidden", "d_cell"), "RH"),
    **dict.fromkeys(("weights", "scores", "d_scores"), "RS"),
    **dict.fromkeys(("context", "d_context"), "RM"),
    **dict.fromkeys(("query", "d_query", "d_vector"), "RA"),
    **dict.fromkeys(("keys", "d_keys"), "NSA"),
    **dict.fromkeys(("bias", "d_bias"), "V"),
    **{"annotations": "NSM", "vector": "A", "logits": "LV"},
}
ARGUMENTS = {
    "cell": "inputs product before gates after hidden narrow",
    "cell_backward": "gates before after d_hidden d_cell d_gates",
    "attend": "weights annotations context narrow",
    "attend_backward": "d_context weights annotations d_scores",
    "scores": "keys query vector mask scores",
    "scores_backward": "keys query vector d_scores d_query d_keys d_vector",
    "softmax_loss": "logits bias targets smoothing scale d_bias",
}
WRITTEN = {
    "cell": "gates after hidden narrow",
    "cell_backward": "d_gates",
    "attend": "context narrow",
    "attend_backward": "d_scores",
    "scores": "scores",
    "scores_backward": "d_query",
}
OPERATIONS = tuple(WRITTEN)
"""Operations that Triton has, too."""

SCALED = ("inputs", "product", "after", "weights", "keys", "query", "logits")
"""Arrays that ``arguments`` multiplies by ``scale``: they go through a non-linearity."""

BFLOAT_ROUNDING = 2**-8
"""The relative error of a number rounded to bfloat16."""


def arguments(operation, sizes, narrow, wide=torch.float32, scale=1.0):
    """Arguments by name; arrays to add to are not 0, those to write hold 7: omissions show."""
    generator = torch.Generator().manual_seed(0)
    letters = sizes._asdict() | {"R": sizes.N * sizes.W, "G": 4 * sizes.H}
    # One whole sentence, one of a single position, the others between.
    mask = torch.arange(sizes.S) < torch.linspace(sizes.S, 1, sizes.N).long()[:, None]
    by_row = mask.repeat_interleave(sizes.W, dim=0)
    given = {"mask": mask, "smoothing": 0.1, "scale": 0.37}
    given["targets"] = torch.randint(sizes.V, (sizes.L,), generator=generator)
    for name in ARGUMENTS[operation].split():
        if name == "narrow":  # a slice of wider rows
            width = sizes.H if operation == "cell" else sizes.M
            rows = torch.full((letters["R"], width + 6), 7.0, dtype=narrow)
            given[name] = rows[:, 4 : 4 + width]
        if name not in SHAPES:
            continue
        shape = [letters[letter] for letter in SHAPES[name]]
        array = torch.randn(shape, generator=generator, dtype=torch.float64)
        array = array * (scale if name in SCALED else 1) * (3 if name == "logits" else 1)
        if name in WRITTEN.get(operation, "").split():
            array = torch.full_like(array, 7)
        elif name == "gates":
            array = array.sigmoid()
            array[:, 2 * sizes.H : 3 * sizes.H].mul_(2).sub_(1)
        elif name == "weights":
            array = array.masked_fill(~by_row, float("-inf"))
            array = array.softmax(dim=1) if operation == "attend_backward" else array
        elif name == "annotations":
            array = array * mask[:, :, None]
        elif name == "d_scores":
            array = array * by_row
        is_narrow = name in ("inputs", "product", "d_gates", "logits")
        given[name] = array.to(narrow if is_narrow else wide)
    return {name: given[name] for name in ARGUMENTS[operation].split()}


def run(operations, operation, given, device="cpu"):
    """All of ``operation``'s arrays, and its results, after a call with copies of ``given``."""
    copies = {n: copied(x, device) if torch.is_tensor(x) else x for n, x in given.items()}
    result = getattr(operations, operation)(*copies.values())
    after = {n: whole(x).cpu() for n, x in copies.items() if torch.is_tensor(x)}
    named = zip(("likelihood", "uniform"), () if result is None else result, strict=False)
    return after | {name: number.cpu() for name, number in named}


def whole(array):
    """The array that a slice was cut from, or ``array`` itself if it is no slice."""
    return array if array._base is None else array._base


def copied(array, device="cpu", dtype=None):
    """A copy with the same memory layout, even of a slice."""
    base = whole(array).to(device, dtype or array.dtype, copy=True)
    if array._base is None:
        return base
    return base.as_strided(array.shape, array.stride(), array.storage_offset())


def in_float64(given):
    """The same arguments in float64, whose rounding is too small to matter."""
    arrays = {n: x for n, x in given.items() if torch.is_tensor(x) and x.is_floating_point()}
    return given | {name: copied(array, dtype=torch.float64) for name, array in arrays.items()}


def assert_same(actual, expected, tolerance, narrow=BFLOAT_ROUNDING):
    """Require equality up to a relative ``tolerance``, or ``narrow`` for bfloat16 arrays.

    Small numbers may be sums of larger ones, so their tolerance is relative to the array's spread.
    """
    assert actual.keys() == expected.keys()
    for name, array in expected.items():
        relative = narrow if actual[name].dtype == torch.bfloat16 else tolerance
        finite = array[array.isfinite()].double()
        spread = finite.square().mean().sqrt().item() if len(finite) else 0.0
        found, error = actual[name].to(array.dtype), {"rtol": relative, "atol": tolerance * spread}
        message = f"{name}: {{}}".format
        torch.testing.assert_close(found, array, equal_nan=True, msg=message, **error)
