"""Download or generate a corpus, learn its tokenizers and encode it, ready for training."""

from pathlib import Path

from cli import launch

from seq2seq.config import TrainConfig


def main(config: TrainConfig) -> None:
    """Prepare the corpus and print a summary; the other scripts reuse the result."""
    from seq2seq.data.preparation import advise, prepare, summary
    from seq2seq.data.text import read_lines
    from seq2seq.evaluation.scores import bleu, bleu_counts
    from seq2seq.training.checkpoint_manager import codec_folder

    data = prepare(config.corpus, config.tokenization, Path(config.data), codec_folder(config))
    advise(config, data)
    print(summary(data))
    scoring = config.evaluation.for_languages(config.corpus.source, config.corpus.target)
    meant = list(read_lines(data.corpus.valid.target))
    joined = [data.target.decode(data.target.encode(line)) for line in meant]
    score = bleu(bleu_counts(joined, meant, tokenize=scoring.tokenize).sum(axis=0))
    print(f"valid: the references, cut into these pieces and joined again, have {score:.2f} BLEU")


if __name__ == "__main__":
    launch("prepare", main)
