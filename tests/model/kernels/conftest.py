"""Without a GPU, Triton's own interpreter runs its programs; it must be asked before the import."""

import os

import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")
