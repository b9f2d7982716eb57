"""Error classes for wrong input."""


class UserError(Exception):
    """Error in the user's input: one sentence that says what is wrong, where, and how to fix it.

    Scripts print only this sentence and exit with status 1."""

    def __str__(self) -> str:
        """Return the sentence on one line, with control characters as escapes such as ``\\n``."""
        text = super().__str__()
        return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
