"""Learning curves with their best checkpoints."""

from dataclasses import replace

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


def test_each_system_has_a_panel_of_its_runs_by_length():
    by_length = [{"1-10": 9.0, "11-20": 5.0, "21-30": 4.0, "31+": update} for update in range(4)]
    seeds = []
    for of_seed in (by_length, by_length[::-1]):
        measured = zip(ONE.validations, of_seed, strict=True)
        found = [replace(one, bleu_by_length=by) for one, by in measured]
        seeds.append(replace(ONE, validations=found))
    loss, _, attention, other = learning_curves([*seeds, OTHER]).axes
    assert (attention.get_title("left"), other.get_title("left")) == ("attention", "no-attention")
    drawn = [list(line.get_ydata()) for line in attention.lines]
    shown = [[9.0] * 4, [4.0] * 4]  # of the shortest, the middle and the longest
    assert drawn == [*shown, [0, 1, 2, 3], *shown, [3, 2, 1, 0]]
    one, two, three = (line.get_color() for line in loss.lines if len(line.get_xdata()) > 1)
    assert one == two != three


def test_a_run_without_a_validation_and_an_early_best_one():
    early = run("early", [1.0, 5.0, 5.0, 5.0, 5.0], [None] * 5, 500)
    axes = learning_curves([run("young", [], [], 0), early]).axes[0]
    assert axes.get_ylim()[0] < 1.0
    assert [list(line.get_xdata()) for line in axes.lines[1:]] == [[500]]
