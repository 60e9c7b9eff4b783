"""A mesh with the rig of another file: joints, and weights where both files hold the same mesh.

Programs that rig a mesh often turn, scale and centre it first, so the rig's coordinates may be others than the mesh's.
Where the rig comes with its mesh, the turn by right angles, the scale and the shift that bring one mesh onto the other
are found; joints alone are tried in the usual normalised boxes.
"""

from dataclasses import dataclass, replace
from itertools import permutations, product
from pathlib import Path

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Character, Frame, Mesh, Skeleton
from kinema.asset.rigs.orientation import FrameOptions, apply_frame, find_frame, place, place_skeleton
from kinema.asset.skeleton_json import read_roles_json
from kinema.errors import KinemaError

Points = Float[np.ndarray, "_ 3"]
SAME = 0.02
"""Largest mean distance between two meshes that are taken for the same one, in lengths of the longest side."""


@dataclass(frozen=True)
class ForeignRig:
    """A rig in the coordinates of its own file."""

    path: Path
    skeleton: Skeleton
    mesh: Mesh | None = None
    weights: Float[np.ndarray, "vertices joints"] | None = None
    """Of the vertices of `mesh`, or of the mesh that is rigged if there is none here."""


def attach(character: Character, rig: ForeignRig, given: FrameOptions, usual_up: str) -> Character:
    """Give a mesh the joints of another file, which has the mesh's coordinates or, if that fits better, its own."""
    path, vertices = rig.path, character.mesh.vertices
    skeleton, lines, weights = rig.skeleton, (), None
    if rig.mesh is not None:
        frame, gap = _onto(rig.mesh.vertices, vertices)
        if gap < SAME:
            skeleton = place_skeleton(skeleton, frame)
            weights = _carried(character.mesh, rig, frame)
            lines = () if _is_identity(frame) else (f"{path.name}: turned, scaled or moved onto the mesh",)
        else:
            lines = (f"{path.name} holds another mesh, so its weights are left out",)
    elif path.suffix.lower() == ".txt":
        frame = _from_box(skeleton.heads, vertices)
        skeleton = place_skeleton(skeleton, frame)
        lines = () if _is_identity(frame) else (f"{path.name}: its joints are those of a normalised mesh",)
        if rig.weights is not None and len(rig.weights) == len(vertices):
            weights = rig.weights
        elif rig.weights is not None:
            counts = f"{len(rig.weights)} vertices, and the mesh has {len(vertices)}"
            lines = (*lines, f"{path.name} has weights of {counts}: left out")
    return _placed(character, replace(rig, skeleton=skeleton, weights=weights), given, usual_up, lines)


def _placed(
    character: Character, rig: ForeignRig, given: FrameOptions, usual_up: str, said: tuple[str, ...]
) -> Character:
    """Mesh and joints in our world."""
    path, skeleton, vertices = rig.path, rig.skeleton, character.mesh.vertices
    frame, lines = find_frame(vertices, skeleton, given, usual_up=usual_up)
    mesh, bones = place(character, frame), place_skeleton(skeleton, frame)
    if _fit(skeleton.heads, vertices) < 0.6:
        frame, own_mesh_lines = find_frame(vertices, None, given, usual_up=usual_up)
        joints = np.concatenate((skeleton.heads, skeleton.tails))
        turn, _ = find_frame(joints, skeleton, FrameOptions(ground=0.0))
        low, tall = (joints @ turn.rotation[1]).min(), np.ptp(joints @ turn.rotation[1])
        # Joints lie above the soles: a skeleton that begins a little above zero already stands on it.
        ground = 0.0 if 0 <= low < 0.15 * tall else None
        own_frame, own_lines = find_frame(joints, skeleton, FrameOptions(ground=ground))
        own_mesh, own_bones = place(character, frame), place_skeleton(skeleton, own_frame)
        if _fit(own_bones.heads, own_mesh.mesh.vertices) > _fit(bones.heads, mesh.mesh.vertices):
            mesh, bones = own_mesh, own_bones
            lines = (*own_mesh_lines, *(f"{path.name}: {line}" for line in own_lines))
    share = _inside(bones.heads, mesh.mesh.vertices)
    count = round(share * len(skeleton.names))
    if share < 0.3:
        raise KinemaError(f"{path}: only {count} of its {len(skeleton.names)} joints lie within {character.name}")
    if share < 0.9:
        lines = (*lines, f"only {count} of {path.name}'s {len(skeleton.names)} joints lie within the mesh")
    with_weights = "with their weights" if rig.weights is not None else "skin weights are computed when it is rigged"
    taken = f"took {len(skeleton.names)} joints from {path.name}; {with_weights}"
    roles = read_roles_json(path, skeleton.names) if path.suffix.lower() == ".json" else {}
    changes = (*character.changes, taken, *said, *lines)
    return replace(mesh, skeleton=bones, weights=rig.weights, clips=(), roles=roles, changes=changes)


def _carried(mesh: Mesh, rig: ForeignRig, frame: Frame) -> Float[np.ndarray, "vertices joints"] | None:
    """Weights at the vertices of a mesh, from the nearest surface points of the rig's own."""
    from kinema.geometry.nearest import SurfaceTree

    if rig.mesh is None or rig.weights is None:
        return None
    surface = SurfaceTree.from_triangles(apply_frame(frame, rig.mesh.vertices), rig.mesh.faces)
    weights = surface.nearest(mesh.vertices).interpolate(rig.mesh.faces, rig.weights.astype(np.float64))
    return weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)


def _is_identity(frame: Frame) -> bool:
    return frame.scale == 1.0 and not frame.translation.any() and bool((frame.rotation == np.eye(3)).all())


def _onto(vertices: Points, target: Points) -> tuple[Frame, float]:
    """The similarity that brings a mesh onto another, and the mean distance that remains [longest sides]."""
    from scipy.spatial import KDTree

    size = max(float(np.ptp(target, axis=0).max()), 1e-300)
    some, wanted = (points[:: max(1, len(points) // 500)] for points in (vertices, target))
    tree = KDTree(target)

    def gap(frame: Frame) -> float:
        there = tree.query(apply_frame(frame, some))[0].mean()
        back = KDTree(apply_frame(frame, vertices)).query(wanted)[0].mean()
        return float(there + back) / 2 / size

    best = (Frame(), gap(Frame()))
    if best[1] < SAME / 4:
        return best
    middle = (target.min(axis=0) + target.max(axis=0)) / 2
    for rotation in _right_angles():
        turned = vertices @ rotation.T
        box = np.ptp(turned, axis=0)
        scale = size / max(float(box.max()), 1e-300)
        # A turn that changes the shape of the box cannot be right.
        if np.abs(scale * box - np.ptp(target, axis=0)).max() > 0.1 * size:
            continue
        shift = middle - scale * (turned.min(axis=0) + turned.max(axis=0)) / 2
        frame = Frame(rotation, scale, shift)
        if (found := gap(frame)) < best[1]:
            best = frame, found
    return best


def _right_angles() -> list[Float[np.ndarray, "3 3"]]:
    """The 24 turns by right angles."""
    signs = product((1.0, -1.0), repeat=3)
    axes = [np.eye(3)[list(order)] * np.array(sign)[:, None] for sign in signs for order in permutations(range(3))]
    return [matrix for matrix in axes if np.linalg.det(matrix) > 0]


def _from_box(heads: Points, vertices: Points) -> Frame:
    """The map from a normalised box to the mesh, if joints fit better there than where they are."""
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    middle, side = (low + high) / 2, float((high - low).max())
    standing = np.array([middle[0], low[1], middle[2]])
    boxes = [
        Frame(),
        Frame(np.eye(3), side, middle),
        Frame(np.eye(3), side / 2, middle),
        Frame(np.eye(3), side, standing),
    ]
    fits = [_fit(apply_frame(frame, heads), vertices, room=0.02) for frame in boxes]
    return boxes[0] if fits[0] >= 0.6 else boxes[int(np.argmax(fits))]


def _fit(heads: Points, vertices: Points, *, room: float = 0.1) -> float:
    """Score of joints for a mesh: 1 if they fill it from within, less if outside or of another size."""
    size = np.linalg.norm(np.ptp(heads, axis=0)) / max(float(np.linalg.norm(np.ptp(vertices, axis=0))), 1e-30)
    return _inside(heads, vertices, room=room) - 0.5 * abs(float(np.log(max(size, 1e-9) / 0.8)))


def _inside(points: Points, vertices: Points, *, room: float = 0.1) -> float:
    """Share of points within the bounding box, widened by a share of its diagonal."""
    low, high = vertices.min(0), vertices.max(0)
    wide = room * np.linalg.norm(high - low)
    return float(((points >= low - wide) & (points <= high + wide)).all(1).mean())
