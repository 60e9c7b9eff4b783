"""Distances between two rigs of one mesh, as the papers on automatic rigging define them.

J2J, J2B and B2B are Chamfer distances between the joints, the joints and the bones, and the bones of two skeletons, in
lengths of the longest side of the mesh's box (the mesh is normalised to [-0.5, 0.5]). A bone runs from a joint to each
of its children and is sampled every 0.005; where a joint has no child there is no bone.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Character, Skeleton
from kinema.asset.rigs.orientation import apply_frame, place_skeleton, unplace_skeleton
from kinema.errors import KinemaError

STEP = 0.005
"""Distance between the points of a bone, in lengths of the longest side."""
Points = Float[np.ndarray, "_ 3"]


@dataclass(frozen=True)
class RigDistance:
    """How far two rigs are apart; 0 is the same rig."""

    j2j: float
    j2b: float
    b2b: float
    weights_l1: float | None
    """Mean over the vertices of the sum of absolute differences of weights, in [0, 2]; None without weights."""


def rig_distance(predicted: Character, true: Character) -> RigDistance:
    """Compare the rigs of two characters that have the same mesh in the same place."""
    for character in (predicted, true):
        if character.skeleton is None:
            raise KinemaError(f"{character.name}: has no skeleton to compare")
    assert predicted.skeleton is not None
    assert true.skeleton is not None
    _check_same_place(predicted, true)
    low, high = true.mesh.vertices.min(axis=0), true.mesh.vertices.max(axis=0)
    middle, size = (low + high) / 2, max(float((high - low).max()), 1e-300)
    skeletons = (predicted.skeleton, true.skeleton)
    joints = [(skeleton.heads - middle) / size for skeleton in skeletons]
    bones = [bone_points(points, skeleton.parents) for points, skeleton in zip(joints, skeletons)]
    j2b = (_mean_gap(joints[0], bones[1]) + _mean_gap(joints[1], bones[0])) / 2
    return RigDistance(chamfer(*joints), j2b, chamfer(*bones), _weights_l1(predicted, true))


def compare_files(predicted: Path, true: Path) -> RigDistance:
    """Compare the rigs of two files; one that holds joints alone is put into the mesh of the true one."""
    from kinema.asset.load import load

    known, joints_alone = load(true), predicted.suffix.lower() in (".json", ".txt")
    guess = load(true, skeleton=predicted, weights=True) if joints_alone else load(predicted)
    return rig_distance(_in_frame(guess, known), known)


def _in_frame(character: Character, target: Character) -> Character:
    """A character in the frame of another, whose file has the same coordinates: what was found may differ."""
    if character.skeleton is None:
        return character
    skeleton = place_skeleton(unplace_skeleton(character.skeleton, character.frame), target.frame)
    frame = character.frame
    vertices = (character.mesh.vertices - frame.translation) @ frame.rotation / frame.scale
    mesh = replace(character.mesh, vertices=apply_frame(target.frame, vertices))
    return replace(character, mesh=mesh, skeleton=skeleton, frame=target.frame)


def chamfer(a: Points, b: Points) -> float:
    """The mean distance from a point of one set to the nearest of the other, averaged over the two directions."""
    return (_mean_gap(a, b) + _mean_gap(b, a)) / 2


def bone_points(joints: Points, parents: tuple[int, ...]) -> Points:
    """Points every STEP along the bones of a normalised skeleton; the joint itself where there is no bone at all."""
    pieces = []
    for joint, parent in enumerate(parents):
        if parent >= 0:
            along = joints[joint] - joints[parent]
            count = int(np.ceil(np.linalg.norm(along) / STEP)) + 1
            pieces.append(joints[parent] + np.linspace(0, 1, count)[:, None] * along)
    return np.concatenate(pieces) if pieces else joints


def _mean_gap(points: Points, targets: Points) -> float:
    from scipy.spatial import KDTree

    return float(np.mean(KDTree(targets).query(points)[0]))


def _check_same_place(predicted: Character, true: Character) -> None:
    """Distances mean nothing if the meshes lie in different places or have different sizes."""
    boxes = [np.stack((c.mesh.vertices.min(axis=0), c.mesh.vertices.max(axis=0))) for c in (predicted, true)]
    size = max(float(np.ptp(boxes[1], axis=0).max()), 1e-300)
    off = float(np.abs(boxes[0] - boxes[1]).max()) / size
    if not off < 0.05:
        what = f"their boxes differ by {100 * off:.3g} % of the body's size"
        raise KinemaError(f"{predicted.name} and {true.name}: not the same mesh in the same place: {what}")


def _weights_l1(predicted: Character, true: Character) -> float | None:
    """L1 after each predicted joint is taken for the true one of its name, or for the nearest one."""
    from scipy.spatial import KDTree

    if predicted.weights is None or true.weights is None or predicted.skeleton is None or true.skeleton is None:
        return None
    target = _matching_joints(predicted.skeleton, true.skeleton)
    merged = np.zeros((len(predicted.weights), len(true.skeleton.names)))
    np.add.at(merged.T, target, predicted.weights.T)
    # Files split vertices at seams in their own ways: a true vertex is compared with the predicted one at its place.
    nearest = KDTree(predicted.mesh.vertices).query(true.mesh.vertices)[1]
    return float(np.abs(merged[nearest] - true.weights).sum(axis=1).mean())


def _matching_joints(predicted: Skeleton, true: Skeleton) -> np.ndarray:
    from scipy.spatial import KDTree

    if set(predicted.names) <= set(true.names):
        return np.array([true.names.index(name) for name in predicted.names])
    return np.asarray(KDTree(true.heads).query(predicted.heads)[1])
