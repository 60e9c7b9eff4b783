"""Open viser's server behind a guard that checks every request.

On this machine alone (the default) the browser needs no secret, but pages of other sites must not reach the viewer
through it: requests have to name this machine (DNS rebinding) and websockets have to come from the viewer's own page.
On any other address every request must carry a token, in the address once and in a cookie from then on.

viser takes uploads of any size for any control of a page. This viewer takes none, and no message that is longer than
its own controls ever send.
"""

import hmac
import html
import http
import math
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import parse_qs, urlsplit

from kinema.errors import KinemaError
from kinema.options import named

if TYPE_CHECKING:
    from viser import ViserServer
    from websockets.datastructures import Headers
    from websockets.http11 import Response

LOOPBACK = ("127.0.0.1", "localhost", "::1")
SHORTEST_TOKEN = 8
LONGEST_MESSAGE = 1 << 20
"""Bytes of one message of a browser: camera, clicks and the values of controls are some hundred."""
_opening = threading.Lock()


@dataclass(frozen=True)
class Address:
    """Network address of the viewer, and the secret that it asks for."""

    host: str = "127.0.0.1"
    """Address to listen on; any but this machine's own needs a token."""
    port: int = 8080
    """Port to listen on; 0 takes any that is free."""
    token: Annotated[str | None, named("TOKEN")] = None
    """Secret that the browser must show; by default made and printed if --host is not this machine."""


@dataclass(frozen=True)
class Guard:
    """Decides which requests are answered."""

    token: str | None
    """None: the host is this machine, and nobody else can reach it."""
    cookie: str

    def refuse(self, path: str, headers: "Headers") -> str | None:
        """The reason to refuse a request, or None."""
        host = headers.get("Host", "")
        name = urlsplit(f"//{host}").hostname
        if self.token is None and name not in LOOPBACK:
            return f"this viewer answers only to {', '.join(LOOPBACK)}"
        origin = headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return "the request comes from another site"
        if self.token is None:
            return None
        pairs = (pair.strip().partition("=") for line in headers.get_all("Cookie") for pair in line.split(";"))
        said = [*_said_in_address(path), *(value for key, _, value in pairs if key == self.cookie)]
        if not any(hmac.compare_digest(token.encode(), self.token.encode()) for token in said):
            return "the token is missing or wrong: open the address that kinema printed, with ?token="
        return None


def _said_in_address(path: str) -> list[str]:
    return parse_qs(urlsplit(path).query).get("token", [])


def open_server(
    address: Address, *, label: str = "Kinema", title: Callable[[], str] = str
) -> tuple["ViserServer", str]:
    """Open a guarded server; returns it with the address for the browser. `title` goes into the browser's tab."""
    try:
        import viser
        import websockets.asyncio.server as serving
    except ImportError as error:
        raise KinemaError(f"the viewer needs viser ({error}): pip install viser") from None
    token = address.token
    if token is None and address.host not in LOOPBACK:
        token = secrets.token_urlsafe(24)
    if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii() or set(token) & set(" ;,&=+%#\"'\\")):
        raise KinemaError(f"--token: give at least {SHORTEST_TOKEN} letters, digits, - or _")
    listener = _listen(address)
    host, port = listener.getsockname()[:2]
    guard = Guard(token, f"kinema_{port}")
    # viser has no hook for requests, but hands a function for them to `websockets`: ours goes in front of it, on a
    # socket that is already bound (viser itself would quietly take the next free port, and hang on a wrong host).
    real, installed = serving.serve, []

    def serve(handler: Any, at: str, at_port: int, *, process_request: Callable[..., Any], **options: Any) -> Any:
        if (at, at_port) != (host, port):
            return real(handler, at, at_port, process_request=process_request, **options)
        installed.append(True)
        options["max_size"] = LONGEST_MESSAGE
        answer = _guarded(guard, _titled(label, title, process_request))
        return real(handler, sock=listener, process_request=answer, **options)

    with _opening:
        serving.serve = serve
        try:
            server = viser.ViserServer(host=host, port=port, label=label, verbose=False)
        finally:
            serving.serve = real
    if not installed:
        server.stop()
        listener.close()
        raise KinemaError(f"viser {viser.__version__} cannot be guarded; install viser 1.1")
    _refuse_uploads(server)
    shown = f"[{address.host}]" if ":" in address.host else address.host
    if address.host in ("0.0.0.0", "::"):
        shown = socket.gethostname()
    query = f"/?token={token}" if token else ""
    return server, f"http://{shown}:{port}{query}"


def _listen(address: Address) -> socket.socket:
    if not 0 <= address.port < 65536:
        raise KinemaError(f"--port {address.port}: must be between 0 and 65535")
    host, port = address.host, address.port
    try:
        family, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (OSError, UnicodeError):
        raise KinemaError(f"--host {host} --port {port}: no such address") from None
    try:
        # It listens too: bound alone, two sockets may share a port; the second to listen would fail inside viser.
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server(place, family=family, dualstack_ipv6=both)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        raise KinemaError(f"cannot listen on {host} port {port} ({reason}); give another --host or --port") from None


def _guarded(guard: Guard, inner: Callable[..., Any]) -> Callable[..., Any]:
    """Put the guard before viser's own answer to requests."""
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    def answer(status: http.HTTPStatus, text: str, **more: str) -> "Response":
        body = text.encode()
        fields = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body))}
        headers = Headers(**fields, **{key.replace("_", "-"): value for key, value in more.items()})
        return Response(status.value, status.phrase, headers, body)

    def process_request(connection: Any, request: Any) -> Any:
        reason = guard.refuse(request.path, request.headers)
        if reason is not None:
            return answer(http.HTTPStatus.FORBIDDEN, f"refused: {reason}\n")
        if guard.token is not None and _said_in_address(request.path) and request.headers.get("Upgrade") is None:
            # Out of the address bar and the history, into a cookie that scripts and other sites do not see.
            cookie = f"{guard.cookie}={guard.token}; HttpOnly; SameSite=Lax; Path=/"
            return answer(http.HTTPStatus.FOUND, "", Location="/", Set_Cookie=cookie, Referrer_Policy="no-referrer")
        return inner(connection, request)

    return process_request


def _titled(label: str, title: Callable[[], str], inner: Callable[..., Any]) -> Callable[..., Any]:
    """Put our title into viser's page, which has no setting for it."""

    def process_request(connection: Any, request: Any) -> Any:
        # Plain text, so that it can be replaced; the page's own content is compressed already.
        if "Accept-Encoding" in request.headers:
            del request.headers["Accept-Encoding"]
        response = inner(connection, request)
        if response is not None and response.body is not None and b"<title>Viser</title>" in response.body[:20_000]:
            text = html.escape(" · ".join(part for part in (title()[:100], label) if part))
            response.body = response.body.replace(b"<title>Viser</title>", f"<title>{text}</title>".encode(), 1)
            del response.headers["Content-Length"]
            response.headers["Content-Length"] = str(len(response.body))
        return response

    return process_request


def _refuse_uploads(server: "ViserServer") -> None:
    """Replace viser's handlers of uploads, which keep any number of bytes, by a line in the page that sent them."""
    from viser import _messages as messages

    sockets, told = server._websock_server, -math.inf
    sockets.unregister_handler(messages.FileTransferStartUpload)
    sockets.unregister_handler(messages.FileTransferPart)

    def refuse(client_id: int, message: Any) -> None:
        nonlocal told
        client = server.get_clients().get(client_id)
        # One line for a flood of them.
        if client is not None and time.monotonic() - told > 1.0:
            told = time.monotonic()
            client.add_notification("Refused", f"this viewer takes no files ({message.filename!s:.80})", color="red")

    sockets.register_handler(messages.FileTransferStartUpload, refuse)
