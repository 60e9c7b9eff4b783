"""The foot-contact plot: which foot stands when, and how high it is in between."""

import html
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from kinema.motion.feet import find_stance, phases, track_feet
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs

WIDTH, ROW, LEFT, RIGHT = 300, 26, 44, 6
COLORS = ("#d1495b", "#30638e", "#edae49", "#00798c", "#8d6a9f", "#5b8e3e", "#b56576", "#444444")


@dataclass(frozen=True)
class Contacts:
    """What the feet of one motion do."""

    names: tuple[str, ...]
    standing: Bool[np.ndarray, "legs frames"]
    height: Float[np.ndarray, "legs frames"]
    """Of the soles [m]."""
    fps: float

    @staticmethod
    def of(rig: Rig, limbs: Limbs, motion: Motion) -> "Contacts | None":
        """None without legs or time."""
        if not limbs.legs or len(motion) < 2:
            return None
        feet = track_feet(rig, limbs, motion)
        side = {1: "L", -1: "R", 0: "M"}
        names = tuple(f"{side[leg.side]}{leg.rank + 1}" for leg in limbs.legs)
        return Contacts(names, find_stance(feet).T, feet.height.T, motion.fps)

    def plot(self) -> str:
        """SVG without the cursor: bars where a foot stands, a line for its height, seconds below."""
        frames = self.standing.shape[1]
        wide = (WIDTH - LEFT - RIGHT) / frames
        top = max(1e-6, float(self.height.max()))
        parts = []
        for row, name in enumerate(self.names):
            base, color = ROW * (row + 1), COLORS[row % len(COLORS)]
            parts.append(f'<text x="4" y="{base - 8}" fill="currentColor">{html.escape(name)}</text>')
            parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}" stroke="#8884"/>')
            for start, end in phases(self.standing[row]):
                x, length = LEFT + wide * start, wide * (end - start)
                parts.append(f'<rect x="{x:.1f}" y="{base - 7}" width="{length:.1f}" height="7" fill="{color}"/>')
            lift = np.clip(self.height[row] / top, 0, 1)
            points = " ".join(f"{LEFT + wide * (k + 0.5):.1f},{base - 20 * h:.1f}" for k, h in enumerate(lift))
            parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-opacity="0.7"/>')
        foot = ROW * len(self.names) + 13
        seconds = frames / self.fps
        parts.append(f'<text x="{LEFT}" y="{foot}" fill="currentColor">0</text>')
        parts.append(
            f'<text x="{WIDTH - RIGHT}" y="{foot}" fill="currentColor" text-anchor="end">{seconds:.2g} s</text>'
        )
        return "".join(parts)

    def page(self, plot: str, frame: int) -> str:
        """The plot with a cursor at a frame."""
        height = ROW * len(self.names) + 18
        x = LEFT + (WIDTH - LEFT - RIGHT) * (frame + 0.5) / self.standing.shape[1]
        cursor = f'<line x1="{x:.1f}" x2="{x:.1f}" y1="2" y2="{height - 16}" stroke="currentColor" stroke-width="1.5"/>'
        style = "width:100%;display:block;padding:2px 8px 6px;box-sizing:border-box"
        return f'<svg viewBox="0 0 {WIDTH} {height}" style="{style}" font-size="10">{plot}{cursor}</svg>'
