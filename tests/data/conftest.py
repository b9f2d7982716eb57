"""A web server on this machine that plays the remote."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Remote:
    """Serves ``files``; the first ``busy`` requests are answered with 503."""

    def __init__(self):
        self.files: dict[str, bytes] = {}
        self.busy = 0
        self.requests: list[str] = []
        remote = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                remote.requests.append(self.path)
                if remote.busy or self.path not in remote.files:
                    self.send_error(503 if remote.busy else 404)
                    remote.busy = max(0, remote.busy - 1)
                    return
                body = remote.files[self.path]
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def remote(monkeypatch):
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "*")
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    remote = Remote()
    thread = threading.Thread(target=remote.server.serve_forever, args=(0.02,))
    thread.start()
    yield remote
    remote.server.shutdown()
    remote.server.server_close()
    thread.join()
