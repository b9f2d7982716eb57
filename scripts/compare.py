"""Put evaluations of one test set side by side: table, figure, significance."""

from cli import launch

from seq2seq.config import CompareConfig


def main(config: CompareConfig) -> None:
    """Write the comparison and print its table."""
    from seq2seq.report.comparison import compare

    print(compare(config).markdown)


if __name__ == "__main__":
    launch("compare", main)
