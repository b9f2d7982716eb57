"""Start of all scripts: without the environment, one line says how to make it."""

import sys

try:
    from seq2seq.command import launch as launch
except ModuleNotFoundError as error:
    sys.exit(f"error: no {error.name} here; run make install, then source .venv/bin/activate.")
