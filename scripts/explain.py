"""Walk through worked examples of attention, array by array, or through a trained model."""

from cli import launch

from seq2seq.config import ExplainConfig


def main(config: ExplainConfig) -> None:
    """Print every step; the pictures lie in the folder that the last line names."""
    from seq2seq.explain.explain import explain

    print(explain(config))


if __name__ == "__main__":
    launch("explain", main)
