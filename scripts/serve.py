"""Serve a page in which one or more checkpoints translate what you type, side by side."""

from cli import launch

from seq2seq.config import ServeConfig


def main(config: ServeConfig) -> None:
    """Answer requests at the printed address until Ctrl-C."""
    from seq2seq.serve.server import serve

    serve(config)


if __name__ == "__main__":
    launch("serve", main)
