"""A line says which command, on which machine, with which code."""

from dataclasses import replace

from seq2seq.record import Hardware, Record
from seq2seq.report.training_runs import command, describe_environments


def test_commands_leave_out_where_files_lie_but_say_that_text_was_ones_own():
    arguments = ["evaluate.py", "seed=2", "data=/here", "output=/there", "corpus.mirror=http://x"]
    arguments += ["checkpoint=/home/me/work/outputs/a/attention/seed-1", "c=/x/y", "e=http://h/x"]
    arguments += ["more=[/x/outputs/b/c/seed-2, /runs/of/mine/best]", "search=beam/5"]
    arguments += ["directory=/a", "+test_texts.news=/d"]
    assert command(arguments) == (
        "python scripts/evaluate.py seed=2 checkpoint=.../attention/seed-1 c=/x/y e=http://h/x "
        "'more=[.../c/seed-2, .../mine/best]' search=beam/5 "
        "directory=... +test_texts.news=..."
    )


def test_the_commands_of_one_machine_and_precision_are_one_line():
    def made_by(*arguments, threads="2"):
        hardware = Hardware(processor="Abacus 3", threads=threads, torch="9.9")
        return Record(command=list(arguments), hardware=hardware)

    records = [
        made_by("train.py", "system=a"),
        made_by("train.py", "system=b", "output=/there"),
        made_by("train.py", "system=b"),
        made_by("train.py", threads="1"),
        replace(made_by("train.py"), precision="bfloat16"),
        replace(made_by("train.py"), git_commit="0123456789abcdef", git_modified=True),
        replace(made_by("train.py"), git_commit="0" * 40, earlier_commits=["a" * 40]),
        Record(hardware=Hardware(gpu="Loom 7", torch="9.9"), precision="bfloat16"),
        Record(),
    ]
    first, second, third, modified, resumed, gpu, unknown = describe_environments(records)
    assert first == (
        "Command: `python scripts/train.py system=a`, `python scripts/train.py system=b`. "
        "Hardware: Abacus 3, 2 threads; PyTorch 9.9."
    )
    assert "1 thread;" in second
    assert "2 threads, bfloat16;" in third
    assert modified.endswith("PyTorch 9.9; code `0123456789` (modified).")
    assert "`aaaaaaaaaa`" in resumed
    assert "Hardware: Loom 7, bfloat16;" in gpu
    assert "unknown" in unknown
