"""Progress in the terminal: a live bar for people, plain lines for log files."""

import contextlib
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from kinema.asset.character import Character
from kinema.cli.commands import Demo
from kinema.distill.config import Animate
from kinema.distill.loop import Progress
from kinema.job.animate import Animation, animate, folder_of, place
from kinema.motion.motion import Motion
from kinema.motion.source import CONFIG
from kinema.physics.track import Tracking, TrackResult
from kinema.prior.nano.config import TrainPrior
from kinema.rig.kinematics import Rig
from kinema.view.server import Address


def animate_with_progress(config: Animate, *, quiet: bool = False) -> Animation:
    """Run the main job with a bar."""
    config = replace(config, out=place(config))
    try:
        with Bar(quiet=quiet) as bar:
            return animate(config, progress=bar.update)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_how_to_resume(config)) from None


def animate_live(config: Animate, address: Address, *, quiet: bool = False) -> Animation:
    """Run the main job with a bar and a page in the browser; on a terminal the page stays until Ctrl-C."""
    from kinema.view.live import Live

    config = replace(config, out=place(config))
    live = Live(address)
    print(f"watch at {live.page.url}", file=sys.stderr, flush=True)
    try:
        with Bar(quiet=quiet) as bar:

            def progress(at: Progress) -> None:
                bar.update(at)
                live.progress(at)

            result = animate(config, progress=progress, watch=live.begin)
        live.finish(result.motion, result.distilled)
        if sys.stderr.isatty() and not quiet:
            print(f"{result.folder} is written; Ctrl-C closes {live.page.url}", file=sys.stderr, flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                while True:
                    time.sleep(3600)
        return result
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_how_to_resume(config)) from None
    finally:
        live.close()


def _how_to_resume(config: Animate) -> str:
    folder = folder_of(config)
    return f"; go on with: kinema animate --resume {folder}" if (folder / CONFIG).is_file() else ""


def demo_with_progress(command: Demo, *, quiet: bool = False) -> tuple[list[Path], Animation]:
    """Run the demo with a bar."""
    from kinema.cli.demo import demo

    with Bar(quiet=quiet) as bar:
        return demo(command.out, command.asset, command.prompt, progress=bar.update)


def track_with_progress(
    character: Character,
    rig: Rig,
    motion: Motion,
    options: Tracking,
    out: Path,
    *,
    simulator: bool,
    quiet: bool = False,
) -> TrackResult:
    """Track with a bar; the search is saved beside `out`, and a killed one goes on when called again."""
    from kinema.export.usd_physics import write_usd_physics
    from kinema.export.write import write
    from kinema.physics.track import track
    from kinema.rig.cuboids import bone_cuboids

    saved = out.with_name(out.name + ".track.npz")
    try:
        with Bar(quiet=quiet) as bar:
            result = track(
                character,
                rig,
                motion,
                options=options,
                progress=lambda done, total, loss: bar.update(Progress(done, total, "physics", loss, 0.0)),
                checkpoint=saved,
            )
    except KeyboardInterrupt:
        note = "; the same command goes on from where it was" if saved.is_file() else ""
        raise KeyboardInterrupt(note) from None
    if simulator:
        write_usd_physics(out, rig, result.model, bone_cuboids(character), motion=result.motion)
    else:
        write(out, character, result.motion)
    saved.unlink(missing_ok=True)
    return result


def train_with_progress(config: TrainPrior, *, quiet: bool = False) -> Path:
    """Train with a line of JSON for every entry of the log."""
    from kinema.prior.nano.train import train

    def report(entry: dict[str, Any]) -> None:
        if not quiet:
            print(json.dumps(entry), file=sys.stderr, flush=True)

    try:
        return train(config, report=report)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("; the same command goes on from the last checkpoint") from None


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

    def update(self, at: Progress) -> None:
        if self.quiet:
            return
        note = f"loss {at.loss:.4g}" + (f"  motion {at.motion:.3f} rad" if at.motion else "")
        if self.live:
            if at.stage not in self.tasks:
                self.tasks[at.stage] = self.rich.add_task(at.stage, total=at.steps, note=note)
            self.rich.update(self.tasks[at.stage], completed=at.step, note=note)
        elif time.monotonic() - self.said > 5 or at.step == at.steps or at.stage not in self.begun:
            self.said = time.monotonic()
            print(f"{at.stage} {at.step}/{at.steps}  {note}{self._left(at)}", file=sys.stderr, flush=True)

    def _left(self, at: Progress) -> str:
        """Time left of the stage, from the steps since it was first heard of (a resumed one begins in the middle)."""
        begun, first = self.begun.setdefault(at.stage, (time.monotonic(), at.step))
        if at.step == first or at.step == at.steps:
            return ""
        return f"  {(time.monotonic() - begun) / (at.step - first) * (at.steps - at.step):.0f} s left"
