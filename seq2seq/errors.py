"""The one kind of error a user is meant to read."""


class UserError(Exception):
    """Something the user gave is wrong: one sentence that says what, where and how to mend it.

    Scripts print the sentence alone and exit with status 1; everything else that is raised is a
    defect of this package and keeps its traceback.
    """
