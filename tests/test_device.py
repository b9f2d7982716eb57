import os

import pytest
import torch

from seq2seq.device import choose_device, choose_precision, describe_hardware, deterministic
from seq2seq.errors import UserError

CPU = torch.device("cpu")


def pretend_cpu(monkeypatch, amx, avx512_bf16):
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx, raising=False)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512_bf16, raising=False)


@pytest.fixture
def products(monkeypatch):
    """PyTorch's settings of CUDA's products, put back afterwards, as is all that is for cuBLAS."""
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", torch.backends.cudnn.allow_tf32)
    settings = torch.backends.cuda.matmul
    before = settings.allow_bf16_reduced_precision_reduction
    yield settings
    settings.allow_bf16_reduced_precision_reduction = before


@pytest.mark.usefixtures("products")
def test_auto_is_cpu_without_cuda_and_cuda_with_it(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == CPU
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    assert choose_device("auto") == torch.device("cuda", 1)
    assert choose_device("cuda") == torch.device("cuda", 1)
    assert choose_device("cpu") == CPU


def test_on_cuda_numbers_are_what_they_are_called(products, monkeypatch):
    torch.backends.cudnn.allow_tf32 = True
    products.allow_bf16_reduced_precision_reduction = True
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    choose_device("cpu")
    assert torch.backends.cudnn.allow_tf32
    assert products.allow_bf16_reduced_precision_reduction
    choose_device("cuda")
    assert not torch.backends.cudnn.allow_tf32
    assert not products.allow_bf16_reduced_precision_reduction


@pytest.mark.usefixtures("products")
def test_cublas_is_told_before_its_first_product_and_what_is_set_beforehand_stays(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG")
    choose_device("cpu")
    assert "CUBLAS_WORKSPACE_CONFIG" not in os.environ
    choose_device("cuda")
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    choose_device("cuda")
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":16:8"


def test_what_is_not_repeatable_is_refused_inside_and_only_where_that_is_wanted():
    before = torch.are_deterministic_algorithms_enabled()
    assert not before
    with deterministic(True):
        assert torch.are_deterministic_algorithms_enabled()
    assert not torch.are_deterministic_algorithms_enabled()
    with deterministic(False):
        assert not torch.are_deterministic_algorithms_enabled()


def test_absent_cuda_and_unknown_names_are_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="device=cuda"):
        choose_device("cuda")
    with pytest.raises(UserError, match="device=cudda"):
        choose_device("cudda")
    with pytest.raises(UserError, match="precision=bf6"):
        choose_precision("bf6", CPU)


@pytest.mark.parametrize(
    ("amx", "avx512_bf16", "expected"),
    [
        (True, False, torch.bfloat16),
        (False, True, torch.bfloat16),
        (False, False, torch.float32),
    ],
)
def test_auto_precision_on_cpu_follows_the_instruction_set(monkeypatch, amx, avx512_bf16, expected):
    pretend_cpu(monkeypatch, amx, avx512_bf16)
    assert choose_precision("auto", CPU) is expected
    assert choose_precision("bf16", CPU) is torch.bfloat16
    assert choose_precision("fp32", CPU) is torch.float32


def test_auto_precision_without_the_private_probes_is_fp32(monkeypatch):
    for name in ("_is_amx_tile_supported", "_is_avx512_bf16_supported"):
        monkeypatch.delattr(torch.cpu, name, raising=False)
    assert choose_precision("auto", CPU) is torch.float32


@pytest.mark.parametrize(
    ("capability", "expected"),
    [((7, 5), torch.float32), ((8, 0), torch.bfloat16), ((9, 0), torch.bfloat16)],
)
def test_auto_precision_on_cuda_follows_the_compute_capability(monkeypatch, capability, expected):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    assert choose_precision("auto", torch.device("cuda", 0)) is expected


def test_the_record_names_the_machine():
    record = describe_hardware(CPU)
    assert record["device"] == "cpu"
    assert record["processor"]
    assert int(record["cores"]) >= 1
    assert int(record["threads"]) >= 1
    assert record["torch"] == torch.__version__
    assert "gpu" not in record
