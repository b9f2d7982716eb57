"""Show how a trained model translates a sentence, word by word, in numbers."""

from cli import launch

from seq2seq.config import ExplainConfig


def main(config: ExplainConfig) -> None:
    """Print every decoding step; the last line names the picture of the attention, if any."""
    from seq2seq.report.explain import explain

    print(explain(config))


if __name__ == "__main__":
    launch("explain", main)
