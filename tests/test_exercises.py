"""The exercises: right answers pass, and each usual mistake has a message of its own."""

import re
from unittest import mock

import pytest
from exercises import grade
from helpers.commands import TOY

import seq2seq
from seq2seq.config.settings import ATTENTION_KINDS
from seq2seq.model.attention import OWN

MISTAKES = {
    "scores = self.v_a(self.W_a(query)[:, None] + source.keys).squeeze(2)": "tanh",
    "weights = scores.masked_fill(~source.mask, -torch.inf).softmax(0)": "axis",
    "weights = scores.softmax(dim=1) * source.mask": "before the softmax",
    "back = self.back(reverse(words, mask))[0]": "reversed",
    "back = self.back(words.flip(1))[0].flip(1)": "read first",
    "summary = torch.cat([ahead[:, -1], back[:, 0]], dim=1)": "at last",
    "summary = torch.cat([ahead[range(len(last)), last], back[:, -1]], dim=1)": "at the first",
    "context = source.annotations.mean(dim=1)": "without",
    "cell = i.sigmoid() * cell + f.sigmoid() * g.tanh()": "forget",
    "before = translations": "word before",
    "real = translations >= PAD": "must not count",
}
BLANK = (grade.HERE / "own_attention.py").read_text(encoding="utf-8")
MINE = BLANK.replace("raise NotImplementedError", "return self.query(query) @ source.keys.mT")


def wrong(folder, blanks, own=MINE):
    """What is wrong with each exercise that is not right."""
    (folder / "blanks.py").write_text(blanks, encoding="utf-8")
    (folder / "own_attention.py").write_text(own, encoding="utf-8")
    with mock.patch.dict(ATTENTION_KINDS), mock.patch.dict(OWN):
        return [*filter(None, grade.grade(folder).values())]


def test_answers_are_accepted_and_blanks_are_not(tmp_path):
    assert wrong(tmp_path, grade.exercises(answers=True)) == []
    assert wrong(tmp_path, grade.exercises(), BLANK) == ["still blank."] * 9


@pytest.mark.slow
def test_each_usual_mistake_has_a_message_of_its_own(tmp_path):
    said = []
    for mistake in MISTAKES:
        line = rf"(?m)^        {mistake.split()[0]} = .*(?=\n +# End)"
        said += wrong(tmp_path, re.sub(line, " " * 8 + mistake, grade.exercises(answers=True)))
    keys = [[key for key in MISTAKES.values() if key in one] for one in said]
    assert keys == [[key] for key in MISTAKES.values()], said


@pytest.mark.slow
def test_a_checkpoint_of_an_own_attention_opens_only_where_it_is_registered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with mock.patch.dict(ATTENTION_KINDS), mock.patch.dict(OWN):
        kind = grade.Module(MINE).Mine
        run = seq2seq.train(*TOY, "training.max_updates=2", system="mine")
        assert type(run.translator.model.decoder.attention) is kind
    with pytest.raises(seq2seq.UserError, match=r"attention\.kind"):
        seq2seq.Translator(run.path)
