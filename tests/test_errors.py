"""A sentence stays one sentence, whatever it quotes."""

from seq2seq.errors import LONGEST, UserError


def test_what_a_terminal_would_obey_is_spelt_out():
    error = UserError("name=a\nb\x1b[2J\u2028\ud800\u202e is none.")
    assert str(error) == r"name=a\nb\x1b[2J\u2028\ud800\u202e is none."
    assert (
        str(UserError("Füße, 日本, 🙂 and no\u00a0break.")) == "Füße, 日本, 🙂 and no\u00a0break."
    )


def test_the_two_ends_of_a_long_sentence_are_kept():
    sentence = str(UserError(f"{'x' * 10**6}; mend it."))
    assert len(sentence) < LONGEST + 10
    assert sentence.startswith("xxx")
    assert sentence.endswith("[...] " + "x" * (LONGEST // 2 - 10) + "; mend it.")
