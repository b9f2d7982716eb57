"""``translate`` at a terminal, in a pipe that closes, and at a Ctrl-C."""

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers.small_checkpoint import save_tiny

SCRIPT = str(Path(__file__).resolve().parent.parent / "scripts" / "translate.py")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="signals and terminals of POSIX"),
]
# Makes the terminal that is its standard input its own, then becomes the script.
AT_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return save_tiny(tmp_path_factory.mktemp("tiny") / "tiny")


@contextlib.contextmanager
def started(checkpoint, *arguments, program=(SCRIPT,), streams=subprocess.PIPE, **options):
    """The script, all its standard streams being ``streams``; it does not outlive the block."""
    script = subprocess.Popen(
        [sys.executable, *program, f"checkpoint={checkpoint}", "decoding=greedy", *arguments],
        env={**os.environ, "PYTHONWARNINGS": "error", "TERM": "dumb"},
        **dict.fromkeys(("stdin", "stdout", "stderr"), streams),
        **options,
    )
    with script:
        try:
            yield script
            script.wait(300)
        finally:
            script.kill()


def wait_until_it_waits(script):
    """Return once the script sleeps: readline loses a Ctrl-C that comes while it still handles
    the key before, until the next key."""
    stat, end = Path(f"/proc/{script.pid}/stat"), time.monotonic() + 300
    while time.monotonic() < end:
        time.sleep(0.1)
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "S":
            return


def test_a_slow_pipe_is_answered_at_once_and_ctrl_c_keeps_the_files(checkpoint, tmp_path):
    links = tmp_path / "links"
    with started(checkpoint, "chunk=1", f"alignments={links}") as script:
        for _ in range(3):
            script.stdin.write(b"a dog\n")
            script.stdin.flush()
            assert script.stdout.readline()
        wait_until_it_waits(script)  # it has told of the third line, and wants a fourth
        script.send_signal(signal.SIGINT)
        said = script.stderr.read().decode()
    assert script.returncode == 130
    assert said == f"Stopped after 3 lines; those written are in {links}.part.\n"
    assert Path(f"{links}.part").read_text().count("\n") == 3
    assert not links.exists()


def test_a_closed_pipe_ends_quietly(checkpoint, tmp_path):
    text = tmp_path / "text"
    text.write_text("a dog barks\n" * 20_000)
    with started(checkpoint, "chunk=1", f"input={text}") as script:
        assert script.stdout.readline()
        script.stdout.close()
        assert script.stderr.read() == b""
    assert script.returncode == 0


def test_a_prompt_translates_what_is_typed(checkpoint):
    terminal, other_end = os.openpty()
    settings = ["alignments=-", "decoding.beam=2", "decoding.n_best=2"]
    program = ("-c", AT_TERMINAL, SCRIPT)
    running = started(
        checkpoint, *settings, program=program, streams=other_end, start_new_session=True
    )

    def answer(keys=b"", until=b"en> "):
        os.write(terminal, keys)
        shown, end = b"", time.monotonic() + 300
        while until not in shown:
            assert time.monotonic() < end, shown
            if select.select([terminal], [], [], 1)[0]:
                shown += os.read(terminal, 4_096)
        return shown.decode("utf-8", "replace")

    with running as script:
        os.close(other_end)
        assert "Ctrl-D ends" in answer()
        shown = answer("a dog bàrks 😀\n".encode()).splitlines()
        scores = [float(line.split()[0]) for line in shown[1:3]]
        assert scores == sorted(scores, reverse=True)
        assert shown[3].split()[0] == "links"
        assert re.search(r"\d-0\b", shown[3])
        assert '"à"' in shown[4]
        assert answer(b"\n") == "\r\nen> "
        answer(b"half a line", until=b"line")
        wait_until_it_waits(script)
        os.write(terminal, b"\x03")
        assert script.wait(300) == 0
    os.close(terminal)
