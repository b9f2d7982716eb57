"""What each script does with its settings. PyTorch is imported only when one does its work."""

from pathlib import Path

from seq2seq.config import (
    CompareConfig,
    EvaluateConfig,
    ReproduceConfig,
    TrainConfig,
    TranslateConfig,
)


def prepare(config: TrainConfig) -> None:
    """Download or generate a corpus, learn its tokenizers and encode it, ready for training."""
    from seq2seq.data.preparation import advise, prepare, summary
    from seq2seq.training.run_folder import codec_folder

    data = prepare(config.corpus, config.tokenization, Path(config.data), codec_folder(config))
    advise(config, data)
    print(summary(data))


def train(config: TrainConfig) -> None:
    """Train one system of an experiment, or resume its training."""
    from seq2seq.training.trainer import train_run

    train_run(config)


def reproduce(config: ReproduceConfig, runs: list[TrainConfig]) -> None:
    """Train, evaluate and compare all systems of an experiment, or resume this work."""
    from seq2seq.experiment import reproduce_runs
    from seq2seq.report.terminal import summary

    print(summary(reproduce_runs(config, runs)))


def translate(config: TranslateConfig) -> None:
    """Translate a text file, standard input or typed sentences with a checkpoint."""
    from seq2seq.decoding.text_stream import translate_text
    from seq2seq.decoding.translator import Translator
    from seq2seq.device import process_group

    checkpoints = [config.checkpoint, *config.more_checkpoints]
    with process_group(config.device) as group:
        translator = Translator(checkpoints, config.device, config.precision)
        with translator.sharing(group) as first:
            if first:
                translate_text(translator, config)


def evaluate(config: EvaluateConfig) -> None:
    """Translate test sets with a checkpoint, or read translations from a file; score by length."""
    from seq2seq.evaluation.evaluate import evaluate
    from seq2seq.report.tables import evaluation_table

    for evaluation in evaluate(config):
        print(evaluation_table(evaluation).markdown())


def compare(config: CompareConfig) -> None:
    """Compare several evaluations of one test set: table, figures, significance."""
    from seq2seq.report.compare import compare
    from seq2seq.report.terminal import summary

    print(summary({config.output: compare(config)}))


STAGES = {one.__name__: one for one in (prepare, train, reproduce, translate, evaluate, compare)}
"""Script -> its function."""
