"""Flow control: no frame is sent before the pages have drawn the last one.

viser sends what it is given and hears nothing back. A page that is sent more frames than it can draw applies all of
them before it draws again, gets slower by that, and ends up frozen. So every frame is followed by a question that
costs nothing, for a key of the browser's storage. viser's page answers it in its drawing loop, after the frame.
"""

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viser import ViserServer

SILENT_SECONDS = 5.0
"""Time without an answer after which a page does not hold up others (a tab that the browser has put to sleep)."""


class Pages:
    """The open pages, and which of them have not yet drawn what they were sent."""

    def __init__(self, server: "ViserServer") -> None:
        from viser import _messages as messages

        self.question = messages.LocalStorageGetItemRequestMessage
        self.open: dict[int, Any] = {}
        self.owing: dict[int, tuple[str, float]] = {}
        """By page: the question that it has not answered, and when it was asked."""
        self.asked, self.delay = 0, 0.0
        """`delay`: seconds from the last answered question to its answer."""
        sockets = server._websock_server
        sockets.register_handler(messages.LocalStorageGetItemResponseMessage, self._answered)
        sockets.on_client_connect(self._opened)
        sockets.on_client_disconnect(self._closed)

    def ready(self) -> bool:
        """May a frame be sent? Not while a page owes an answer, unless it is silent and another page is not."""
        owing = [self.owing[client] for client in tuple(self.open) if client in self.owing]
        if not owing or len(owing) >= len(self.open):
            return not owing
        return time.monotonic() - max(asked for _, asked in owing) > SILENT_SECONDS

    def ask(self) -> None:
        """Ask every page that owes nothing to answer when it has drawn what was sent so far."""
        for client, connection in list(self.open.items()):
            if client not in self.owing:
                self._ask(client, connection)

    def _ask(self, client: int, connection: Any) -> None:
        self.asked += 1
        self.owing[client] = str(self.asked), time.monotonic()
        connection.queue_message(self.question(key="drawn", request_uuid=str(self.asked)))

    def _opened(self, connection: Any) -> None:
        # A page takes long to load where it is drawn in software: it is sent nothing that moves before it has drawn.
        self.open[connection.client_id] = connection
        self._ask(connection.client_id, connection)

    def _closed(self, connection: Any) -> None:
        self.open.pop(connection.client_id, None)
        self.owing.pop(connection.client_id, None)

    def _answered(self, client: int, message: Any) -> None:
        question, asked = self.owing.get(client, ("", 0.0))
        if message.request_uuid == question:
            self.delay = time.monotonic() - asked
            self.owing.pop(client, None)
