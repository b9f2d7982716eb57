"""Validation against the model asked one sentence at a time."""

import dataclasses

import pytest
import torch
from helpers.reversal import reversal_experiment
from helpers.small_training import trainer_of
from sacrebleu.metrics import BLEU

from seq2seq.config import DecodingConfig
from seq2seq.data.batching import collate
from seq2seq.data.text import read_lines
from seq2seq.data.tokenization import TextCodec, WhitespaceTokenizer
from seq2seq.training.loss import batch_loss


def test_loss_and_bleu_are_those_of_single_sentences(folder):
    trainer = trainer_of(reversal_experiment(folder, dev_bleu_sentences=20))
    for batches in trainer._updates(0):
        trainer._update(batches)
    validator, data = trainer.validator, trainer.data
    found = validator.run()
    assert found == validator.run()  # without dropout
    loss, tokens = 0.0, 0
    for index in range(len(data.valid)):
        batch = collate(data.valid, [index])
        loss += batch_loss(trainer.model, batch, 0.0).negative_log_likelihood.item()
        tokens += len(batch.target_cells)
    assert found.loss == pytest.approx(loss / tokens, rel=1e-5)
    assert found.perplexity == pytest.approx(torch.tensor(found.loss).exp().item(), rel=1e-4)
    texts, greedy = data.corpus.valid, DecodingConfig(beam=1)
    sources, references = (list(read_lines(text))[:20] for text in (texts.source, texts.target))
    hypotheses = [validator.translator.translate([one], greedy)[0].text for one in sources]
    assert found.bleu == pytest.approx(BLEU().corpus_score(hypotheses, [references]).score)
    short = [i for i, source in enumerate(sources) if len(source.split()) <= 2]
    expected = BLEU().corpus_score([hypotheses[i] for i in short], [[references[i] for i in short]])
    assert found.bleu_by_length["1-2"] == pytest.approx(expected.score)
    # In Thai, characters count; these words have one each, so their spaces are left out.
    thai = TextCodec(WhitespaceTokenizer("th"), data.target.vocabulary)
    validator = dataclasses.replace(validator, data=dataclasses.replace(data, target=thai))
    validator.references = ["".join(reference.split()) for reference in references]
    expected = BLEU(tokenize="char").corpus_score(hypotheses, [validator.references])
    assert validator.run().bleu == pytest.approx(expected.score)
    assert expected.score > BLEU().corpus_score(hypotheses, [validator.references]).score
