"""Progress in the terminal: a live bar for people, plain lines for log files."""

import sys
import time
from typing import TYPE_CHECKING, Any

from kinema.cli import stop

if TYPE_CHECKING:
    from kinema.progress import Progress


class Bar:
    """One bar per stage on a terminal; elsewhere a line every few seconds."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.live = sys.stderr.isatty() and not quiet
        self.said = 0.0
        self.begun: dict[str, tuple[float, int]] = {}
        self.tasks: dict[str, Any] = {}

    def __enter__(self) -> "Bar":
        if self.live:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as RichProgress

            columns = (TextColumn("{task.description:8s}"), BarColumn(), TextColumn("{task.fields[note]}"))
            self.rich = RichProgress(*columns, TimeRemainingColumn(), console=Console(stderr=True))
            self.rich.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live:
            self.rich.stop()

    def update(self, at: "Progress") -> None:
        stop.check()
        if self.quiet:
            return
        note = f"loss {at.loss:.4g}" + (f"  motion {at.motion:.3f} rad" if at.motion else "")
        if self.live:
            if at.stage not in self.tasks:
                self.tasks[at.stage] = self.rich.add_task(at.stage, total=at.steps, note=note)
            self.rich.update(self.tasks[at.stage], completed=at.step, note=note)
        elif time.monotonic() - self.said > 5 or at.step == at.steps or at.stage not in self.begun:
            self.said = time.monotonic()
            print(f"{at.stage} {at.step}/{at.steps}  {note}{self._time_left(at)}", file=sys.stderr, flush=True)

    def _time_left(self, at: "Progress") -> str:
        """Time left of the stage, from the steps since it was first heard of (a resumed one begins in the middle)."""
        begun, first = self.begun.setdefault(at.stage, (time.monotonic(), at.step))
        if at.step == first or at.step == at.steps:
            return ""
        return f"  {(time.monotonic() - begun) / (at.step - first) * (at.steps - at.step):.0f} s left"
