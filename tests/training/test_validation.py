"""Validation against the model asked one sentence at a time."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from helpers.reversal import reversal_experiment
from sacrebleu.metrics import BLEU

from seq2seq.config import DecodingConfig
from seq2seq.data.batching import collate
from seq2seq.data.preparation import prepare
from seq2seq.data.text import read_lines
from seq2seq.data.tokenization import TextCodec, WhitespaceTokenizer
from seq2seq.training.loss import batch_loss
from seq2seq.training.trainer import Trainer


@pytest.fixture
def trainer(folder: Path) -> Trainer:
    config = reversal_experiment(folder, dev_bleu_sentences=20)
    trainer = Trainer(config, prepare(config.corpus, config.tokenization, Path(config.data)))
    for batches in trainer._updates(0):
        trainer._update(batches)
    return trainer


def test_loss_is_the_mean_over_tokens_of_single_sentences(trainer):
    found = trainer.validator.run()
    valid = trainer.data.valid
    total, tokens = 0.0, 0
    with torch.no_grad():
        for index in range(len(valid)):
            batch = collate(valid, [index])
            total += float(batch_loss(trainer.model, batch, 0.0).negative_log_likelihood)
            tokens += len(batch.target_cells)
    assert found.loss == pytest.approx(total / tokens, rel=1e-5)
    assert found.perplexity == pytest.approx(torch.tensor(total / tokens).exp().item(), rel=1e-4)
    assert found == trainer.validator.run()  # without dropout


def test_bleu_is_that_of_greedy_translations_of_the_first_sentences(trainer):
    found = trainer.validator.run()
    texts = trainer.data.corpus.valid
    sources = list(read_lines(texts.source))[:20]
    references = list(read_lines(texts.target))[:20]
    data, translator = trainer.data, trainer.validator.translator
    assert trainer.validator.translator.max_pieces == data.max_pieces
    hypotheses = [h.text for h in translator.translate(sources, DecodingConfig(beam=1))]
    shown = sorted(range(20), key=lambda i: len(sources[i].split()))[2:20:8]  # 10, 50, 90 percent
    first = [text for i in shown for text in (references[i], hypotheses[i])]
    assert [line.partition("  ")[2].strip() for line in trainer.validator.examples] == first
    trainer.validator.run()  # from the second run on without the references
    again = [line.partition("  ")[2].strip() for line in trainer.validator.examples]
    assert again == [hypotheses[i] for i in shown]
    assert found.bleu == pytest.approx(BLEU().corpus_score(hypotheses, [references]).score)
    short = [i for i, source in enumerate(sources) if len(source.split()) <= 2]
    expected = BLEU().corpus_score([hypotheses[i] for i in short], [[references[i] for i in short]])
    assert found.bleu_by_length["1-2"] == pytest.approx(expected.score)
    # In Thai, characters count; these words have one each, so their spaces are left out.
    thai = TextCodec(WhitespaceTokenizer("th"), data.target.vocabulary)
    data = replace(data, target=thai)
    validator = replace(trainer.validator, data=data)
    validator.references = ["".join(reference.split()) for reference in references]
    expected = BLEU(tokenize="char").corpus_score(hypotheses, [validator.references])
    assert validator.run().bleu == pytest.approx(expected.score)
    assert expected.score > BLEU().corpus_score(hypotheses, [validator.references]).score
