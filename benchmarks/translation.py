"""How fast a trained model translates, and how much memory that takes, by beam and batch size.

python benchmarks/translation.py checkpoint=outputs/multi30k/attention/seed-1
"""

import logging
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median

import torch
from harness import main, write_results
from measure import peak_memory, ratio_by_round, time_in_turns
from omegaconf import DictConfig

from seq2seq.checkpoint import load_checkpoint
from seq2seq.config import DecodingConfig, require_choice
from seq2seq.data.corpora import obtain
from seq2seq.data.text import read_lines
from seq2seq.decoding.translator import Translator
from seq2seq.device import choose_device
from seq2seq.model.kernels import choose_kernels

log = logging.getLogger(__name__)


def benchmark_translation(config: DictConfig) -> Path:
    """Time a checkpoint on a test set of its corpus; write and return the table, with timings.

    Args:
        config: see ``configs/translation.yaml``.

    Raises:
        UserError: the checkpoint, the device, the corpus or the test set does not exist.
    """
    device = choose_device(config.device)
    checkpoint = load_checkpoint(Path(config.checkpoint), device)
    corpus = obtain(checkpoint.config.corpus, Path(config.data))
    name = config.test_set or next(iter(corpus.tests))
    require_choice("test_set", name, tuple(corpus.tests))
    sentences = list(read_lines(corpus.tests[name].source))
    translator = Translator.of([checkpoint], config.precision)
    kernels = choose_kernels(device, torch.float32, translator.precision).name
    searches = list(product(config.beams, config.batch_sizes))
    shares = {search: every_nth(sentences, config.most_batches * search[1]) for search in searches}
    decodings = {
        (beam, size): DecodingConfig(beam=beam, batch_size=size) for beam, size in searches
    }
    load = partial(translate, config.checkpoint, device.type, config.precision)
    memory = {
        (beam, size): peak_memory(
            partial(load, sentences[:1], DecodingConfig(beam=1)),
            partial(load, sentences[:size], decodings[beam, size]),
            device,
        )
        for beam, size in searches
    }
    cases = {
        search: partial(translator.translate, shares[search], decodings[search])
        for search in searches
    }
    log.info("%d searches, %d rounds", len(searches), config.rounds)
    timed = time_in_turns(cases, 1, config.rounds, device, warm_up=1)
    speeds = {
        search: [len(shares[search]) / second for (second,) in timed[search]] for search in searches
    }
    rows = [
        {
            "search": "greedy" if beam == 1 else f"beam {beam}",
            "batch": str(size),
            "sentences/s": f"{median(speeds[beam, size]):,.1f}",
            "range": f"{min(speeds[beam, size]):,.1f}-{max(speeds[beam, size]):,.1f}",
            f"speed over batch {config.batch_sizes[0]}": ratio_by_round(
                speeds[beam, size], speeds[beam, config.batch_sizes[0]]
            ),
            f"speed over beam {config.beams[-1]}": ratio_by_round(
                speeds[beam, size], speeds[config.beams[-1], size]
            ),
            **{key: f"{peak:,.0f}" for key, peak in memory[beam, size].items()},
        }
        for beam, size in searches
    ]
    model, precision = checkpoint.config.model, str(translator.precision).removeprefix("torch.")
    notes = [
        f"Model: {checkpoint.config.name}, {checkpoint.config.system}, seed "
        f"{checkpoint.config.seed}: {checkpoint.model.parameter_counts()['total']:,} parameters, "
        f"embedding {model.embedding_dim:,}, decoder {model.decoder.hidden_size:,}, vocabularies "
        f"of {len(checkpoint.source.vocabulary):,} and {len(checkpoint.target.vocabulary):,}; "
        f"products in {precision}, {kernels} kernels.",
        f"Text: {name} of {corpus.kind}, {len(sentences):,} sentences, of which at most "
        f"{config.most_batches:,} batches are translated in a turn, taken at equal distances. Time "
        "from text to text, the model being loaded.",
        f"Medians over {config.rounds} rounds, in which the searches take turns; ratios within a "
        "round, median and range.",
        "Memory of a fresh process that loads the model and translates one batch, in MB of a "
        "million bytes; beyond PyTorch: on top of one sentence by greedy search.",
    ]
    runs = [
        {
            "beam": beam,
            "batch_size": size,
            "sentences": len(shares[beam, size]),
            "seconds": [second for (second,) in timed[beam, size]],
            "memory": memory[beam, size],
        }
        for beam, size in searches
    ]
    path = Path(config.output) / "translation"
    return write_results(path, "Translation speed", rows, notes, runs, device)


def every_nth(sentences: list[str], most: int) -> list[str]:
    """At most ``most`` sentences: all of them, or every second, or every third, and so on.

    A test set may be sorted or cut from few documents, so that its start would not do for it.
    """
    return sentences[:: max(1, -(-len(sentences) // most))]


def translate(
    checkpoint: str, device: str, precision: str, sentences: list[str], decoding: DecodingConfig
) -> None:
    """Load a model and translate with it: what memory is measured of."""
    Translator.load(Path(checkpoint), device, precision).translate(sentences, decoding)


if __name__ == "__main__":
    main("translation", benchmark_translation)
