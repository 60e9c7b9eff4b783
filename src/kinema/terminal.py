"""Progress in the terminal: a live bar for people, plain lines for log files."""

import json
import sys
import time
from pathlib import Path

from kinema.asset.character import Character
from kinema.distill.config import Animate
from kinema.distill.loop import Progress
from kinema.motion import Motion
from kinema.physics.track import Tracking, TrackResult
from kinema.pipeline import animate
from kinema.prior.nano.config import TrainPrior
from kinema.rig.kinematics import Rig


def animate_with_progress(config: Animate) -> None:
    """Run the main job and say where the results are."""
    if config.json:
        result = animate(config)
        print(json.dumps({"folder": str(result.folder), **result.report}))
        return
    with _Bar() as bar:
        result = animate(config, progress=bar.update)
    print(f"{result.folder}: motion.glb, motion.bvh, motion.npz, preview.mp4, contact_sheet.png, report.json")


def demo_with_progress(out: Path, asset: str, prompt: str) -> None:
    """Run the demo and say where the results are."""
    from kinema.demo import demo

    with _Bar() as bar:
        files, result = demo(out, asset, prompt, progress=bar.update)
    print("procedural walk:", *files)
    print(
        f"distilled from {prompt!r} in {result.report['seconds']} s: {result.folder}/ (report.html, contact_sheet.png)"
    )


def track_with_progress(
    character: Character, rig: Rig, motion: Motion, options: Tracking, out: Path, *, simulator: bool
) -> TrackResult:
    """Track with a bar; the search is saved beside `out`, and a killed one goes on when called again."""
    from kinema.export.usd_physics import write_usd_physics
    from kinema.export.write import write
    from kinema.physics.track import track
    from kinema.rig.cuboids import bone_cuboids

    saved = out.with_name(out.name + ".track.npz")
    with _Bar() as bar:
        result = track(
            character,
            rig,
            motion,
            options=options,
            progress=lambda done, total, loss: bar.update(Progress(done, total, "physics", loss, 0.0)),
            checkpoint=saved,
        )
    if simulator:
        write_usd_physics(out, rig, result.model, bone_cuboids(character), motion=result.motion)
    else:
        write(out, character, result.motion)
    saved.unlink(missing_ok=True)
    return result


def train_with_progress(config: TrainPrior) -> None:
    from kinema.prior.nano.train import train

    weights = train(config, report=lambda entry: print(json.dumps(entry), flush=True))
    print(weights)


class _Bar:
    """One bar per stage on a terminal; elsewhere a line every few seconds."""

    def __enter__(self) -> "_Bar":
        self.live = sys.stderr.isatty()
        self.said = 0.0
        if self.live:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as RichProgress

            columns = (TextColumn("{task.description:8s}"), BarColumn(), TextColumn("{task.fields[note]}"))
            self.rich = RichProgress(*columns, TimeRemainingColumn(), console=Console(stderr=True))
            self.tasks: dict[str, object] = {}
            self.rich.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live:
            self.rich.stop()

    def update(self, at: Progress) -> None:
        note = f"loss {at.loss:.4g}" + (f"  motion {at.motion:.3f} rad" if at.motion else "")
        if self.live:
            if at.stage not in self.tasks:
                self.tasks[at.stage] = self.rich.add_task(at.stage, total=at.steps, note=note)
            self.rich.update(self.tasks[at.stage], completed=at.step, note=note)  # pyright: ignore[reportArgumentType]
        elif time.monotonic() - self.said > 5 or at.step == at.steps:
            self.said = time.monotonic()
            print(f"{at.stage} {at.step}/{at.steps}  {note}", file=sys.stderr, flush=True)
