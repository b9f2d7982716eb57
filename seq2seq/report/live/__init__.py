"""The live page: several systems translate what the user types, side by side."""
