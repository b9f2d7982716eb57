"""Translations that another system wrote, scored as those of a checkpoint are."""

import logging
from pathlib import Path

import torch

from seq2seq.config import EvaluateConfig
from seq2seq.data.parallel_text import read_aligned
from seq2seq.data.text import content_digest
from seq2seq.evaluation.folder import GIVEN, Evaluation, write_evaluation
from seq2seq.evaluation.scores import Translations
from seq2seq.record import environment_record

log = logging.getLogger(__name__)


def evaluate_given(config: EvaluateConfig) -> Evaluation:
    """Score ``config.hypotheses``, into the folder ``<output>/<name of source>-<system>``.

    No model is asked, so the evaluation has neither a loss nor a count of cap hits.

    Raises:
        UserError: a file cannot be read, or the three do not align.
    """

    def set_by_config(value: str | None) -> str:
        assert value is not None  # the config sees to it
        return value

    source, reference, hypotheses, output = (
        Path(set_by_config(value))
        for value in (config.source, config.reference, config.hypotheses, config.output)
    )
    sources, references = read_aligned(source, reference)
    _, given = read_aligned(source, hypotheses)
    record = {
        "experiment": None,
        "system": config.system,
        "seed": None,
        "test_set": source.name,
        "search": GIVEN,
        "identity": {
            "source_sha256": content_digest(source),
            "reference_sha256": content_digest(reference),
            "hypotheses_sha256": content_digest(hypotheses),
        },
        "hypotheses": config.hypotheses,
        **environment_record(torch.device("cpu")),
    }
    directory = output / f"{source.name}-{config.system}"
    texts = Translations(sources, references, given, capped=[])
    evaluation = write_evaluation(directory, texts, config.evaluation, record)
    bleu = evaluation.scores.overall.bleu or 0.0
    log.info("%s by %s: BLEU %.2f, into %s", source.name, config.system, bleu, directory)
    return evaluation
