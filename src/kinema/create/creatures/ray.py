"""Rays and sea turtles: a disc whose fins are wings, hovering over the ground."""

from dataclasses import dataclass, field, replace

import numpy as np

from kinema.create.creatures.body import CORE, SIDES, Body, Eye, Number, mirror, toward
from kinema.create.creatures.fish import HOVER
from kinema.create.creatures.proportions import Coat, Degrees, Speed, scaled


@dataclass(frozen=True)
class Ray:
    """A body that swims with its fins; lengths in lengths of the disc."""

    family: str
    speed: Speed
    length: Number
    """Of the disc, without the tail [m]."""
    reach: Number = 0.75
    """Of a fin from the middle."""
    thick: Number = 0.13
    """Radius of the body."""
    sweep: Degrees = 18
    """How far the fins point back."""
    chord: Number = 0.4
    """Half the width of a fin at its root."""
    dome: Number = 0.8
    """Height of the body relative to its radius."""
    broad: Number = 1.5
    """Width of the body relative to its radius."""
    skull: Number = 0.0
    """Radius of a head that stands out: turtles."""
    tail: Number = 1.0
    horns: Number = 0.0
    """Lobes beside the mouth: mantas."""
    coat: Coat = field(default_factory=Coat)

    def build(self) -> Body:
        """Bones and blobs; the root is in the middle of the disc, above z = 0."""
        body, unit, coat = Body(ground=False), self.length, self.coat
        thick = self.thick * unit
        middle = np.array([0.0, HOVER * unit + 1.2 * thick * max(self.dome, 1.0), 0.0])
        neck, nose = middle + [0, 0, 0.22 * unit], middle + [0, 0, 0.45 * unit]
        body.core = body.chain(["body", "head"], -1, [middle, neck, nose])
        flat = (self.broad, self.dome, 1.0)
        rear = middle - [0, 0, 0.4 * unit]
        body.blob(middle, nose - [0, 0, 0.6 * thick], thick, 0.7 * thick, coat.base, blend=0.4 * thick, scale=flat)
        body.blob(rear, middle, 0.5 * thick, thick, coat.base, blend=0.4 * thick, scale=flat)
        if self.skull:
            face = nose - [0, 0, 0.7 * self.skull * unit]
            body.blob(neck, face, 0.6 * self.skull * unit, self.skull * unit, coat.head or coat.base, blend=0.2 * thick)
        back = np.array([0, 0, -1.0])
        nodes = [rear + s * self.tail * unit * back for s in (0.0, 0.33, 0.67, 1.0)]
        limb = body.limb(body.chain(["tail_1", "tail_2", "tail_3"], 0, nodes), 0.3 * thick)
        for k, radius in enumerate((0.35, 0.25, 0.17)):
            body.blob(nodes[k], nodes[k + 1], radius * thick, 0.7 * radius * thick, coat.tail or coat.base, limb=limb,
                      blend=0.1 * thick)  # fmt: skip
        way = np.array([np.cos(np.deg2rad(self.sweep)), 0.12, -np.sin(np.deg2rad(self.sweep))])
        for name, sign in SIDES:
            start = middle + [0.6 * self.broad * thick, 0, (0.05 + 0.4 * (0.4 - self.chord)) * unit]
            here = [mirror(start + s * self.reach * unit * way, sign) for s in (0.0, 0.3, 0.65, 1.0)]
            joints = body.chain([f"{name}_fin_{k}" for k in ("upper", "middle", "tip")], 0, here)
            limb = body.limb(joints, 0.4 * thick)
            for k, (a, b, up) in enumerate(((1.0, 0.8, 0.16), (0.8, 0.43, 0.14), (0.43, 0.13, 0.14))):
                wide, color = self.chord * unit, coat.feet or coat.base
                body.blob(here[k], here[k + 1], a * wide, b * wide, color, limb=limb, blend=0.03 * unit,
                          scale=(0.6, max(up, 0.028 / self.chord), 1.0))  # fmt: skip
            if self.horns:
                root = nose + np.array([0.9 * thick, -0.1 * thick, -0.3 * thick])
                lobe = np.array([[0, 0, 0], [0.05, 0, 0.1], [0.05, -0.03, 0.6], [0, -0.05, 1.0]]) * self.horns * unit
                body.tube(mirror(root + lobe, sign), np.array([0, 0.3, 0.25, 0]) * thick, coat.base, 1)
            socket = nose - [0, 0, 0.7 * self.skull * unit] if self.skull else neck + [0, 0, 0.1 * unit]
            body.eyes.append(Eye(socket, toward(70, 35, sign), 0.17 * max(thick * 0.7, self.skull * unit), coat.eye, 1))
        if coat.belly:
            low = middle - [0, 1.1 * thick, 0]
            body.mark(low + 0.4 * unit * back, low - 0.4 * unit * back, 0.95 * thick, 0.95 * thick, coat.belly,
                      soft=0.2 * thick, limb=CORE, scale=(2.5, 1, 1))  # fmt: skip
        return body

    def shaped(self, quality: str, factor: float) -> "Ray":
        parts = {"size": "length", "youth": "length", "girth": "thick", "tail": "tail", "leg": "reach"}
        return scaled(self, {parts[quality]: factor} if quality in parts else {})

    def limited(self, row: "Ray") -> "Ray":
        reach, thick = float(np.clip(self.reach, 0.5, 1.2)), float(np.clip(self.thick, 0.12, 0.3))
        return replace(self, reach=reach, thick=thick, chord=float(np.clip(self.chord, 0.12, 0.45)),
                       sweep=float(np.clip(self.sweep, 0, 35)))  # fmt: skip

    def blends_with(self, other: object) -> bool:
        return isinstance(other, Ray) and (self.skull > 0) == (other.skull > 0)


RAYS: dict[str, Ray] = {
    "manta": Ray("ray", speed=1.0, length=2.0, reach=0.95, sweep=22, tail=0.8, horns=0.16,
        coat=Coat((0.14, 0.16, 0.20), belly=(0.92, 0.92, 0.92))),
    "stingray": Ray("ray", speed=0.5, length=0.8, reach=0.62, sweep=10, tail=1.3,
        coat=Coat((0.60, 0.50, 0.36), belly=(0.93, 0.90, 0.84), pattern="spots", accent=(0.28, 0.44, 0.62))),
    "turtle": Ray("ray", speed=0.4, length=0.9, reach=0.62, thick=0.26, sweep=28, chord=0.15, dome=0.62, broad=1.25,
        skull=0.10, tail=0.2, coat=Coat((0.32, 0.36, 0.20), belly=(0.88, 0.82, 0.60), head=(0.55, 0.56, 0.36),
        feet=(0.50, 0.52, 0.33), pattern="net", accent=(0.42, 0.32, 0.16))),
}  # fmt: skip
