"""``python study/report.py [RESULTS] [OUTPUT]``: write every table and figure of docs/study.md.

Reads the packed evaluations below results/ and writes docs/results/study/. A page whose trainings
are not all packed is left out.
"""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import europarl_pages as europarl
import grammar_pages as grammar
from layout import Files
from packed import RESULTS, read_all
from same_content import MOST_JOINED

from seq2seq.files import write_whole

OUTPUT = RESULTS.parent / "docs" / "results" / "study"
EUROPARL, LESS, SLOTS, LONGER = "figure2/test", "less_text/test", "slots/test", "longer/test"
CRAM, MIDDLE = "quickstart/cram.json", "middle/test"
CASES = [f"joined-{n}" for n in range(1, MOST_JOINED + 1)]
PAIRED = [f"{EUROPARL}-{case}{way}" for case in CASES for way in ("", "-apart")]
PAGES: dict[str, tuple[Callable[..., Files], list[str]]] = {
    "europarl-test": (europarl.translation_page, [EUROPARL]),
    "bits-test": (europarl.bits_page, [EUROPARL]),
    "recall": (europarl.recall_page, [EUROPARL, MIDDLE]),
    "same-content": (partial(europarl.same_content_page, cases=CASES), PAIRED),
    "less-text": (grammar.less_text_page, [LESS, SLOTS, LONGER, EUROPARL]),
    "longer": (grammar.longer_page, [LONGER, SLOTS]),
    "cram": (grammar.crammed_page, [CRAM]),
    "middle": (grammar.middle_page, [MIDDLE]),
    "tests": (grammar.tests_page, [EUROPARL, LESS, LONGER, CRAM]),
}
"""Page -> function that makes it, and the files below results/ that it reads."""


def pages(results: Path) -> dict[str, Files]:
    """Make all pages whose trainings are packed: name -> form -> content."""
    names = {name for _, read in PAGES.values() for name in read}
    stored: dict[str, Any] = {name: read_all(results / name) for name in names}
    if (results / CRAM).exists():
        stored[CRAM] = json.loads((results / CRAM).read_bytes())
    return {
        page: make(*(stored[name] for name in read))
        for page, (make, read) in PAGES.items()
        if all(stored[name] for name in read)
    }


def main(results: str | Path = RESULTS, output: str | Path = OUTPUT) -> None:
    """Write all pages."""
    Path(output).mkdir(parents=True, exist_ok=True)
    for name, files in pages(Path(results)).items():
        for form, content in files.items():
            write_whole(Path(output) / f"{name}.{form}", content)


if __name__ == "__main__":
    main(*sys.argv[1:])
