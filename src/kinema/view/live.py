"""`kinema animate --live`: watch the motion come about, change its weights, pause, or stop and keep it."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Character
from kinema.distill.config import Animate
from kinema.distill.loop import Progress, Steering
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.view.contacts import COLORS
from kinema.view.page import Page
from kinema.view.server import Address
from kinema.view.viewer import Exhibit, Viewer

WEIGHTS = {
    "smooth": "Smooth",
    "ground": "Ground",
    "slip": "Foot slip",
    "limits": "Joint limits",
    "guidance": "Guidance",
}
FRESH_SECONDS = 0.4
"""Between two looks at the motion."""


class Live:
    """The page of a run. The run calls `progress` and `observe`; the page's buttons answer."""

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
        self.pause.on_click(lambda _: self._toggle())
        self.stop.on_click(lambda _: self._stop())

    # -- what the run says ------------------------------------------------------------------------------------------

    def begin(self, character: Character, rig: Rig, config: Animate) -> Callable[[int, Callable[[], Motion]], Steering]:
        """Show the character at rest; gives the function that the run calls after every step."""
        gui = self.page.server.gui
        self.started = {name: float(getattr(config, name)) for name in WEIGHTS}
        with self.weights:
            for name, label in WEIGHTS.items():
                if self.started[name]:
                    slider = gui.add_slider(
                        label, min=0.0, max=5.0, step=0.05, initial_value=1.0, hint=f"times {self.started[name]:g}"
                    )
                    slider.on_update(lambda event, name=name: self.factors.update({name: float(event.target.value)}))
        self.weights.visible = True
        rest = Motion.rest(rig, frames=1, fps=config.fps)
        title = f"{character.name}: “{config.prompt}”"
        self.viewer = Viewer(Exhibit(character, {config.prompt: rest}, title=title), self.page)
        self.pause.disabled = self.stop.disabled = False
        return self.observe

    def observe(self, step: int, motion: Callable[[], Motion]) -> Steering:
        """After every step: show it now and then, and wait while the run is paused."""
        if self.viewer is not None and time.monotonic() - self.seen > FRESH_SECONDS:
            self.viewer.update(motion())
            self.seen = time.monotonic()
        while not self.going.wait(0.2):
            pass
        return Steering({name: self.started[name] * factor for name, factor in self.factors.items()}, self.stopped)

    def progress(self, at: Progress) -> None:
        """Numbers and the losses so far."""
        self.losses[at.stage].append(at.loss)
        if time.monotonic() - self.seen < FRESH_SECONDS and at.step < at.steps:
            return
        moving = f", motion {at.motion:.3f} rad" if at.motion else ""
        self.status.content = f"**{at.stage}** {at.step} / {at.steps}: loss {at.loss:.4g}{moving}"
        self.bar.value = 100.0 * at.step / max(1, at.steps)
        self.chart.content = loss_chart({name: np.array(values) for name, values in self.losses.items()})
        if at.stage == "physics":
            self.seen = time.monotonic()
            self.pause.disabled = self.stop.disabled = True

    def finish(self, motion: Motion, distilled: Motion) -> None:
        """The result, beside what it was before physics."""
        self.status.content = "**Finished**"
        self.bar.value = 100.0
        self.pause.visible = self.stop.visible = self.weights.visible = False
        if self.viewer is not None:
            self.viewer.update(motion)
            self.viewer.offer_before(distilled)

    def close(self) -> None:
        self.going.set()
        if self.viewer is not None:
            self.viewer.close()
        else:
            self.page.close()

    # -- what the page says -----------------------------------------------------------------------------------------

    def _toggle(self) -> None:
        if self.going.is_set():
            self.going.clear()
            self.pause.label = "Go on"
        else:
            self.pause.label = "Pause the run"
            self.going.set()

    def _stop(self) -> None:
        self.stopped = True
        self.pause.disabled = self.stop.disabled = True
        self.status.content = "**Stopped**: going on with this motion"
        self.going.set()


def loss_chart(losses: dict[str, Float[np.ndarray, "steps"]]) -> str:
    """One small line per stage, each on its own scale."""
    lines, keys = [], []
    for index, (name, values) in enumerate(losses.items()):
        values = values[np.isfinite(values)]
        if len(values) < 2:
            continue
        thin = values[:: max(1, len(values) // 150)]
        low, high = float(thin.min()), float(thin.max())
        scaled = (thin - low) / max(high - low, 1e-12)
        points = " ".join(f"{6 + 288 * k / (len(thin) - 1):.1f},{54 - 46 * v:.1f}" for k, v in enumerate(scaled))
        color = COLORS[index % len(COLORS)]
        lines.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.3"/>')
        keys.append(f'<text x="{8 + 60 * len(keys)}" y="68" fill="{color}">{name}</text>')
    if not lines:
        return ""
    style = "width:100%;display:block;padding:0 8px;box-sizing:border-box"
    return f'<svg viewBox="0 0 300 72" style="{style}" font-size="10">{"".join(lines + keys)}</svg>'
