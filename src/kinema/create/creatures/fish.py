"""Fishes, dolphins and whales: a spindle with fins, hovering over the ground."""

from dataclasses import dataclass, field, replace

import numpy as np

from kinema.create.creatures.body import CORE, SIDES, Body, Eye, Number, mirror, toward
from kinema.create.creatures.proportions import Coat, Degrees, Speed, scaled

HOVER = 0.25
"""Height of the lowest point over the ground, in lengths."""
THIN = 0.16
"""Thickness of a fin relative to its width."""


@dataclass(frozen=True)
class Fish:
    """A body that swims with its tail; lengths in body lengths (nose to the root of the tail fin)."""

    family: str
    speed: Speed
    length: Number
    """[m]"""
    depth: Number = 0.14
    """Radius at the deepest place, which carries the root joint."""
    width: Number = 0.5
    """Width relative to depth."""
    front: Number = 0.38
    """Distance from the nose to the deepest place."""
    snout: Number = 0.035
    """Radius of the nose."""
    stalk: Number = 0.025
    """Radius before the tail fin."""
    beak: Number = 0.0
    """Length of a thin snout: dolphins, swordfishes."""
    fluke: Number = 0.2
    """Length of a lobe of the tail fin."""
    fork: Degrees = 48
    """Angle of the lobes from straight back."""
    level: bool = False
    """The tail fin lies level and beats up and down: whales."""
    dorsal: Number = 0.12
    """Height of the fin on the back; 0: none."""
    dorsal_at: Number = 0.05
    """Its place behind the root."""
    fin: Number = 0.18
    """Length of the fins at the sides."""
    fin_drop: Degrees = 22
    """Angle of those below the level."""
    eye: Number = 0.028
    bones: int = 5
    """Joints from the root to the tail fin."""
    coat: Coat = field(default_factory=Coat)

    def build(self) -> Body:
        """Bones and blobs; the root is at the deepest place, above z = 0."""
        body, unit, coat = Body(ground=False), self.length, self.coat
        depth, flat = self.depth * unit, (self.width, 1.0, 1.0)
        low = max(self.depth, self.fin * np.sin(np.deg2rad(self.fin_drop)), self.fluke * (0.0 if self.level else 0.8))
        middle = np.array([0.0, (HOVER + low) * unit, 0.0])
        gills, nose = middle + [0, 0, 0.42 * self.front * unit], middle + [0, 0, self.front * unit]
        nose[1] -= 0.15 * depth
        body.core = body.chain(["body", "head"], -1, [middle, gills, nose])
        melt = 0.2 * depth
        body.blob(middle, gills, depth, 0.9 * depth, coat.base, blend=melt, scale=flat)
        tip = nose - [0, 0, self.snout * unit]
        body.blob(gills, tip, 0.9 * depth, self.snout * unit, coat.head or coat.base, blend=melt, scale=flat)
        if self.beak:
            end = nose + [0, -0.1 * depth, self.beak * unit]
            body.blob(tip, end, 0.8 * self.snout * unit, 0.3 * self.snout * unit, coat.muzzle or coat.base, blend=melt)
        self._tail(body, middle, flat)
        self._fins(body, middle, gills)
        if coat.belly:
            under, ahead = np.array([0, -1.0, 0]) * depth, np.array([0, 0, 0.3 * self.front * unit])
            body.mark(middle + under - ahead, nose + 0.5 * under, 0.75 * depth, 0.4 * depth, coat.belly,
                      soft=0.3 * depth, limb=CORE, scale=(1.2, 1, 1))  # fmt: skip
        if self.eye > 0:
            center = gills + 0.55 * (nose - gills)
            for _, sign in SIDES:
                body.eyes.append(Eye(center, toward(80, 22, sign), self.eye * unit, coat.eye, 1, coat.iris,
                                     toward(80, 0, sign)))  # fmt: skip
        return body

    def _tail(self, body: Body, middle: np.ndarray, flat: tuple[float, float, float]) -> None:
        """The hind half, which bends, and the tail fin on its last bone."""
        unit, coat = self.length, self.coat
        share = np.linspace(0.0, 1.0, self.bones + 1)
        nodes = [middle - [0, 0, s * (1 - self.front) * unit] for s in share]
        radii = (self.stalk + (self.depth - self.stalk) * (1 - share**1.3)) * unit
        end = nodes[-1] - [0, 0, 0.5 * self.fluke * unit]
        names = [f"tail_{k + 1}" for k in range(self.bones)]
        limb = body.limb(body.chain([*names, "tail_fin"], 0, [*nodes, end]), 0.25 * self.depth * unit)
        for k in range(self.bones):
            body.blob(nodes[k], nodes[k + 1], radii[k], radii[k + 1], coat.base, limb=limb, blend=0.1 * radii[k],
                      scale=flat)  # fmt: skip
        if coat.belly:
            under = np.array([0, -1.0, 0])
            body.mark(nodes[0] + radii[0] * under, nodes[3] + radii[3] * under, 0.75 * radii[0], 0.6 * radii[3],
                      coat.belly, soft=0.3 * radii[0], limb=limb, scale=(1.2, 1, 1))  # fmt: skip
        angle, size = np.deg2rad(self.fork), self.fluke * unit
        side = np.array([1.0, 0, 0]) if self.level else np.array([0, 1.0, 0])
        thin = (1.0, THIN, 1.0) if self.level else (THIN, 1.0, 1.0)
        for sign in (1.0, -1.0):
            lobe = nodes[-1] + size * (sign * np.sin(angle) * side - [0, 0, np.cos(angle)])
            body.blob(nodes[-1] + 0.15 * (lobe - nodes[-1]), lobe, 0.26 * size, 0.08 * size, coat.tail or coat.base,
                      limb=limb, blend=0.15 * size, scale=thin)  # fmt: skip

    def _fins(self, body: Body, middle: np.ndarray, gills: np.ndarray) -> None:
        """A pair at the sides with two joints each, and one on the back."""
        unit, coat, depth = self.length, self.coat, self.depth * self.length
        color, drop = coat.feet or coat.base, np.deg2rad(self.fin_drop)
        way = np.array([0.75 * np.cos(drop), -np.sin(drop), -0.65 * np.cos(drop)])
        start = middle + 0.6 * (gills - middle) + np.array([0.8 * self.width, -0.4, 0.0]) * depth
        size = self.fin * unit
        for name, sign in SIDES:
            here = [mirror(start + s * size * way, sign) for s in (0.0, 0.45, 1.0)]
            joints = body.chain([f"{name}_fin_upper", f"{name}_fin_lower"], body.core[0], here)
            limb = body.limb(joints, 0.25 * size)
            look = {"limb": limb, "blend": 0.1 * size, "scale": (1.0, 2.2 * THIN, 1.0)}
            body.blob(here[0], here[1], 0.2 * size, 0.24 * size, color, **look)
            body.blob(here[1], here[2], 0.24 * size, 0.07 * size, color, **look)
        if self.dorsal:
            root = middle + [0, 0.8 * depth, -self.dorsal_at * unit]
            top = root + self.dorsal * unit * np.array([0, 1.0, -0.75])
            body.blob(root, top, 0.55 * self.dorsal * unit, 0.1 * self.dorsal * unit, color, blend=0.1 * depth,
                      scale=(0.2, 1, 1))  # fmt: skip

    def shaped(self, quality: str, factor: float) -> "Fish":
        parts = {"size": ("length",), "youth": ("length",), "girth": ("depth",), "tail": ("fluke",), "leg": ("fin",)}
        return scaled(self, dict.fromkeys(parts.get(quality, ()), factor))

    def limited(self, row: "Fish") -> "Fish":
        """No thinner than a grid can show, and a tail that tapers."""
        depth, front = float(np.clip(self.depth, 0.06, 0.3)), float(np.clip(self.front, 0.25, 0.55))
        width, fork = float(np.clip(self.width, 0.28, 1.6)), float(np.clip(self.fork, 25, 80))
        stalk, snout = float(np.clip(self.stalk, 0.018, 0.4 * depth)), float(np.clip(self.snout, 0.02, 0.8 * depth))
        fin, eye = float(np.clip(self.fin, 0.12, 0.5)), min(self.eye, 0.3 * depth)
        # Fins that hung below the belly would be legs.
        steepest = np.rad2deg(np.arcsin(min(0.5 * depth / fin, 0.8)))
        return replace(self, depth=depth, front=front, width=width, fork=fork, stalk=stalk, snout=snout, fin=fin,
                       eye=eye, fin_drop=float(np.clip(self.fin_drop, 4, steepest)))  # fmt: skip

    def blends_with(self, other: object) -> bool:
        return isinstance(other, Fish) and (self.level, self.bones) == (other.level, other.bones)


SILVER, SEA, PALE = (0.62, 0.68, 0.74), (0.20, 0.32, 0.44), (0.93, 0.94, 0.94)

FISHES: dict[str, Fish] = {
    "fish": Fish("fish", speed=0.5, length=0.30, coat=Coat((0.86, 0.45, 0.16), belly=(0.96, 0.82, 0.56),
        tail=(0.90, 0.55, 0.20), feet=(0.92, 0.60, 0.24), iris=(0.96, 0.92, 0.70))),
    "goldfish": Fish("fish", speed=0.2, length=0.12, depth=0.2, width=0.72, fluke=0.42, fork=36, fin=0.24, dorsal=0.2,
        eye=0.045, coat=Coat((0.95, 0.48, 0.10), belly=(0.99, 0.78, 0.40), tail=(0.98, 0.66, 0.30),
        feet=(0.98, 0.64, 0.28), iris=PALE)),
    "trout": Fish("fish", speed=0.6, length=0.45, depth=0.105, fluke=0.15, dorsal=0.09, fin=0.12,
        coat=Coat((0.45, 0.44, 0.30), belly=(0.90, 0.86, 0.76), pattern="spots", accent=(0.22, 0.20, 0.15))),
    "tuna": Fish("fish", speed=1.5, length=1.6, depth=0.14, width=0.75, stalk=0.018, fluke=0.19, fork=68, dorsal=0.11,
        fin=0.2, eye=0.018, coat=Coat(SEA, belly=SILVER, tail=(0.16, 0.24, 0.34), feet=(0.85, 0.75, 0.30))),
    "clownfish": Fish("fish", speed=0.2, length=0.10, depth=0.19, width=0.5, fluke=0.2, fork=30, fin=0.22, dorsal=0.14,
        eye=0.045, coat=Coat((0.95, 0.45, 0.10), pattern="stripes", accent=PALE, tail=(0.97, 0.60, 0.20))),
    "shark": Fish("fish", speed=1.2, length=2.6, depth=0.105, width=0.9, front=0.4, snout=0.03, fluke=0.24, fork=58,
        dorsal=0.12, dorsal_at=0.02, fin=0.22, eye=0.012,
        coat=Coat((0.42, 0.47, 0.52), belly=PALE, eye=(0.03, 0.03, 0.03))),
    "swordfish": Fish("fish", speed=1.6, length=2.2, depth=0.1, width=0.7, beak=0.38, fluke=0.22, fork=66, dorsal=0.16,
        dorsal_at=-0.12, fin=0.16, eye=0.02, coat=Coat(SEA, belly=SILVER, muzzle=(0.25, 0.30, 0.38))),
    "dolphin": Fish("fish", speed=1.8, length=2.2, depth=0.125, width=0.9, front=0.42, snout=0.05, beak=0.07,
        fluke=0.16, fork=66, level=True, dorsal=0.09, dorsal_at=0.04, fin=0.15, eye=0.012,
        coat=Coat((0.40, 0.47, 0.55), belly=(0.85, 0.88, 0.90))),
    "orca": Fish("fish", speed=2.0, length=6.0, depth=0.14, width=0.95, front=0.42, snout=0.07, fluke=0.17, fork=66,
        level=True, dorsal=0.16, fin=0.16, eye=0.01, coat=Coat((0.09, 0.09, 0.10), belly=PALE)),
    "whale": Fish("fish", speed=1.6, length=14.0, depth=0.145, width=1.05, front=0.45, snout=0.08, fluke=0.19, fork=68,
        level=True, dorsal=0.03, dorsal_at=0.2, fin=0.24, fin_drop=14, eye=0.008,
        coat=Coat((0.26, 0.33, 0.42), belly=(0.72, 0.76, 0.80))),
}  # fmt: skip
