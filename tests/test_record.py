"""What a record says of how a result came about."""

from seq2seq.record import command, describe_environment


def test_commands_leave_out_where_files_lie():
    arguments = ["train.py", "seed=2", "data=/here", "output=/there", "corpus.mirror=http://x"]
    assert command(arguments) == "python scripts/train.py seed=2"


def test_text_of_ones_own_is_said_without_its_place():
    arguments = ["evaluate.py", "directory=/a", "corpus.directory=/b", "corpus.train_source=/c"]
    arguments += ["+test_texts.news=/d", "test_texts={n: /e}"]
    assert command(arguments) == (
        "python scripts/evaluate.py directory=... corpus.directory=... corpus.train_source=... "
        "+test_texts.news=... test_texts=..."
    )


def test_a_line_names_the_processor_or_the_gpu():
    record = {
        "command": ["benchmark.py", "sizes=[l]"],
        "hardware": {"processor": "Abacus 3", "threads": "2", "torch": "9.9"},
        "git_commit": "0123456789abcdef",
        "git_modified": True,
    }
    assert describe_environment(record) == (
        "Command: `python scripts/benchmark.py 'sizes=[l]'`. Hardware: Abacus 3, 2 threads; "
        "PyTorch 9.9; code `0123456789` (modified)."
    )
    record["hardware"]["gpu"] = "Loom 7"
    assert "Hardware: Loom 7, bfloat16;" in describe_environment(record, "bfloat16")
    del record["git_commit"]
    assert describe_environment(record).endswith("PyTorch 9.9.")
