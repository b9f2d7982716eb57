"""Shapes named in signatures are checked at run time in every test."""

import os

# Before torch is imported: tests run side by side, so each keeps to one thread.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import hypothesis
from jaxtyping import install_import_hook

install_import_hook("seq2seq", "typecheck.checked")

# Tests are deterministic, and a busy machine is not a defect of what they test.
hypothesis.settings.register_profile("steady", deadline=None, derandomize=True)
hypothesis.settings.load_profile("steady")
