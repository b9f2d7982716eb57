"""The compiled operations: how they are built, and what happens where they cannot be."""

import logging
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from seq2seq.model.fast import compiled
from seq2seq.model.fast.compiled import CppOperations, choose_operations, compiled_operations
from seq2seq.model.fast.operations import PLAIN

CPU = torch.device("cpu")
built_here = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """On a machine that has built nothing yet: sets its compiler, which first runs some shell."""
    source = tmp_path / "small.cpp"
    source.write_text('extern "C" int answer() { return 42; }\n', encoding="utf-8")
    monkeypatch.setattr(compiled, "SOURCE", source)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    script = tmp_path / "compiler"
    script.touch(mode=0o755)
    monkeypatch.setenv("CXX", f"{script} -DOPTION='a b'")
    return lambda line: script.write_text(f'#!/bin/sh\n{line}\nexec c++ "$@"\n', encoding="utf-8")


@built_here
@pytest.mark.parametrize(
    ("line", "cache", "said"),
    [
        ("exit 1", "cache", "exit status 1"),
        ("echo 'internal error' >&2; exit 1", "cache", "internal error"),
        ("", "small.cpp", "Not a directory"),
    ],
    ids=["silent", "wordy", "no folder"],
)
def test_a_failed_build_is_logged(compiler, line, cache, said, monkeypatch, caplog, tmp_path):
    compiler(line)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / cache))
    with caplog.at_level(logging.INFO):
        assert compiled_operations.__wrapped__("cpu") is None
    (record,) = caplog.records
    assert said in record.message


@pytest.mark.slow
@built_here
def test_built_once_for_each_source_and_two_may_build_at_once(compiler, tmp_path):
    compiler(f'echo "$@" >> {tmp_path}/calls; sleep 0.2')
    with ThreadPoolExecutor(2) as builders:
        built = [builders.submit(CppOperations) for _ in range(2)]
    assert [each.result().library.answer() for each in built] == [42, 42]
    assert CppOperations().library.answer() == 42
    assert (tmp_path / "calls").read_text(encoding="utf-8").count("-shared") == 2
    assert len(list((tmp_path / "cache" / "seq2seq").iterdir())) == 1
    compiled.SOURCE.write_text('extern "C" int answer() { return 43; }\n', encoding="utf-8")
    assert CppOperations().library.answer() == 43


@built_here
def test_the_compiled_are_chosen_for_float32_alone(monkeypatch):
    assert choose_operations(CPU, torch.bfloat16) is compiled_operations("cpu")
    assert choose_operations(CPU, torch.float64, torch.float64) is PLAIN
    assert choose_operations(CPU, torch.bfloat16, torch.float64) is PLAIN
    assert choose_operations(CPU, torch.float16) is PLAIN
    monkeypatch.setattr(compiled, "compiled_operations", lambda _: None)  # none can be built
    assert choose_operations(CPU, torch.float32) is PLAIN


def test_plain_operations_where_triton_or_its_gpu_is_missing(monkeypatch, caplog):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (7, 5))
    with caplog.at_level(logging.INFO):
        assert compiled_operations.__wrapped__("cuda") is None
        monkeypatch.setitem(sys.modules, "seq2seq.model.fast.gpu", None)  # as without Triton
        assert compiled_operations.__wrapped__("cuda") is None
    assert len(caplog.records) == 2


COMPILE_ALL = """
import torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction
from helpers.kernel_arrays import ARGUMENTS, ODD, arguments, call
from seq2seq.model.fast.gpu import TritonOperations

class NoDriver:  # what the launcher asks of a driver before it compiles
    get_current_target = staticmethod(lambda: GPUTarget("cuda", 90, 32))
    get_current_device = staticmethod(lambda: 0)
    get_current_stream = staticmethod(lambda device: 0)

driver.set_active(NoDriver())
compiled = []

def compile_only(function, grid):
    def launch(*args, **kwargs):
        compiled.append(function.run(*args, grid=grid, warmup=True, **kwargs))
    return launch

JITFunction.__getitem__ = compile_only
for name in ARGUMENTS:
    call(TritonOperations(), name, arguments(name, ODD, torch.bfloat16))
assert len(compiled) == 8
assert all(kernel.asm["cubin"] for kernel in compiled)
"""


@pytest.mark.slow
def test_the_kernels_compile_for_a_hopper_gpu_without_one(tmp_path):
    """What the interpreter is lenient about: types, shapes, the arguments of each launch."""
    pytest.importorskip("triton", reason="Triton is not installed (it exists for Linux alone)")
    tests = Path(__file__).resolve().parents[2]
    environment = os.environ | {"TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)}
    environment["PYTHONPATH"] = os.pathsep.join([str(tests), str(tests.parent)])
    command = [sys.executable, "-c", COMPILE_ALL]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
