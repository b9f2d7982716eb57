"""All paths make the same update; only the way differs."""

import pytest
import torch

from seq2seq.benchmark.paths import PATHS, ProjectTraining, Workload
from seq2seq.benchmark.sizes import SIZES
from seq2seq.model.fast.operations import choose_operations

CPU = torch.device("cpu")
FLOAT32 = ("hoisted", "fast-fp32")


def workload(kind: str) -> Workload:
    return Workload(SIZES["tiny"], kind, seed=5, device=CPU)


def weights_after(path: str, kind: str, updates: int) -> dict[str, torch.Tensor]:
    training = PATHS[path].start(workload(kind))
    assert isinstance(training, ProjectTraining)
    torch.manual_seed(6)  # of dropout
    for _ in range(updates):
        training.update()
    return training.model.state_dict()


@pytest.mark.parametrize("kind", ["additive", "fixed"])
def test_paths_in_float32_arrive_at_the_same_weights(kind):
    expected = weights_after("hoisted", kind, 3)
    start = weights_after("hoisted", kind, 0)
    assert not any(expected[name].equal(start[name]) for name in start)
    torch.testing.assert_close(weights_after("fast-fp32", kind, 3), expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("path", [name for name in PATHS if name not in (*FLOAT32, "naive")])
def test_other_paths_arrive_close_by(path):
    start, expected = (weights_after("hoisted", "additive", updates) for updates in (0, 3))
    found = weights_after(path, "additive", 3)
    moved = sum((expected[name] - start[name]).square().sum() for name in start)
    apart = sum((expected[name] - found[name]).square().sum() for name in start)
    assert apart < 0.1 * moved


def test_the_naive_path_starts_from_the_same_weights_and_learns():
    naive = PATHS["naive"].start(workload("additive"))
    start = workload("additive").model("fast")
    assert naive.model.output.weight.equal(start.output.weight)
    for _ in range(3):
        naive.update()
    assert not naive.model.output.weight.equal(start.output.weight)


def test_paths_differ_in_what_their_names_say():
    started = {name: PATHS[name].start(workload("additive")) for name in PATHS}
    assert started["naive"].kernel_name == started["fast-torch"].kernel_name == "torch"
    assert started["fast"].kernel_name == choose_operations(CPU, torch.float32, torch.float32).name
    assert {n for n, p in started.items() if p.precision == torch.float32} >= {"naive", *FLOAT32}
    assert started["hoisted-bf16"].precision == torch.bfloat16
    taped = {n for n, p in started.items() if n != "naive" and not p.model.decoder.fast}
    assert taped == {"hoisted", "hoisted-bf16"}
