"""The README and the pages of docs/, with the commands that they show."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = ROOT / "docs" / "settings.md"  # by make docs
DOCS = sorted({*(ROOT / "docs").glob("*.md")} - {WRITTEN})
PAGES = {
    page: page.read_text(encoding="utf-8")
    for page in [ROOT / "README.md", *DOCS, ROOT / "data" / "README.md", ROOT / "CONTRIBUTING.md"]
}
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS = [block for text in PAGES.values() for kind, block in BLOCK.findall(text) if kind == "bash"]
# In a table of the README, commands stand alone between backquotes.
INLINE = re.findall(r"\| `((?:python|torchrun) [^`]*)`", PAGES[ROOT / "README.md"])
LINES = [*dict.fromkeys("\n".join([*BLOCKS, *INLINE]).replace("\\\n", "").splitlines())]
COMMANDS = [line for line in LINES if line and not line.startswith("#")]
SCRIPT = re.compile(r"(?:python )?(scripts|benchmarks|docs/exercises|docs|study)/(\w+)\.py([^|>]*)")
