"""Proportions of vertebrates. Lengths are in trunk lengths unless a unit is given; angles in degrees."""

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from kinema.create.creatures.body import Body, Number, Vector, forward
from kinema.create.creatures.proportions import Coat, Degrees, Speed, scaled

Bones = tuple[tuple[Number, Number], ...]
"""(length, angle) of a leg's bones from the top; the angle is from straight down, forwards positive. The last one is
the foot on the ground. Lengths are relative: the leg is scaled to reach the ground."""


@dataclass(frozen=True)
class Neck:
    """Bones between shoulders and head."""

    length: Number = 0.35
    angle: Degrees = 40
    """Angle of the first bone above the horizontal."""
    base: Number = 0.16
    top: Number = 0.11
    bones: int = 1
    curve: Degrees = 0
    """Change of angle from the first to the last bone."""


@dataclass(frozen=True)
class Head:
    """Skull, snout and eyes."""

    radius: Number = 0.15
    snout: Number = 0.20
    """From the middle of the skull to the tip of the nose."""
    snout_base: Number = 0.10
    snout_tip: Number = 0.06
    pitch: Degrees = -18
    """Angle of the snout above the horizontal."""
    height: Number = 1.0
    """Height of the skull, relative to its width."""
    eye: Number = 0.2
    """Radius relative to the skull's."""
    eye_side: Degrees = 55
    """0 looks ahead, 90 sideways."""
    eye_up: Degrees = 28


@dataclass(frozen=True)
class Tail:
    """Bones behind the hips."""

    length: Number = 0.6
    angle: Degrees = -35
    """Angle of the root above the horizontal, pointing backwards."""
    curl: Degrees = 0
    """Change of angle from root to tip."""
    base: Number = 0.05
    tip: Number = 0.02
    bush: Number = 0
    """Radius of a brush along its outer bones."""
    flat: Number = 1.0
    """Width relative to height: a fan of feathers is thin."""
    bones: int = 3


@dataclass(frozen=True)
class Ears:
    """A pair of ears with a joint each."""

    kind: Literal["pointed", "round", "long", "floppy", "fan"]
    length: Number
    width: Number
    spread: Degrees = 35
    """Angle from straight up to the side."""


@dataclass(frozen=True)
class Arms:
    """Fore limbs that do not carry: arms or wings."""

    length: Number = 0.8
    spread: Degrees = 40
    """Angle from straight down to the side."""
    forward: Degrees = 8
    radius: Number = 0.06
    hand: Number = 0.06
    wing: bool = False
    chord: Number = 0
    """Width of a wing that is spread at rest; 0: it lies folded along the body."""
    fingers: bool = False
    """Collar bones, and hands with five fingers; without, a mitten at an arm of three joints."""


@dataclass(frozen=True)
class Vertebrate:
    """Two or four legs under a trunk that may stand at any angle: dogs, humans, birds and dinosaurs alike."""

    family: str
    speed: Speed
    """Typical walk [m/s]."""
    trunk: Number
    """Distance from the hip joints to the shoulders [m]."""
    leg: Number
    """Height of the hip joints."""
    hind: Bones
    front: Bones | Arms | None
    pitch: Degrees = 0
    """Angle of the trunk above the horizontal."""
    chest: Number = 0.24
    belly: Number = 0.20
    rump: Number = 0.20
    width: Number = 0.85
    """Width of the trunk, relative to its depth."""
    sag: Number = 0.02
    thigh: Number = 0.13
    shank: Number = 0.045
    """Radius at the ankle."""
    paw: Number = 0.055
    fore: Number = 0.85
    """Thickness of the fore legs relative to the hind ones."""
    stance: Number = 0.13
    """Distance of the feet from the middle."""
    sprawl: Degrees = 0
    """Angle of the upper leg from hanging to sideways."""
    wings: Arms | None = None
    """Wings beside four legs: dragons."""
    neck: Neck = field(default_factory=Neck)
    head: Head = field(default_factory=Head)
    tail: Tail | None = None
    ears: Ears | None = None
    extras: tuple[str, ...] = ()
    """Names of `extras.EXTRAS`, or of what changes the plan itself: "nose", "boxy", "clothes"."""
    coat: Coat = field(default_factory=Coat)

    @property
    def winged(self) -> bool:
        return isinstance(self.front, Arms) and self.front.wing

    @property
    def flies(self) -> bool:
        """It has wings that are spread at rest."""
        return (isinstance(self.front, Arms) and self.front.chord > 0) or self.wings is not None

    @property
    def upright(self) -> bool:
        return self.pitch > 70

    @property
    def skull(self) -> float:
        """Radius of the skull [m]."""
        return self.head.radius * self.trunk

    @property
    def up(self) -> Vector:
        """Along the trunk, from the hips to the shoulders."""
        return forward(self.pitch)

    @property
    def back(self) -> Vector:
        """From the belly to the back."""
        return forward(self.pitch + 90)

    def build(self) -> Body:
        from kinema.create.creatures.vertebrate.plan import build_vertebrate

        return build_vertebrate(self)

    def shaped(self, quality: str, factor: float) -> "Vertebrate":
        if quality == "leg":
            return replace(self, leg=max(self.leg * factor, 1.15 * self.belly))
        root = factor**0.5
        young = {"leg": 0.88, "neck.length": 0.85, "head.radius": 1.35, "head.eye": 1.25, "head.snout": 1.1}
        big_head = {"head.radius": 1.75, "head.snout": 1.3, "neck.length": 0.7, "head.eye": 0.8}
        return scaled(self, {
            "size": {"trunk": factor},
            "youth": {"trunk": factor, **young},
            "girth": {"chest": factor, "belly": factor**1.3, "rump": factor, "thigh": root, "shank": root},
            "neck": {"neck.length": factor},
            "tail": {"tail.length": factor},
            "toy": {"trunk": 0.85, "leg": 0.62, **big_head},
        }[quality])  # fmt: skip

    def limited(self, row: "Vertebrate") -> "Vertebrate":
        """Feet apart, and head and neck no thicker than what carries them."""
        p = replace(self, pitch=row.pitch + (0.3 if row.upright else 0.6) * (self.pitch - row.pitch))
        trunk = min(p.chest, p.belly, p.rump)
        most = 0.17 if isinstance(p.front, tuple) else 0.2
        thigh = float(np.clip(p.thigh, 0.42 * trunk, 0.9 * p.rump)) * min(1.0, most / (p.thigh / p.leg))
        shank = float(np.clip(p.shank, 0.2 * thigh, 0.85 * thigh))
        paw = float(np.clip(p.paw, shank, 2 * shank + 0.01))
        base = min(p.neck.base, 0.95 * p.chest)
        height, eye = float(np.clip(p.head.height, 0.8, 1.35)), float(np.clip(p.head.eye, 0.1, 0.3))
        snout = min(p.head.snout_base, 0.9 * p.head.radius)
        leg, sprawl = max(p.leg, (1.9 if p.winged else 1.15) * p.belly), max(p.sprawl, 0.0) if row.sprawl else 0.0
        neck = replace(p.neck, base=base, top=min(p.neck.top, base, 0.95 * p.head.radius))
        head = replace(p.head, height=height, eye=eye, snout_base=snout, snout_tip=min(p.head.snout_tip, snout))
        p = replace(p, thigh=thigh, shank=shank, paw=paw, stance=max(p.stance, 1.15 * paw, 0.75 * thigh), neck=neck)
        p = replace(p, width=float(np.clip(p.width, 0.6, 1.5)), leg=leg, sag=min(p.sag, 0.06), sprawl=sprawl, head=head)
        if p.tail:
            tail = replace(p.tail, base=min(p.tail.base, 0.95 * p.rump), tip=min(p.tail.tip, p.tail.base))
            # Shorter if it would end below the ground.
            angles = [tail.angle + tail.curl * k / max(1, tail.bones - 1) for k in range(tail.bones)]
            drop, room = -sum(np.sin(np.deg2rad(angle)) for angle in angles) / tail.bones, p.leg - tail.base
            too_long = drop > 0.05 and tail.length * drop > room
            p = replace(p, tail=replace(tail, length=room / drop) if too_long else tail)
        if isinstance(p.front, Arms):
            spread, hand = float(np.clip(p.front.spread, 22, 60)), max(p.front.hand, 0.6 * p.front.radius)
            p = replace(p, front=_open_enough(replace(p.front, spread=spread, hand=hand)))
        return replace(p, wings=_open_enough(p.wings)) if p.wings else p

    def blends_with(self, other: object) -> bool:
        rows = [row for row in (self, other) if isinstance(row, Vertebrate)]
        kinds = {
            (row.family, len(row.hind), type(row.front), row.sprawl > 0, row.winged, row.flies, row.wings is None)
            for row in rows
        }
        return len(rows) == 2 and len(kinds) == 1 and abs(rows[0].pitch - rows[1].pitch) < 35


def _open_enough(arms: Arms) -> Arms:
    """A spread wing that is longer than wide and no thinner than a grid can show."""
    return (
        replace(arms, chord=float(np.clip(arms.chord, 0.22 * arms.length, 0.5 * arms.length))) if arms.chord else arms
    )
