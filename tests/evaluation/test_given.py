"""Text of other systems: scored as it stands, refused where it does not align, then compared."""

import dataclasses
from pathlib import Path

import pytest
from synthetic_translations import evaluated, translated

from seq2seq.config import CompareConfig, DecodingConfig, EvaluateConfig, EvaluationConfig
from seq2seq.errors import UserError
from seq2seq.evaluation.evaluate import evaluate
from seq2seq.evaluation.folder import read_evaluation
from seq2seq.evaluation.lengths import score_texts
from seq2seq.report.comparison import compare

SETTINGS = EvaluationConfig(bootstrap=100)
TEXTS = translated({4: 6, 15: 5, 35: 4}, lambda length: 0.8)


def settings(folder: Path, **changes: object) -> EvaluateConfig:
    """Write ``TEXTS`` as three files and name them."""
    columns = {"test.en": TEXTS.sources, "test.de": TEXTS.references, "out.de": TEXTS.hypotheses}
    for name, lines in columns.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    config = EvaluateConfig(
        decoding=DecodingConfig(),
        evaluation=SETTINGS,
        hypotheses=str(folder / "out.de"),
        source=str(folder / "test.en"),
        reference=str(folder / "test.de"),
        system="moses",
        output=str(folder / "others"),
    )
    return dataclasses.replace(config, **changes)


def test_the_scores_are_those_of_the_text_and_nothing_is_made_up(tmp_path):
    (evaluation,) = evaluate(settings(tmp_path))
    assert evaluation.directory == tmp_path / "others" / "test.en-moses"
    assert read_evaluation(evaluation.directory).scores == evaluation.scores
    assert evaluation.scores == score_texts(dataclasses.replace(TEXTS, capped=[]), SETTINGS)
    assert evaluation.scores.overall.loss is evaluation.scores.overall.capped is None
    record = evaluation.record
    assert (record["system"], record["test_set"], record["search"]) == ("moses", "test.en", "given")
    assert record["experiment"] is record["seed"] is None


def test_several_systems_share_an_output_folder(tmp_path):
    (one,) = evaluate(settings(tmp_path))
    (other,) = evaluate(settings(tmp_path, system="marian"))
    assert one.directory != other.directory
    assert read_evaluation(one.directory).record["system"] == "moses"


def test_it_is_compared_with_a_system_of_ours_end_to_end(tmp_path):
    ours = evaluated(
        tmp_path / "ours", translated({4: 6, 15: 5, 35: 4}, lambda n: 0.9), "attention"
    )
    (other,) = evaluate(settings(tmp_path))
    report = compare(
        CompareConfig(
            evaluations=[str(ours.directory), str(other.directory)],
            output=str(tmp_path / "comparison"),
            evaluation=SETTINGS,
            baseline="moses",
        )
    )
    assert [system.name for system in report.comparison.systems] == ["moses", "attention"]
    assert report.markdown.startswith("# BLEU by source length: grammar · test · beam5\n")
    assert "configurations differ" not in report.markdown
    assert (tmp_path / "comparison" / "figure.png").exists()


@pytest.mark.parametrize("short", ["out.de", "test.de"])
def test_files_that_differ_in_length_are_named_with_their_counts(tmp_path, short):
    config = settings(tmp_path)
    (tmp_path / short).write_text("one line\n")
    with pytest.raises(UserError) as refused:
        evaluate(config)
    assert str(refused.value) == (
        f"{tmp_path / 'test.en'} has 15 lines, {tmp_path / short} has 1; "
        "give files that are aligned line by line."
    )


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UserError, match=r"There is no file .*nowhere; check the path\."):
        evaluate(settings(tmp_path, hypotheses="nowhere"))
