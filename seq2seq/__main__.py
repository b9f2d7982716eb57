"""``python -m seq2seq``: the command ``seq2seq``."""

from seq2seq.command import main

main()
