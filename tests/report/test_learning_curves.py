"""Learning curves with their best checkpoints."""

from seq2seq.record import Progress, TrainingRecord
from seq2seq.report.figures import learning_curves
from seq2seq.report.training_runs import TrainingRun, Validation


def run(system: str, losses: list[float], bleus: list[float | None], best: int) -> TrainingRun:
    record = TrainingRecord(system=system, progress=Progress(update=best, best_update=best))
    found = enumerate(zip(losses, bleus, strict=True), start=1)
    return TrainingRun(record, validations=[Validation(500 * n, *each) for n, each in found])


ONE = run("attention", [9.0, 3.0, 2.0, 2.5], [1.0, 5.0, 8.0, 9.0], 1500)
OTHER = run("no-attention", [9.0, 4.0, 3.0, 3.5], [None] * 4, 1500)


def test_each_validation_is_a_point_and_the_best_checkpoint_is_marked():
    loss, bleu = learning_curves([ONE, OTHER]).axes
    lines = [line for line in loss.lines if len(line.get_xdata()) > 1]
    for line, shown in zip(lines, (ONE, OTHER), strict=True):
        points = [(one.update, one.loss) for one in shown.validations]
        assert [tuple(point) for point in line.get_xydata()] == points
    marks = [line for line in loss.lines if len(line.get_xdata()) == 1]
    assert [(m.get_xdata()[0], m.get_ydata()[0]) for m in marks] == [(1500, 2.0), (1500, 3.0)]
    drawn = [list(line.get_ydata()) for line in bleu.lines]
    assert [values for values in drawn if values] == [[1.0, 5.0, 8.0, 9.0], [8.0]]
    low, high = loss.get_ylim()  # the first validations do not flatten the rest
    assert 1.5 < low < 2.0
    assert 4.0 < high < 5.0


def test_a_run_without_a_validation_and_an_early_best_one():
    early = run("early", [1.0, 5.0, 5.0, 5.0, 5.0], [None] * 5, 500)
    axes = learning_curves([run("young", [], [], 0), early]).axes[0]
    assert axes.get_ylim()[0] < 1.0
    assert [list(line.get_xdata()) for line in axes.lines[1:]] == [[500]]
