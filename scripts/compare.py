"""Put evaluations of one test set side by side: table, figure, significance."""

from launch import launch

from seq2seq.config import CompareConfig
from seq2seq.report.comparison import compare


def main(config: CompareConfig) -> None:
    """Write the comparison and print its table."""
    print(compare(config).markdown)


if __name__ == "__main__":
    launch("compare", main)
