"""Who may use a run folder, and who starts from it, on another text (fine-tuning)."""

import contextlib
import dataclasses
import functools
import json
import operator
import shutil
from pathlib import Path

import pytest
import torch
from helpers.reversal import reversal_experiment, with_optimizer, write_reversal_corpus
from helpers.samples import ids_of
from helpers.small_training import outcome, train, train_until, weights
from safetensors.torch import load_file

from seq2seq.checkpoint import MODEL
from seq2seq.config import TrainConfig, flatten
from seq2seq.data.preparation import prepare
from seq2seq.data.text import SIDES, read_lines
from seq2seq.data.tokenization import TextCodec
from seq2seq.data.vocabulary import EOS, UNK
from seq2seq.errors import UserError
from seq2seq.files import file_digest, locked
from seq2seq.training.run_folder import RunFolder, codec_folder

pytestmark = pytest.mark.unchecked


MAY_CHANGE = (
    *("baseline", "data", "output", "evaluation", "corpus.directory", "corpus.mirror"),
    *("training.device", "training.keep_epochs", "training.log_every", "training.logger"),
    *("training.max_epochs", "training.max_updates", "training.patience", "training.save_minutes"),
)
"""Settings, or groups of them, that make no other run."""


@pytest.mark.parametrize(
    ("metric", "schedule", "fixed"),
    [
        ("loss", "average", set()),
        # BLEU depends on its tokens, and the rate on the limits.
        ("bleu", "average", {"evaluation.tokenize"}),
        ("loss", "linear", {"training.max_epochs", "training.max_updates"}),
    ],
)
def test_every_setting_makes_another_run_but_those_that_may_change(
    tmp_path, metric, schedule, fixed
):
    config = reversal_experiment(tmp_path, early_stopping_metric=metric)
    folder = RunFolder(with_optimizer(config, schedule=schedule))
    assert folder.path == tmp_path / "outputs" / "reversal" / "attention" / "seed-1"
    folder.claim({})
    path = folder.path / "config.json"
    whole = path.read_text()
    for key in flatten(dataclasses.asdict(folder.config)):
        config = json.loads(whole)
        *groups, name = key.split(".")
        functools.reduce(operator.getitem, groups, config)[name] = "another"
        path.write_text(changed := json.dumps(config))
        free = any(key == one or key.startswith(f"{one}.") for one in MAY_CHANGE)
        refused = pytest.raises(UserError, match=key)
        with contextlib.nullcontext() if free and key not in fixed else refused:
            folder.claim({})
        assert path.read_text() == changed


def test_two_trainings_of_one_folder_are_refused_and_so_is_a_damaged_one(folder):
    run = RunFolder(reversal_experiment(folder))
    run.claim({})
    for _ in range(2):
        with locked(run.path / "lock"), pytest.raises(UserError, match="another process"):
            train(run.config)
    for file in ("run.json", "config.json"):
        (run.path / file).write_bytes(b"{\xff}")
        with pytest.raises(UserError, match=file):
            run.claim({})


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


@pytest.mark.parametrize("kind", ["whitespace", "sentencepiece"])
def test_it_starts_with_the_weights_and_tokenizers_of_its_parent(folder, kind):
    config = reversal_experiment(folder, max_updates=1)
    options = dataclasses.replace(config.tokenization, kind=kind, vocabulary_size=20)
    parent = train(dataclasses.replace(config, tokenization=options))
    child = child_of(parent)
    run = train(with_optimizer(child, learning_rate=0.0))
    torch.testing.assert_close(weights(run), load_file(parent.best / MODEL), rtol=0, atol=0)
    manifest = parent.best / "manifest.json"
    assert run.record().parent == {"path": str(parent.best), "sha256": file_digest(manifest)}
    given = child.corpus, child.tokenization, Path(child.data)
    own, data = prepare(*given), prepare(*given, codec_folder(child))
    assert own.directory != data.directory
    codec = TextCodec.load(parent.best, "source")
    for i, line in enumerate(read_lines(folder / "text" / "train.source")):
        assert ids_of(data.train, i)[0] == [*codec.encode(line), EOS]
    assert UNK in ids_of(data.train, 0)[0]


def test_it_resumes_and_goes_on_without_its_parent(parent):
    config = child_of(parent, max_epochs=4)
    whole = train(dataclasses.replace(config, output=f"{config.output}-whole"))
    shorter = child_of(parent, max_epochs=3)
    known = train_until(shorter, 4).record().parent
    shutil.rmtree(parent.path)
    shutil.rmtree(config.data)
    train(shorter)
    run = train(config)
    assert outcome(run) == outcome(whole)
    assert run.record().parent == known != {}


def test_text_that_the_parent_has_learned_is_pointed_out(parent, caplog):
    config = child_of(parent, max_updates=1)
    for side in SIDES:
        lines = list(read_lines(Path(parent.config.corpus.directory) / f"train.{side}"))
        text = Path(config.corpus.directory, f"valid.{side}")
        text.write_text("\n".join(["new", *lines[-7:]]))
    train(config)
    assert any(line.startswith(("valid: 7 of 8", "valid: 8 of 8")) for line in caplog.messages)
