"""A web server on this machine that plays the remote."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Remote(ThreadingHTTPServer):
    """Serves ``files``; the first ``busy`` requests are answered with 503."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.files: dict[str, bytes] = {}
        self.busy = 0
        self.requests: list[str] = []


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        remote = self.server
        remote.requests.append(self.path)
        remote.busy -= 1  # before the answer: the next request may be here at once
        if remote.busy >= 0 or self.path not in remote.files:
            self.send_error(503 if remote.busy >= 0 else 404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(remote.files[self.path])))
        self.end_headers()
        self.wfile.write(remote.files[self.path])

    def log_message(self, *args):
        pass


@pytest.fixture
def remote(monkeypatch):
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "*")
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    with Remote() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()
