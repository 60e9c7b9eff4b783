"""Who may look: the guard of the viewer's server, asked over real sockets."""

import contextlib
import http.client
import socket
import sys
from collections.abc import Iterator

import pytest

pytest.importorskip("viser")

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from kinema.errors import KinemaError
from kinema.view.page import Page
from kinema.view.server import LONGEST_MESSAGE, Address

TOKEN = "a-secret-of-the-test"


@pytest.fixture
def here() -> Iterator[int]:
    page = Page(Address(port=0))
    yield int(page.url.rsplit(":", 1)[1])
    page.close()


@pytest.fixture
def anywhere() -> Iterator[int]:
    """Listens on every address of the machine."""
    page = Page(Address(host="0.0.0.0", port=0, token=TOKEN))
    assert page.url.endswith(f"/?token={TOKEN}")
    yield int(page.url.split(":")[2].split("/")[0])
    page.close()


def ask(port: int, path: str = "/", **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read()


def knock(port: int, path: str = "/", **headers: str) -> int:
    """Status of a websocket's handshake; 101 is let in."""
    import viser

    try:
        url = f"ws://127.0.0.1:{port}{path}"
        with connect(
            url, additional_headers=headers, subprotocols=[f"viser-v{viser.__version__}"], proxy=None, max_size=None
        ) as ws:
            ws.recv(timeout=10)
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


def test_this_machine_needs_no_token(here: int) -> None:
    status, _, body = ask(here)
    assert status == 200
    assert b"<html" in body
    assert knock(here) == 101
    assert knock(here, Origin=f"http://127.0.0.1:{here}") == 101


def test_other_sites_cannot_use_our_browser(here: int) -> None:
    """DNS rebinding names another host; a page elsewhere has another origin."""
    assert ask(here, Host="evil.example")[0] == 403
    assert ask(here, Host=f"evil.example:{here}")[0] == 403
    assert ask(here, Host="127.0.0.1.evil.example")[0] == 403
    for origin in ("https://evil.example", "http://127.0.0.1:1", "null"):
        assert knock(here, Origin=origin) == 403


def test_a_tunnel_may_change_the_port(here: int) -> None:
    """ssh -L 9000:127.0.0.1:PORT: the browser says localhost:9000 for both."""
    assert ask(here, Host="localhost:9000", Origin="http://localhost:9000")[0] == 200


def test_nothing_without_the_token(anywhere: int) -> None:
    for path in ("/", "/index.html", "/?token=", "/?token=wrong", f"/?token={TOKEN}x", f"/?token={TOKEN[:-1]}"):
        status, headers, body = ask(anywhere, path)
        assert status == 403
        assert b"<html" not in body
        assert "Set-Cookie" not in headers
        assert knock(anywhere, path) == 403
    for cookie in (f"kinema_{anywhere}=wrong", f"other={TOKEN}", f"kinema_{anywhere}="):
        assert ask(anywhere, Cookie=cookie)[0] == 403
        assert knock(anywhere, Cookie=cookie) == 403
    assert ask(anywhere, Authorization=f"Bearer {TOKEN}")[0] == 403


def test_the_token_becomes_a_cookie(anywhere: int) -> None:
    status, headers, _ = ask(anywhere, f"/?token={TOKEN}")
    assert status == 302
    assert headers["Location"] == "/"
    assert "HttpOnly" in headers["Set-Cookie"]
    assert "SameSite" in headers["Set-Cookie"]
    cookie = headers["Set-Cookie"].split(";")[0]
    assert ask(anywhere, Cookie=f"theme=dark; {cookie}")[0] == 200
    assert knock(anywhere, Cookie=cookie) == 101
    # A cookie that the browser sends along with another site's request opens nothing.
    assert knock(anywhere, Cookie=cookie, Origin="https://evil.example") == 403


def test_a_token_is_made_where_none_is_given() -> None:
    page = Page(Address(host="0.0.0.0", port=0))
    try:
        port, token = page.url.split(":")[2].split("/?token=")
        assert len(token) >= 32
        assert ask(int(port))[0] == 403
        assert ask(int(port), f"/?token={token}")[0] == 302
    finally:
        page.close()


@pytest.mark.parametrize("token", ["", "short", "with space in it", "half;a=cookie", "ünïcödé-token"])
def test_bad_tokens(token: str) -> None:
    with pytest.raises(KinemaError, match="--token"):
        Page(Address(host="0.0.0.0", port=0, token=token))


def test_port_in_use() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(KinemaError, match=f"port {port} .*--port"):
            Page(Address(port=port))


@pytest.mark.parametrize("address", [Address(host="203.0.113.7"), Address(host="no such host"), Address(port=70000)])
def test_address_that_is_not_ours(address: Address) -> None:
    with pytest.raises(KinemaError, match=r"--port|no such address"):
        Page(address)


def test_without_viser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(KinemaError, match="pip install viser"):
        Page(Address(port=0))


def test_a_viser_that_cannot_be_guarded_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that opens its door in another way must not open it at all."""
    import viser
    import websockets.asyncio.server as serving

    class Other:
        def __init__(self, **_: object) -> None:
            self.stopped = False

        def stop(self) -> None:
            assert serving.serve is real
            self.stopped = True

    real = serving.serve
    monkeypatch.setattr(viser, "ViserServer", Other)
    with pytest.raises(KinemaError, match="cannot be guarded"):
        Page(Address(port=0))


def test_nobody_can_publish_the_page(here: int) -> None:
    """viser's clients may ask for a public tunnel; ours get none."""
    page = Page(Address(port=0))
    try:
        assert page.server.request_share_url() is None
    finally:
        page.close()


def test_the_tab_says_kinema(here: int) -> None:
    page = Page(Address(port=0), title="fox <b> & wolf")
    port = int(page.url.rsplit(":", 1)[1])
    try:
        status, headers, body = ask(port, **{"Accept-Encoding": "gzip"})
        assert (status, int(headers["Content-Length"])) == (200, len(body))
        assert b"<title>fox &lt;b&gt; &amp; wolf \xc2\xb7 Kinema</title>" in body
        page.title = "wolf"
        assert "<title>wolf · Kinema</title>".encode() in ask(port)[2]
    finally:
        page.close()
    assert b"<title>Kinema</title>" in ask(here)[2]


def test_uploads_are_refused() -> None:
    """viser would keep whatever is sent for any control: here nothing is kept, the page is told once, and a message
    too long for a control ends the connection."""
    import msgspec
    import viser
    import zstandard

    page = Page(Address(port=0))
    slider = page.server.gui.add_slider("Frame", min=0, max=1, step=1, initial_value=0)
    url, protocol = page.url.replace("http", "ws"), f"viser-v{viser.__version__}"

    # A browser has a client on the server once its camera is known.
    eye = {"wxyz": (1, 0, 0, 0), "position": (0, 0, 1), "fov": 1.0, "near": 0.1, "far": 10.0}
    size_px = {"image_height": 4, "image_width": 4, "look_at": (0, 0, 0), "up_direction": (0, 1, 0)}
    camera = {"type": "ViewerCameraMessage", **eye, **size_px}

    def upload(size: int, parts: int, content: bytes) -> bytes:
        common = {"source_component_uuid": slider._impl.uuid, "transfer_uuid": f"t{size}"}
        about = {"filename": "bomb.glb", "mime_type": "", "part_count": parts, "size_bytes": size}
        start = {"type": "FileTransferStartUpload", **common, **about}
        part = {"type": "FileTransferPart", **common, "part_index": 0, "content": content}
        with connect(url, subprotocols=[protocol], proxy=None, max_size=None) as ws:
            answers = [ws.recv(timeout=10)]
            for message in (camera, *[start] * 20, part):
                ws.send(msgspec.msgpack.encode(message))
            with contextlib.suppress(TimeoutError):
                while True:
                    answers.append(ws.recv(timeout=1))
            return b"".join(zstandard.ZstdDecompressor().decompressobj().decompress(a[16:]) for a in answers)

    try:
        answers = upload(10**12, 10**6, bytes(1000))
        assert answers.count(b"this viewer takes no files (bomb.glb)") == 1
        assert page.server.gui._current_file_upload_states == {}
        assert slider.value == 0
        upload(0, 0, b"")
        assert slider.value == 0
        with pytest.raises(ConnectionClosed, match="1009"):
            upload(1, 1, bytes(LONGEST_MESSAGE))
    finally:
        page.close()


def test_port_is_free_again() -> None:
    page = Page(Address(port=0))
    port = int(page.url.rsplit(":", 1)[1])
    page.close()
    again = Page(Address(port=port))
    assert ask(port)[0] == 200
    again.close()
