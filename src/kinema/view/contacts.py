"""The foot-contact plot: which foot stands when, and how high it is in between."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from kinema.motion.feet import find_stance, track_feet
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs
from kinema.view.plots import bars, panel_svg, polyline, text

LEFT, RIGHT, ROW = 44, 294, 26
"""Edges of the lines and height of a leg's row [px]."""


@dataclass(frozen=True)
class Contacts:
    """Contacts and heights of the feet in one motion."""

    names: tuple[str, ...]
    standing: Bool[np.ndarray, "legs frames"]
    height: Float[np.ndarray, "legs frames"]
    """Height of the soles [m]."""
    fps: float

    @staticmethod
    def of(rig: Rig, limbs: Limbs, motion: Motion) -> "Contacts | None":
        """Measure a motion; None without legs or time."""
        if not limbs.legs or len(motion) < 2:
            return None
        feet = track_feet(rig, limbs, motion)
        side = {1: "L", -1: "R", 0: "M"}
        names = tuple(f"{side[leg.side]}{leg.rank + 1}" for leg in limbs.legs)
        return Contacts(names, find_stance(feet).T, feet.height.T, motion.fps)

    def plot(self) -> str:
        """SVG without the cursor: bars where a foot stands, a line for its height, seconds below."""
        frames = self.standing.shape[1]
        x = LEFT + (RIGHT - LEFT) * (np.arange(frames) + 0.5) / frames
        lift = np.clip(self.height / max(1e-6, float(self.height.max())), 0, 1)
        parts = []
        for row, name in enumerate(self.names):
            base = ROW * (row + 1)
            parts += [
                text(4, base - 8, name, fill="currentColor"),
                f'<line x1="{LEFT}" x2="{RIGHT}" y1="{base}" y2="{base}" stroke="#8884"/>',
                bars(self.standing[row], row, left=LEFT, right=RIGHT, y=base - 7, height=7),
                polyline(x, base - 20 * lift[row], row, opacity=0.7),
            ]
        foot = ROW * len(self.names) + 13
        end = text(RIGHT, foot, f"{frames / self.fps:.2g} s", fill="currentColor", text_anchor="end")
        return "".join((*parts, text(LEFT, foot, "0", fill="currentColor"), end))

    def page(self, plot: str, frame: int) -> str:
        """The plot with a cursor at a frame."""
        height = ROW * len(self.names) + 18
        x = LEFT + (RIGHT - LEFT) * (frame + 0.5) / self.standing.shape[1]
        cursor = f'<line x1="{x:.1f}" x2="{x:.1f}" y1="2" y2="{height - 16}" stroke="currentColor" stroke-width="1.5"/>'
        return panel_svg(height, plot + cursor)
