"""Random arrays for each operation, and a run of an operation on copies of them."""

import torch
from torch.nn import functional

# By the letters of the shapes: N sentences, W rows of each, L rows of logits.
ODD = {"N": 3, "S": 5, "A": 7, "H": 6, "M": 10, "V": 19, "L": 11, "W": 1}
# Every loop and grid of every operation needs more than one block, and some need several.
LARGE = {"N": 2, "S": 131, "A": 261, "H": 130, "M": 259, "V": 4100, "L": 37, "W": 1}
ARGUMENTS = {  # ">" is before those that are written
    "cell": "inputs:RG product:RG before:RH >gates:RG >after:RH >hidden:RH >narrow:RH",
    "cell_backward": "gates:RG before:RH after:RH d_hidden:RH d_cell:RH >d_gates:RG",
    "attend": "weights:RS annotations:NSM >context:RM >narrow:RM",
    "attend_backward": "d_context:RM weights:RS annotations:NSM >d_scores:RS",
    "scores": "keys:NSA query:RA vector:A mask:NS >scores:RS",
    "scores_backward": "keys:NSA query:RA vector:A d_scores:RS >d_query:RA d_keys:NSA d_vector:RA",
    "softmax_loss": "logits:LV bias:V targets:L smoothing: scale: d_bias:V",
}
SCALED = ("inputs", "product", "after", "weights", "keys", "query", "logits")
"""Arrays that ``arguments`` multiplies by ``scale``: they go through a non-linearity."""
NARROW = ("inputs", "product", "narrow", "d_gates", "logits")
BFLOAT_ROUNDING = 2**-8
"""The relative error of a number rounded to bfloat16."""


def arguments(operation, sizes, narrow, wide=torch.float32, scale=1.0):
    """Arguments by name; arrays to add to are not 0, those to write hold 7: omissions show."""
    generator = torch.Generator().manual_seed(0)
    sizes = sizes | {"R": sizes["N"] * sizes["W"], "G": 4 * sizes["H"]}
    # One whole sentence, one of a single position, the others between.
    lengths = torch.linspace(sizes["S"], 1, sizes["N"]).long()[:, None]
    mask = torch.arange(sizes["S"]) < lengths
    given = {"mask": mask, "smoothing": 0.1, "scale": 0.37}
    given["targets"] = torch.randint(sizes["V"], (sizes["L"],), generator=generator)
    names = []
    for argument in ARGUMENTS[operation].split():
        name, letters = argument.removeprefix(">").split(":")
        names.append(name)
        if name in given:
            continue
        shape = [sizes[letter] for letter in letters]
        array = torch.randn(shape, generator=generator, dtype=torch.float64)
        array *= (scale if name in SCALED else 1) * (3 if name == "logits" else 1)
        if argument.startswith(">"):
            array.fill_(7)
        elif name == "gates":
            array = array.sigmoid()
            array.chunk(4, dim=1)[2].mul_(2).sub_(1)
        elif name == "weights":
            array[~mask.repeat_interleave(sizes["W"], dim=0)] = -torch.inf
            array = array.softmax(dim=1) if operation == "attend_backward" else array
        elif name in ("annotations", "d_scores"):
            array[~mask] = 0
        if name == "narrow":  # a slice of wider rows
            array = functional.pad(array, (4, 2), value=7.0)
        given[name] = array.to(narrow if name in NARROW else wide)
    return {name: given[name] for name in names}


def copied(given, device="cpu"):
    return {n: x.to(device, copy=True) if torch.is_tensor(x) else x for n, x in given.items()}


def call(operations, operation, arrays):
    slices = {name: array[:, 4:-2] for name, array in arrays.items() if name == "narrow"}
    return getattr(operations, operation)(*(arrays | slices).values())


def run(operations, operation, given):
    """All of ``operation``'s arrays, and its results, after a call with copies of ``given``."""
    on_gpu = operations.name == "triton" and torch.cuda.is_available()
    arrays = copied(given, "cuda" if on_gpu else "cpu")
    result = call(operations, operation, arrays)
    arrays["result"] = torch.zeros(0) if result is None else result
    return {name: array.cpu() for name, array in arrays.items() if torch.is_tensor(array)}


def in_float64(given):
    """The same arguments in float64, whose rounding is too small to matter."""
    arrays = {n: x for n, x in given.items() if torch.is_tensor(x) and x.is_floating_point()}
    return given | {name: array.double() for name, array in arrays.items()}


def assert_same(actual, expected, tolerance, narrow=BFLOAT_ROUNDING):
    """Require equality up to a relative ``tolerance``, or ``narrow`` for bfloat16 arrays.

    Small numbers may be sums of larger ones, so their tolerance is relative to the array's spread.
    """
    for name, array in expected.items():
        relative = narrow if actual[name].dtype == torch.bfloat16 else tolerance
        finite = array[array.isfinite()].double()
        spread = finite.square().mean().sqrt().item() if len(finite) else 0.0
        found, error = actual[name].to(array.dtype), {"rtol": relative, "atol": tolerance * spread}
        message = f"{name}: {{}}".format
        torch.testing.assert_close(found, array, equal_nan=True, msg=message, **error)
