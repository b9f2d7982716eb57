"""What an optimizer remembers, as tensors and plain JSON; and back, trusting none of it.

An optimizer takes any state that it is given and works on it in compiled code, so that a tensor of
another shape is read beyond its end. Nothing gets there that it would not have made itself.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

MACHINE_SETTINGS = ("foreach", "fused", "capturable", "differentiable")
"""How an optimizer computes, not what: it belongs to the machine, not to the checkpoint."""

MEMORY: dict[type[torch.optim.Optimizer], frozenset[str]] = {
    torch.optim.Adam: frozenset({"step", "exp_avg", "exp_avg_sq"}),
    torch.optim.Adadelta: frozenset({"step", "square_avg", "acc_delta"}),
    torch.optim.SGD: frozenset({"momentum_buffer"}),
}
"""What each kind keeps of a parameter, once it has moved it."""


def split_state(state: dict[str, Any]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """``optimizer.state_dict()`` as tensors by ``<parameter index>.<name>``, and JSON data."""
    tensors: dict[str, Tensor] = {}
    scalars: dict[str, Any] = {}
    for index, values in state["state"].items():
        for name, value in values.items():
            if isinstance(value, Tensor):
                tensors[f"{index}.{name}"] = value.detach().contiguous()
            else:
                scalars[f"{index}.{name}"] = value
    return tensors, {"groups": state["param_groups"], "scalars": scalars}


def join_state(
    tensors: Mapping[str, Tensor], settings: dict[str, Any], optimizer: torch.optim.Optimizer
) -> dict[str, Any]:
    """Undo :func:`split_state`, for ``optimizer.load_state_dict``.

    Raises:
        ValueError: it is not a state of the live ``optimizer``.
        AttributeError, KeyError, TypeError: it is no such data at all.
    """
    live_groups = optimizer.state_dict()["param_groups"]
    groups = [
        _join_group(saved, live)
        for saved, live in zip(settings["groups"], live_groups, strict=True)
    ]
    return {"state": _join_memory(tensors, settings["scalars"], optimizer), "param_groups": groups}


def _join_group(saved: Any, live: dict[str, Any]) -> dict[str, Any]:
    """The live settings at the saved rate: the rate alone changes in training."""
    if not isinstance(saved, dict):
        raise ValueError("its settings are no settings")
    if unknown := saved.keys() - live.keys() - {"initial_lr"}:
        raise ValueError(f"its setting {min(unknown)} belongs to another kind of optimizer")
    if saved["params"] != live["params"]:
        raise ValueError(f"it has {len(saved['params'])} parameters, not {len(live['params'])}")
    for key in saved.keys() - {"lr", "initial_lr", *MACHINE_SETTINGS}:
        kept = list(live[key]) if isinstance(live[key], tuple) else live[key]
        found = list(saved[key]) if isinstance(saved[key], tuple) else saved[key]
        if found != kept:
            raise ValueError(f"its setting {key} is {found!r}, not {kept!r}")
    rate = saved["lr"]
    if isinstance(rate, bool) or not math.isfinite(rate) or rate < 0:
        raise ValueError(f"its rate is {rate!r}")
    return {**live, "lr": float(rate)}


def _join_memory(
    tensors: Mapping[str, Tensor], scalars: Any, optimizer: torch.optim.Optimizer
) -> dict[int, dict[str, Any]]:
    if not isinstance(scalars, dict):
        raise ValueError("its settings are no settings")
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    (wanted,) = (names for kind, names in MEMORY.items() if isinstance(optimizer, kind))
    memory: dict[int, dict[str, Any]] = {}
    for key, value in {**scalars, **tensors}.items():
        index, _, name = key.partition(".")
        if not (index.isascii() and index.isdigit()) or int(index) >= len(parameters):
            raise ValueError(f"{key} belongs to no parameter")
        if name not in wanted:
            raise ValueError(f"{key} belongs to another kind of optimizer")
        parameter = parameters[int(index)]
        if isinstance(value, Tensor):
            shape = () if name == "step" else tuple(parameter.shape)
            if tuple(value.shape) != shape:
                raise ValueError(f"{key} has shape {tuple(value.shape)}, its parameter {shape}")
            kind = torch.float32 if name == "step" else parameter.dtype
            if value.dtype != kind:
                raise ValueError(f"{key} is {value.dtype}, not {kind}")
        elif value is not None or name != "momentum_buffer":  # None: there is no momentum
            raise ValueError(f"{key} is no tensor")
        memory.setdefault(int(index), {})[name] = value
    for index_, values in memory.items():
        if missing := wanted - values.keys():
            raise ValueError(f"{index_}.{min(missing)} is missing")
    return memory
