"""The live page for any checkpoint: a small server on this computer."""
