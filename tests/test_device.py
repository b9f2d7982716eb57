"""Which device and precision are chosen, and what that sets."""

import os

import pytest
import torch

from seq2seq.device import choose_device, choose_precision, deterministic
from seq2seq.errors import UserError

CPU = torch.device("cpu")


@pytest.fixture
def cuda(monkeypatch):
    """A machine with a GPU; PyTorch's settings of products are put back afterwards."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG")
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    products = torch.backends.cuda.matmul
    before = products.allow_bf16_reduced_precision_reduction
    products.allow_bf16_reduced_precision_reduction = True
    yield products
    products.allow_bf16_reduced_precision_reduction = before


def test_auto_is_cuda_where_there_is_one_with_exact_products(cuda, monkeypatch):
    assert choose_device("cpu") == CPU
    assert torch.backends.cudnn.allow_tf32
    assert "CUBLAS_WORKSPACE_CONFIG" not in os.environ
    assert choose_device("auto") == choose_device("cuda") == torch.device("cuda", 1)
    assert not torch.backends.cudnn.allow_tf32
    assert not cuda.allow_bf16_reduced_precision_reduction
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    choose_device("cuda")
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":16:8"


def test_absent_cuda_and_unknown_names_are_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == CPU
    with pytest.raises(UserError, match="device=cuda"):
        choose_device("cuda")
    with pytest.raises(UserError, match="device=cudda"):
        choose_device("cudda")
    with pytest.raises(UserError, match="precision=bf6"):
        choose_precision("bf6", CPU)


def test_what_is_not_repeatable_is_refused_inside_and_only_where_that_is_wanted():
    assert not torch.are_deterministic_algorithms_enabled()
    for wanted in (True, False):
        with deterministic(wanted):
            assert torch.are_deterministic_algorithms_enabled() == wanted
        assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize(
    ("amx", "avx512_bf16", "expected"),
    [
        (True, False, torch.bfloat16),
        (False, True, torch.bfloat16),
        (False, False, torch.float32),
        (None, None, torch.float32),  # a version of PyTorch without these private names
    ],
)
def test_auto_precision_on_cpu_follows_the_instruction_set(monkeypatch, amx, avx512_bf16, expected):
    probes = {"_is_amx_tile_supported": amx, "_is_avx512_bf16_supported": avx512_bf16}
    for name, supported in probes.items():
        if supported is None:
            monkeypatch.delattr(torch.cpu, name, raising=False)
        else:
            monkeypatch.setattr(torch.cpu, name, lambda found=supported: found, raising=False)
    assert choose_precision("auto", CPU) is expected
    assert choose_precision("bf16", CPU) is torch.bfloat16
    assert choose_precision("fp32", CPU) is torch.float32


@pytest.mark.parametrize(
    ("capability", "expected"),
    [((7, 5), torch.float32), ((8, 0), torch.bfloat16), ((9, 0), torch.bfloat16)],
)
def test_auto_precision_on_cuda_follows_the_compute_capability(monkeypatch, capability, expected):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    assert choose_precision("auto", torch.device("cuda", 0)) is expected
