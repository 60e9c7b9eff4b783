"""`kinema animate --live`: watch a run, change the weights of its losses, pause it, or stop and keep the motion."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable

import numpy as np

from kinema.asset.character import Character
from kinema.distill.config import Animate
from kinema.distill.loop import Observer, Steering
from kinema.motion.motion import Motion
from kinema.progress import Progress
from kinema.rig.anatomy import Anatomy
from kinema.view.exhibit import Exhibit
from kinema.view.page import Page
from kinema.view.plots import loss_chart
from kinema.view.server import Address
from kinema.view.viewer import Viewer

WEIGHTS = {
    "smooth_weight": "Smooth",
    "ground_weight": "Ground",
    "slip_weight": "Foot slip",
    "limits_weight": "Joint limits",
    "guidance": "Guidance",
}
FRESH_SECONDS = 0.4
"""Least time between two updates of the page; of a slow page, twice what it takes to draw."""


class Live:
    """The page of a run: the run calls `begin`, `observe`, `progress` and `finish`, the page's buttons steer it."""

    def __init__(self, address: Address) -> None:
        self.page = Page(address)
        self.viewer: Viewer | None = None
        self.going, self.stopped = threading.Event(), False
        self.going.set()
        self.seen = 0.0
        self.losses: dict[str, list[float]] = defaultdict(list)
        self.factors: dict[str, float] = {}
        self.started: dict[str, float] = {}
        gui = self.page.server.gui
        self.status = gui.add_markdown("Loading …")
        self.bar = gui.add_progress_bar(0.0)
        self.chart = gui.add_html("")
        self.pause = gui.add_button("Pause the run", disabled=True)
        self.stop = gui.add_button("Stop and keep", disabled=True, hint="go on to physics and write this motion")
        self.weights = gui.add_folder("Weights of the losses", visible=False)
        self.pause.on_click(lambda _: self.toggle_pause())
        self.stop.on_click(lambda _: self.stop_run())

    @property
    def fresh_seconds(self) -> float:
        return max(FRESH_SECONDS, 2 * self.page.pages.delay)

    def begin(self, character: Character, anatomy: Anatomy, config: Animate) -> Observer:
        """Show the character at rest; returns the function that the run calls after every step."""
        gui = self.page.server.gui
        self.started = {name: float(getattr(config, name)) for name in WEIGHTS}
        with self.weights:
            for name, label in WEIGHTS.items():
                if self.started[name]:
                    hint = f"times {self.started[name]:g}"
                    slider = gui.add_slider(label, min=0.0, max=5.0, step=0.05, initial_value=1.0, hint=hint)
                    slider.on_update(lambda event, name=name: self.factors.update({name: float(event.target.value)}))
        self.weights.visible = True
        motions = {config.prompt: Motion.rest(anatomy.rig, frames=1, fps=config.fps)}
        self.viewer = Viewer(Exhibit(character, motions, title=f"{character.name}: “{config.prompt}”"), self.page)
        self.pause.disabled = self.stop.disabled = False
        return self.observe

    def observe(self, step: int, motion: Callable[[], Motion]) -> Steering:
        """Show the motion now and then, and wait while the run is paused."""
        if self.viewer is not None and time.monotonic() - self.seen > self.fresh_seconds:
            self.viewer.update(motion())
            self.seen = time.monotonic()
        while not self.going.wait(0.2):
            pass
        return Steering({name: self.started[name] * factor for name, factor in self.factors.items()}, self.stopped)

    def progress(self, at: Progress) -> None:
        """Show the step and the losses so far."""
        self.losses[at.stage].append(at.loss)
        if time.monotonic() - self.seen < self.fresh_seconds and at.step < at.steps:
            return
        moving = f", motion {at.motion:.3f} rad" if at.motion else ""
        self.status.content = f"**{at.stage}** {at.step} / {at.steps}: loss {at.loss:.4g}{moving}"
        self.bar.value = 100.0 * at.step / max(1, at.steps)
        self.chart.content = loss_chart({name: np.array(values) for name, values in self.losses.items()})
        if at.stage == "physics":
            self.seen = time.monotonic()
            self.pause.disabled = self.stop.disabled = True

    def finish(self, motion: Motion, distilled: Motion) -> None:
        """Show the result, beside the motion before physics."""
        self.status.content = "**Finished**"
        self.bar.value = 100.0
        self.pause.visible = self.stop.visible = self.weights.visible = False
        if self.viewer is not None:
            self.viewer.update(motion)
            self.viewer.offer_before(distilled)

    def close(self) -> None:
        self.going.set()
        (self.viewer or self.page).close()

    def toggle_pause(self) -> None:
        """Pause the run, or let it go on."""
        pausing = self.going.is_set()
        self.pause.label = "Go on" if pausing else "Pause the run"
        (self.going.clear if pausing else self.going.set)()

    def stop_run(self) -> None:
        """End the optimisation after this step and keep its motion."""
        self.stopped = True
        self.pause.disabled = self.stop.disabled = True
        self.status.content = "**Stopped**: going on with this motion"
        self.going.set()
