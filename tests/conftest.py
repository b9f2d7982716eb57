"""Shapes named in signatures are checked at run time in every test."""

import os

# Before torch is imported: tests run side by side, so each keeps to one thread.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from jaxtyping import install_import_hook

install_import_hook("seq2seq", "typecheck.checked")
