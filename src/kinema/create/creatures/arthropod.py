"""Ants, spiders and crabs: a few segments and pairs of arched legs."""

from dataclasses import dataclass, field, replace

import numpy as np

from kinema.create.creatures.body import SIDES, Body, Eye, Number, mirror, toward
from kinema.create.creatures.proportions import Coat, Degrees, Speed, scaled

PAIRS = {3: ("front", "middle", "hind"), 4: ("front", "second", "third", "hind")}
"""Names of the legs from head to tail."""


@dataclass(frozen=True)
class Arthropod:
    """Pairs of jointed legs around a low body; lengths in body lengths."""

    family: str
    speed: Speed
    body: Number
    """Length without legs [m]."""
    legs: int
    """Number of pairs."""
    reach: Number
    """Distance of the feet from the middle, sideways."""
    height: Number
    """Height of the body."""
    knee: Number
    """Height of the knees."""
    abdomen: Number
    """Radius; 0: none, as of a crab, which carries it folded under."""
    thorax: Number
    head: Number
    leg_radius: Number
    waist: Number = 0.04
    broad: Number = 1.0
    """Width of the thorax relative to its length."""
    pincers: Number = 0
    """Length of arms with pincers: crabs."""
    stretch: Number = 1.0
    """Length of the thorax relative to its width."""
    fan: Degrees = 50
    """Angle by which the first and the last pair point ahead and back."""
    feelers: Number = 0
    eyes: int = 2
    eye: Number = 0.2
    """Radius relative to the head's."""
    coat: Coat = field(default_factory=Coat)

    def build(self) -> Body:
        """Bones and blobs; the thorax, which carries the legs, is the root above z = 0."""
        body, unit, coat = Body(), self.body, self.coat
        thorax_r, head_r = self.thorax * unit, self.head * unit
        middle, ahead = np.array([0.0, self.height * unit, 0.0]), np.array([0.0, 0.05, 1.0])
        neck = middle + ahead * (0.85 * thorax_r * self.stretch + self.waist * unit)
        face = neck + ahead * (1.7 * head_r)
        body.core = body.chain(["thorax", "head"], -1, [middle, neck, face])
        melt = 0.25 * min(thorax_r, head_r)
        half = 0.6 * (self.stretch - 1) * thorax_r * ahead
        body.blob(middle - half, middle + half, thorax_r, 0.95 * thorax_r, coat.base, blend=melt,
                  scale=(self.broad, 0.85 / self.broad**0.5, 1))  # fmt: skip
        body.blob(middle, neck + 0.4 * head_r * ahead, 0.45 * head_r, 0.45 * head_r, coat.base, blend=melt)
        center = neck + 0.75 * head_r * ahead
        body.blob(center, center + 0.2 * head_r * ahead, head_r, 0.85 * head_r, coat.head or coat.base, blend=melt)

        pole = self._abdomen(body, middle - half, melt) if self.abdomen else middle
        for index, pair in enumerate(PAIRS[self.legs]):
            _pair(body, self, pair, 1 - 2 * index / (self.legs - 1), middle, pole - [0, 0, 0.25 * self.abdomen * unit])
        if self.pincers:
            _pincers(body, self, middle)
        _face(body, self, center, head_r)
        return body

    def _abdomen(self, body: Body, middle: np.ndarray, melt: float) -> np.ndarray:
        """The hind part on its stem; returns its middle."""
        unit, coat, thorax_r, abdomen_r = self.body, self.coat, self.thorax * self.body, self.abdomen * self.body
        root = middle - [0, 0, 0.75 * thorax_r]
        pole = root - [0, -0.12 * abdomen_r, self.waist * unit + 0.9 * abdomen_r]
        end = pole - [0, 0.1 * abdomen_r, 1.5 * abdomen_r]
        joint = body.joint("abdomen", 0, root, end)
        limb = body.limb([joint], 0.5 * max(self.waist, 0.0) * unit + 0.15 * thorax_r)
        stem = max(0.22 * thorax_r, 0.35 * self.waist * unit)
        body.blob(root, pole, stem, stem, coat.base, limb=limb, blend=melt)
        body.blob(pole, pole - [0, 0, 0.55 * abdomen_r], 0.95 * abdomen_r, 0.8 * abdomen_r, coat.accent, limb=limb,
                   blend=0.3 * abdomen_r, scale=(1, 0.95, 1.05))  # fmt: skip
        return pole

    def shaped(self, quality: str, factor: float) -> "Arthropod":
        lengths = {"leg": ("reach", "knee"), "girth": ("abdomen", "leg_radius"), "size": ("body",), "youth": ("body",)}
        return scaled(self, dict.fromkeys(lengths.get(quality, ()), factor))

    def limited(self, row: "Arthropod") -> "Arthropod":
        """The body hangs below the knees and clears the ground."""
        return replace(self, height=min(max(self.height, 0.6 * self.abdomen), 0.8 * self.knee + 0.02))

    def blends_with(self, other: object) -> bool:
        return isinstance(other, Arthropod) and self.family == other.family


def _pair(body: Body, p: Arthropod, pair: str, share: Number, middle: np.ndarray, abdomen: np.ndarray) -> None:
    """Two legs; `share` runs from 1 at the front pair to -1 at the hind one, which keeps clear of the abdomen."""
    unit, coat, r, azimuth = p.body, p.coat, p.leg_radius * p.body, np.deg2rad(p.fan * share)
    start = middle + np.array([0.62 * p.thorax * p.broad, -0.1 * p.thorax, 0.62 * p.thorax * p.stretch * share]) * unit
    away = abdomen - start
    while p.abdomen and share < 0 and azimuth < -0.1:
        # Distance of the abdomen's middle from the leg, seen from above.
        if abs(away[0] * np.sin(azimuth) - away[2] * np.cos(azimuth)) >= p.abdomen * unit + 1.6 * r:
            break
        azimuth *= 0.94
    out = np.array([np.cos(azimuth), 0.0, np.sin(azimuth)])
    reach = p.reach * unit * (1.0 + 0.12 * abs(share))
    nodes = [start, start + 0.42 * reach * out, start + 0.86 * reach * out, start + reach * out]
    for node, height in zip(nodes[1:], (p.knee * unit, 0.16 * p.knee * unit + r, 0.7 * r)):
        node[1] = height
    radii = [1.5 * r, 1.15 * r, 0.85 * r, 0.7 * r]
    colors = [coat.base, coat.legs or coat.base, coat.feet or coat.legs or coat.base]
    for name, sign in SIDES:
        here = [mirror(node, sign) for node in nodes]
        limb = body.limb(body.chain([f"{pair}_{name}_{n}" for n in ("upper", "lower", "foot")], 0, here), 1.2 * r)
        for k in range(3):
            body.blob(here[k], here[k + 1], radii[k], radii[k + 1], colors[k], limb=limb, blend=0.5 * r)


def _pincers(body: Body, p: Arthropod, middle: np.ndarray) -> None:
    """A pair of arms that reach out and forward, each with a claw of two fingers."""
    unit, r, color = p.pincers * p.body, 1.25 * p.leg_radius * p.body, p.coat.head or p.coat.base
    start = middle + np.array([0.66 * p.broad, 0.0, 0.66]) * p.thorax * p.body
    ways = np.array([[0.85, 0.15, 0.45], [-0.1, 0.1, 1.0], [-0.5, 0.0, 0.85]]) * [[0.5], [0.27], [0.23]]
    nodes = np.cumsum([start, *(unit * ways)], axis=0)
    for name, sign in SIDES:
        here = [mirror(node, sign) for node in nodes]
        joints = body.chain([f"{name}_arm_{n}" for n in ("upper", "lower", "claw")], 0, here)
        limb = body.limb(joints, 1.2 * r)
        body.blob(here[0], here[1], r, 1.1 * r, color, limb=limb, blend=0.5 * r)
        body.blob(here[1], here[2], 1.1 * r, 1.9 * r, color, limb=limb, blend=0.5 * r)
        palm = here[2] + 0.3 * (here[3] - here[2])
        body.blob(here[2], palm, 1.9 * r, 2.2 * r, color, limb=limb, blend=0.5 * r, scale=(1.0, 0.8, 1.0))
        finger = np.array([[0, 0, 0], [0.35, 0.1, 0.3], [0.45, 0.1, 0.8], [0.1, 0.0, 1.25]]) * 2.2 * r
        for side in (1.0, -0.8):
            body.tube(
                palm + mirror(finger * [side, 1, 1], sign), np.array([0, 0.55, 0.4, 0]) * 2 * r, color, joints[-1]
            )


def _face(body: Body, p: Arthropod, center: np.ndarray, head_r: float) -> None:
    """Rows of eyes, jaws that bend inwards, and feelers."""
    rows = ((28, 18, 1.0), (58, 34, 0.75), (82, 48, 0.7), (40, 58, 0.6))
    for side, up, size in rows[: p.eyes // 2]:
        for _, sign in SIDES:
            body.eyes.append(Eye(center, toward(side, up, sign), p.eye * head_r * size, p.coat.eye, 1))
    jaw = np.array([[0.35, -0.35, 0.55], [0.5, -0.55, 1.1], [0.3, -0.65, 1.45], [0.12, -0.68, 1.55]]) * head_r
    feeler = np.array([[0, 0, 0], [0.05, 0.10, 0.08], [0.25, 0.45, 0.35], [0.35, 0.40, 0.7], [0.45, 0.28, 1.0]])
    start = center + np.array([0.35, 0.55, 0.55]) * head_r
    radii = np.array([0.0, 1.0, 0.8, 0.7, 0.0]) * 0.45 * p.leg_radius * p.body + 1e-5
    for _, sign in SIDES:
        body.tube(center + mirror(jaw, sign), np.array([0.0, 0.2, 0.12, 0.0]) * head_r, p.coat.nose, 1)
        if p.feelers:
            body.tube(mirror(start + feeler * (p.feelers * p.body), sign), radii, p.coat.nose, 1)


ARTHROPODS: dict[str, Arthropod] = {
    "spider": Arthropod("octopod", speed=0.15, body=0.06, legs=4, reach=1.15, height=0.34, knee=0.72, abdomen=0.30,
        thorax=0.19, head=0.14, leg_radius=0.042, waist=0.02, fan=58, eyes=6, eye=0.24,
        coat=Coat((0.22, 0.17, 0.15), legs=(0.30, 0.22, 0.18), accent=(0.16, 0.12, 0.11), eye=(0.75, 0.10, 0.08))),
    "ant": Arthropod("hexapod", speed=0.05, body=0.02, legs=3, reach=0.72, height=0.30, knee=0.46, abdomen=0.20,
        thorax=0.10, head=0.145, leg_radius=0.026, waist=0.06, stretch=1.9, fan=46, feelers=0.42, eyes=2, eye=0.26,
        coat=Coat((0.48, 0.17, 0.10), legs=(0.40, 0.14, 0.08), accent=(0.32, 0.11, 0.07))),
    "beetle": Arthropod("hexapod", speed=0.06, body=0.03, legs=3, reach=0.62, height=0.30, knee=0.36, abdomen=0.27,
        thorax=0.20, head=0.14, leg_radius=0.03, waist=-0.08, stretch=1.5, fan=40, feelers=0.22, eyes=2, eye=0.22,
        coat=Coat((0.12, 0.14, 0.16), accent=(0.15, 0.35, 0.25))),
    "crab": Arthropod("crab", speed=0.3, body=0.12, legs=4, reach=1.05, height=0.30, knee=0.42, abdomen=0, thorax=0.36,
        head=0.10, leg_radius=0.05, waist=-0.06, broad=1.45, pincers=0.95, fan=34, eyes=2, eye=0.4,
        coat=Coat((0.82, 0.30, 0.16), legs=(0.86, 0.40, 0.22), feet=(0.92, 0.62, 0.40), head=(0.85, 0.33, 0.18),
                  accent=(0.70, 0.22, 0.12))),
}  # fmt: skip
