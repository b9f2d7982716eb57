"""Attention in one file: two translators that differ in one vector, and BLEU by sentence length.

    python minimal.py                         # a quarter of the quickstart's text
    python minimal.py --pairs 120000          # all of it
    python minimal.py --train my.en my.de     # your text; lines of one number are one pair

It needs torch, tqdm and sacrebleu. Read it from top to bottom: text, model, training, translation.
Numbers such as (6) and names such as W_a are those of the paper, arXiv 1409.0473: Bahdanau, Cho and
Bengio, "Neural machine translation by jointly learning to align and translate". Comments give the
sizes of tensors: B sentences in a batch, S words of the source, T words of the target, E numbers
for a word, H for a state of the encoder, D for a state of the decoder, A inside of attention.
"""

import argparse
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from sacrebleu import corpus_bleu
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from tqdm import tqdm

# ---- Text: sentences become rows of numbers ------------------------------------------------------

PAD, UNKNOWN, BEGIN, END = range(4)
MARKS = ["<pad>", "<unk>", "<s>", "</s>"]  # in the order of these numbers
LONGEST = 100  # numbers of a sentence, END included; training leaves out longer ones

Text = list[tuple[str, str]]  # sentences with their translations
Pair = tuple[list[int], list[int]]  # the same as numbers; each side ends with END


class Vocabulary:
    """Numbers the words of one language, the most frequent ones first."""

    def __init__(self, sentences: Iterable[str], size: int = 20_000) -> None:
        counts = Counter(word for sentence in sentences for word in sentence.split())
        self.words = MARKS + [word for word, _ in counts.most_common(size)]
        self.numbers = {word: number for number, word in enumerate(self.words)}

    def encode(self, sentence: str) -> list[int]:
        return [self.numbers.get(word, UNKNOWN) for word in sentence.split()] + [END]

    def decode(self, numbers: list[int]) -> str:
        return " ".join(self.words[n] for n in numbers[: [*numbers, END].index(END)])


def rows(sentences: Iterable[list[int]], device: torch.device) -> Tensor:
    """A row for each sentence; PAD fills up the shorter ones."""
    return pad_sequence([torch.tensor(one) for one in sentences], batch_first=True).to(device)


def batches(pairs: list[Pair], rng: random.Random, size: int = 16) -> list[list[Pair]]:
    """Divide the pairs into batches of similar length, which need little PAD, in random order."""
    pairs = sorted(rng.sample(pairs, len(pairs)), key=lambda pair: (len(pair[0]), len(pair[1])))
    parts = [pairs[start : start + size] for start in range(0, len(pairs), size)]
    return rng.sample(parts, len(parts))


# ---- Model: encoder, attention, decoder ----------------------------------------------------------


class Source(NamedTuple):
    """What the decoder sees of the sentences that it translates."""

    annotations: Tensor  # B S 2H: h_j, which tells of word j and its surroundings
    keys: Tensor  # B S A: U_a h_j, with which attention compares its query
    mask: Tensor  # B S: True at words, False at padding
    summary: Tensor  # B 2H: the whole sentence in one vector


class Attention(nn.Module):
    """Looks at all words of the source, most at those that help to find the next word."""

    def __init__(self, E: int, H: int, D: int, A: int) -> None:
        super().__init__()
        self.W_a = nn.Linear(D, A, bias=False)
        self.U_a = nn.Linear(2 * H, A, bias=False)
        self.v_a = nn.Linear(A, 1, bias=False)
        self.W_y = nn.Linear(E, D, bias=False)

    def forward(self, state: Tensor, word: Tensor, source: Source) -> Tensor:
        # In the paper, the query is s_(i-1). It has not read the last word; so we add this word.
        query = state + self.W_y(word)  # B D
        # A.1.2: e_ij = v_a tanh(W_a query + U_a h_j), how well word j fits the query.
        scores = self.v_a(torch.tanh(self.W_a(query)[:, None] + source.keys)).squeeze(2)  # B S
        # (6): alpha_ij = exp(e_ij) / sum_k exp(e_ik). A score of -inf makes a weight of 0, so
        # padding gets none, and the words' weights still sum to 1.
        weights = scores.masked_fill(~source.mask, -torch.inf).softmax(dim=1)  # B S
        # (5): c_i = sum_j alpha_ij h_j.
        return (weights[:, None] @ source.annotations).squeeze(1)  # B 2H


class Translator(nn.Module):
    """Encoder and decoder: the paper's RNNsearch; or without attention, like its RNNencdec."""

    def __init__(self, sources: int, targets: int, attends: bool, width: int = 128) -> None:
        super().__init__()
        E, H, D, A = width, width, 2 * width, width
        self.scale = E**0.5  # the LSTMs read words so scaled; query and readout, as they are
        self.source_words = nn.Embedding(sources, E)
        self.target_words = nn.Embedding(targets, E)
        self.ahead = nn.LSTM(E, H, batch_first=True)
        self.back = nn.LSTM(E, H, batch_first=True)
        self.start = nn.Linear(2 * H, 2 * D)
        self.gates = nn.Linear(E + 2 * H + D, 4 * D)
        self.readout = nn.Linear(D + 2 * H + E, E)
        self.bias = nn.Parameter(torch.zeros(targets))
        with torch.no_grad():  # first weights from which this small network learns fast
            self.source_words.weight.normal_(std=E**-0.5)
            self.target_words.weight.normal_(std=E**-0.5)
            self.gates.weight.uniform_(-(D**-0.5), D**-0.5)
            self.gates.bias.zero_().chunk(4)[1].fill_(1.0)  # the forget gates
            nn.init.xavier_uniform_(self.readout.weight, gain=3)
        # Attention is made last, so that with one seed all other weights start alike.
        self.attention = Attention(E, H, D, A) if attends else None

    def encode(self, numbers: Tensor) -> Source:
        """Read the sentences, forwards and backwards (section 3.2)."""
        mask = numbers != PAD
        words = self.source_words(numbers) * self.scale  # B S E
        ahead, _ = self.ahead(words)  # B S H
        back = reverse(self.back(reverse(words, mask))[0], mask)  # B S H
        annotations = torch.cat([ahead, back], dim=2)  # h_j = [forward h_j; backward h_j]
        last = mask.sum(dim=1) - 1
        summary = torch.cat([ahead[torch.arange(len(last)), last], back[:, 0]], dim=1)
        keys = self.attention.U_a(annotations) if self.attention else annotations  # else unused
        return Source(annotations, keys, mask, summary)

    def begin(self, source: Source) -> tuple[Tensor, Tensor]:
        # A.2.2: s_0 = tanh(W_s h). There h is the backward half of the summary, here all of it.
        hidden, cell = torch.tanh(self.start(source.summary)).chunk(2, dim=1)
        return hidden, cell  # B D each

    def step(
        self, word: Tensor, hidden: Tensor, cell: Tensor, source: Source
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Read the word y_(i-1), written last; return the state s_i, its cell, and context c_i."""
        # The only difference of the two systems: a new context for each word, or always the same.
        context = self.attention(hidden, word, source) if self.attention else source.summary
        # (4): s_i = f(s_(i-1), y_(i-1), c_i). Our f is an LSTM.
        entering = torch.cat([word * self.scale, context, hidden], dim=1)
        i, f, g, o = self.gates(entering).chunk(4, dim=1)
        cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
        return o.sigmoid() * cell.tanh(), cell, context

    def scores(self, hidden: Tensor, context: Tensor, word: Tensor) -> Tensor:
        """(4): p(y_i | y_1 ... y_(i-1), x) = softmax(g(y_(i-1), s_i, c_i)); this is g."""
        readout = self.readout(torch.cat([hidden, context, word], dim=1))
        return functional.linear(readout, self.target_words.weight, self.bias)

    def forward(self, sentences: Tensor, translations: Tensor) -> Tensor:
        """Loss: the mean of -log p(y | x) over the sentences (2).

        A step reads the true y_(i-1), not what it would have written (teacher forcing).
        """
        source = self.encode(sentences)
        before = functional.pad(translations[:, :-1], (1, 0), value=BEGIN)  # step i reads word i-1
        words = self.target_words(before)  # B T E
        hidden, cell = self.begin(source)
        states, contexts = [], []
        for word in words.unbind(dim=1):
            hidden, cell, context = self.step(word, hidden, cell, source)
            states.append(hidden)
            contexts.append(context)
        real = translations != PAD
        parts = [torch.stack(states, dim=1), torch.stack(contexts, dim=1), words]
        scores = self.scores(*(part[real] for part in parts))
        loss = functional.cross_entropy(scores, translations[real], reduction="sum")
        return loss / len(translations)


def reverse(rows: Tensor, mask: Tensor) -> Tensor:
    """Reverse the order of the words in each sentence; padding stays behind them."""
    place = torch.arange(mask.shape[1], device=mask.device)
    order = torch.where(mask, mask.sum(dim=1)[:, None] - 1 - place, place)
    return rows.gather(1, order[:, :, None].expand_as(rows))


# ---- Training ------------------------------------------------------------------------------------


def train(
    model: Translator, todo: list[list[Pair]], device: torch.device, warmup: int = 200
) -> Iterator[float]:
    """Change the weights a little after each batch; yield its loss.

    The learning rate rises for ``warmup`` updates, and then falls to zero.
    """
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), fused=True)
    for made, pairs in enumerate(todo):
        left = len(todo) - made
        for group in optimizer.param_groups:
            group["lr"] = 0.002 * min((made + 1) / warmup, left / max(1, len(todo) + 1 - warmup))
        optimizer.zero_grad()
        loss = model(*(rows(side, device) for side in zip(*pairs, strict=True)))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=25.0)
        optimizer.step()
        yield loss.item()


# ---- Translation and scores ----------------------------------------------------------------------


@torch.no_grad()
def translate(model: Translator, sources: Tensor) -> list[list[int]]:
    """Write the likeliest word at each step (greedy search) until all sentences have ended."""
    source = model.encode(sources)
    hidden, cell = model.begin(source)
    written = [torch.full_like(sources[:, 0], BEGIN)]
    ended = written[0] == END  # none yet
    while not ended.all() and len(written) <= 2 * sources.shape[1] + 10:
        word = model.target_words(written[-1])
        hidden, cell, context = model.step(word, hidden, cell, source)
        written.append(model.scores(hidden, context, word).argmax(dim=1))
        ended |= written[-1] == END
    return torch.stack(written[1:], dim=1).tolist()


def table(tests: Text, systems: dict[str, list[str]]) -> str:
    """BLEU of each system, by the number of words in the source."""
    lengths = [len(source.split()) for source, _ in tests]
    result = "source words      n" + "".join(f"{name:>14}" for name in systems)
    buckets = {f"{low} to {low + 9}": (low, low + 9) for low in range(1, 61, 10)}
    for label, (low, high) in {**buckets, "61 or more": (61, 10**6), "all": (1, 10**6)}.items():
        those = [line for line, length in enumerate(lengths) if low <= length <= high]
        if those:
            result += f"\n{label:12}{len(those):7,}"
            right = [tests[line][1] for line in those]
            for said in systems.values():
                score = corpus_bleu([said[line] for line in those], [right], force=True).score
                result += f"{score:14.1f}"
    return result


# ---- The command line ----------------------------------------------------------------------------


def read(files: list[Path]) -> Text:
    """Read two files; line i of one translates line i of the other, with spaces between words."""
    sides = [path.read_text(encoding="utf-8").split("\n") for path in files]
    if len(sides[0]) != len(sides[1]):
        raise SystemExit(f"{files[0]} and {files[1]} must have equally many lines.")
    return [(x, y) for x, y in zip(*sides, strict=True) if x.split() and y.split()]


def quickstart(split: str) -> list[Path]:
    """Files of the text that the quickstart wrote; of several texts, the largest."""
    found = Path(__file__).parent.glob("data/corpora/grammar-*/train.en")
    largest = max(found, key=lambda path: path.stat().st_size, default=None)
    if largest is None:
        raise SystemExit(
            "There is no text yet. Write it with python scripts/prepare.py (a minute), or name two "
            "files: python minimal.py --train my.en my.de"
        )
    return [largest.with_name(f"{split}.{language}") for language in ("en", "de")]


def main() -> None:
    """Train both systems, translate the test text, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name, files in (("train", "the quickstart's text"), ("test", "the end of --train's files")):
        meaning = f"source and target; without, {files}"
        parser.add_argument(f"--{name}", nargs=2, type=Path, metavar="FILE", help=meaning)
    meaning = "most pairs to train on (all of yours; 30,000 of the quickstart's)"
    parser.add_argument("--pairs", type=int, help=meaning)
    parser.add_argument("--epochs", type=int, default=1, help="times to read them (1)")
    parser.add_argument("--width", type=int, default=128, help="numbers for a word (128)")
    options = parser.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    text = read(options.train or quickstart("train"))
    if options.train and not options.test:
        text, tests = text[:-1000], text[-1000:]
    else:
        tests = read(options.test or quickstart("test"))
    if not text:
        raise SystemExit("Too few pairs: the last 1,000 are the test; add some, or set --test.")
    most = options.pairs or (None if options.train else 30_000)
    sides = [*zip(*text[:most], strict=True)]
    source, target = map(Vocabulary, sides)
    pairs = [(source.encode(x), target.encode(y)) for x, y in zip(*sides, strict=True)]
    pairs = [pair for pair in pairs if max(map(len, pair)) <= LONGEST]
    by_length = sorted(range(len(tests)), key=lambda line: len(tests[line][0]))

    systems: dict[str, list[str]] = {}
    for name in ("no attention", "attention"):
        torch.manual_seed(1)
        sizes = len(source.words), len(target.words)
        model = Translator(*sizes, name == "attention", options.width).to(device)
        rng = random.Random(1)
        todo = [batch for _ in range(options.epochs) for batch in batches(pairs, rng)]
        with tqdm(train(model, todo, device), f"training, {name}", len(todo)) as losses:
            for loss in losses:
                losses.set_postfix(loss=f"{loss:.3f}")
        systems[name] = [""] * len(tests)
        for start in tqdm(range(0, len(tests), 100), f"translating, {name}"):
            lines = by_length[start : start + 100]
            sentences = rows((source.encode(tests[line][0]) for line in lines), device)
            for line, numbers in zip(lines, translate(model, sentences), strict=True):
                systems[name][line] = target.decode(numbers)
    print(table(tests, systems))


if __name__ == "__main__":
    main()
