"""Speed and memory of translation by a trained model, by beam and batch size.

python benchmarks/translation.py checkpoint=outputs/multi30k/attention/seed-1
"""

import logging
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median

from harness import main, peak_memory, ratio_by_round, time_in_turns, write_results
from omegaconf import DictConfig

from seq2seq.checkpoint import load_checkpoint
from seq2seq.config import DecodingConfig, require_choice
from seq2seq.data.corpora import load_corpus
from seq2seq.data.text import read_lines
from seq2seq.decoding.translator import Translator
from seq2seq.device import choose_device

log = logging.getLogger(__name__)


def benchmark_translation(config: DictConfig) -> Path:
    """Measure with the settings of ``configs/translation.yaml``; return the path of the table."""
    device = choose_device(config.device)
    checkpoint = load_checkpoint(Path(config.checkpoint), device)
    corpus = load_corpus(checkpoint.config.corpus, Path(config.data))
    name = config.test_set or next(iter(corpus.tests))
    require_choice("test_set", name, tuple(corpus.tests))
    sentences = list(read_lines(corpus.tests[name].source))
    translator = Translator(checkpoint, precision=config.precision)
    searches = {
        (beam, size): (
            every_nth(sentences, config.most_batches * size),
            DecodingConfig(beam=beam, batch_size=size),
        )
        for beam, size in product(config.beams, config.batch_sizes)
    }
    load = partial(translate, config.checkpoint, device.type, config.precision)
    peaks = {
        (beam, size): peak_memory(partial(load, sentences[:size], decoding), device)
        for (beam, size), (_, decoding) in searches.items()
    }
    log.info("%d searches, %d rounds", len(searches), config.rounds)
    cases = {search: partial(translator.translate, *of) for search, of in searches.items()}
    timed = time_in_turns(cases, 1, config.rounds, device, warm_up=1)
    seconds = {search: [turn[0] for turn in timed[search]] for search in searches}
    speeds = {
        search: [len(share) / second for second in seconds[search]]
        for search, (share, _) in searches.items()
    }
    rows, runs = [], []
    for (beam, size), own in speeds.items():
        single, first = (beam, config.batch_sizes[0]), (config.beams[0], size)
        rows.append(
            {
                "search": "greedy" if beam == 1 else f"beam {beam}",
                "batch": str(size),
                "sentences/s": f"{median(own):,.1f}",
                f"speed over batch {single[1]}": ratio_by_round(own, speeds[single]),
                f"speed over beam {first[0]}": ratio_by_round(own, speeds[first]),
                "peak MB": f"{peaks[beam, size]:,.0f}",
            }
        )
        run = {"beam": beam, "batch_size": size, "sentences": len(searches[beam, size][0])}
        runs.append({**run, "seconds": seconds[beam, size], "peak_megabytes": peaks[beam, size]})
    trained, products = checkpoint.config, str(translator.precision).removeprefix("torch.")
    notes = [
        f"Model: {trained.name}, {trained.system}, seed {trained.seed}: "
        f"{checkpoint.model.parameter_counts()['total']:,} parameters; products in {products}.",
        f"Text: {name} of {corpus.kind}, {len(sentences):,} sentences, of which at most "
        f"{config.most_batches:,} batches are translated in a turn, taken at equal distances. "
        "Times are from text to text, without loading the model.",
        f"Medians over {config.rounds} rounds, in which the searches take turns; ratios within a "
        "round, median and range.",
        "Memory of a fresh process that loads the model and translates one batch, in MB (a million "
        "bytes).",
    ]
    path = Path(config.output) / "translation"
    return write_results(path, "Translation speed", rows, notes, runs, device)


def every_nth(sentences: list[str], most: int) -> list[str]:
    """Take at most ``most`` of all parts of a test set, since its start may not represent it."""
    return sentences[:: max(1, -(-len(sentences) // most))]


def translate(
    checkpoint: str, device: str, precision: str, sentences: list[str], decoding: DecodingConfig
) -> None:
    """Load a model and translate with it, to measure memory."""
    Translator(Path(checkpoint), device, precision).translate(sentences, decoding)


if __name__ == "__main__":
    main("translation", benchmark_translation)
