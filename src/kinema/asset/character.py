"""What a character file holds once read: mesh, skeleton, weights and clips, as plain numpy arrays.

Everything here is in Kinema's world: right-handed, Y up, metres, facing +Z, feet at y = 0 (docs/conventions.md).
`Frame` remembers the file's own coordinates.
"""

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Int, UInt8

from kinema.geometry.rotations import children

MOST_JOINTS = 1000
"""Joints of a skeleton in a file. Which of them move together is found by comparing every pair."""
Joints = Float[np.ndarray, "joints 3"]


@dataclass(frozen=True)
class Mesh:
    """Triangles at rest, with the colours and textures that the file gave them."""

    vertices: Float[np.ndarray, "vertices 3"]
    faces: Int[np.ndarray, "faces 3"]
    colors: Float[np.ndarray, "vertices 3"]
    """sRGB in [0, 1]: vertex colour times base colour; white where only a texture gives the colour."""
    uv: Float[np.ndarray, "vertices 2"] | None = None
    """glTF's convention: (0, 0) is the texture's top left."""
    textures: tuple[UInt8[np.ndarray, "h w 4"], ...] = ()
    """sRGB with alpha; multiplies `colors`."""
    face_texture: Int[np.ndarray, "faces"] | None = None
    """Index into `textures` per face, -1 for none."""


@dataclass(frozen=True)
class Skeleton:
    """A tree of joints at rest. Joint 0 is the only root and parents come before children."""

    names: tuple[str, ...]
    parents: tuple[int, ...]
    """-1 for joint 0."""
    heads: Joints
    """Each joint's centre of rotation, in the world [m]."""
    tails: Joints
    """Where its bone ends: the child's head, the mean of several, or beyond a leaf [m]."""
    wxyz_world_file: Float[np.ndarray, "joints 4"] | None = None
    """Orientation of the file's own joint axes at rest, needed only to write the file back; None: world axes."""


@dataclass(frozen=True)
class Clip:
    """A motion as files hold it: rotations from rest. The identity everywhere is the rest pose."""

    name: str
    fps: float
    root_position: Float[np.ndarray, "frames 3"]
    """Joint 0's head in the world [m]."""
    wxyz_parent_joint: Float[np.ndarray, "frames joints 4"]
    """Each joint's rotation relative to its parent, both with the world's axes at rest; joint 0: to the world."""
    translation: Float[np.ndarray, "frames joints 3"] | None = None
    """Offset of each joint's head from its rest position in the parent, in the parent's frame [m]; None: all zero.
    Joint 0 has none, its path is `root_position`."""


@dataclass(frozen=True)
class Frame:
    """The similarity between a file's coordinates and ours: x_world = scale * rotation @ x_file + translation."""

    rotation: Float[np.ndarray, "3 3"] = field(default_factory=lambda: np.eye(3))
    scale: float = 1.0
    translation: Float[np.ndarray, "3"] = field(default_factory=lambda: np.zeros(3))


@dataclass(frozen=True)
class Character:
    """A mesh with, once rigged, a skeleton, weights and clips."""

    name: str
    mesh: Mesh
    skeleton: Skeleton | None = None
    weights: Float[np.ndarray, "vertices joints"] | None = None
    """Rows sum to one."""
    clips: tuple[Clip, ...] = ()
    frame: Frame = field(default_factory=Frame)
    source: Any = None
    """The `asset.gltf.document.GltfBinding` of a glTF file, with which an export keeps all that we do not model."""
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of joints by role ("legs", "arms", "wings", "fins", "tails", "heads") where someone gave them; the other
    roles are found (`rig.limbs`)."""
    ground: bool | None = None
    """Whether there is ground under it, where someone said so; None: as its limbs suggest."""
    changes: tuple[str, ...] = ()
    """One line for each thing that was changed on reading, as `kinema inspect` prints it."""


ROLES = ("legs", "arms", "wings", "fins", "tails", "heads")
"""Roles that can be given."""


def unique_names(names: Iterable[str]) -> tuple[str, ...]:
    """The names, with .2, .3 and so on behind those that were there before."""
    seen: dict[str, None] = {}
    for name in names:
        seen[unused_name(name, seen)] = None
    return tuple(seen)


def unused_name(name: str, taken: Collection[object], *, separator: str = ".") -> str:
    """The name, with a number behind it if it is taken."""
    names = itertools.chain((name,), (f"{name}{separator}{copy}" for copy in itertools.count(2)))
    return next(one for one in names if one not in taken)


def listed(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def bone_tails(heads: Joints, parents: Sequence[int], tips: Joints, *, shortest: float = 0.0) -> Joints:
    """The mean head of each joint's children that are at least `shortest` away; its own tip if there are none."""
    tails = tips.copy()
    for j, below in enumerate(children(parents)):
        ends = [heads[c] for c in below if np.linalg.norm(heads[c] - heads[j]) >= shortest]
        if ends:
            tails[j] = np.mean(ends, axis=0)
    return tails
