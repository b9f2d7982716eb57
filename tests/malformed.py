"""Strategies for what is broken: bytes, JSON and values; and how it is put into what is whole."""

import json
from typing import Any

from hypothesis import strategies as st

TRICKS = (
    "${oc.env:HOME}",
    "${oc.decode:[1]}",
    "${no.such:1}",
    "${seed}",
    "../../etc/passwd",
    "/dev/null",
    "os.system",
    "!!python/name:os.system",
    "a\x1b[2Jb",
    "a\nb",
    "\x00",
    "\ud800",
    "\u2028",
    "ä" * 300,
    "nan",
    "",
)
"""Texts with a meaning somewhere: to a resolver, a path, a terminal, a parser."""
NUMBERS = (0, -1, 1, 2, 10**9, 2**63, -(2**63) - 1, 10**30, 10**400)
FLOATS = (0.0, -0.0, 0.5, -1.5, 1e-300, 1e300, float("inf"), float("-inf"), float("nan"))

texts = st.one_of(st.sampled_from(TRICKS), st.text(max_size=6))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(NUMBERS),
    st.sampled_from(FLOATS),
    st.integers(-5, 300),
    texts,
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)

json_changes = st.lists(
    st.tuples(
        st.sampled_from(["replace", "replace", "delete", "add", "copy"]),
        st.lists(st.integers(0, 40), min_size=1, max_size=4),
        values,
    ),
    min_size=1,
    max_size=2,
)
"""(what to do, the way down: a member number at each level, what to put there)."""

byte_changes = st.lists(
    st.tuples(
        st.sampled_from(["flip", "set", "insert", "delete", "cut", "repeat"]),
        st.floats(0, 1),
        st.one_of(
            st.binary(min_size=1, max_size=8),
            st.sampled_from([b"\xff", b"\x00" * 8, b"\n", b"\t", b"9" * 20, b"\x80\x81"]),
        ),
    ),
    min_size=1,
    max_size=3,
)
"""(what to do, where from start to end, bytes to do it with)."""


def change_json(data: Any, changes: list) -> bytes:
    """JSON of ``data`` with the changes, as bytes; NaN and infinities as Python writes them."""
    data = json.loads(json.dumps(data))
    for operation, way, value in changes:
        data = _changed(data, operation, way, value)
    return json.dumps(data).encode()


def _changed(node: Any, operation: str, way: list[int], value: Any) -> Any:
    if not isinstance(node, dict | list) or not node or (not way):
        return value
    keys = sorted(node) if isinstance(node, dict) else range(len(node))
    key = keys[way[0] % len(keys)]
    if len(way) > 1 and isinstance(node[key], dict | list) and node[key]:
        node[key] = _changed(node[key], operation, way[1:], value)
    elif operation == "delete":
        del node[key]
    elif operation == "replace" or isinstance(node, list):
        node[key] = value
    elif operation == "copy":
        node[f"{key}2"] = node[key]
    else:
        node[value if isinstance(value, str) else "added"] = value
    return node


def change_bytes(data: bytes, changes: list) -> bytes:
    """``data`` with the changes."""
    changed = bytearray(data)
    for operation, where, filling in changes:
        at = min(int(where * len(changed)), max(len(changed) - 1, 0))
        if operation == "insert":
            changed[at:at] = filling
        elif operation == "cut":
            del changed[at:]
        elif operation == "delete":
            del changed[at : at + len(filling)]
        elif operation == "repeat":
            changed[at:at] = changed[at : at + 40] * 3
        elif operation == "set":
            changed[at : at + len(filling)] = filling
        elif changed:
            changed[at] ^= 1 << (filling[0] % 8)
    return bytes(changed)
