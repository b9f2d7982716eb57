"""The C++ kernels against the definition, and what happens where they cannot be built."""

import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from kernel_arrays import (
    EXCLUDING,
    KERNELS,
    LARGE,
    LARGE_SHARED,
    ODD,
    SHARED,
    arguments,
    assert_same,
    in_float64,
    run,
    spoil_padding,
)

from seq2seq.model.kernels import TorchKernels, choose_kernels, torch_only
from seq2seq.model.kernels import native as module

needs_compiler = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")


@pytest.fixture(scope="module")
def native():
    kernels = module.load_native()
    if kernels is None:
        pytest.skip("the native kernels cannot be built here")
    return kernels


@pytest.fixture(params=[1, 3], ids=["one-thread", "three-threads"])
def threads(request):
    usual = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(usual)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("narrow", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("sizes", [ODD, LARGE], ids=["odd", "large"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_equals_the_definition_and_itself(native, kernel, sizes, narrow):
    given = arguments(kernel, sizes, narrow)
    after = run(native, kernel, given)
    assert_same(after, run(TorchKernels(), kernel, in_float64(given)), 1e-5)
    assert_same(after, run(TorchKernels(), kernel, given), 1e-5, narrow=2**-7)
    again = run(native, kernel, given)
    assert all(torch.equal(again[name], array) for name, array in after.items())


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("sizes", [SHARED, LARGE_SHARED], ids=["odd", "large"])
@pytest.mark.parametrize("kernel", ["attend", "additive_scores"])
def test_rows_that_share_a_sentence(native, kernel, sizes):
    given = arguments(kernel, sizes, torch.float32)
    exact = run(TorchKernels(), kernel, in_float64(given))
    assert_same(run(native, kernel, given), exact, 1e-5)


def logits_to_search(kind: torch.dtype) -> torch.Tensor:
    """Rows of many equal numbers, far from 0, with banned words, all banned, and no numbers."""
    torch.manual_seed(4)
    logits = (8 * torch.randn(7, 1_003)).round() / 4
    logits[1] += 20_000
    logits[2] -= 20_000
    logits[3, ::2] = -torch.inf
    logits[4] = -torch.inf
    logits[5, :400] = torch.linspace(10, 30, 400)  # ever larger: all are inserted
    return logits.to(kind)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
def test_log_sums_are_those_of_exact_arithmetic(native, kind):
    logits = logits_to_search(kind)
    exact = logits.double().logsumexp(dim=1)
    for kernels in (native, TorchKernels()):
        sums = kernels.log_sums(logits)
        assert sums.dtype == torch.float32
        torch.testing.assert_close(sums.double(), exact, rtol=1e-6, atol=1e-5)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("count", [1, 5, 64, 1_003])
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
def test_the_largest_of_a_row_fall_and_of_equals_the_first_comes_first(native, kind, count):
    logits = logits_to_search(kind)
    values, places = native.largest(logits, count)
    assert values.dtype == torch.float32
    for row, found, where in zip(logits.tolist(), values.tolist(), places.tolist(), strict=True):
        expected = sorted(range(len(row)), key=lambda place: (-row[place], place))[:count]
        assert where == expected
        assert found == [row[place] for place in expected]
    torch.testing.assert_close(TorchKernels().largest(logits, count).values, values)


def test_what_is_no_number_is_never_among_the_largest(native):
    logits = torch.full((1, 200), torch.nan)
    logits[0, [3, 150]] = torch.tensor([-5.0, 2.0])
    values, places = native.largest(logits, 3)
    assert values[0].tolist() == [2.0, -5.0, -torch.inf]
    assert places[0, :2].tolist() == [150, 3]


def test_refuses_to_find_more_than_there_are(native):
    with pytest.raises(ValueError, match="there are no 4 largest of 3"):
        native.largest(torch.zeros(2, 3), 4)


def test_refuses_rows_that_no_sentence_is_left_for(native):
    given = arguments("attend", ODD, torch.float32)
    with pytest.raises(ValueError, match="3 rows cannot be shared out evenly among 2"):
        native.attend(**given | {"memory": given["memory"][:2]})


@pytest.mark.parametrize("kernel", KERNELS)
def test_large_numbers_neither_overflow_nor_turn_into_nan(native, kernel):
    """Gates of +-200, scores and logits of +-10,000."""
    scale = 200.0 if "cell" in kernel or "additive" in kernel else 3000.0
    given = arguments(kernel, ODD, torch.float32, scale=scale)
    after = run(native, kernel, given)
    assert_same(after, run(TorchKernels(), kernel, in_float64(given)), 1e-5)
    assert not any(array.isnan().any() for array in after.values())


@pytest.mark.parametrize("value", [float("nan"), float("inf")], ids=["nan", "inf"])
def test_what_is_no_number_is_not_covered_up(native, value):
    """So that training notices that it has exploded."""
    given = arguments("attend", ODD, torch.float32)
    given["weights"][0, 0] = value
    after = run(native, "attend", given)
    assert after["context"][0].isnan().all()
    assert after["context"][1:].isfinite().all()
    given = arguments("softmax_loss", ODD, torch.bfloat16)
    given["logits"][4, 2] = value
    after = run(native, "softmax_loss", given)
    assert after["likelihood"].isnan()
    assert after["logits"][4].isnan().all()


@pytest.mark.parametrize("narrow", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
def test_a_cell_that_is_no_number_stays_none(native, narrow):
    for kernel, name in (("cell", "inputs"), ("cell_backward", "d_cell")):
        given = arguments(kernel, ODD, narrow)
        given[name][1, 2] = float("nan")
        exact = run(TorchKernels(), kernel, given)
        assert_same(run(native, kernel, given), exact, 1e-5, narrow=2**-7)


@pytest.mark.parametrize("kernel", EXCLUDING)
def test_padding_changes_nothing(native, kernel):
    given = arguments(kernel, LARGE, torch.float32)
    clean = run(native, kernel, given)
    spoilt, name = spoil_padding(given, kernel)
    assert_same(run(native, kernel, spoilt) | {name: clean[name]}, clean, 0.0)


def test_rounds_to_bfloat16_as_pytorch_does(native):
    """Ties to even, NaN of any payload to NaN: the context is the one position's memory."""
    words = torch.randint(-(2**31), 2**31, (4096,), generator=torch.Generator().manual_seed(0))
    words[:2048] = words[:2048] // 2**15 * 2**15  # halfway between neighbours, half of them
    words[:2] = torch.tensor([2**31 - 1, -1])
    context, narrow = torch.empty(1, 4096), torch.empty(1, 4096, dtype=torch.bfloat16)
    memory = words.to(torch.int32).view(torch.float32)[None, None]
    native.attend(torch.zeros(1, 1), memory, context, narrow)
    torch.testing.assert_close(context, memory[0], rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(narrow, context.bfloat16(), rtol=0, atol=0, equal_nan=True)


def test_refuses_what_it_would_misread(native):
    given = arguments("attend", ODD, torch.float32)
    given["memory"] = given["memory"].transpose(0, 1).contiguous().transpose(0, 1)
    with pytest.raises(ValueError, match="not contiguous"):
        native.attend(**given)
    given = arguments("softmax_loss", ODD, torch.float32)
    given["targets"][3] = ODD.words
    with pytest.raises(IndexError, match="outside the vocabulary of 19"):
        native.softmax_loss(**given)
    for name, kind in (("memory", torch.bfloat16), ("weights", torch.float64)):
        given = arguments("attend", ODD, torch.float32)
        given[name] = given[name].to(kind)
        with pytest.raises(TypeError, match=r"a kernel wants torch\.float32"):
            native.attend(**given)
    given = arguments("softmax_loss", ODD, torch.float32)
    given["targets"] = given["targets"].int()
    with pytest.raises(TypeError, match=r"a kernel wants torch.int64 .* not torch.int32"):
        native.softmax_loss(**given)


def test_chosen_for_float32_on_a_processor(native):
    device = torch.device("cpu")
    assert choose_kernels(device, torch.float32, torch.bfloat16) is native
    assert choose_kernels(device, torch.float64, torch.float64).name == "torch"
    with torch_only():
        assert choose_kernels(device, torch.float32, torch.float32).name == "torch"


# -- building, of a library that is quickly built ---------------------------------------------


@pytest.fixture
def load(tmp_path, monkeypatch):
    """What ``load_native`` does on a machine that has built nothing yet."""
    source = tmp_path / "small.cpp"
    source.write_text('extern "C" int answer() { return 42; }\n', encoding="utf-8")
    monkeypatch.setattr(module, "SOURCE", source)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CXX", raising=False)
    return module.load_native.__wrapped__


def compiler_of(folder: Path, text: str) -> Path:
    """A compiler that runs ``text`` before it compiles."""
    script = folder / "compiler"
    script.write_text(f'#!/bin/sh\n{text}\nexec c++ "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return script


def test_no_compiler_is_a_line_in_the_log(load, monkeypatch, caplog, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with caplog.at_level(logging.INFO):
        assert load() is None
    (record,) = caplog.records
    assert record.levelname == "INFO"


@needs_compiler
@pytest.mark.parametrize(
    "text",
    ["exit 1", "echo 'internal error' >&2; exit 1", 'case "$*" in *-shared*) exit 1;; esac'],
    ids=["silent", "wordy", "linker"],
)
def test_a_broken_compiler_is_a_warning(load, monkeypatch, caplog, tmp_path, text):
    monkeypatch.setenv("CXX", str(compiler_of(tmp_path, text)))
    assert load() is None
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert ("internal error" if "internal" in text else "exit status 1") in record.message


@needs_compiler
def test_a_cache_that_cannot_be_written_is_a_warning(load, monkeypatch, caplog, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert load() is None
    assert "Not a directory" in caplog.text


@needs_compiler
def test_a_user_without_a_home_is_a_warning(load, monkeypatch, caplog):
    def fail():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", fail)
    assert load() is None
    assert "home" in caplog.text


@needs_compiler
def test_a_compiler_that_does_not_know_the_machine_builds_all_the_same(load, monkeypatch, tmp_path):
    text = 'case "$*" in *-march=native*) exit 1;; esac'
    monkeypatch.setenv("CXX", str(compiler_of(tmp_path, text)))
    assert load().library.answer() == 42


@needs_compiler
def test_a_compiler_may_come_with_options(load, monkeypatch):
    monkeypatch.setenv("CXX", "c++ -DOPTION='a b'")
    assert load().library.answer() == 42


@needs_compiler
def test_built_once(load, monkeypatch, tmp_path):
    monkeypatch.setenv("CXX", str(compiler_of(tmp_path, f'echo "$@" >> {tmp_path}/calls')))
    assert load().library.answer() == 42
    assert load().library.answer() == 42
    calls = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert sum("--version" not in call for call in calls) == 2  # compiled and linked
    module.SOURCE.write_text('extern "C" int answer() { return 43; }\n', encoding="utf-8")
    assert load().library.answer() == 43


BUILD = """
import sys
from pathlib import Path
from seq2seq.model.kernels import native
native.SOURCE = Path(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
print(native.load_native().library.answer())
"""


@pytest.mark.slow
@needs_compiler
@pytest.mark.usefixtures("load")
def test_two_processes_may_build_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", str(compiler_of(tmp_path, "sleep 0.3")))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    command = [sys.executable, "-c", BUILD, str(module.SOURCE)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    builders = [subprocess.Popen(command, **pipes) for _ in range(2)]
    assert [builder.stdout.readline() for builder in builders] == ["ready\n", "ready\n"]
    for builder in builders:
        builder.stdin.write("\n")
        builder.stdin.flush()
    answers = [builder.communicate()[0] for builder in builders]
    assert answers == ["42\n", "42\n"]
    assert len(list((tmp_path / "cache" / "seq2seq").iterdir())) == 1
