"""A small server on this computer that shows the live page for any checkpoint."""
