"""A creature's body before there is a mesh: joints of a core (pelvis to head) and of limbs, and round cones around."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from kinema.asset.character import Skeleton

Number = float | int
Rgb = tuple[float, float, float]
Vector = Float[np.ndarray, "3"]
Scale = tuple[Number, Number, Number]
CORE, ANYWHERE = -1, -2
"""The `limb` of blobs that belong to the core, and of marks that paint every part."""
SIDES = (("left", 1.0), ("right", -1.0))


@dataclass(frozen=True)
class Blob:
    """A round cone from `a` to `b`; all lengths in metres."""

    a: Vector
    b: Vector
    radius_a: float
    radius_b: float
    color: Vector
    limb: int = CORE
    blend: float = 0.02
    """Width of the smooth union with what is already there [m]."""
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Stretch along the world's axes about the middle of a and b."""
    sharp: float = 2.0
    """Exponent of the norm that makes the cross-section: 2 is round, 8 is a box."""


@dataclass(frozen=True)
class Limb:
    """A chain of joints that hangs on the core."""

    joints: tuple[int, ...]
    blend: float
    """Width over which limb and core melt, in shape and in weights [m]."""


@dataclass(frozen=True)
class Shell:
    """A small closed part of its own (eye, horn, claw) that rides on one joint: a chain of rings along `path`."""

    path: Float[np.ndarray, "rings 3"]
    radii: Float[np.ndarray, "rings"]
    color: Rgb
    joint: int
    tip_color: Rgb | None = None


@dataclass(frozen=True)
class Eye:
    """A ball set on the surface where a ray from inside the head leaves it."""

    start: Vector
    direction: Vector
    radius: float
    color: Rgb
    joint: int
    white: Rgb | None = None
    """Colour of the ball around a pupil of `color`; None: the whole ball has `color`."""
    look: Vector = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    """Where the pupil points."""


@dataclass
class Body:
    """Joints, limbs, blobs and shells of one creature, before there is a mesh. A body plan fills it."""

    names: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    heads: list[Vector] = field(default_factory=list)
    tails: list[Vector] = field(default_factory=list)
    core: list[int] = field(default_factory=list)
    """Joints of the core in order, pelvis to head."""
    limbs: list[Limb] = field(default_factory=list)
    blobs: list[Blob] = field(default_factory=list)
    marks: list[Blob] = field(default_factory=list)
    """Paint only: the surface inside a mark takes its colour, softly over `blend`."""
    shells: list[Shell] = field(default_factory=list)
    eyes: list[Eye] = field(default_factory=list)
    ground: bool = True
    """Cut flat at y = 0, so that feet have soles."""

    @property
    def skeleton(self) -> Skeleton:
        return Skeleton(tuple(self.names), tuple(self.parents), np.array(self.heads), np.array(self.tails))

    def joint(self, name: str, parent: int, head: Vector, tail: Vector) -> int:
        self.names.append(name)
        self.parents.append(parent)
        self.heads.append(head)
        self.tails.append(tail)
        return len(self.names) - 1

    def chain(self, names: list[str], parent: int, nodes: list[Vector]) -> list[int]:
        """Joints between consecutive nodes, each the child of the one before."""
        for name, head, tail in zip(names, nodes[:-1], nodes[1:], strict=True):
            parent = self.joint(name, parent, head, tail)
        return list(range(len(self.names) - len(names), len(self.names)))

    def limb(self, joints: list[int], blend: float) -> int:
        self.limbs.append(Limb(tuple(joints), blend))
        return len(self.limbs) - 1

    def blob(
        self, a: Vector, b: Vector, radius_a: Number, radius_b: Number, color: Rgb, *,
        blend: Number, limb: int = CORE, scale: Scale = (1, 1, 1), sharp: float = 2.0,
    ) -> None:  # fmt: skip
        """Add a round cone to the core or to a limb."""
        # Plain floats: numpy's scalars would turn the float32 of the sampling grid into float64.
        sx, sy, sz = (float(s) for s in scale)
        radii, rgb = (float(radius_a), float(radius_b)), np.asarray(color, dtype=np.float64)
        self.blobs.append(Blob(a, b, *radii, rgb, limb, float(blend), (sx, sy, sz), sharp))

    def mark(
        self, a: Vector, b: Vector, radius_a: Number, radius_b: Number, color: Rgb, *,
        soft: Number, limb: int = ANYWHERE, scale: Scale = (1, 1, 1),
    ) -> None:  # fmt: skip
        """Paint what lies inside a round cone, on one part of the body or on all."""
        self.blob(a, b, radius_a, radius_b, color, blend=soft, limb=limb, scale=scale)
        self.marks.append(self.blobs.pop())

    def tube(self, path: np.ndarray, radii: ArrayLike, color: Rgb, joint: int, tip: Rgb | None = None) -> None:
        """Add a shell along a path."""
        self.shells.append(Shell(path, np.asarray(radii, dtype=float), color, joint, tip))

    def tubes(self, path: np.ndarray, radii: ArrayLike, color: Rgb, joint: int, tip: Rgb | None = None) -> None:
        """Add a shell on each side of the body."""
        for _, sign in SIDES:
            self.tube(mirror(path, sign), radii, color, joint, tip)


def forward(angle_deg: Number) -> Vector:
    """Unit vector in the plane of symmetry, `angle_deg` above straight ahead."""
    angle = np.deg2rad(angle_deg)
    return np.array([0.0, np.sin(angle), np.cos(angle)])


def toward(side_deg: Number, up_deg: Number, sign: float) -> Vector:
    """Unit vector `side_deg` from straight ahead to the left (sign 1) or right (-1), and `up_deg` above the level."""
    side, up = np.deg2rad(side_deg), np.deg2rad(up_deg)
    return np.array([np.sin(side) * np.cos(up) * sign, np.sin(up), np.cos(side) * np.cos(up)])


def mirror(points: np.ndarray, sign: float) -> np.ndarray:
    """The points themselves for sign 1, those of the other side of the body for -1."""
    return points * [sign, 1.0, 1.0]
