"""Snakes, worms and eels: a long chain of bones on the ground."""

from dataclasses import dataclass, field, replace

import numpy as np

from kinema.create.creatures.body import CORE, SIDES, Body, Eye, Number, toward
from kinema.create.creatures.proportions import Coat, Degrees, Speed, scaled


@dataclass(frozen=True)
class Serpent:
    """A body without limbs; lengths in body lengths."""

    family: str
    speed: Speed
    length: Number
    """[m]"""
    girth: Number = 0.026
    """Radius in the middle."""
    neck: Number = 0.75
    """Radius behind the head, relative to the girth."""
    tip: Number = 0.15
    """Radius of the tail's end, relative to the girth."""
    head: Number = 1.15
    """Width of the head, relative to the girth."""
    snout: Number = 2.4
    """Length of the head, relative to its width."""
    hood: Number = 0
    """Width of a cobra's hood, relative to the girth."""
    lift: Degrees = 8
    """How far the head points up."""
    eye: Number = 0.22
    """Radius relative to the head's; 0: none."""
    bones: int = 8
    """Joints on either side of the root, which is in the middle."""
    coat: Coat = field(default_factory=Coat)

    def build(self) -> Body:
        """Bones and blobs, straight along z; the root is in the middle, above z = 0."""
        body, unit, coat, count = Body(), self.length, self.coat, self.bones
        girth, half = self.girth * unit, 0.5 * unit
        head, long = self.head * girth, self.head * self.snout * girth
        middle = np.array([0.0, girth, 0.0])
        step = (half - long) / (count - 1)
        ahead = [middle + [0, 0, k * step] for k in range(count)]
        nose = ahead[-1] + long * np.array([0, np.sin(np.deg2rad(self.lift)), np.cos(np.deg2rad(self.lift))])
        names = ["body", *(f"spine_{k + 1}" for k in range(count - 2)), "head"]
        body.core = body.chain(names, -1, [*ahead, nose])
        share = np.linspace(0.0, 1.0, count)
        radii = girth * (1 - (1 - self.neck) * share**2)
        for k in range(count - 1):
            body.blob(ahead[k], ahead[k + 1], radii[k], radii[k + 1], coat.base, blend=0.2 * girth)
        if self.hood:
            flat = {"blend": 0.3 * girth, "scale": (1.0, 0.35, 1.0)}
            body.blob(ahead[-2], ahead[-1], 0.8 * self.hood * girth, self.hood * girth, coat.accent, **flat)
        skull = ahead[-1] + 0.35 * (nose - ahead[-1])
        body.blob(ahead[-1], skull, radii[-1], head, coat.head or coat.base, blend=0.3 * girth, scale=(1, 0.8, 1))
        body.blob(skull, nose - 0.5 * head * (nose - skull) / np.linalg.norm(nose - skull), head, 0.55 * head,
                  coat.head or coat.base, blend=0.3 * girth, scale=(1, 0.8, 1))  # fmt: skip
        share = np.linspace(0.0, 1.0, count + 1)
        radii = girth * (1 - (1 - self.tip) * share**2)
        back = [np.array([0.0, radius, -s * half]) for s, radius in zip(share, radii)]
        limb = body.limb(body.chain([f"tail_{k + 1}" for k in range(count)], 0, back), 0.3 * girth)
        for k in range(count):
            body.blob(back[k], back[k + 1], radii[k], radii[k + 1], coat.base, limb=limb, blend=0.2 * girth)
        if coat.belly:
            low = np.array([0, -1.0, 0]) * girth
            for a, b, part in ((middle, ahead[-1], CORE), (middle, back[-2], limb)):
                body.mark(a + low, b + low, 0.8 * girth, 0.6 * girth, coat.belly, soft=0.3 * girth, limb=part)
        for _, sign in SIDES if self.eye else ():
            body.eyes.append(Eye(skull, toward(58, 32, sign), self.eye * head, coat.eye, body.core[-1], coat.iris,
                                 toward(58, 10, sign)))  # fmt: skip
        return body

    def shaped(self, quality: str, factor: float) -> "Serpent":
        parts = {"size": ("length",), "youth": ("length",), "girth": ("girth",), "tail": ("length",)}
        return scaled(self, dict.fromkeys(parts.get(quality, ()), factor))

    def limited(self, row: "Serpent") -> "Serpent":
        """Longer than thick, but no thinner than a grid can show."""
        girth, head = float(np.clip(self.girth, 0.014, 0.055)), float(np.clip(self.head, 0.9, 1.7))
        neck, tip = float(np.clip(self.neck, 0.5, 1.0)), float(np.clip(self.tip, 0.12, 0.9))
        eye, lift = min(self.eye, 0.32), float(np.clip(self.lift, 0, 25))
        return replace(self, girth=girth, head=head, neck=neck, tip=tip, eye=eye, lift=lift)

    def blends_with(self, other: object) -> bool:
        return isinstance(other, Serpent) and self.bones == other.bones


SERPENTS: dict[str, Serpent] = {
    "snake": Serpent("snake", speed=0.4, length=1.4, coat=Coat((0.36, 0.46, 0.20), belly=(0.85, 0.83, 0.58),
        pattern="stripes", accent=(0.20, 0.26, 0.11), iris=(0.92, 0.78, 0.20))),
    "python": Serpent("snake", speed=0.3, length=4.0, girth=0.032, coat=Coat((0.62, 0.47, 0.26),
        belly=(0.88, 0.82, 0.64), pattern="net", accent=(0.32, 0.22, 0.12), iris=(0.85, 0.60, 0.25))),
    "cobra": Serpent("snake", speed=0.5, length=1.8, girth=0.024, hood=2.6, neck=0.8, coat=Coat((0.38, 0.30, 0.20),
        belly=(0.82, 0.74, 0.52), accent=(0.48, 0.38, 0.24))),
    "viper": Serpent("snake", speed=0.3, length=0.8, girth=0.03, neck=0.6, head=1.3, snout=2.0,
        coat=Coat((0.52, 0.46, 0.38), pattern="patches", accent=(0.24, 0.19, 0.15), iris=(0.90, 0.40, 0.15))),
    "worm": Serpent("snake", speed=0.02, length=0.14, girth=0.028, neck=0.85, tip=0.7, head=0.92, snout=1.6, lift=0,
        eye=0, coat=Coat((0.78, 0.50, 0.46), head=(0.70, 0.42, 0.40))),
    "eel": Serpent("snake", speed=0.4, length=0.9, girth=0.03, neck=0.9, tip=0.25, head=0.95, snout=2.2, lift=0,
        eye=0.18, coat=Coat((0.24, 0.26, 0.20), belly=(0.74, 0.74, 0.60))),
}  # fmt: skip
