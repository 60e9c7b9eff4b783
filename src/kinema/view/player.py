"""The timeline of the page: play, pause, scrub, speed. One thread draws; callbacks only ask it to."""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kinema.view.pages import Pages

if TYPE_CHECKING:
    from viser import ViserServer

IDLE_SECONDS = 0.02


class Player:
    """The timeline and the thread behind it."""

    def __init__(self, server: "ViserServer", pages: Pages, *, draw: Callable[[int], None], playing: bool) -> None:
        self.server, self.pages, self.draw, self.fps, self.frames = server, pages, draw, 24.0, 1
        self.lock = threading.RLock()
        """Held while the scene is drawn, and while its motion is exchanged."""
        self.playing, self.position, self.stale = playing, 0.0, True
        self.loops, self.rounds = False, 0
        """Does the last frame show the first one's pose; and how often it has played on from there."""
        self.closed = threading.Event()
        gui = server.gui
        self.button = gui.add_button("Play", hint="space bar")
        gui.add_command("Play or pause", hotkey="space").on_trigger(lambda _: self.play(not self.playing))
        self.timeline = gui.add_slider("Frame", min=0, max=1, step=1, initial_value=0)
        self.pace = gui.add_slider("Speed", min=0.1, max=2.0, step=0.1, initial_value=1.0, hint="1 is real time")
        self.button.on_click(lambda _: self.play(not self.playing))
        self.timeline.on_update(self._scrub)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self._enable()

    @property
    def frame(self) -> int:
        return min(self.frames - 1, int(self.position))

    def play(self, playing: bool) -> None:
        self.playing = playing
        self._enable()

    def refresh(self) -> None:
        """Draw again although the frame is the same."""
        self.stale = True

    def load(self, frames: int, fps: float, *, rewind: bool, loops: bool = False) -> None:
        """Take another clip, or the same with other values."""
        with self.lock:
            resized = frames != self.frames
            self.frames, self.fps, self.stale, self.loops = max(1, frames), fps, True, loops
            self.position, self.rounds = (0.0 if rewind else self.position % self.frames), 0
            if resized:
                self.timeline.max = max(1, frames - 1)
                self._enable()

    def advance(self, seconds: float) -> None:
        """Go on in the clip; in a loop the last frame is the first of the next round and is not shown twice."""
        length = self.frames - (self.loops and self.frames > 1)
        rounds, self.position = divmod(self.position + seconds * self.fps * self.pace.value, length)
        self.rounds += int(rounds)

    def close(self) -> None:
        self.closed.set()
        if self.thread.is_alive():
            self.thread.join(timeout=2)

    def _enable(self) -> None:
        """Disable the controls for a single pose."""
        self.button.label = "Pause" if self.playing and self.frames > 1 else "Play"
        for control in (self.button, self.timeline):
            control.disabled = self.frames < 2

    def _scrub(self, event: Any) -> None:
        # The thread moves the slider too; only a person's hand has a client.
        if event.client is not None:
            self.play(False)
            self.position, self.stale = float(event.target.value), True

    def _run(self) -> None:
        shown, last = -1, time.monotonic()
        while not self.closed.is_set():
            now = time.monotonic()
            if self.playing and self.server.get_clients():
                self.advance(now - last)
            last = now
            frame = self.frame
            # Frames for which a slow page has no time are left out, never queued.
            if (frame == shown and not self.stale) or not self.pages.ready():
                self.closed.wait(IDLE_SECONDS)
                continue
            self.stale, shown = False, frame
            with self.lock, self.server.atomic():
                self.draw(min(frame, self.frames - 1))
                if self.timeline.value != frame:
                    self.timeline.value = frame
            self.server.flush()
            self.pages.ask()
            # The browser has a life beside us: never take the whole core.
            self.closed.wait(max(0.004, 0.3 * (time.monotonic() - now)))
