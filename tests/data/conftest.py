"""A web server on this machine that plays the remote."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Remote:
    """Serves ``files``; the first ``busy`` requests are answered with 503."""

    def __init__(self, url):
        self.url = url
        self.files: dict[str, bytes] = {}
        self.busy = 0
        self.requests: list[str] = []


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        remote = self.server.remote
        remote.requests.append(self.path)
        if remote.busy:
            remote.busy -= 1  # before the answer: the next request may be here at once
            self.send_error(503)
            return
        if self.path not in remote.files:
            self.send_error(404)
            return
        body = remote.files[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture(scope="session")
def server():
    """One server for all tests, so that a list of addresses can be made once."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def remote(server, monkeypatch):
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "*")
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    server.remote = Remote(server.url)
    return server.remote
