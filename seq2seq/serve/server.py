"""The stage ``serve``: load the checkpoints, listen, and end at a Ctrl-C."""

import contextlib
import logging
import socket
from importlib.util import find_spec

from seq2seq.config import ServeConfig
from seq2seq.errors import UserError
from seq2seq.serve.service import Service

log = logging.getLogger(__name__)

OWN_NAMES = ("127.0.0.1", "localhost", "::1")


def serve(config: ServeConfig) -> None:
    """Serve the page and the interface of ``config`` until a Ctrl-C.

    UserError if Starlette or uvicorn is not installed, if the address cannot be used, or if a
    checkpoint is missing, is damaged, or does not fit the others.
    """
    if missing := [name for name in ("starlette", "uvicorn") if find_spec(name) is None]:
        raise UserError(f"serve needs {' and '.join(missing)}; run pip install starlette uvicorn.")
    import uvicorn

    from seq2seq.serve.app import build_app

    with _listening(config) as listener:
        service = Service.load(config)
        app = build_app(service, frozenset({*OWN_NAMES, config.host, *config.names}))
        settings = uvicorn.Config(
            app,
            lifespan="off",
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=5,
        )
        host = f"[{config.host}]" if ":" in config.host else config.host
        systems = ", ".join(service.processes)
        log.info("Open http://%s:%d/ (%s). Ctrl-C ends.", host, listener.getsockname()[1], systems)
        with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises it again at its end
            uvicorn.Server(settings).run(sockets=[listener])


def _listening(config: ServeConfig) -> socket.socket:
    """Socket that listens at the address of ``config``; UserError if the address cannot be used."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    try:
        config.host.encode("idna")  # create_server does not close its socket for a wrong name
        return socket.create_server((config.host, config.port), family=family)
    except (OSError, UnicodeError) as error:
        raise UserError(
            f"host={config.host} port={config.port} cannot be used "
            f"({getattr(error, 'strerror', error)}); set another port or host."
        ) from None
