"""The server of the live page: for this machine alone.

It binds to a loopback address, and it answers only requests that were addressed to one: a page elsewhere on the web
whose name is made to point here (DNS rebinding), or that opens a connection to it, is refused.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

LOOPBACK = ("localhost", "127.0.0.1", "::1")
BIND = "127.0.0.1"


class NotLocal(ValueError):
    """Somebody asks for an address that is not this machine's own."""


def tunnel_advice(port: int) -> str:
    """How to see the page from another machine."""
    return f"on the other machine run: ssh -L {port}:{BIND}:{port} USER@THIS_MACHINE, and open http://localhost:{port} there"


def check_host(host: str) -> None:
    """Refuse to serve anything but this machine."""
    if host.strip("[]") not in LOOPBACK:
        raise NotLocal(f"the page is served on this machine only, not on '{host}'")


def free_port(port: int) -> int:
    """The port, if nobody listens there; raises OSError otherwise. 0 stands for any."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((BIND, port))
        return int(probe.getsockname()[1])


def refusal(headers: Mapping[str, str]) -> str | None:
    """Why a request is not answered; None if it comes from this machine's browser and from our own page."""
    host = headers.get("Host") or ""
    if urlsplit(f"//{host}").hostname not in LOOPBACK:
        return "this page answers to localhost only"
    origin = headers.get("Origin")
    if origin is not None and urlsplit(origin).hostname not in LOOPBACK:
        return "another page may not connect to this one"
    return None


def start_server(port: int, label: str) -> Any:
    """A viser server on this machine's own address, guarded."""
    import viser

    with _guarded(port):
        return viser.ViserServer(host=BIND, port=port, label=label, verbose=False)


@contextmanager
def _guarded(port: int) -> Iterator[None]:
    """Servers that start inside check every request first; viser itself has no place for such a check."""
    import websockets.asyncio.server as module
    from websockets import Headers
    from websockets.http11 import Response

    original = module.serve

    def serve(handler: Any, host: Any, port_used: Any, *, process_request: Any, **more: Any) -> Any:
        def checked(connection: Any, request: Any) -> Any:
            reason = refusal(request.headers)
            if reason is None:
                return process_request(connection, request)
            body = f"{reason}; {tunnel_advice(port)}\n".encode()
            head = Headers(
                {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body)), "Connection": "close"}
            )
            return Response(HTTPStatus.FORBIDDEN.value, HTTPStatus.FORBIDDEN.phrase, head, body)

        return original(handler, host, port_used, process_request=checked, **more)

    module.serve = serve  # type: ignore[assignment, misc]
    try:
        yield
    finally:
        module.serve = original  # type: ignore[misc]
