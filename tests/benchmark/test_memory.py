"""The peak is that of one path alone: it holds the model, and nothing of this process."""

from dataclasses import replace

import pytest
import torch

from seq2seq.benchmark.memory import STATUS, measure_memory
from seq2seq.benchmark.paths import Workload
from seq2seq.benchmark.sizes import SIZES


@pytest.mark.skipif(not STATUS.is_file(), reason="reads /proc, which this system has not")
def test_the_peak_holds_weights_gradients_and_moments_and_nothing_of_this_process():
    ballast = torch.ones(1_000_000_000, dtype=torch.uint8)  # 1,000 MB
    size = replace(SIZES["tiny"], embedding=256, vocabulary=10_000)
    workload = Workload(size, "additive", seed=1, device=torch.device("cpu"))
    memory = measure_memory("naive", workload)
    assert len(ballast) / 1e6 > memory.peak > memory.beyond_pytorch
    parameters = sum(parameter.numel() for parameter in workload.model("fast").parameters())
    assert 16 * parameters / 1e6 < memory.beyond_pytorch < 3 * 16 * parameters / 1e6
