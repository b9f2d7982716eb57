"""What a record says of how a result came about."""

from seq2seq.record import command, describe_environment, describe_environments, earlier_commits


def test_commands_leave_out_where_files_lie():
    arguments = ["train.py", "seed=2", "data=/here", "output=/there", "corpus.mirror=http://x"]
    assert command(arguments) == "python scripts/train.py seed=2"


def test_of_places_from_the_root_only_the_end_is_said():
    arguments = ["evaluate.py", "checkpoint=/home/me/work/outputs/a/attention/seed-1"]
    arguments += ["more_checkpoints=[/x/outputs/b/c/seed-2, /runs/of/mine/best]", "search=beam/5"]
    arguments += ["a='/home/me/w/m'", "b=/home/me/model", "c=/x/y", "d=/z", "e=http://host/x/y"]
    assert command(arguments) == (
        "python scripts/evaluate.py checkpoint=.../outputs/a/attention/seed-1 "
        "'more_checkpoints=[.../outputs/b/c/seed-2, .../mine/best]' search=beam/5 "
        """'a='"'"'.../w/m'"'"'' b=.../model c=.../y d=.../z e=http://host/x/y"""
    )


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


def made_by(*arguments, threads="2"):
    hardware = {"processor": "Abacus 3", "threads": threads, "torch": "9.9"}
    return {"command": list(arguments), "hardware": hardware}


def test_what_several_commands_share_is_said_once():
    records = [
        made_by("train.py", "seed=2", "system=a"),
        made_by("train.py", "seed=2", "system=b", "output=/there"),
        made_by("train.py", "seed=2", "system=b"),
        made_by("train.py", "seed=2"),
    ]
    assert describe_environments(records) == [
        "Command: `python scripts/train.py seed=2`, with `system=a`, with `system=b` and as it is. "
        "Hardware: Abacus 3, 2 threads; PyTorch 9.9."
    ]


def test_several_results_of_one_command_are_one_line():
    records = [made_by("train.py", "seed=2"), made_by("train.py", "seed=2", "output=/there")]
    assert describe_environments(records) == [describe_environment(records[0])]


def test_other_scripts_machines_and_precisions_have_lines_of_their_own():
    records = [
        made_by("train.py", "a=1"),
        made_by("reproduce.py", "a=1"),
        made_by("train.py", "a=1", threads="1"),
        {**made_by("train.py", "a=1"), "precision": "bfloat16"},
        {},
    ]
    lines = describe_environments(records)
    alone = [describe_environment(record) for record in records]
    assert lines[:3] == alone[:3]
    assert "2 threads, bfloat16;" in lines[3]
    assert lines[4] == alone[4]
    assert "1 thread;" in lines[2]
    assert len(lines) == 5


def test_code_that_worked_at_it_before_is_remembered():
    a, b, c = ({"git_commit": letter * 40} for letter in "abc")
    assert earlier_commits({}, a) == earlier_commits(a, a) == []
    second = {**b, "earlier_commits": earlier_commits(a, b)}
    assert second["earlier_commits"] == ["a" * 40]
    assert earlier_commits(second, c) == ["a" * 40, "b" * 40]
    assert earlier_commits(second, a) == ["b" * 40]
    assert earlier_commits({"git_commit": None}, a) == []
    assert describe_environment(second).endswith("code `bbbbbbbbbb`, going on from `aaaaaaaaaa`.")
