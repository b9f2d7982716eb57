"""A web server on this machine that plays the remote, with the failures remotes have."""

import hashlib
import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Remote:
    """Serves ``files``; each request for a path takes the next of its ``faults``, if any.

    Faults: ``busy`` (503), ``half`` (the connection ends half way), ``silent`` (no answer),
    ``endless`` (no length is named), ``packed`` (Content-Encoding: gzip), ``shifted`` (another
    range than asked for), ``elsewhere`` (redirects to a file URL).
    """

    def __init__(self):
        self.files = {}
        self.faults = defaultdict(list)
        self.ranges = True
        self.requests = []
        self.closing = threading.Event()
        remote = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                remote.answer(self)

            def log_message(self, *args):
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, request, client_address):
                pass  # the client hung up: part of the game

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()

    def answer(self, request):
        path = request.path
        span = request.headers.get("Range")
        self.requests.append((path, span))
        fault = self.faults[path].pop(0) if self.faults[path] else ""
        if fault == "silent":
            self.closing.wait(10)
            return
        if fault == "busy" or path not in self.files:
            request.send_error(503 if fault else 404)
            return
        if fault == "elsewhere":
            request.send_response(302)
            request.send_header("Location", "file:///etc/hostname")
            request.end_headers()
            return
        body = self.files[path]
        tag = f'"{hashlib.md5(body).hexdigest()}"'
        start = 0
        if span and self.ranges and request.headers.get("If-Range", tag) == tag:
            start = int(span.removeprefix("bytes=").removesuffix("-"))
            if start >= len(body):
                request.send_error(416)
                return
            start -= fault == "shifted"
            request.send_response(206)
            request.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            request.send_response(200)
        request.send_header("ETag", tag)
        if fault != "endless":
            request.send_header("Content-Length", str(len(body) - start))
        if fault == "packed":
            request.send_header("Content-Encoding", "gzip")
        request.end_headers()
        stop = start + (len(body) - start) // 2 if fault == "half" else len(body)
        request.wfile.write(body[start:stop])

    def close(self):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    """Whatever proxy the environment names, it is not asked for this machine."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "*")


@pytest.fixture
def remote():
    server = Remote()
    yield server
    server.close()
