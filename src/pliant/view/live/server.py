"""The server of the live page: local connections only, with a token in the address.

It binds to a loopback address. Its address contains a token that is generated for each page, and it answers only requests with
this token that are addressed to this machine and this port and come from the page itself: neither a web page with a name that
resolves to this machine (DNS rebinding), nor a page that another program serves on this machine, can read or control it. Of the
messages sent by browsers, only those of the page's own controls are passed to viser.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import hmac
import html
import math
import secrets
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any, get_args, get_type_hints
from urllib.parse import urlsplit

LOOPBACK = ("localhost", "127.0.0.1", "::1")
BIND = "127.0.0.1"
LARGEST_MESSAGE = 1 << 16
LONGEST_TEXT = 1000
"""Maximum size of a browser's message [bytes], and of the text of a control [characters]."""


class NotLocal(ValueError):
    """Raised for an address that is not local to this machine."""


def tunnel_advice(port: int) -> str:
    """How to see the page from another machine."""
    return (
        f"on the other machine run: ssh -L {port}:{BIND}:{port} USER@THIS_MACHINE, and open this page's address there"
    )


def check_host(host: str) -> None:
    """Raise NotLocal unless the host is this machine."""
    if host.strip("[]") not in LOOPBACK:
        raise NotLocal(f"the page is served on this machine only, not on '{host}'")


def free_port(port: int) -> int:
    """The port, if it is free; raises OSError otherwise. 0 means any."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((BIND, port))
        return int(probe.getsockname()[1])


# -- requests --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RequestGuard:
    """Accepts requests for the address of the page. port: of the server; word: the token in the address."""

    port: int
    word: str

    @property
    def url(self) -> str:
        """The page's address."""
        return f"http://localhost:{self.port}/{self.word}/"

    def refusal(self, path: str, headers: Mapping[str, str]) -> str | None:
        """Why a request is not answered; None if it comes from this machine's browser and from the page itself."""
        if not self._is_ours(f"//{headers.get('Host') or ''}"):
            return f"this page is served at localhost:{self.port} only"
        origin = headers.get("Origin")
        if origin is not None and not (origin.startswith("http://") and self._is_ours(origin)):
            return "connections from other pages are not allowed"
        word = path.partition("?")[0].strip("/").partition("/")[0]
        if not hmac.compare_digest(word.encode(errors="surrogateescape"), self.word.encode()):
            return "incomplete address: use the complete address that was printed"
        return None

    def inside(self, path: str) -> str:
        """A path of the server, without the token."""
        return "/" + path.lstrip("/").removeprefix(self.word).lstrip("/")

    def _is_ours(self, address: str) -> bool:
        try:
            parts = urlsplit(address)
            return parts.hostname in LOOPBACK and parts.port == self.port and parts.username is None
        except ValueError:
            return False


# -- messages --------------------------------------------------------------------------------------------------------------


def is_expected(raw: Any) -> bool:
    """Whether a message is one that the page's own controls send: the pose of the camera, or the new value of one control."""
    import msgspec

    try:
        message = msgspec.msgpack.decode(raw) if isinstance(raw, bytes) else None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return False
    if not isinstance(message, dict):
        return False
    if message.get("type") == "ViewerCameraMessage":
        sizes = _camera_sizes()
        return message.keys() == {"type", *sizes} and all(_is_vector(message[name], n) for name, n in sizes.items())
    if message.get("type") != "GuiUpdateMessage" or not isinstance(message.get("uuid"), str):
        return False
    updates = message.get("updates")
    return isinstance(updates, dict) and set(updates) == {"value"} and _is_plain(updates["value"])


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= LONGEST_TEXT
    return isinstance(value, bool | int | float) and math.isfinite(value)


@cache
def _camera_sizes() -> dict[str, int]:
    """Lengths of the lists in a camera's message, by name; 0 for single numbers."""
    from viser._messages import ViewerCameraMessage

    hints = get_type_hints(ViewerCameraMessage)
    return {field.name: len(get_args(hints[field.name])) for field in fields(ViewerCameraMessage) if field.init}


def _is_vector(value: Any, size: int) -> bool:
    numbers = value if size else [value]
    if not isinstance(numbers, list) or len(numbers) != max(1, size):
        return False
    return all(isinstance(x, int | float) and math.isfinite(x) for x in numbers)


class _Connection:
    """A browser's connection that skips unexpected messages."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def recv(self) -> bytes:
        while not is_expected(raw := await self._connection.recv()):
            pass
        return bytes(raw)


# -- the server -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LiveServer:
    """A viser server with access control."""

    viser: Any
    door: RequestGuard

    def stop(self) -> None:
        """Stop the server."""
        self.viser.stop()


def start_server(port: int, label: str) -> LiveServer:
    """A viser server on the loopback address, with access control."""
    import viser

    word = secrets.token_urlsafe(16)
    with _starting, _guarded(word, label):
        made = viser.ViserServer(host=BIND, port=port, label=label, verbose=False)
    made.on_client_disconnect(lambda client: give_memory_back())
    return LiveServer(made, RequestGuard(made.get_port(), word))


def give_memory_back() -> None:
    """Return free memory to the system, if the C library has a function for that.

    Each connection allocates compressors and a copy of the entire scene. They are freed in fragments between blocks that remain in
    use, and glibc keeps such fragments: over thousands of connections the process would grow although nothing is leaked.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


_starting = threading.Lock()


@contextmanager
def _guarded(word: str, title: str) -> Iterator[None]:
    """A viser server that is started in this context checks every request and message.

    viser has no hook for such checks, so the function that serves websockets is replaced, in viser's own module only. It is called
    again with the next port if one is in use.
    """
    import viser.infra._infra

    module: Any = viser.infra._infra
    usual = module.websockets

    def serve(handler: Any, host: Any, port: int, *, process_request: Any, **more: Any) -> Any:
        more |= {
            "process_request": _checked(RequestGuard(port, word), process_request, title),
            "max_size": LARGEST_MESSAGE,
        }
        return usual.asyncio.server.serve(_careful(handler), host, port, **more)

    server = _PatchedModule(usual.asyncio.server, serve=serve)
    module.websockets = _PatchedModule(usual, asyncio=SimpleNamespace(server=server))
    try:
        yield
    finally:
        module.websockets = usual


class _PatchedModule:
    """A module with some attributes replaced."""

    def __init__(self, usual: Any, **others: Any) -> None:
        self.__dict__.update(others, _usual=usual)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._usual, name)


def _checked(door: RequestGuard, process_request: Any, title: str) -> Any:
    """A handler of requests that refuses those that the guard does not accept; `title` is that of the page."""
    from websockets import Headers
    from websockets.http11 import Response

    def check(connection: Any, request: Any) -> Any:
        reason = door.refusal(request.path, request.headers)
        if reason is None:
            request.path = door.inside(request.path)
            return titled(title, request, lambda: process_request(connection, request))
        body = f"{reason}; from another machine: {tunnel_advice(door.port)}\n".encode()
        head = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body)), "Connection": "close"}
        return Response(HTTPStatus.FORBIDDEN.value, HTTPStatus.FORBIDDEN.phrase, Headers(head), body)

    return check


def titled(title: str, request: Any, answer: Callable[[], Any]) -> Any:
    """The answer to a request; viser's page has a fixed title, in whose place this one is put."""
    if request.path.partition("?")[0] != "/" or request.headers.get("Upgrade") == "websocket":
        return answer()
    if "Accept-Encoding" in request.headers:
        del request.headers["Accept-Encoding"]  # the page itself is answered uncompressed
    found = answer()
    if found is not None:
        found.body = found.body.replace(b"<title>Viser</title>", f"<title>{html.escape(title)}</title>".encode(), 1)
        del found.headers["Content-Length"]
        found.headers["Content-Length"] = str(len(found.body))
    return found


def _careful(handler: Any) -> Any:
    """A handler of connections that does not log protocol errors of browsers."""
    import viser
    import websockets

    async def serve(connection: Any) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        if connection.subprotocol != f"viser-v{viser.__version__}":
            await connection.close(1002, "load the page again")
            return
        try:
            await handler(_Connection(connection))
        except websockets.ConnectionClosed:
            pass
        except RuntimeError as error:
            if "shutdown" not in str(error):  # browsers that are connected while the server stops
                raise

    return serve
