"""How a file's character stands: which way is up, where it looks, how large it is and where the ground is.

Each of the four is found from joint names, leg and head geometry and mirror symmetry, can be given instead, and is
kept in `Frame`, so that an export undoes it. Rotations are by right angles: a file's numbers stay exact.
"""

import re
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Character, Clip, Frame, Skeleton
from kinema.errors import KinemaError

AXES = {
    sign + name: factor * np.eye(3)[i]
    for i, name in enumerate("xyz")
    for sign, factor in (("+", 1.0), ("", 1.0), ("-", -1.0))
}
SMALLEST_M, LARGEST_M = 0.05, 60.0
"""Bodies of this size (bounding box diagonal) are taken to be in metres as they are."""

HEAD = {"head", "nose", "snout", "muzzle", "jaw", "mouth", "beak", "face", "eye", "ear", "neck", "horn", "antler"}
REAR = {"tail", "rump", "butt", "fluke"}
FRONT_LEG = {"front", "fore", "thoracic"}
BACK_LEG = {"back", "hind", "rear", "pelvic"}
LEG = {"leg", "foot", "paw", "hoof", "toe", "shoulder", "hip", "arm", "hand", "thigh", "shin", "knee", "ik"}
FOOT = {"foot", "feet", "toe", "toes", "paw", "hoof", "ankle", "ball"}
TRUNK = {"hip", "hips", "pelvis", "spine", "torso", "body", "root", "abdomen", "chest"}
LEFT, RIGHT = {"l", "left", "lf", "lt"}, {"r", "right", "rt"}


def find_frame(
    vertices: Float[np.ndarray, "vertices 3"],
    skeleton: Skeleton | None,
    *,
    up: str | None = None,
    facing: str | None = None,
    scale: float | None = None,
    ground: float | None = None,
    usual_up: str = "+y",
) -> tuple[Frame, tuple[str, ...]]:
    """The similarity from the file's coordinates to ours, and a line for each thing that is not as in glTF.

    Args:
        vertices: at rest, in the file's coordinates.
        skeleton: in the file's coordinates.
        up: the file's axis that points up ("y", "+z", "-x" ...); None finds it.
        facing: the file's axis that the character looks along.
        scale: metres per unit of the file.
        ground: height of the ground along the file's up axis [file units].
        usual_up: what files of this format mostly have.
    """
    up_axis = _axis(up, "up") if up else _find_up(vertices, skeleton, AXES[usual_up])
    # Blender's habit for Z up is to look along -Y, glTF's for Y up along +Z.
    usual_facing = np.array([0, -1.0, 0]) if abs(up_axis[2]) > 0.5 else np.array([0, 0, 1.0])
    facing_axis = _axis(facing, "facing") if facing else _find_facing(vertices, skeleton, up_axis, usual_facing)
    if abs(facing_axis @ up_axis) > 0.5:
        raise KinemaError(f"facing {facing or _name(facing_axis)} and up {up or _name(up_axis)} are the same axis")
    rotation = np.stack((np.cross(up_axis, facing_axis), up_axis, facing_axis))
    if scale is None:
        scale = _find_scale(vertices)
    elif not (np.isfinite(scale) and scale > 0):
        raise KinemaError(f"scale {scale} is not a positive number")
    if ground is None:
        ground = float((vertices @ up_axis).min()) if len(vertices) else 0.0
    elif not np.isfinite(ground):
        raise KinemaError(f"ground {ground} is not a number")
    size = _size(vertices)
    lines = []
    if _name(up_axis) != "+y" or _name(facing_axis) != "+z":
        lines.append(f"turned: up was {_name(up_axis)} and it faced {_name(facing_axis)}")
    if scale != 1:
        lines.append(f"scaled by {scale:g}: the file's body measures {size:.4g} units")
    if abs(ground) > 1e-6 * max(size, 1e-30):
        lines.append(f"moved by {-ground * scale:+.4g} m so that it stands on y = 0")
    return Frame(rotation, float(scale), np.array([0.0, -ground * scale, 0.0])), tuple(lines)


def _axis(text: str, what: str) -> Float[np.ndarray, "3"]:
    if text.strip().lower() not in AXES:
        raise KinemaError(f"{what} {text!r} is not one of +x, -x, +y, -y, +z, -z")
    return AXES[text.strip().lower()]


def _name(axis: Float[np.ndarray, "3"]) -> str:
    i = int(np.abs(axis).argmax())
    return ("+" if axis[i] > 0 else "-") + "xyz"[i]


def _size(vertices: Float[np.ndarray, "vertices 3"]) -> float:
    return float(np.linalg.norm(np.ptp(vertices, axis=0))) if len(vertices) else 0.0


def words(name: str) -> list[str]:
    """A joint name as lower-case words: "FrontLowerLeg.L" gives front, lower, leg, l."""
    spaced = re.sub(r"([a-z0-9])([A-Z])|([A-Z]+)([A-Z][a-z])", r"\1\3 \2\4", name)
    return [part for part in re.split(r"[^a-z]+", spaced.lower()) if part]


def _mean_of(skeleton: Skeleton, *any_of: set[str]) -> Float[np.ndarray, "3"] | None:
    """Mean head of the joints that have a word of every set."""
    named = [set(words(name)) for name in skeleton.names]
    found = [i for i, own in enumerate(named) if all(own & wanted for wanted in any_of)]
    return skeleton.heads[found].mean(0) if found else None


def _nearest_axis(direction: Float[np.ndarray, "3"]) -> Float[np.ndarray, "3"]:
    axis = np.zeros(3)
    i = int(np.abs(direction).argmax())
    axis[i] = 1.0 if direction[i] >= 0 else -1.0
    return axis


def _find_up(
    vertices: Float[np.ndarray, "vertices 3"], skeleton: Skeleton | None, usual: Float[np.ndarray, "3"]
) -> Float[np.ndarray, "3"]:
    """The usual axis, unless feet and trunk, or else the way the mesh could stand, speak clearly for another."""
    size = _size(vertices)
    if skeleton is not None:
        feet, trunk = _mean_of(skeleton, FOOT), _mean_of(skeleton, TRUNK)
        if feet is not None and trunk is not None and np.linalg.norm(trunk - feet) > 0.1 * size:
            away = trunk - feet
            # A quadruped's feet lie level with its trunk only in the two axes that are not up.
            if np.abs(away).max() > 1.5 * (away @ usual):
                return _nearest_axis(away)
        return usual
    if len(vertices) < 50:
        return usual
    symmetric = [_symmetry(vertices, axis) for axis in np.eye(3)]
    lateral = np.eye(3)[int(np.argmax(symmetric))]
    # The mirror image is taken from left to right, never from top to bottom.
    options = [axis for axis in (AXES["+y"], AXES["+z"]) if abs(axis @ lateral) < 0.5]
    if len(options) == 1 and max(symmetric) > 0.15 + sorted(symmetric)[1]:
        return options[0]
    other = AXES["+z"] if usual[1] else AXES["+y"]
    clearly = _standing(vertices, other, lateral) > 1.5 * _standing(vertices, usual, lateral) + 0.03
    return other if abs(other @ lateral) < 0.5 and clearly else usual


def _standing(
    vertices: Float[np.ndarray, "vertices 3"], up: Float[np.ndarray, "3"], lateral: Float[np.ndarray, "3"]
) -> float:
    """0 to 1: how wide it stands, the lowest 3 % compared to the body, times how far they lie from the middle."""
    if abs(up @ lateral) > 0.5:
        return 0.0
    height = vertices @ up
    low = vertices[height <= height.min() + 0.03 * np.ptp(height)]
    shares = [np.ptp(low @ axis) / max(np.ptp(vertices @ axis), 1e-30) for axis in (lateral, np.cross(lateral, up))]
    half = 0.5 * max(float(np.ptp(vertices @ lateral)), 1e-30)
    middle = (vertices @ lateral).min() + half
    return float(np.sqrt(shares[0] * shares[1]) * np.abs(low @ lateral - middle).mean() / half)


def _symmetry(vertices: Float[np.ndarray, "vertices 3"], axis: Float[np.ndarray, "3"]) -> float:
    """1 for a body that equals its mirror image along `axis`, 0 for one that is off by 3 % of its size."""
    from scipy.spatial import KDTree

    points = vertices[:: max(1, len(vertices) // 4000)]
    middle = 0.5 * ((points @ axis).max() + (points @ axis).min())
    mirrored = points[:: max(1, len(points) // 600)]
    mirrored = mirrored - 2 * (mirrored @ axis - middle)[:, None] * axis
    gap = KDTree(points).query(mirrored)[0].mean() / max(_size(vertices), 1e-30)
    return float(np.clip(1 - gap / 0.03, 0, 1))


def _find_facing(
    vertices: Float[np.ndarray, "vertices 3"],
    skeleton: Skeleton | None,
    up: Float[np.ndarray, "3"],
    usual: Float[np.ndarray, "3"],
) -> Float[np.ndarray, "3"]:
    """The horizontal axis with most votes: sums of unit vectors, each times how far it is to be trusted."""
    if abs(usual @ up) > 0.5:
        usual = np.roll(np.abs(up), 1)
    votes = 0.4 * usual
    size = _size(vertices)

    def vote(direction: np.ndarray | None, trust: float, *, least: float = 0.03) -> None:
        nonlocal votes
        if direction is None:
            return
        flat = direction - (direction @ up) * up
        length = np.linalg.norm(flat)
        if length > least * size:
            votes = votes + trust * flat / length

    def apart(a: np.ndarray | None, b: np.ndarray | None) -> np.ndarray | None:
        return a - b if a is not None and b is not None else None

    if skeleton is not None:
        head, trunk = _mean_of(skeleton, HEAD), _mean_of(skeleton, TRUNK)
        vote(apart(head, _mean_of(skeleton, REAR)), 2.0)
        vote(apart(head, trunk), 1.5, least=0.15)
        vote(apart(_mean_of(skeleton, FRONT_LEG, LEG), _mean_of(skeleton, BACK_LEG, LEG)), 2.0, least=0.1)
        left = apart(_mean_of(skeleton, LEFT), _mean_of(skeleton, RIGHT))
        if left is not None:
            vote(np.cross(left, up), 1.5)
        named = [set(words(name)) for name in skeleton.names]
        feet = [i for i, own in enumerate(named) if own & FOOT]
        if feet:
            vote((skeleton.tails[feet] - skeleton.heads[feet]).mean(0), 1.0, least=0.01)
    if len(vertices) >= 50 and np.linalg.norm(votes) < 1:
        level = [axis for axis in np.eye(3) if abs(axis @ up) < 0.5]
        symmetric = [_symmetry(vertices, axis) for axis in level]
        # A body is its own mirror image from left to right, not from front to back.
        if abs(symmetric[0] - symmetric[1]) > 0.15:
            forward = level[1 - int(np.argmax(symmetric))]
            votes = 0.1 * (usual @ forward) * forward
            votes = votes + _shape_facing(vertices, up, forward)
    return _nearest_axis(votes - (votes @ up) * up)


def _shape_facing(
    vertices: Float[np.ndarray, "vertices 3"], up: Float[np.ndarray, "3"], forward: Float[np.ndarray, "3"]
) -> Float[np.ndarray, "3"]:
    """Which end of `forward` is the front.

    A long body has its head where it is higher and wider (a tail is low and thin); an upright one has toes in front.
    """
    height, along = vertices @ up - (vertices @ up).min(), vertices @ forward
    tall, long = np.ptp(height), np.ptp(along)
    soles, shins = height < 0.04 * tall, (height > 0.08 * tall) & (height < 0.2 * tall)
    toes = along[soles].mean() - along[shins].mean() if soles.any() and shins.any() else 0.0
    if long > 0.8 * tall > 0:
        across = vertices @ np.cross(up, forward)
        sideways = np.abs(across - 0.5 * (across.min() + across.max()))
        back, front = along < along.min() + 0.15 * long, along > along.max() - 0.15 * long
        low, high = np.quantile(along, (0.15, 0.85))
        top = (height[along >= high].max() - height[along <= low].max()) / tall
        mean = (height[front].mean() - height[back].mean()) / tall
        wide = (sideways[front].mean() - sideways[back].mean()) / (
            sideways[front].mean() + sideways[back].mean() + 1e-30
        )
        votes = np.clip(top, -0.5, 0.5) + np.clip(mean, -0.5, 0.5) + wide + np.clip(toes / tall, -0.15, 0.15)
        return forward * np.sign(votes)
    return forward * np.sign(toes)


def _find_scale(vertices: Float[np.ndarray, "vertices 3"]) -> float:
    """Metres per unit: 1 if that gives a credible body, else the power of ten that comes nearest to two metres."""
    size = _size(vertices)
    if size <= 0 or SMALLEST_M <= size <= LARGEST_M:
        return 1.0
    # A large file is mostly in centimetres, unless that still makes a giant.
    if SMALLEST_M <= size / 100 <= LARGEST_M / 4:
        return 0.01
    return float(10.0 ** np.round(np.log10(2.0 / size)))


def apply_frame(frame: Frame, points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
    """Points of the file in our world."""
    return frame.scale * points @ frame.rotation.T + frame.translation


def place_skeleton(skeleton: Skeleton, frame: Frame) -> Skeleton:
    """A skeleton in the file's coordinates, in our world."""
    from scipy.spatial.transform import Rotation

    file_axes = skeleton.wxyz_world_file
    if file_axes is not None:
        turned = Rotation.from_matrix(frame.rotation) * Rotation.from_quat(file_axes[:, [1, 2, 3, 0]])
        file_axes = turned.as_quat()[:, [3, 0, 1, 2]]
    heads, tails = apply_frame(frame, skeleton.heads), apply_frame(frame, skeleton.tails)
    return Skeleton(skeleton.names, skeleton.parents, heads, tails, file_axes)


def place_clip(clip: Clip, frame: Frame) -> Clip:
    """A clip in the file's coordinates, in our world."""
    # q' = f q f*: the vector part of a rotation turns with the axes.
    wxyz = np.concatenate((clip.wxyz_parent_joint[..., :1], clip.wxyz_parent_joint[..., 1:] @ frame.rotation.T), -1)
    translation = None if clip.translation is None else frame.scale * clip.translation @ frame.rotation.T
    return Clip(clip.name, clip.fps, apply_frame(frame, clip.root_position), wxyz, translation)


def place(character: Character, frame: Frame) -> Character:
    """A character that still stands in its file's coordinates, in our world."""
    return replace(
        character,
        mesh=replace(character.mesh, vertices=apply_frame(frame, character.mesh.vertices)),
        skeleton=place_skeleton(character.skeleton, frame) if character.skeleton is not None else None,
        clips=tuple(place_clip(clip, frame) for clip in character.clips),
        frame=frame,
    )
