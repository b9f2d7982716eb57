"""Scripts that start at once, in copies of a process that has imported the program already.

Python needs seconds to import PyTorch, and the tests start hundreds of scripts. A copy (a fork) is
a process of its own all the same: it has its own arguments, environment, folder and streams.

``python warm.py SOCKET SCRIPT [ARGUMENT...]`` runs a script for a shell, with the shell's streams.
It passes signals on; if it is killed, so is the copy. This file imports little, so that it starts
at once.
"""

import atexit
import gc
import json
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

STREAMS = (0, 1, 2)


def address() -> str:
    """Path of the server's socket; each value of ``SACREBLEU``, read at import, has a server."""
    return start(os.environ.get("SACREBLEU"))


@cache
def start(_: str | None) -> str:
    import subprocess
    import tempfile

    folder = tempfile.TemporaryDirectory()
    path = f"{folder.name}/warm"
    server = subprocess.Popen(
        [sys.executable, __file__, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONWARNINGS": "error", "CUDA_VISIBLE_DEVICES": ""},
    )
    atexit.register(folder.cleanup)
    atexit.register(server.communicate)
    server.stdout.readline()  # it listens
    return path


def call(server: str, words: list[str]) -> int:
    """Run a script with its arguments, as this process would; return its exit status."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(server)
        socket.send_fds(connection, [b"streams"], STREAMS)
        request = {"words": words, "folder": str(Path.cwd()), "environment": {**os.environ}}
        connection.sendall(json.dumps(request).encode() + b"\n")
        answers = connection.makefile()
        copy = int(answers.readline())

        def pass_on(number: int, _: object) -> None:
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(copy, number)

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, pass_on)
        return int(answers.readline())


def serve(path: str) -> list[str]:
    """Answer calls until standard input ends; in a copy, return the words of a call."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    print("ready", flush=True)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the copies that answer calls
    while listener in select.select([listener, sys.stdin], [], [])[0]:
        connection, _ = listener.accept()
        if os.fork():
            connection.close()
            continue
        listener.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _, streams, *_ = socket.recv_fds(connection, len(b"streams"), len(STREAMS))
        request = json.loads(connection.makefile().readline())
        if copy := os.fork():
            connection.sendall(f"{copy}\n".encode())
            if connection in select.select([connection, os.pidfd_open(copy)], [], [])[0]:
                os.kill(copy, signal.SIGKILL)  # the caller is gone
                os._exit(0)
            status = os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])
            connection.sendall(f"{status if status >= 0 else 128 - status}\n".encode())
            os._exit(0)
        connection.close()
        for stream, number in zip(streams, STREAMS, strict=True):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        return request["words"]
    os._exit(0)


def sketch(lay_out, prefix="", forms=("svg",)) -> dict[str, bytes]:
    """Lay out a figure as the program does, but draw nothing: nobody looks at these pictures."""
    from seq2seq.drawing import styled

    with styled():
        lay_out()
    return dict.fromkeys(forms, b"<svg></svg>")


def main() -> None:
    if len(sys.argv) > 2:
        sys.exit(call(sys.argv[1], sys.argv[2:]))
    import pkgutil
    import runpy
    from importlib import import_module

    root = Path(__file__).resolve().parents[2]
    sys.path[:1] = [str(root / "scripts"), str(root / "study")]
    import_module("cli")
    package = import_module("seq2seq")
    import_module("seq2seq.drawing").render = sketch
    for module in pkgutil.walk_packages(package.__path__, "seq2seq."):
        if not module.name.endswith(("fast.gpu", "__main__")):
            import_module(module.name)
    import_module("seq2seq.composition").compose("reproduce", ["model.dropout=0.1"])
    os.fsync = lambda descriptor: None  # as in conftest.py
    gc.freeze()  # a collection in a copy would write to each object, and so copy it
    sys.argv = serve(sys.argv[1])
    sys.orig_argv = [sys.executable, *sys.argv]
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
