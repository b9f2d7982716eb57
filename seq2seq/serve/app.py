"""The server's routes: the page, and a JSON interface for any program."""

import asyncio
import logging
import signal
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from seq2seq.config import from_json
from seq2seq.errors import UserError
from seq2seq.files import parse_object
from seq2seq.report.live.page import content_policy
from seq2seq.serve.service import LOST, Question, Service

log = logging.getLogger(__name__)

DESCRIPTION = Path(__file__).with_name("openapi.json")
MOST_WAITING = 8
"""Maximum number of translation requests at one time, those that wait included."""
MOST_BYTES = 65_536
"""Maximum size of a request's body."""


def build_app(service: Service, hosts: frozenset[str]) -> Starlette:
    """Build the application; it answers only requests that call this server by a name in ``hosts``.

    Upper and lower case are equal. Translations are made for one request after the other.
    """
    worker, waiting = ThreadPoolExecutor(1), 0
    hosts = frozenset(name.lower() for name in hosts)
    headers = {
        "Content-Security-Policy": content_policy(service.page),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
    }

    async def translate(request: Request) -> Response:
        nonlocal waiting
        question = from_json(Question, await _body(request))
        if waiting >= MOST_WAITING:
            raise HTTPException(429, f"{waiting} requests are waiting; ask again in a second.")
        waiting += 1
        try:
            work = asyncio.get_running_loop().run_in_executor(worker, service.answer, question)
            return JSONResponse({"systems": await work})
        finally:
            waiting -= 1

    async def refused(request: Request, error: Exception) -> Response:
        status, sentence = 400, str(error)
        if isinstance(error, HTTPException):
            status, sentence = error.status_code, error.detail
        if status in (404, 405):
            what = f"{request.method} {request.url.path}"
            sentence = f"There is no {what} here; see /openapi.json."
        return JSONResponse({"error": sentence}, status)

    async def lost(_: Request, error: Exception) -> Response:
        log.error(LOST)
        signal.raise_signal(signal.SIGTERM)  # a service manager can start it again
        return JSONResponse({"error": LOST}, 503)

    async def broken(_: Request, error: Exception) -> Response:
        return JSONResponse({"error": "The server failed; its terminal says why."}, 500, headers)

    async def guard(request: Request, call_next: RequestResponseEndpoint) -> Response:
        name = _host(request)
        if name in hosts:
            response = await call_next(request)
        else:
            sentence = f"This server is not called '{name}'; use its name, or set names=[...]."
            response = JSONResponse({"error": sentence}, 421)
        response.headers.update(headers)
        return response

    fixed = {
        "/": Response(service.page, media_type="text/html"),
        "/api/systems": JSONResponse({"systems": service.systems}),
        "/openapi.json": Response(DESCRIPTION.read_bytes(), media_type="application/json"),
        "/healthz": JSONResponse({"status": "ok"}),
    }
    routes = [Route(path, response, methods=["GET"]) for path, response in fixed.items()]
    routes.append(Route("/api/translate", translate, methods=["POST"]))
    handlers: Any = {
        HTTPException: refused,
        UserError: refused,
        BrokenProcessPool: lost,
        Exception: broken,
    }
    guarded = [Middleware(BaseHTTPMiddleware, dispatch=guard)]
    return Starlette(routes=routes, middleware=guarded, exception_handlers=handlers)


async def _body(request: Request) -> dict[str, Any]:
    """Read a JSON object of at most ``MOST_BYTES``; HTTPException for anything else."""
    # A browser lets other sites' pages send this type only if the server permits it; ours does not.
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "The body must be JSON; set Content-Type: application/json.")
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > MOST_BYTES:
            raise HTTPException(413, f"The body has more than {MOST_BYTES:,} bytes; shorten it.")
    try:
        return parse_object(content)
    except ValueError:
        sentence = 'The body is not a valid JSON object; send {"text": "a sentence"}.'
        raise HTTPException(400, sentence) from None


def _host(request: Request) -> str:
    """Name by which the request calls this server, without the port; "" if it is not valid."""
    try:
        return urlsplit("//" + request.headers.get("host", "")).hostname or ""
    except ValueError:
        return ""
