"""Download or generate a corpus, learn its tokenizers and encode it, ready for training."""

from pathlib import Path

from cli import launch

from seq2seq.config import TrainConfig


def main(config: TrainConfig) -> None:
    """Prepare the corpus and print a summary; the other scripts reuse the result."""
    from seq2seq.data.preparation import advise, prepare, summary
    from seq2seq.evaluation.scores import ceiling
    from seq2seq.training.run_folder import codec_folder

    data = prepare(config.corpus, config.tokenization, Path(config.data), codec_folder(config))
    advise(config, data)
    print(summary(data))
    scoring = config.evaluation.for_languages(config.corpus.source, config.corpus.target)
    print(ceiling(data, scoring.tokenize))


if __name__ == "__main__":
    launch("prepare", main)
