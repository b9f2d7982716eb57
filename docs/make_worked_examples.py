"""``python docs/make_worked_examples.py``: write docs/worked-examples.md and its pictures."""

import html
import textwrap
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from seq2seq.config import EXAMPLES
from seq2seq.drawing import render
from seq2seq.explain.example import Example
from seq2seq.explain.explain import COMPUTE
from seq2seq.explain.pictures import picture
from seq2seq.files import write_whole

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "worked-examples.md"
FIGURES = "figures/worked-examples"
QUICKSTART = "results/quickstart-test-beam5/table.md"
MULTI30K = "results/multi30k-test_2016_flickr-beam5/table.md"
SPEED = "results/benchmark-attention-kinds.md"
TRAINED = "results/explain-quickstart.txt"
HEAD = """\
# Worked examples: attention by hand

Each example goes from a few numbers to a context or a word, one array at a time.
Next to each array are the lines of Python that made it: the page is written by running them.
Two questions at the end, about speed and about short sentences, are answered by measurements.

`python scripts/explain.py` prints the same arrays; `'examples=[additive,decoding]'` chooses some.
The lines need `import numpy as np`, and the lines before them in the same example. Numbers are
rounded on this page, not in the computation. The names are those of the papers: *h* for the
annotations of the source, *s* for the decoder's state, *e* for scores, *alpha* for weights, *c* for
the context. This page is written by `python docs/make_worked_examples.py`.
"""
MODEL = """\
## A trained model, word by word

The same steps in a model that was trained: the quickstart's, of seed 1. [Its
table]({quickstart}) has the command and machine of its training.

```bash
python scripts/explain.py checkpoint=outputs/quickstart/attention/seed-1 text="the man sees the dog"
```

A step's *query* is made of the decoder's state and the word before. Its *scores* and *weights* are
those of the source pieces above them. The *context* is the weighted sum of the annotations. The
*probabilities* are those of the five most probable pieces; the first of them is written. A kind of
attention whose weights are not one softmax has no scores. A model without attention has neither
scores nor weights.

```text
{trained}
```

![Weights of each step: a row for each word written](figures/explain-quickstart.svg)
"""
LOCAL = """\
## Is local attention faster?

Not here. The trainer's `local_m` and `local_p` compute the scores of all positions and then give
those outside of the window no weight. So they do no less work than `general`, whose score they use.
In the same plain loop, on sentences of 30 and of 100 positions, `local_m` trains at {m30} and
{m100} times the speed of `general`, and `local_p` at {p30} and {p100} times. With the default
settings `general` has a faster path and the local kinds have none: `local_m` then has {fast_m30}
and {fast_m100} of the speed of `general`.

A program that computes the window alone could save at most what attention costs. In the plain loop
a model without attention (`fixed`) trains at {fixed30} and {fixed100} times the speed of `general`:
at these lengths no window can gain more. The gain would grow with longer sources, such as whole
paragraphs, for which Luong et al. 2015 proposed the window.

| positions | kind | in the plain loop | with the default settings |
| --------: | :--- | ----------------: | ------------------------: |
{rows}

Speed relative to `general` in the plain loop, median [lowest, highest] over rounds in which the
kinds took turns, on one thread of a CPU: [all numbers, command and hardware](results/{page}). The
window is 10 positions to either side. [BLEU of each kind](attention.md#all-kinds-by-one-budget).
"""
SHORT = """\
## Do sentences of 10 to 20 words need attention?

Yes. On the quickstart's grammar, one fixed vector is close to attention up to 10 words: {none10}
BLEU against {with10}. From 11 to 20 words it has {none20} BLEU against {with20}. On Multi30k, which
is real text, attention gains {gap10} BLEU up to 10 words and {gap20} BLEU from 11 to 20.

| source words | grammar, fixed | grammar, attention | Multi30k, fixed | Multi30k, attention |
| :----------- | -------------: | -----------------: | --------------: | ------------------: |
{rows}

BLEU with 95% intervals: [grammar]({quickstart}), one seed; [Multi30k]({multi30k}), three seeds and
their range. Multi30k has few longer sentences.
"""


def worked_examples_page() -> str:
    """Markdown: each example with its code, arrays and picture; two answers by measurements."""
    examples = [[compute() for compute in COMPUTE[name]] for name in EXAMPLES]
    trained = (DOCS / TRAINED).read_text(encoding="utf-8").strip()
    parts = [_section(*example) for example in examples]
    model = MODEL.format(trained=trained, quickstart=QUICKSTART)
    return "\n".join([HEAD, *parts, model, _local(), _short()])


def _section(small: Example, large: Example | None = None) -> str:
    lines = [f"## {small.heading}", "", f"*{small.name}* after {small.source}", ""]
    lines += [_text(small.story), "", "<table>"]
    for number, step in enumerate(small.steps.values(), 1):
        remark = f"<br>{_text(step.remark)}" if step.remark else ""
        code = _text(step.code).replace("\n", "</code><br>\n<code>")
        table = _text(textwrap.dedent(step.table()))
        lines += [f"<tr><td>{number}. <b>{step.name}</b>{remark}<br>", f"<code>{code}</code></td>"]
        lines += [f"<td><pre>{table}</pre></td></tr>"]
    lines += ["</table>", "", _text(small.lesson), ""]
    lines += [f"![{small.caption}]({FIGURES}/{small.name}.svg)", ""]
    if large:
        arrays = "\n\n".join(
            f"{number}. {step.text()}" for number, step in enumerate(large.steps.values(), 1)
        )
        lines += ["<details><summary>Larger arrays</summary>", ""]
        lines += [
            f"<p>{_text(large.story)}</p>",
            "",
            f"<pre><code>{_text(arrays)}</code></pre>",
            "",
        ]
        lines += [f"<p>{_text(large.lesson)}</p>", "", "</details>", ""]
    return "\n".join(lines)


def _text(text: str) -> str:
    """The text as HTML."""
    return html.escape(text, quote=False)


def _local() -> str:
    rows = {(row["size"], row["attention"], row["path"]): row for row in _rows(SPEED)}

    def speed(size: str, kind: str, path: str) -> str:
        found = rows[size, kind, path]["speed over general, plain"]
        return found if kind != "general" or path != "plain" else "1"

    def factor(size: str, kind: str) -> str:
        return speed(size, kind, "plain").partition(" ")[0]

    def fast_share(size: str) -> str:
        local, every = (
            float(rows[size, kind, "fast"]["target tokens/s"].replace(",", ""))
            for kind in ("local_m", "general")
        )
        return f"{local / every:.0%}"

    kinds = dict.fromkeys(kind for _, kind, _ in rows)
    table = [
        f"| {size[1:]} | `{kind}` | {speed(size, kind, 'plain')} | {speed(size, kind, 'fast')} |"
        for size in ("m30", "m100")
        for kind in kinds
    ]
    return LOCAL.format(
        m30=factor("m30", "local_m"),
        m100=factor("m100", "local_m"),
        p30=factor("m30", "local_p"),
        p100=factor("m100", "local_p"),
        fixed30=factor("m30", "fixed"),
        fixed100=factor("m100", "fixed"),
        fast_m30=fast_share("m30"),
        fast_m100=fast_share("m100"),
        rows="\n".join(table),
        page=Path(SPEED).name,
    )


def _short() -> str:
    grammar, multi30k = (
        {row["source words"].removesuffix(" †"): row for row in _rows(page)}
        for page in (QUICKSTART, MULTI30K)
    )
    cells = [
        [words, *(rows[words][system] for rows in (grammar, multi30k) for system in SYSTEMS)]
        for words in ("1-10", "11-20", "21-30")
    ]
    return SHORT.format(
        none10=_number(cells[0][1]),
        with10=_number(cells[0][2]),
        none20=_number(cells[1][1]),
        with20=_number(cells[1][2]),
        gap10=_number(multi30k["1-10"]["gap attention"]).removeprefix("+"),
        gap20=_number(multi30k["11-20"]["gap attention"]).removeprefix("+"),
        rows="\n".join(f"| {' | '.join(row)} |" for row in cells),
        quickstart=QUICKSTART,
        multi30k=MULTI30K,
    )


SYSTEMS = "no-attention", "attention"


def _number(cell: str) -> str:
    """The value of a cell, without its interval."""
    return cell.partition(" ")[0]


def _rows(page: str) -> Iterator[dict[str, str]]:
    """The rows of the first table of a page of results, as header -> cell."""
    lines = (DOCS / page).read_text(encoding="utf-8").split("\n")
    first = next(place for place, line in enumerate(lines) if line.startswith("|"))
    header, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines[first : lines.index("", first)]
    )
    yield from (dict(zip(header, row, strict=True)) for row in rows)


if __name__ == "__main__":
    for small, *_ in COMPUTE.values():
        example = small()
        content = render(partial(picture, example))["svg"]
        write_whole(DOCS / FIGURES / f"{example.name}.svg", content)
    PAGE.write_text(worked_examples_page(), encoding="utf-8")
