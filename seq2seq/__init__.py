"""Train, compare and understand recurrent translation models."""
