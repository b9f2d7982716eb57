from seq2seq.report.curves import curves, labels, render_curves
from seq2seq.report.figures import look
from seq2seq.report.training_runs import TrainingRun


def run(system: str, losses: list[float], bleus: list[float | None], **record) -> TrainingRun:
    return TrainingRun(
        settings={},
        record={"status": "finished", "experiment": "toy", "system": system, "seed": 1, **record},
        updates=[500 * number for number in range(1, len(losses) + 1)],
        epochs=[],
        losses=losses,
        bleus=bleus,
        speeds=[],
        waits=[],
    )


BEST = {"progress": {"best_update": 1500}}
ONE = run("attention", [9.0, 3.0, 2.0, 2.5], [1.0, 5.0, 8.0, 9.0], **BEST)
OTHER = run("no-attention", [9.0, 4.0, 3.0, 3.5], [None] * 4, **BEST)


def test_each_validation_is_a_point_and_the_best_checkpoint_is_marked():
    """In both panels the one that is tested, whichever was the best for the other measure."""
    loss, bleu = curves([ONE, OTHER]).axes
    lines = [line for line in loss.lines if len(line.get_xdata()) > 1]
    for line, shown in zip(lines, (ONE, OTHER), strict=True):
        assert list(line.get_xdata()) == [500, 1000, 1500, 2000]
        assert list(line.get_ydata()) == shown.losses
    marks = [line for line in loss.lines if len(line.get_xdata()) == 1]
    assert [(m.get_xdata()[0], m.get_ydata()[0]) for m in marks] == [(1500, 2.0), (1500, 3.0)]
    # Of the second there is no BLEU.
    assert [list(line.get_ydata()) for line in bleu.lines] == [ONE.bleus, [8.0]]


def test_the_first_validations_do_not_flatten_the_rest():
    loss = curves([ONE, OTHER]).axes[0]
    low, high = loss.get_ylim()
    assert 1.5 < low < 2.0
    assert 4.0 < high < 5.0


def test_runs_are_called_by_what_tells_them_apart():
    assert labels([ONE, OTHER]) == ["attention, seed 1", "no-attention, seed 1"]
    elsewhere = run("attention", [1.0], [None], experiment="other", seed=2)
    assert labels([ONE, elsewhere]) == ["toy/attention, seed 1", "other/attention, seed 2"]


def test_a_run_without_a_validation_is_left_out():
    loss, bleu = curves([run("young", [], []), ONE]).axes
    assert len(loss.lines) == len(bleu.lines) == 2
    assert list(loss.lines[0].get_ydata()) == ONE.losses


def test_the_best_is_shown_however_early_it_was():
    early = run("early", [1.0, 5.0, 5.0, 5.0, 5.0], [None] * 5, progress={"best_update": 500})
    axes = curves([early]).axes[0]
    assert axes.get_ylim()[0] < 1.0
    assert [list(line.get_xdata()) for line in axes.lines[1:]] == [[500]]


def test_the_same_runs_make_the_same_picture():
    assert render_curves([ONE, OTHER]) == render_curves([ONE, OTHER])


def test_many_runs_look_different():
    assert len({look(index) for index in range(49)}) == 49
