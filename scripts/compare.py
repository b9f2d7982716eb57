"""Compare several evaluations of one test set: table, figures, significance."""

from cli import launch

from seq2seq.config import CompareConfig


def main(config: CompareConfig) -> None:
    """Write the comparison and print its summary."""
    from seq2seq.report.compare import compare
    from seq2seq.report.terminal import summary

    print(summary({config.output: compare(config)}))


if __name__ == "__main__":
    launch("compare", main)
