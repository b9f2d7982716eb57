"""The live page: what is typed is translated by several systems, side by side."""
