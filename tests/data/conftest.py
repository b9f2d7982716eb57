"""A web server on this machine that plays the remote."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Handler(SimpleHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append(self.path)
        if len(self.server.requests) <= self.server.busy:
            self.send_error(503)
        else:
            super().do_GET()

    def log_message(self, *args):
        pass


@pytest.fixture
def remote(monkeypatch, tmp_path_factory):
    """Serves the files of ``folder``, but answers the first ``busy`` requests with 503."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "*")
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    folder = tmp_path_factory.mktemp("remote")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=folder)) as server:
        server.folder, server.requests, server.busy = folder, [], 0
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()
