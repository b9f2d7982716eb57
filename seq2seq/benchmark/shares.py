"""Where the time of an update goes: the same update once more, cut into stages.

Each stage starts from copies of what the one before hands on, cut off from its tape, and the
gradients are handed back from stage to stage in the same way. So each stage's way forward and way
back can be timed apart, and the stages together are a whole update, with the same result.
"""

import time

import torch
from torch import Tensor, nn

from seq2seq.benchmark.measure import synchronize
from seq2seq.benchmark.naive import naive_loss
from seq2seq.benchmark.paths import NaiveTraining, ProjectTraining, Training
from seq2seq.device import mixed_precision
from seq2seq.model.encoder import Encoded
from seq2seq.training.loss import output_loss
from seq2seq.training.optimization import clipped_step

ENCODER = "encoder"
RECURRENCE = "recurrence"
OUTPUT = "output, loss"
LOOP = "recurrence, output, loss"
"""RECURRENCE and OUTPUT of the naive loop, which has the output layer in each of its steps."""
OPTIMIZER = "optimizer"


class Stopwatch:
    """Sums up seconds by stage."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.seconds: dict[str, float] = {}
        synchronize(device)
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        """Put the time since the last call down to ``stage``."""
        synchronize(self.device)
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._last
        self._last = now


def staged_update(training: Training) -> dict[str, float]:
    """Make one update; return the seconds of each stage, forward and backward together."""
    if isinstance(training, NaiveTraining):
        return _naive_update(training)
    with training.kernels():
        return _project_update(training)


def _project_update(training: ProjectTraining) -> dict[str, float]:
    model = training.model
    model.train()
    watch = Stopwatch(training.device)
    batch = training.batch.to(training.device)
    with mixed_precision(training.device, training.precision):
        encoded = model.encode(batch.source, batch.source_lengths)
        watch.lap(ENCODER)
        known = _cut(encoded)
        embedded = model.dropout(model.target_embedding(batch.target_input))
        outputs, _ = model.decoder.unroll(embedded, known)
        watch.lap(RECURRENCE)
        shown = outputs.detach().requires_grad_()
        loss = output_loss(
            batch.at_targets(shown),
            model.output.weight,
            model.output.bias,
            batch.at_targets(batch.target_output),
            training.config.label_smoothing,
            1 / len(batch.target_cells),
        )
    loss.smoothed.backward()
    watch.lap(OUTPUT)
    outputs.backward(shown.grad)
    watch.lap(RECURRENCE)
    _backward_into(encoded, known)
    watch.lap(ENCODER)
    clipped_step(training.optimizer, training.config.clip_norm, loss.negative_log_likelihood)
    training.optimizer.zero_grad(set_to_none=True)
    watch.lap(OPTIMIZER)
    return watch.seconds


def _naive_update(training: NaiveTraining) -> dict[str, float]:
    model = training.model
    watch = Stopwatch(training.device)
    batch = training.batch.to(training.device)
    encoded = model.encode(batch.source, batch.source_lengths)
    watch.lap(ENCODER)
    known = _cut(encoded)
    logits = model.decode(batch.target_input, known)
    loss = naive_loss(logits, batch.target_output, training.config.label_smoothing)
    training.optimizer.zero_grad()
    loss.backward()
    watch.lap(LOOP)
    _backward_into(encoded, known)
    watch.lap(ENCODER)
    nn.utils.clip_grad_norm_(model.parameters(), training.config.clip_norm)
    training.optimizer.step()
    watch.lap(OPTIMIZER)
    return watch.seconds


def _cut(encoded: Encoded) -> Encoded:
    """The same numbers without their tape, ready to take up gradients."""
    return Encoded(
        encoded.memory.detach().requires_grad_(),
        encoded.mask,
        encoded.summary.detach().requires_grad_(),
    )


def _backward_into(encoded: Encoded, known: Encoded) -> None:
    """Hand the gradients that ``known`` has taken up to what it was cut from."""
    pairs: list[tuple[Tensor, Tensor]] = [
        (taped, leaf.grad)
        for taped, leaf in ((encoded.memory, known.memory), (encoded.summary, known.summary))
        if leaf.grad is not None  # without attention no gradient reaches the memory
    ]
    torch.autograd.backward([taped for taped, _ in pairs], [gradient for _, gradient in pairs])
