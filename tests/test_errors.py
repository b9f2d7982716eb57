"""A sentence stays one sentence, whatever it quotes."""

from seq2seq.errors import UserError


def test_what_a_terminal_would_obey_is_spelt_out():
    error = UserError("name=a\nb\x1b[2J\u2028\ud800\u202e is none.")
    assert str(error) == r"name=a\nb\x1b[2J\u2028\ud800\u202e is none."
    plain = "Füße, 日本 and 🙂."
    assert str(UserError(plain)) == plain
