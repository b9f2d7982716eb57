"""What only the C++ operations have, and what happens where they cannot be built."""

import logging
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from helpers.kernel_arrays import ODD, arguments

from seq2seq.model.fast import cpp
from seq2seq.model.fast.choose import compiled_operations
from seq2seq.model.fast.cpp import CppOperations
from seq2seq.model.fast.operations import Operations

pytestmark = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")


@pytest.fixture(scope="module")
def native():
    return CppOperations()


@pytest.fixture(params=[torch.float32, torch.bfloat16], ids=["f32", "bf16"])
def logits(request):
    """Rows of many equal numbers, far from 0, with -inf, one other number, and ever larger."""
    torch.manual_seed(4)
    logits = (8 * torch.randn(6, 1_003)).round() / 4
    logits[1] += 20_000
    logits[2] -= 20_000
    logits[3, ::2] = -torch.inf
    logits[4] = -torch.inf
    logits[4, 500] = 3
    logits[5, :400] = torch.linspace(10, 30, 400)
    return logits.to(request.param)


@pytest.mark.parametrize("count", [1, 8, 64, 1_003])
def test_the_likeliest_are_those_of_a_sort_in_exact_arithmetic(native, logits, count):
    exact = logits.double() - logits.double().logsumexp(dim=1, keepdim=True)
    exact[:, [0, 7]] = -torch.inf
    ranked = exact.sort(dim=1, descending=True, stable=True)
    expected = ranked.values[:, :count]
    largest = logits.where(logits.isfinite(), 0).abs().amax(dim=1, keepdim=True)
    slack = 1e-5 + 2**-22 * largest.double()  # a difference of large numbers is less exact
    for operations in (native, Operations()):
        given = logits.new_full((6, 1_010), 1e9)[:, :1_003].copy_(logits)  # rows lie apart
        gained, pieces = operations.likeliest(given, torch.tensor([0, 7]), count)
        assert gained.dtype == torch.float32
        assert ((gained == expected) | ((gained - expected).abs() <= slack)).all()
        assert torch.equal(exact.gather(1, pieces), expected)
        if operations is native:  # of equals, the first comes first
            assert torch.equal(pieces, ranked.indices[:, :count])


def test_after_nan_all_pieces_are_of_the_vocabulary(native):
    logits = torch.full((2, 200), torch.nan)
    logits[0, [3, 150]] = torch.tensor([-5.0, 2.0])
    gained, pieces = native.likeliest(logits, torch.tensor([0]), 4)
    assert gained.isnan().all()
    assert pieces[0, :2].tolist() == [150, 3]
    assert ((pieces >= 0) & (pieces < 200)).all()


def test_a_target_outside_of_the_vocabulary_is_refused(native):
    given = arguments("softmax_loss", ODD, torch.float32)
    given["targets"][3] = ODD.V
    with pytest.raises(IndexError):
        native.softmax_loss(*given.values())


def test_without_a_gradient_for_the_bias_logits_stay(native):
    given = arguments("softmax_loss", ODD, torch.float32) | {"d_bias": None}
    before = given["logits"].clone()
    sums = native.softmax_loss(*given.values())
    assert torch.equal(given["logits"], before)
    torch.testing.assert_close(sums, Operations().softmax_loss(*given.values()))


def test_bfloat16_is_rounded_as_by_pytorch(native):
    """Ties to even, NaN of any payload to NaN: the context is the one position's annotation."""
    words = torch.randint(-(2**31), 2**31, (4096,), generator=torch.Generator().manual_seed(0))
    words[:2048] = words[:2048] // 2**15 * 2**15  # halfway between neighbours, half of them
    words[:2] = torch.tensor([2**31 - 1, -1])
    context, narrow = torch.empty(1, 4096), torch.empty(1, 4096, dtype=torch.bfloat16)
    annotations = words.to(torch.int32).view(torch.float32)[None, None]
    native.attend(torch.zeros(1, 1), annotations, context, narrow)
    torch.testing.assert_close(context, annotations[0], rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(narrow, context.bfloat16(), rtol=0, atol=0, equal_nan=True)


# -- building, of a library that is quickly built ---------------------------------------------


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine that has built nothing yet: sets its compiler, which runs a line of shell first."""
    source = tmp_path / "small.cpp"
    source.write_text('extern "C" int answer() { return 42; }\n', encoding="utf-8")
    monkeypatch.setattr(cpp, "SOURCE", source)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def set_compiler(line: str) -> None:
        script = tmp_path / "compiler"
        script.write_text(f'#!/bin/sh\n{line}\nexec c++ "$@"\n', encoding="utf-8")
        script.chmod(0o755)
        monkeypatch.setenv("CXX", f"{script} -DOPTION='a b'")

    return set_compiler


@pytest.mark.parametrize(
    ("compiler", "cache", "said"),
    [
        ("exit 1", "cache", "exit status 1"),
        ("echo 'internal error' >&2; exit 1", "cache", "internal error"),
        ("", "small.cpp", "Not a directory"),
    ],
    ids=["silent", "wordy", "no folder"],
)
def test_a_failed_build_is_logged(machine, compiler, cache, said, monkeypatch, caplog, tmp_path):
    machine(compiler)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / cache))
    with caplog.at_level(logging.INFO):
        assert compiled_operations.__wrapped__("cpu") is None
    (record,) = caplog.records
    assert said in record.message


def test_built_once_for_each_source(machine, tmp_path):
    machine(f'echo "$@" >> {tmp_path}/calls')
    assert CppOperations().library.answer() == 42
    assert CppOperations().library.answer() == 42
    calls = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert sum("-dM" not in call for call in calls) == 2  # compiled and linked
    cpp.SOURCE.write_text('extern "C" int answer() { return 43; }\n', encoding="utf-8")
    assert CppOperations().library.answer() == 43


def test_two_may_build_at_once(machine, tmp_path):
    machine(f'echo "$@" >> {tmp_path}/calls; sleep 0.2')
    with ThreadPoolExecutor(2) as builders:
        built = [builders.submit(CppOperations) for _ in range(2)]
    assert [each.result().library.answer() for each in built] == [42, 42]
    assert (tmp_path / "calls").read_text(encoding="utf-8").count("-shared") == 2
    assert len(list((tmp_path / "cache" / "seq2seq").iterdir())) == 1
