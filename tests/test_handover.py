"""What a script is told reaches the stages that it calls."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace

import pytest
import reproduce
import translate
from reversal import reversal_experiment, write_reversal_corpus

from seq2seq.config import CompareConfig, DecodingConfig, EvaluateConfig, TranslateConfig
from seq2seq.training.run_folder import RunFolder


@pytest.mark.parametrize("average", [True, False])
def test_translate_loads_the_checkpoints_as_it_is_told(monkeypatch, average):
    calls = []

    def load(checkpoint, device="auto", precision="auto", average=False):
        calls.append((checkpoint, device, precision, average))
        return "translator"

    monkeypatch.setattr("seq2seq.decoding.translator.Translator.load", load)
    stream = "seq2seq.decoding.stream.translate_text"
    monkeypatch.setattr(stream, lambda *given: calls.append(given))
    config = TranslateConfig(
        checkpoint="a",
        more_checkpoints=["b"],
        average=average,
        decoding=DecodingConfig(beam=3),
        input="text",
        device="cpu",
        precision="bf16",
    )
    translate.main(config)
    assert calls == [(["a", "b"], "cpu", "bf16", average), ("translator", config)]


def test_reproduce_evaluates_and_compares_as_it_is_told(tmp_path: Path, monkeypatch):
    write_reversal_corpus(tmp_path / "corpus")
    for language in ("en", "de"):
        (tmp_path / f"news.{language}").write_text("a\n")
    config = dataclasses.replace(
        reversal_experiment(tmp_path, precision="bf16"),
        beams=[2, 3],
        test_texts={"news": str(tmp_path / "news")},
        baselines={"attention": "no-attention"},
    )
    runs = [
        dataclasses.replace(config, system=system, seed=seed)
        for system in config.systems
        for seed in (1, 2)
    ]
    trained, evaluated, compared = [], [], []

    def evaluate(settings):
        evaluated.append(settings)
        record = {"test_set": "news", "search": "beam2"}
        return [SimpleNamespace(record=record, directory=Path(settings.checkpoint) / "news")]

    def compare(settings):
        compared.append(settings)
        return SimpleNamespace(markdown="a table")

    monkeypatch.setattr("seq2seq.data.preparation.prepare", lambda *_: "data")
    monkeypatch.setattr(
        "seq2seq.training.trainer.Trainer",
        lambda run, data: SimpleNamespace(run=lambda: trained.append((run, data))),
    )
    monkeypatch.setattr("seq2seq.evaluation.evaluate.evaluate", evaluate)
    monkeypatch.setattr("seq2seq.report.comparison.compare", compare)
    reproduce.main(runs)

    assert trained == [(run, "data") for run in runs]
    assert evaluated == [
        EvaluateConfig(
            checkpoint=str(RunFolder(run).best),
            decoding=config.decoding,
            evaluation=config.evaluation,
            beams=[2, 3],
            data=config.data,
            directory=config.corpus.directory,
            test_texts=config.test_texts,
            device="cpu",
            precision="bf16",
        )
        for run in runs
    ]
    assert compared == [
        CompareConfig(
            evaluations=[f"{RunFolder(run).best}/news" for run in runs],
            output=f"{config.output}/reversal/comparison/news-beam2",
            evaluation=config.evaluation,
            baseline="no-attention",
            baselines={"attention": "no-attention"},
        )
    ]
