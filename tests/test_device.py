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


def test_auto_is_cuda_where_there_is_one_with_exact_sums(cuda, monkeypatch):
    assert choose_device("cpu") == CPU
    assert "CUBLAS_WORKSPACE_CONFIG" not in os.environ
    assert choose_device("auto") == choose_device("cuda") == torch.device("cuda", 1)
    assert not cuda.allow_bf16_reduced_precision_reduction
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    choose_device("cuda")
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":16:8"


@pytest.mark.parametrize(
    ("name", "capability"), [("auto", (8, 0)), ("auto", (7, 5)), ("bf16", (7, 0)), ("fp32", (9, 0))]
)
def test_an_lstm_rounds_its_products_where_the_others_are_rounded(
    cuda, monkeypatch, name, capability
):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    rounded = choose_precision(name, choose_device("cuda")) == torch.bfloat16
    assert rounded == (name == "bf16" or (name == "auto" and capability == (8, 0)))
    assert torch.backends.cudnn.allow_tf32 == rounded


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


def test_auto_precision_follows_the_instruction_set(monkeypatch):
    names = "_is_amx_tile_supported", "_is_avx512_bf16_supported"
    for probes in ((True, False), (False, True), (False, False)):
        for name, found in zip(names, probes, strict=True):
            monkeypatch.setattr(torch.cpu, name, lambda found=found: found, raising=False)
        expected = torch.bfloat16 if any(probes) else torch.float32
        assert choose_precision("auto", CPU) is expected
        assert choose_precision("bf16", CPU) is torch.bfloat16
        assert choose_precision("fp32", CPU) is torch.float32
    for name in names:  # a version of PyTorch without these private names
        monkeypatch.delattr(torch.cpu, name)
    assert choose_precision("auto", CPU) is torch.float32


@pytest.mark.filterwarnings("ignore:.*fork")
@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="no fork here")
def test_a_forked_process_does_not_wait_for_threads_that_it_lacks():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        if (child := os.fork()) == 0:
            os._exit(torch.get_num_threads())
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
