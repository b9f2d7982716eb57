"""Page of the paper's own sentences, and of its Table 1 next to the systems of this study."""

from groups import Groups, corpus_bleu
from layout import page, scored

from seq2seq.evaluation.translations import ALL
from seq2seq.report.tables import markdown_table

LINES = 3003
"""Number of sentences of newstest2014, in which the paper's sentences are."""
SENTENCES = {
    939: "the admitting privileges of doctors; section 5.2.2 of the paper",
    120: "films of Disney; section 5.2.2",
    2443: "a press conference of Mr Blair; Table 3",
    1884: "chemical weapons of Syria; Figure 3",
    2409: "the sea; Figure 3",
    2716: "a man and his family; Figure 3",
}
"""Line of each sentence -> what it is about, and where the paper shows it."""
PAIR = {"no-attention-50": "without attention", "attention-50": "with attention"}
PAPER = {
    "BLEU, all sentences of newstest2014": ("17.82", "26.75"),
    "BLEU is of": ("tokens", "tokens"),
    "words of the training text": ("348 million", "348 million"),
    "passes over it": ("4.5", "2.2"),
    "numbers in a state of encoder, decoder": ("1,000, 1,000", "2 x 1,000, 1,000"),
    "vocabulary": ("30,000 words", "30,000 words"),
    "hours": ("108, one GPU of 2014", "111, one GPU of 2014"),
}
"""The paper's Tables 1 and 2 and its section 4, of RNNencdec-50 and RNNsearch-50."""


def here(groups: Groups, name: str) -> list[str]:
    """Values of one system of this study for the rows of ``PAPER``."""
    first = groups[name][0]
    training, model = first.record["training"], first.config["model"]
    progress = training["progress"]
    tokens = progress["target_tokens"] / progress["epoch"]
    states = model["encoder"]["hidden_size"], model["decoder"]["hidden_size"]
    hours = min(one.record["training"]["progress"]["seconds"] for one in groups[name]) / 3600
    return [
        scored(corpus_bleu(groups.pools[ALL], groups[name])),
        "text, by sacreBLEU",
        f"{training['training_pairs']:,} pairs ({tokens / 1e6:.1f} million target subwords)",
        f"{progress['epoch']}",
        "2 x {}, {}".format(*states),
        f"{first.config['tokenization']['vocabulary_size']:,} subwords",
        f"{hours:.1f}, one processor core",
    ]


def sentence(groups: Groups, line: int) -> str:
    """Translations of a line (from 1), and how many content words of the reference they contain."""
    words = groups.first.content.line == line - 1
    shown = [f"**Line {line}**, {groups.first.words[line - 1]} words: {SENTENCES[line]}.\n"]
    for name, title in reversed(PAIR.items()):
        one = groups[name][0]
        found = f"{one.found[words].sum()} of {words.sum()}"
        shown.append(f"- {title} ({found}): *{one.hypotheses[line - 1]}*")
    return "\n".join([*shown, ""])


def paper_page(groups: Groups) -> dict[str, bytes]:
    """Make the page."""
    pair = Groups({name: groups[name] for name in PAIR})
    ours = zip(*(here(pair, name) for name in PAIR), strict=True)
    rows = [[what, *theirs, *of] for (what, theirs), of in zip(PAPER.items(), ours, strict=True)]
    without, attention = (corpus_bleu(pair.pools[ALL], pair[name])[0] for name in PAIR)
    times = attention / without
    header = [f"{whose}, {title}" for whose in ("paper", "here") for title in PAIR.values()]
    markdown = page(
        "The paper's own sentences",
        pair,
        "The paper's Table 1 next to the systems of this study that were trained on up to 50 words "
        "a sentence. The systems here are far smaller, and read only debates of a parliament; the "
        "test sentences are news. With attention, BLEU is 1.5 times as high as without in the "
        f"paper, and {times:.1f} times here.\n",
        markdown_table(["", *header], rows),
        "Six sentences of newstest2014 that the paper shows, as the systems of seed 1 translate "
        "them (beam 5). In brackets: how many of the reference's content words the translation "
        "contains ([how they are counted](recall.md)). Six sentences are examples, no measure. The "
        "first three are long, which is why the paper chose them. The source and reference of a "
        "line:\n",
        "```\nsacrebleu -t wmt14/full -l en-fr --echo src ref | sed -n 939p\n```\n",
        *(sentence(pair, line) for line in SENTENCES),
    )
    return {"md": markdown}
