"""The one kind of error that is meant for users."""

import unicodedata


class UserError(Exception):
    """Something the user gave is wrong: one sentence that says what, where and how to correct it.

    Scripts print the sentence alone and exit with status 1; everything else that is raised is a
    defect of this package and keeps its traceback.
    """

    def __str__(self) -> str:
        """The sentence on one line: quoted line breaks and terminal commands are spelt out."""
        text, unseen = super().__str__(), ("Cc", "Cf", "Cs", "Zl", "Zp")
        return "".join(ascii(c)[1:-1] if unicodedata.category(c) in unseen else c for c in text)
