"""Put results into a document: tables and figures between its marks, never typed by hand."""

from cli import launch

from seq2seq.config import PublishConfig
from seq2seq.report.publication import publish


def main(config: PublishConfig) -> None:
    """Rewrite the marked parts of the document."""
    publish(config)


if __name__ == "__main__":
    launch("publish", main)
