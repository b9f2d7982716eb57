"""Fine-tuning: a training that starts from another one's checkpoint, on another text."""

import dataclasses
import re
import shutil
from pathlib import Path

import pytest
import torch
from helpers.reversal import reversal_experiment, with_optimizer, write_reversal_corpus
from helpers.samples import ids_of
from helpers.small_checkpoint import CPU
from helpers.small_training import outcome, train, train_until, weights
from helpers.toy_evaluation import settings

from seq2seq.checkpoint import load_checkpoint
from seq2seq.composition import compose
from seq2seq.config import TrainConfig
from seq2seq.data.preparation import prepare
from seq2seq.data.text import SIDES
from seq2seq.data.tokenization import SentencePieceTokenizer
from seq2seq.data.vocabulary import EOS, UNK
from seq2seq.errors import UserError
from seq2seq.evaluation.evaluate import evaluate
from seq2seq.files import file_digest
from seq2seq.training.run_folder import RunFolder, codec_folder, load_parent

pytestmark = pytest.mark.unchecked


def child_of(parent: RunFolder, **training: object) -> TrainConfig:
    """A training on a text that has words of its own, from the best checkpoint of ``parent``."""
    text = parent.path.parents[3] / "text"
    if not text.exists():
        write_reversal_corpus(text, train=40, longest=3)
        for side, word in zip(SIDES, ("new", "NEW"), strict=True):
            path = text / f"train.{side}"
            path.write_text(f"{word}\n" + path.read_text().partition("\n")[2])
    corpus = dataclasses.replace(parent.config.corpus, directory=str(text))
    chosen = {"init_from": str(parent.path), **training}
    training = dataclasses.replace(parent.config.training, **chosen)
    return dataclasses.replace(parent.config, name="child", corpus=corpus, training=training)


@pytest.fixture
def parent(folder) -> RunFolder:
    return train(reversal_experiment(folder, max_epochs=1))


def test_it_starts_with_the_weights_and_vocabularies_of_its_parent(parent):
    config = child_of(parent, max_updates=1)
    run = train(with_optimizer(config, learning_rate=0.0))
    best, mine = load_checkpoint(parent.path, CPU), load_checkpoint(run.path, CPU)
    assert weights(run).keys() == best.model.state_dict().keys()
    assert all(torch.equal(weights(run)[k], v) for k, v in best.model.state_dict().items())
    assert all(getattr(mine, side).encodes_like(getattr(best, side)) for side in SIDES)
    assert mine.state.progress.update == 1
    manifest = parent.best / "manifest.json"
    assert run.record().parent == {"path": str(parent.best), "sha256": file_digest(manifest)}
    assert parent.record().parent == {}


@pytest.mark.parametrize("kind", ["whitespace", "sentencepiece"])
def test_the_text_is_encoded_with_the_tokenizers_of_the_parent(folder, kind):
    config = reversal_experiment(folder, max_updates=1)
    options = dataclasses.replace(config.tokenization, kind=kind, vocabulary_size=20)
    child = child_of(train(dataclasses.replace(config, tokenization=options)))
    given = child.corpus, child.tokenization, folder / "data"
    own, data = prepare(*given), prepare(*given, codec_folder(child))
    assert own.directory != data.directory == prepare(*given, codec_folder(child)).directory
    best = load_checkpoint(RunFolder(config).path, CPU)
    lines = (folder / "text" / "train.source").read_text().splitlines()
    for i, line in enumerate(lines):
        assert ids_of(data.train, i)[0] == [*best.source.encode(line), EOS]
    assert UNK in ids_of(data.train, 0)[0]
    assert UNK not in ids_of(own.train, 0)[0]
    if isinstance(data.source.tokenizer, SentencePieceTokenizer):
        assert data.source.tokenizer.model == best.source.tokenizer.model


def test_it_resumes_and_goes_on_without_its_parent(parent):
    config = child_of(parent, max_epochs=4)
    whole = train(dataclasses.replace(config, output=f"{config.output}-whole"))
    shorter = child_of(parent, max_epochs=3)
    run, _ = train_until(shorter, 4, lambda: 1 / 0, ZeroDivisionError)
    assert (known := run.record().parent)
    shutil.rmtree(parent.path)
    shutil.rmtree(config.data)
    train(shorter)
    assert outcome(train(config)) == outcome(whole)
    assert run.record().parent == known


def test_text_that_the_parent_has_learned_is_pointed_out(parent, caplog):
    config = child_of(parent, max_updates=1)
    text = Path(config.corpus.directory)
    for side, learned in zip(SIDES, ("train.source", "train.target"), strict=True):
        lines = (Path(parent.config.corpus.directory) / learned).read_text().splitlines()
        (text / f"valid.{side}").write_text("\n".join(["new", *lines[-7:]]))
    caplog.clear()
    run = train(config)
    assert any(re.match("valid: [78] of 8", line) for line in caplog.messages)
    caplog.clear()
    files = {"source": f"{text}/valid.source", "reference": f"{text}/valid.target"}
    evaluate(settings(run.path, **files))
    assert any(re.match("valid.source: [78] of 8", line) for line in caplog.messages)


def test_a_parent_decides_on_model_and_vocabulary_unless_they_are_typed(parent):
    words = ["experiment=own_text", f"corpus.directory={parent.config.corpus.directory}"]
    words += [f"training.init_from={parent.path}", "model.dropout=0.5"]
    (config,) = compose("train", words)
    assert dataclasses.replace(config.model, dropout=0.1) == parent.config.model
    assert config.tokenization.kind == "whitespace"
    assert (config.corpus.source, config.corpus.target) == ("en", "de")
    assert load_parent(config).directory == parent.best
    (config,) = compose("train", [*words, "model.embedding_dim=24", "tokenization=sentencepiece"])
    with pytest.raises(UserError, match=r"tokenization\.kind=whitespace .*model\.embedding_dim=16"):
        codec_folder(config)


def test_what_contradicts_the_parent_or_is_none_is_refused(parent):
    config = child_of(parent)
    rare = dataclasses.replace(config.tokenization, min_frequency=2, max_pieces=9)
    french = dataclasses.replace(config.corpus, target="fr", train_pairs=3)
    attention = dataclasses.replace(config.model.attention, kind="fixed")
    fixed = dataclasses.replace(config.model, attention=attention)
    for change, named in (
        ({"tokenization": rare}, r"has tokenization\.min_frequency=1;"),
        ({"corpus": french}, r"has corpus\.target=de;"),
        ({"model": fixed}, r"has model\.attention\.kind=additive;"),
        ({"training": child_of(parent, init_from="nowhere").training}, "nowhere"),
    ):
        with pytest.raises(UserError, match=named):
            codec_folder(dataclasses.replace(config, **change))
    train(child_of(parent, max_updates=1))
    with pytest.raises(UserError, match=r"training\.init_from="):
        train(child_of(parent, max_updates=1, init_from=str(parent.best)))
