"""Reports of comparisons: tables, figures and pages."""

import seq2seq.drawing  # noqa: F401 - it imports matplotlib first, whatever a notebook has set
