"""Flow control over a real socket: a page is sent no frame before it has drawn the last one."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("viser")

import msgspec
import viser
import zstandard
from websockets import Subprotocol
from websockets.sync.client import connect

from kinema.asset.character import Character
from kinema.motion.motion import Motion
from kinema.view.exhibit import Exhibit
from kinema.view.page import Page
from kinema.view.pages import SILENT_SECONDS
from kinema.view.server import Address
from kinema.view.viewer import Viewer

CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": (1, 0, 0, 0), "position": (0, 0, 1), "fov": 1.0, "near": 0.1, "far": 10.0,
    "image_height": 4, "image_width": 4, "look_at": (0, 0, 0), "up_direction": (0, 1, 0),
}  # fmt: skip


@pytest.fixture
def viewer(fox: Character, walk: Motion) -> Iterator[Viewer]:
    shown = Viewer(Exhibit(fox, {"walk": walk}), Page(Address(port=0)))
    yield shown
    shown.close()


class Tab:
    """A page that counts the frames it is sent and answers when it is told to."""

    def __init__(self, socket: Any, piece: str) -> None:
        self.socket, self.piece, self.frames, self.asked = socket, piece, 0, list[str]()
        socket.send(msgspec.msgpack.encode(CAMERA))

    def receive(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                window = self.socket.recv(timeout=left)
            except TimeoutError:
                return
            assert isinstance(window, bytes)
            said = msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompressobj().decompress(window[16:]))
            for message in said["messages"]:
                if message["type"] == "LocalStorageGetItemRequestMessage":
                    self.asked.append(message["request_uuid"])
                self.frames += self.is_frame(message)

    def is_frame(self, message: dict[str, Any]) -> bool:
        moved = message["type"] == "SceneNodeUpdateMessage" and message["name"] == self.piece
        return moved and "vertices" in message["updates"]

    def answer(self) -> None:
        """What viser's client says when it comes to the questions: it has drawn what was before them."""
        said = {"type": "LocalStorageGetItemResponseMessage", "value": None, "error": None}
        for question in self.asked:
            self.socket.send(msgspec.msgpack.encode({**said, "request_uuid": question}))
        self.asked = []


@contextmanager
def tab(viewer: Viewer) -> Iterator[Tab]:
    url, protocol = f"ws://127.0.0.1:{viewer.page.url.rsplit(':', 1)[1]}/", Subprotocol(f"viser-v{viser.__version__}")
    with connect(url, subprotocols=[protocol], proxy=None, max_size=None) as socket:
        yield Tab(socket, "/character/mesh/0")


def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_slow_page_is_sent_one_frame_at_a_time(viewer: Viewer) -> None:
    """At 24 frames per second a page that answers nothing for two seconds would have 48 outstanding."""
    with tab(viewer) as slow:
        slow.receive(2.0)
        # What the scene was when the page came, and one frame that may have been under way.
        assert slow.frames <= 2
        for _ in range(3):
            sent = slow.frames
            slow.answer()
            slow.receive(1.0)
            assert 1 <= slow.frames - sent <= 2
        # Frames are left out, time is not: the clip went on.
        assert viewer.player.rounds + viewer.player.position / viewer.player.frames > 0.5
    until(lambda: not viewer.page.pages.open)
    assert viewer.page.pages.ready()


def test_a_fast_page_is_not_held_up(viewer: Viewer) -> None:
    """Neither by its own answers nor, for long, by a page that has gone to sleep."""
    with tab(viewer) as fast, tab(viewer) as asleep:
        end = time.monotonic() + SILENT_SECONDS + 3
        asleep.receive(0.1)
        while time.monotonic() < end:
            fast.receive(0.02)
            fast.answer()
        sent = fast.frames
        for _ in range(50):
            fast.receive(0.02)
            fast.answer()
        assert fast.frames - sent >= 5
