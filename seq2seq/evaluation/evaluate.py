"""The stage ``evaluate``: translations of test sets, scored by source length."""

import contextlib
import logging
import math
import os
import re
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sacrebleu.utils import DATASETS, SACREBLEU_DIR, get_reference_files, get_source_file

from seq2seq.config import (
    CorpusConfig,
    DecodingConfig,
    EvaluateConfig,
    FilesCorpus,
    Multi30kCorpus,
    require_choice,
)
from seq2seq.data.corpora import load_texts, read_learned, warn_if_learned
from seq2seq.data.text import (
    ParallelText,
    content_digest,
    find_texts,
    read_aligned,
    read_references,
)
from seq2seq.data.vocabulary import UNK
from seq2seq.errors import UserError
from seq2seq.evaluation.folder import (
    EXTERNAL,
    SCORES,
    Evaluation,
    read_evaluation,
    write_evaluation,
)
from seq2seq.evaluation.scores import signatures
from seq2seq.evaluation.translations import (
    AttentionMap,
    ReferenceScores,
    Translations,
    lines_by_length,
)
from seq2seq.files import named_file
from seq2seq.record import EvaluationRecord, Member, environment_record, read_record

if TYPE_CHECKING:  # what imports torch is imported where it is used: given translations need none
    from seq2seq.checkpoint import Checkpoint
    from seq2seq.decoding.translator import Translator

log = logging.getLogger(__name__)

READING = "reading known translations"  # before the progress bar
MAPS_PER_BUCKET = 3
"""Maximum number of attention maps of each bucket of source length, besides the setting maps."""


def evaluate(config: EvaluateConfig) -> list[Evaluation]:
    """Translate and score the test sets of ``config``, or score ``config.hypotheses``.

    Translations that a folder ``<test set>-<search>`` holds already are only scored again. Of
    several processes, the first one returns the evaluations.
    """
    if config.hypotheses is not None:
        return [_evaluate_external(config)]
    from seq2seq.checkpoint import load_checkpoint
    from seq2seq.decoding.translator import Translator
    from seq2seq.device import choose_device, process_group

    with process_group(config.device) as group:
        device = choose_device(config.device)
        paths = str(config.checkpoint), *config.more_checkpoints
        checkpoints = [load_checkpoint(Path(path), device) for path in paths]
        translator = Translator(checkpoints, precision=config.precision)
        translator.as_written = True
        with translator.sharing(group) as first:
            return _evaluate_model(config, checkpoints, translator) if first else []


def _evaluate_model(
    config: EvaluateConfig, checkpoints: "list[Checkpoint]", translator: "Translator"
) -> list[Evaluation]:
    folders, batch_size = [one.directory for one in checkpoints], config.decoding.batch_size
    runs = [f.parent.parent if f.parent.name == "checkpoints" else f for f in folders]
    output = Path(config.output) if config.output else runs[0] / "evaluations"
    if config.output is None and output.is_symlink():  # in a stranger's run folder
        raise UserError(f"{output} is a link and is not followed; set output=FOLDER.")
    corpus = checkpoints[0].config.corpus
    scoring = config.evaluation.for_languages(corpus.source, corpus.target)
    signatures(scoring.tokenize)  # a missing tokenizer is found before any work
    suffix = f"-ensemble{len(runs)}" if len(runs) > 1 else ""
    model = _model_record(checkpoints, runs, translator)
    model.system += suffix
    searches = [  # all are checked before any work
        replace(config.decoding, beam=beam) for beam in config.beams or [config.decoding.beam]
    ]
    digests = [(one.directory, one.sha256) for one in checkpoints]
    learned = np.concatenate([read_learned(run) for run in dict.fromkeys(runs)])
    evaluations = []
    for name, text in find_test_sets(config, corpus).items():
        sources, references = read_references(text)
        if config.maps and max(config.maps) > len(sources):
            raise UserError(f"maps={max(config.maps)}: {name} has only {len(sources)} lines.")
        warn_if_learned(name, sources, learned)
        codecs = zip((translator.source, translator.target), (sources, references[0]), strict=True)
        ids = [i for codec, side in codecs for sentence in side for i in codec.encode(sentence)]
        if ids and (share := ids.count(UNK) / len(ids)) > 0.01:
            log.info("%s: the model's vocabularies lack %.0f%% of the pieces.", name, 100 * share)
        lines = {line - 1 for line in config.maps}
        lines |= {*lines_by_length(sources, scoring, MAPS_PER_BUCKET)}
        scores = None
        for search in searches:
            directory = output / f"{name}-{search.name}{suffix}"
            record = replace(model, test_set=name, search=search.name)
            record.config = {**(model.config or {}), "decoding": asdict(search)}
            record.identity = {
                **_identity(output, digests, text),
                "search": {key: of for key, of in asdict(search).items() if key != "batch_size"},
                "precision": str(translator.precision).removeprefix("torch."),
                "device": translator.device.type,
            }
            if (earlier := _earlier(directory, record.identity)) is None:
                scores = scores or score_references(translator, sources, references[0], batch_size)
                texts = _translate(translator, (sources, references), search, record, scores)
                counts = None
            else:
                log.info("%s holds these translations already; scoring them again.", directory)
                texts, counts = earlier.texts, earlier.counts
                # Since then, run.json may have been lost, or the run continued in vain.
                training = record.training or earlier.record.training
                whole = {**(earlier.record.config or {}), "training": record.config["training"]}
                record = replace(earlier.record, training=training, config=whole)
            record.maps = config.maps or record.maps
            missing = lines - {one.line for one in texts.maps}
            maps = [*texts.maps, *draw_maps(translator, texts, missing, batch_size)]
            texts = replace(texts, maps=sorted(maps, key=lambda one: one.line))
            evaluations.append(write_evaluation(directory, texts, scoring, record, counts))
            log.info("%s: BLEU %.2f", directory, evaluations[-1].overall.bleu or 0.0)
    return evaluations


def _model_record(
    checkpoints: "list[Checkpoint]", runs: list[Path], translator: "Translator"
) -> EvaluationRecord:
    """What the records of all evaluations of a model, or of an ensemble, have in common."""
    from seq2seq.checkpoint import read_config

    # The config of a continued run may have larger limits than that of its checkpoint.
    has_config = (runs[0] / "config.json").is_file()
    trained = read_config(runs[0]) if has_config else checkpoints[0].config
    trainings = [read_record(run, "restore it, or delete it") for run in runs]
    members = [
        Member(one.config.system, one.config.seed, one.state.progress.update, training)
        for one, training in zip(checkpoints, trainings, strict=True)
    ]
    return EvaluationRecord(
        experiment=trained.name,
        system=trained.system,
        seed=trained.seed if len({member.seed for member in members}) == 1 else None,
        training=trainings[0] if len({*runs}) == 1 else None,
        members=members if len(members) > 1 else [],
        corpus=trained.corpus.kind,
        checkpoint=str(checkpoints[0].directory),
        config=asdict(trained),
        parameters=translator.model.parameter_counts(),
        **environment_record(translator.device),
    )


def _translate(
    translator: "Translator",
    text: tuple[list[str], list[list[str]]],
    search: DecodingConfig,
    record: EvaluationRecord,
    scores: ReferenceScores,
) -> Translations:
    """Translate a test set; ``record`` receives the speed, and the number of cut sources."""
    sources, (first, *more) = text
    title = f"{record.name}: translating {record.test_set}, {search.name}"
    started = time.monotonic()
    found = translator.translate(sources, search, progress=title)
    seconds = time.monotonic() - started
    pieces = [len(translator.cut(source)) for source in sources]
    record.cut_sources = sum(n > translator.max_pieces for n in pieces)
    record.seconds = round(seconds, 2)
    record.sentences_per_second = round(len(found) / max(seconds, 1e-9), 1)
    totals = [one.log_probability for one in found]
    return Translations(
        sources,
        first,
        [one.text for one in found],
        [one.capped for one in found],
        [total if math.isfinite(total) else None for total in totals],
        scores,
        more_references=more,
    )


def score_references(
    translator: "Translator", sources: Sequence[str], references: Sequence[str], batch_size: int
) -> ReferenceScores:
    """Score each reference given its source; see :meth:`Translator.force`."""
    log_probabilities: list[float | None] = [None] * len(sources)
    pieces = [0] * len(sources)
    for forced in translator.force(sources, references, batch_size, READING):
        value = float(forced.log_probabilities.double().sum())
        pieces[forced.line] = len(forced.log_probabilities)
        log_probabilities[forced.line] = value if math.isfinite(value) else None
    return ReferenceScores(log_probabilities, pieces)


def draw_maps(
    translator: "Translator", texts: Translations, lines: Iterable[int], batch_size: int
) -> list[AttentionMap]:
    """Make attention maps of ``lines``, without blank ones; [] for a model without attention."""
    from seq2seq.decoding.hypothesis import attention_by_word

    numbers = sorted(lines) if translator.model.attends else []
    sources, hypotheses = ([side[n] for n in numbers] for side in (texts.sources, texts.hypotheses))
    tokenizers = translator.source.tokenizer, translator.target.tokenizer
    maps = []
    for forced in translator.force(sources, hypotheses, batch_size, READING):
        both = zip(tokenizers, (sources, hypotheses), strict=True)
        pieces = [tokenizer.tokenize(side[forced.line]) for tokenizer, side in both]
        source, target, words = attention_by_word(forced.weights[:-1], pieces, tokenizers)
        weights = [[round(weight, 4) for weight in row] for row in words.tolist()]
        source = source[: words.shape[1]]
        maps.append(AttentionMap(numbers[forced.line], source, target, weights))
    return maps


def _evaluate_external(config: EvaluateConfig) -> Evaluation:
    """Score ``config.hypotheses``; write to the folder ``<output>/<name of source>-<system>``."""
    text, output = given_text(config), Path(str(config.output))
    hypotheses = named_file("hypotheses", str(config.hypotheses))
    sources, (first, *more) = read_references(text)
    said = read_aligned(text.source, hypotheses)[1]
    _warn_of_marks(hypotheses, said, first)
    _warn_of_marks(text.target, first, said)
    directory = output / f"{text.source.name}-{config.system}"
    identity = _identity(output, [(hypotheses, content_digest(hypotheses))], text)
    _earlier(directory, identity)
    record = EvaluationRecord(
        system=str(config.system),
        test_set=text.source.name,
        search=EXTERNAL,
        identity=identity,
        **environment_record(),
    )
    names = [re.sub(r"\.[gx]z$", "", path.name) for path in (text.source, text.target)]
    scoring = config.evaluation.for_languages(*(name.rpartition(".")[2] for name in names))
    scores = {name: _numbers(name, text.source, path) for name, path in config.scores.items()}
    texts = Translations(sources, first, said, capped=[], more_references=more, scores=scores)
    return write_evaluation(directory, texts, scoring, record)


def _numbers(name: str, source: Path, path: str) -> list[float]:
    """Read a number for each line of ``source``."""
    lines = read_aligned(source, named_file(f"scores.{name}", path))[1]
    with contextlib.suppress(ValueError):
        numbers = [float(line) for line in lines]
        if all(map(math.isfinite, numbers)):
            return numbers
    raise UserError(f"scores.{name}={path} must have a number on each line.")


MARKS = {
    "marks of subwords (@@ or ▁); join the pieces": "@@( |$)|▁",
    "spaces before its final full stop; detokenise it": r"\s[.。]\s*$",
    "accents in characters of their own (NFD); bring both files to NFC": "[A-Za-z][\u0300-\u036f]",
    "characters that nobody sees; remove them": "[\u00ad\u200b\u200e\u200f\u2060\ufeff]",
}
"""What a text has that is scored by mistake, in words -> its pattern."""


def _warn_of_marks(path: Path, lines: list[str], others: list[str]) -> None:
    """Warn if many lines of the file ``path`` have marks that the ``others`` do not have."""
    for what, pattern in MARKS.items():
        here, there = (sum(bool(re.search(pattern, line)) for line in of) for of in (lines, others))
        if here > 0.1 * len(lines) and there < 0.1 * here:
            log.warning("%s: %d of %d lines have %s.", path, here, len(lines), what)


def _identity(output: Path, models: list[tuple[Path, str]], text: ParallelText) -> dict[str, Any]:
    """Files (path, digest) of a system, and its text; either path may be a symbolic link."""
    references = map(content_digest, (text.target, *text.more_targets))
    return {
        "system": [
            {"path": os.path.relpath(path.resolve(), output.resolve()), "sha256": digest}
            for path, digest in models
        ],
        "source": content_digest(text.source),
        "reference": " ".join(references),
    }


def _earlier(directory: Path, identity: dict[str, Any]) -> Evaluation | None:
    """Undamaged evaluation of this ``identity``; one of other paths or settings is refused."""
    if not (directory / SCORES).exists():
        return None
    try:
        evaluation = read_evaluation(directory)
        theirs, ours = (
            {**of, "system": [part["path"] for part in of["system"]]}
            for of in (evaluation.record.identity, identity)
        )
    except (UserError, KeyError, TypeError) as error:
        log.warning("%s is evaluated again, and its files are replaced: %s", directory, error)
        return None
    if different := sorted(key for key in {*ours, *theirs} if ours.get(key) != theirs.get(key)):
        raise UserError(
            f"{directory} holds another evaluation (other {', '.join(different)}), which is not "
            "replaced; set output=ANOTHER_FOLDER, or move that folder away."
        )
    return evaluation if evaluation.record.identity == identity else None


def find_test_sets(config: EvaluateConfig, corpus: CorpusConfig) -> dict[str, ParallelText]:
    """Return the test sets of ``config`` by name; ``corpus`` is that of the training."""
    if config.source is not None:
        text = given_text(config)
        return {text.source.name: text}
    tests, chosen = dict[str, ParallelText](), dict[str, ParallelText]()
    pair, wanted = f"{corpus.source}-{corpus.target}", config.test_sets
    public = [name for name, one in DATASETS.items() if pair in one.langpairs]
    if wanted is None or not {*wanted} <= {*public}:
        moved = corpus if config.directory is None else _moved(corpus, config.directory)
        tests = load_texts(moved, Path(config.data))
    for name in tests if wanted is None else wanted:
        text = tests[name] if name in tests else _fetch(name, pair, [*tests, *public])
        chosen[name.replace("/", "_")] = text
    return {**chosen, **find_test_texts(config.test_texts, corpus)}


def given_text(config: EvaluateConfig) -> ParallelText:
    """Text whose files are named by the settings ``source`` and ``reference``."""
    first, *more = (named_file("reference", path) for path in config.reference or [])
    source = named_file("source", str(config.source))
    return ParallelText(source, first, more_targets=tuple(more))


def _moved(corpus: CorpusConfig, directory: str) -> CorpusConfig:
    """Return the corpus with its files, or with test files of the user's own, in ``directory``."""
    source, target = corpus.source, corpus.target
    names = find_texts(Path(directory), (source, target))
    tests = any(name.startswith("test") for name in names)
    if tests and not isinstance(corpus, Multi30kCorpus):  # its test sets are fixed
        return FilesCorpus(source=source, target=target, directory=directory)
    return replace(corpus, directory=directory)


def _fetch(name: str, pair: str, known: list[str]) -> ParallelText:
    """Find or download a test set of sacreBLEU."""
    require_choice("test_sets", name, known)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings of tarfile in some Pythons
            source, references = get_source_file(name, pair), get_reference_files(name, pair)
    except (Exception, SystemExit) as error:
        raise UserError(
            f"test_sets={name} could not be fetched by sacreBLEU ({error}); check the network, or "
            f"delete {Path(SACREBLEU_DIR, name)} if its files are damaged."
        ) from None
    first, *more = map(Path, references)
    return ParallelText(Path(source), first, more_targets=tuple(more))


def find_test_texts(paths: Mapping[str, str], corpus: CorpusConfig) -> dict[str, ParallelText]:
    """Find the two files of each text in ``paths``: name -> path without the languages."""
    texts = {}
    for name, path in paths.items():
        if not name or name != Path(name).name or name.startswith("test"):
            raise UserError(
                f"test_texts.{name} is not allowed as a name; use a word without slashes that does "
                "not begin with test, as names of the corpus's own test sets do."
            )
        found = find_texts(Path(path).parent, (corpus.source, corpus.target))
        if Path(path).name not in found:
            raise UserError(
                f"test_texts.{name}={path}: {path}.{corpus.source} or {path}.{corpus.target} is "
                "missing; set the path of the two files without their language codes."
            )
        texts[name] = found[Path(path).name]
    return texts
