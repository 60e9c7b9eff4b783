"""The skin of the feet: what a viewer sees touch the ground, measured on skinned vertices."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.spatial import ConvexHull, QhullError
from torch import Tensor

from kinema.asset.character import Character
from kinema.geometry.rotations import is_below
from kinema.geometry.surface import face_areas_normals
from kinema.motion.feet import PerFoot, Poses, Velocities, touch_path
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs
from kinema.skin import Skin, blend, skin_points

PerFrame = Float[np.ndarray, "frames"]
Vertices = Int[np.ndarray, "vertices"]
NEAR_GROUND = 0.15
"""Height at rest up to which the skin of a leg may touch the ground [leg lengths]."""


@dataclass(frozen=True)
class SkinContacts:
    """The skinned mesh near the ground."""

    lowest: PerFrame
    """Height of the lowest vertex [m]."""
    middle: PerFrame
    """Height of the middle of its surface, about where the centre of mass is [m]."""
    height: PerFoot | None = None
    """Height of each foot's lowest vertex [m]."""
    velocity: Velocities | None = None
    """Velocity of each foot's vertices, weighted towards the lowest [m/s]."""


@dataclass(frozen=True)
class FootSkin:
    """The vertices of each foot, with the joints that carry them."""

    rig: Rig
    feet: tuple[tuple[Skin, Float[Tensor, "_ 3"]], ...]
    """Skin weights and rest positions [m] of each leg's foot."""
    sizes: tuple[float, ...]
    """Longest edge of each foot's box at rest [m]."""

    @staticmethod
    def of(character: Character, rig: Rig, limbs: Limbs) -> "FootSkin | None":
        """The vertices that can touch the ground: of every joint's part of a foot, the convex hull; None of no skin."""
        if character.weights is None or not len(character.mesh.vertices):
            return None
        rig, vertices = rig.to(torch.float64), np.asarray(character.mesh.vertices, dtype=np.float64)
        feet, sizes = [], []
        for foot in foot_vertices(character, rig, limbs):
            carrier = character.weights[foot].argmax(1)
            chosen = np.concatenate([_hull(vertices, foot[carrier == j]) for j in np.unique(carrier)])
            skin = Skin.from_dense(character.weights[chosen], dtype=torch.float64)
            feet.append((skin, torch.from_numpy(vertices[chosen])))
            sizes.append(float(np.ptp(vertices[foot], axis=0).max()))
        return FootSkin(rig, tuple(feet), tuple(sizes))

    def paths(self, T_world_joint: Poses, *, fps: float) -> tuple[PerFoot, Velocities]:
        """Height of each foot's lowest vertex [m] and velocity of what touches the ground [m/s]."""
        T = T_world_joint.to(torch.float64)
        with torch.no_grad():
            moved = [skin_points(blend(skin, self.rig, T), points) for skin, points in self.feet]
        return _touch_paths(moved, self.sizes, fps)


def foot_vertices(character: Character, rig: Rig, limbs: Limbs) -> list[Vertices]:
    """Vertices of each leg's foot: those that the joints below its ankle carry mostly, and what else of it is low."""
    assert character.weights is not None
    height, joints = character.mesh.vertices[:, 1], range(len(rig.parents))
    feet = []
    for leg in limbs.legs:
        tops = leg.joints[min(leg.foot, len(leg.joints) - 1) :]
        below = [j for j in joints if any(is_below(rig.parents, j, top) for top in tops)]
        shank = [j for j in joints if any(is_below(rig.parents, j, top) for top in leg.joints[1:])]
        low = (character.weights[:, shank].sum(1) > 0.5) & (height < NEAR_GROUND * limbs.leg_length)
        carried = np.flatnonzero((character.weights[:, below].sum(1) > 0.5) | low)
        feet.append(carried if len(carried) else np.argsort(-character.weights[:, below].sum(1))[:8])
    return feet


def skin_contacts(character: Character, rig: Rig, limbs: Limbs, motion: Motion) -> SkinContacts:
    """Skin every vertex in every frame."""
    skin = Skin.from_character(character, dtype=rig.heads.dtype)
    points = torch.from_numpy(np.ascontiguousarray(character.mesh.vertices)).to(rig.heads)
    with torch.no_grad():
        poses = motion.pose(rig).to(rig.heads)
        moved = (skin_points(blend(skin, rig, pose), points) for pose in poses)
        return vertex_contacts(character, rig, limbs, moved, fps=motion.fps)


def vertex_contacts(
    character: Character, rig: Rig, limbs: Limbs, frames: Iterable[Float[Tensor, "vertices 3"]], *, fps: float
) -> SkinContacts:
    """Contacts of a mesh whose vertices are known, whatever moved them."""
    feet, mesh = foot_vertices(character, rig, limbs), character.mesh
    area, _ = face_areas_normals(mesh.vertices, mesh.faces)
    share = np.bincount(mesh.faces.ravel(), np.repeat(area, 3), minlength=len(mesh.vertices)) + 1e-12
    share = share / share.sum()
    lowest, middle, paths = [], [], [[] for _ in feet]
    for moved in frames:
        height = moved[:, 1].cpu().numpy()
        lowest.append(float(height.min()))
        middle.append(float(share @ height))
        for path, foot in zip(paths, feet):
            path.append(moved[foot])
    sizes = tuple(float(np.ptp(character.mesh.vertices[foot], axis=0).max()) for foot in feet)
    found = _touch_paths([torch.stack(path) for path in paths], sizes, fps) if feet else (None, None)
    return SkinContacts(np.array(lowest), np.array(middle), *found)


def trunk_depth(character: Character, rig: Rig, limbs: Limbs, motion: Motion) -> PerFrame:
    """Depth of the skin below the ground [m], without arms, what they hold, tails, and what hangs from heads: trunks
    and ears. These carry nothing."""
    assert character.weights is not None
    tops = {*(tail[0] for tail in limbs.tails), *(arm.joints[0] for arm in limbs.arms)}
    tops |= {j for j, parent in enumerate(rig.parents) if parent in limbs.heads}
    apart = [any(is_below(rig.parents, j, top) for top in tops) for j in range(len(rig.parents))]
    chosen = np.flatnonzero(~np.array(apart)[character.weights.argmax(1)])
    skin = Skin.from_dense(character.weights[chosen], dtype=rig.heads.dtype)
    points = torch.from_numpy(np.ascontiguousarray(character.mesh.vertices[chosen])).to(rig.heads)
    with torch.no_grad():
        poses = motion.pose(rig).to(rig.heads)
        lowest = [float(skin_points(blend(skin, rig, pose), points)[:, 1].min()) for pose in poses]
    return np.maximum(-np.array(lowest), 0.0)


def _touch_paths(feet: list[Tensor], sizes: tuple[float, ...], fps: float) -> tuple[PerFoot, Velocities]:
    heights, velocities = zip(*(touch_path(foot, size=size, fps=fps) for foot, size in zip(feet, sizes)))
    return np.stack(heights, 1), np.stack(velocities, 1)


def _hull(vertices: Float[np.ndarray, "all 3"], chosen: Vertices) -> Int[np.ndarray, "hull"]:
    """The lowest vertex of a rigid part lies on its convex hull, however the part is turned."""
    try:
        return chosen[ConvexHull(vertices[chosen]).vertices]
    except (QhullError, ValueError):  # few or flat
        return chosen
