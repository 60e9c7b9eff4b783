"""What can be said about a creature in numbers. Lengths are in trunk lengths unless a unit is given; angles in degrees.

One row of the species table is one of these; a random creature is a blend of rows that is then perturbed.
"""

from dataclasses import dataclass, field
from typing import Literal

Number = float | int
Rgb = tuple[float, float, float]
Family = Literal["biped", "quadruped", "bird", "hexapod", "octopod"]
Bones = tuple[tuple[Number, Number], ...]
"""(length, angle) of a leg's bones from the top; the angle is from straight down, forwards positive. The last one is
the foot on the ground. Lengths are relative: the leg is scaled to reach the ground."""

PAW_HIND: Bones = ((0.36, 32), (0.37, -34), (0.22, 6), (0.13, 76))
PAW_FRONT: Bones = ((0.36, -24), (0.44, 8), (0.14, 74))
HOOF_HIND: Bones = ((0.31, 28), (0.35, -30), (0.29, 4), (0.07, 40))
HOOF_FRONT: Bones = ((0.30, -26), (0.38, 9), (0.26, 0), (0.07, 40))
PILLAR_HIND: Bones = ((0.44, 10), (0.40, -9), (0.16, 35))
PILLAR_FRONT: Bones = ((0.42, -12), (0.42, 9), (0.16, 35))
SOLE_HIND: Bones = ((0.46, 14), (0.42, -13), (0.26, 76))
SOLE_FRONT: Bones = ((0.42, -18), (0.46, 9), (0.18, 72))
HUMAN_LEG: Bones = ((0.49, 3), (0.46, -4), (0.22, 76))
HOP_HIND: Bones = ((0.42, 62), (0.52, -48), (0.46, 82))
HOP_FRONT: Bones = ((0.36, -30), (0.44, 10), (0.16, 70))
BIRD_LEG: Bones = ((0.30, 40), (0.40, -28), (0.34, 12), (0.17, 84))
THEROPOD_LEG: Bones = ((0.38, 36), (0.38, -36), (0.24, 16), (0.20, 80))
KNUCKLE_FRONT: Bones = ((0.44, -8), (0.44, 6), (0.13, 28))
SPRAWL_LEG: Bones = ((0.45, 0), (0.45, 5), (0.30, 70))


@dataclass(frozen=True)
class Coat:
    """Colours by region, sRGB."""

    base: Rgb = (0.55, 0.40, 0.28)
    belly: Rgb | None = None
    thighs: Rgb | None = None
    legs: Rgb | None = None
    """Lower half of the limbs ("socks")."""
    feet: Rgb | None = None
    muzzle: Rgb | None = None
    muzzle_from: Number = 0.1
    """Where the muzzle's colour begins between skull and nose; from below 0.5 on the upper side stays as it is."""
    head: Rgb | None = None
    ear: Rgb | None = None
    nose: Rgb = (0.10, 0.08, 0.08)
    eye: Rgb = (0.05, 0.04, 0.04)
    iris: Rgb | None = None
    """Of the eyeball around a dark pupil; None: eyes are beads of one colour."""
    tail: Rgb | None = None
    tail_tip: Rgb | None = None
    mane: Rgb | None = None
    pattern: Literal["plain", "patches", "stripes", "spots", "net"] = "plain"
    accent: Rgb = (0.2, 0.2, 0.2)
    """Second colour of the pattern."""


@dataclass(frozen=True)
class Neck:
    length: Number = 0.35
    angle: Number = 40
    """Above the horizontal."""
    base: Number = 0.16
    top: Number = 0.11
    bones: int = 1
    curve: Number = 0
    """Change of angle from the first to the last bone."""


@dataclass(frozen=True)
class Head:
    radius: Number = 0.15
    snout: Number = 0.20
    """From the middle of the skull to the tip of the nose."""
    snout_base: Number = 0.10
    snout_tip: Number = 0.06
    pitch: Number = -18
    """Of the snout above the horizontal."""
    height: Number = 1.0
    """Of the skull, relative to its width."""
    eye: Number = 0.2
    """Radius relative to the skull's."""
    eye_side: Number = 55
    """0 looks ahead, 90 sideways."""
    eye_up: Number = 28


@dataclass(frozen=True)
class Tail:
    length: Number = 0.6
    angle: Number = -35
    """Of its root above the horizontal, pointing backwards."""
    curl: Number = 0
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
    kind: Literal["pointed", "round", "long", "floppy", "fan"]
    length: Number
    width: Number
    spread: Number = 35
    """From straight up to the side."""


@dataclass(frozen=True)
class Arms:
    """Fore limbs that do not carry: arms or wings."""

    length: Number = 0.8
    spread: Number = 40
    """From straight down to the side."""
    forward: Number = 8
    radius: Number = 0.06
    hand: Number = 0.06
    wing: bool = False


Extra = Literal[
    "horns", "antlers", "ossicones", "trunk", "tusks", "beak", "comb", "hump", "mane", "ruff", "jaw", "teeth", "hair",
    "helmet", "backpack", "antenna", "visor", "plumage", "claws", "udder", "silverback", "crest", "spikes",
    "two humps", "patched eyes", "flat beak", "nose", "boxy", "clothes",
]  # fmt: skip


@dataclass(frozen=True)
class Vertebrate:
    """Two or four legs under a trunk that may stand at any angle: dogs, humans, birds and dinosaurs alike."""

    family: Family
    speed: Number
    """Typical walk [m/s]."""
    trunk: Number
    """From the hip joints to the shoulders [m]."""
    leg: Number
    """Height of the hip joints."""
    hind: Bones
    front: Bones | Arms | None
    pitch: Number = 0
    """Of the trunk above the horizontal."""
    chest: Number = 0.24
    belly: Number = 0.20
    rump: Number = 0.20
    width: Number = 0.85
    """Of the trunk, relative to its depth."""
    sag: Number = 0.02
    thigh: Number = 0.13
    shank: Number = 0.045
    """Radius at the ankle."""
    paw: Number = 0.055
    fore: Number = 0.85
    """Thickness of the fore legs relative to the hind ones."""
    stance: Number = 0.13
    """Of the feet from the middle."""
    sprawl: Number = 0
    """Of the upper leg from hanging to sideways."""
    neck: Neck = field(default_factory=Neck)
    head: Head = field(default_factory=Head)
    tail: Tail | None = None
    ears: Ears | None = None
    extras: tuple[Extra, ...] = ()
    coat: Coat = field(default_factory=Coat)


@dataclass(frozen=True)
class Arthropod:
    """Pairs of jointed legs around a low body; lengths in body lengths."""

    family: Family
    speed: Number
    body: Number
    """Length without legs [m]."""
    legs: int
    """Pairs."""
    reach: Number
    """Of the feet, sideways from the middle."""
    height: Number
    """Of the body."""
    knee: Number
    """Height of the knees."""
    abdomen: Number
    thorax: Number
    head: Number
    leg_radius: Number
    waist: Number = 0.04
    stretch: Number = 1.0
    """Length of the thorax relative to its width."""
    fan: Number = 50
    """How far the first and the last pair point ahead and back."""
    feelers: Number = 0
    eyes: int = 2
    eye: Number = 0.2
    """Radius relative to the head's."""
    coat: Coat = field(default_factory=Coat)


Proportions = Vertebrate | Arthropod
