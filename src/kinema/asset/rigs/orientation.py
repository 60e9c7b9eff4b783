"""Orientation of a file's character: its up axis, facing, scale and ground height.

`find_frame` is the one place that decides them. Each is found from joint names, leg and head geometry, how the clips
move and mirror symmetry, or given by the user, and is kept in `Frame`, so that an export undoes it. Rotations are by
right angles, which keeps a file's numbers exact.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Character, Clip, Frame, Skeleton
from kinema.errors import KinemaError
from kinema.geometry.rotations import change_axes, from_matrix, multiply

Points = Float[np.ndarray, "vertices 3"]
Vector = Float[np.ndarray, "3"]
Moves = Sequence[tuple[str, Float[np.ndarray, "_ joints 3"]]]
"""Names of a file's clips, and where the skeleton's joints are in each of their frames."""

# Plus zero: no -0.
AXES = {sign + name: float(sign + "1") * axis + 0.0 for sign in ("+", "", "-") for name, axis in zip("xyz", np.eye(3))}
SMALLEST_M, LARGEST_M = 0.05, 60.0
"""Files whose bodies have a size (bounding box diagonal) in this range are taken to be in metres."""

HEAD = {"head", "nose", "snout", "muzzle", "jaw", "mouth", "beak", "face", "eye", "ear", "neck", "horn", "antler"}
FACE = {"nose", "snout", "muzzle", "jaw", "mouth", "beak", "face", "eye", "eyebrow", "brow", "tongue", "tooth", "chin"}
REAR = {"tail", "rump", "butt", "fluke"}
FRONT_LEG = {"front", "fore", "thoracic"}
BACK_LEG = {"back", "hind", "rear", "pelvic"}
LEG = {"leg", "foot", "paw", "hoof", "toe", "shoulder", "hip", "arm", "hand", "thigh", "shin", "knee", "ik"}
FOOT = {"foot", "feet", "toe", "toes", "paw", "hoof", "ankle", "ball"}
TRUNK = {"hip", "hips", "pelvis", "spine", "torso", "body", "root", "abdomen", "chest"}
LEFT, RIGHT = {"l", "left", "lf", "lt"}, {"r", "right", "rt"}
GAITS = {"walk", "walking", "run", "running", "trot", "gallop", "jog", "sprint", "crawl", "move"}
SWIMS = {"swim", "swimming"}
ASIDE = {"back", "backward", "bwd", "left", "right", "strafe", "side", "turn"}
"""Words of gaits that do not go forward."""

USUAL = 1.0
"""Log odds that a body without a rig faces the usual way of its up axis."""
SHAPE = {"toes": (2.6, 0.13), "face": (6.7, 0.10), "detail": (5.0, 0.087), "feet": (-8.9, 0.083), "tail": (7.0, 0.11)}
"""Weights and spreads of signs of the front, as shares of the size: toes before shins, more vertices in front of the
head and of the whole (eyes, a mouth), feet behind the middle of the whole, a thin rear. Weights by logistic regression
on the tuning half of benchmarks/auto_rig.py (`facing`)."""


@dataclass(frozen=True)
class FrameOptions:
    """What a user says about a file's coordinates; None: it is found from the character."""

    up: str | None = None
    """The file's axis that points up ("y", "+z", "-x" ...)."""
    facing: str | None = None
    """The file's axis that the character looks along."""
    scale: float | None = None
    """Metres per unit of the file."""
    ground: float | None = None
    """Height of the ground along the file's up axis [file units]."""


FOUND = FrameOptions()
AS_IN_FILE = FrameOptions("+y", "+z", 1.0, 0.0)
"""Leaves the file's coordinates as they are."""


def find_frame(
    vertices: Points, skeleton: Skeleton | None, given: FrameOptions = FOUND, *, usual_up: str = "+y", moves: Moves = ()
) -> tuple[Frame, tuple[str, ...]]:
    """The similarity from the file's coordinates to ours, and a line for each thing that is not as in glTF.

    `given` replaces what would be found; `usual_up` is the up axis of most files of this format.
    """
    up = _axis(given.up, "up") if given.up else _find_up(vertices, skeleton, AXES[usual_up])
    # Characters mostly look along -Y in Z-up files (Blender) and along +Z in Y-up files (glTF).
    usual = np.array([0, -1.0, 0]) if abs(up[2]) > 0.5 else np.array([0, 0, 1.0])
    facing = _axis(given.facing, "facing") if given.facing else _find_facing(vertices, skeleton, up, usual, moves)
    if abs(facing @ up) > 0.5:
        names = given.facing or axis_name(facing), given.up or axis_name(up)
        raise KinemaError("facing {} and up {} are the same axis".format(*names))
    scale = _find_scale(vertices) if given.scale is None else given.scale
    if not (np.isfinite(scale) and scale > 0):
        raise KinemaError(f"scale {scale} is not a positive number")
    lowest = float((vertices @ up).min()) if len(vertices) else 0.0
    ground = lowest if given.ground is None else given.ground
    if not np.isfinite(ground):
        raise KinemaError(f"ground {ground} is not a number")
    lines, size = [], _size(vertices)
    if axis_name(up) != "+y" or axis_name(facing) != "+z":
        lines.append(f"rotated: up was {axis_name(up)} and it faced {axis_name(facing)}")
    if scale != 1:
        lines.append(f"scaled by {scale:g}: the file's body measures {size:.4g} units")
    if abs(ground) > 1e-6 * max(size, 1e-30):
        lines.append(f"moved by {-ground * scale:+.4g} m so that it stands on y = 0")
    rotation = np.stack((np.cross(up, facing), up, facing))
    return Frame(rotation, float(scale), np.array([0.0, -ground * scale, 0.0])), tuple(lines)


def _axis(text: str, what: str) -> Vector:
    if text.strip().lower() not in AXES:
        raise KinemaError(f"{what} {text!r} is not one of +x, -x, +y, -y, +z, -z")
    return AXES[text.strip().lower()]


def axis_name(axis: Vector) -> str:
    """The signed axis nearest to a direction, as users write it ("+z")."""
    i = int(np.abs(axis).argmax())
    return ("+" if axis[i] >= 0 else "-") + "xyz"[i]


def _size(vertices: Points) -> float:
    return float(np.linalg.norm(np.ptp(vertices, axis=0))) if len(vertices) else 0.0


def words(name: str) -> list[str]:
    """A joint name as lower-case words: "FrontLowerLeg.L" gives front, lower, leg, l."""
    spaced = re.sub(r"([a-z0-9])([A-Z])|([A-Z]+)([A-Z][a-z])", r"\1\3 \2\4", name)
    cut = re.sub(r"(?<![a-z])(front|back|hind|left|right)(?=[a-z]{3})", r"\1 ", spaced.lower())
    return [part for part in re.split(r"[^a-z]+", cut) if part]


def _words(name: str) -> set[str]:
    return {form for word in words(name) for form in (word, word.removesuffix("s"))}


def _mean(values: Float[np.ndarray, "joints 3"], skeleton: Skeleton, *any_of: set[str]) -> Vector:
    """Mean value of the joints whose names have a word of every set; NaN, which settles nothing, if there are none."""
    found = [j for j, name in enumerate(skeleton.names) if all(wanted & _words(name) for wanted in any_of)]
    return values[found].mean(0) if found else np.full(3, np.nan)


def _find_up(vertices: Points, skeleton: Skeleton | None, usual: Vector) -> Vector:
    """The usual axis, unless feet and trunk, or else the shape of the mesh, clearly indicate another."""
    if skeleton is not None:
        away = _mean(skeleton.heads, skeleton, TRUNK) - _mean(skeleton.heads, skeleton, FOOT)
        left, right = (np.isnan(_mean(skeleton.heads, skeleton, FOOT, side)[0]) for side in (LEFT, RIGHT))
        away = away if left == right else np.zeros(3)  # the feet of half a rig lie aside as much as below
        clearly = np.linalg.norm(away) > 0.1 * _size(vertices) and np.abs(away).max() > 1.5 * (away @ usual)
        return AXES[axis_name(away)] if clearly else usual
    if len(vertices) < 50:
        return usual
    symmetric = [_symmetry(vertices, axis) for axis in np.eye(3)]
    lateral = np.eye(3)[int(np.argmax(symmetric))]
    # Bodies are mirror-symmetric from left to right, never from top to bottom.
    options = [axis for axis in (AXES["+y"], AXES["+z"]) if abs(axis @ lateral) < 0.5]
    if len(options) == 1 and max(symmetric) > 0.15 + sorted(symmetric)[1]:
        return options[0]
    other = AXES["+z"] if usual[1] else AXES["+y"]
    clearly = _standing(vertices, other, lateral) > 2.0 * _standing(vertices, usual, lateral) + 0.05
    return other if abs(other @ lateral) < 0.5 and clearly else usual


def _standing(vertices: Points, up: Vector, lateral: Vector) -> float:
    """Score in [0, 1] of a body that stands with `up` upwards: a wide base (lowest 3 %) far from the middle plane."""
    if abs(up @ lateral) > 0.5:
        return 0.0
    height = vertices @ up
    low = vertices[height <= height.min() + 0.03 * np.ptp(height)]
    shares = [np.ptp(low @ axis) / max(np.ptp(vertices @ axis), 1e-30) for axis in (lateral, np.cross(lateral, up))]
    half = 0.5 * max(float(np.ptp(vertices @ lateral)), 1e-30)
    middle = (vertices @ lateral).min() + half
    return float(np.sqrt(shares[0] * shares[1]) * np.abs(low @ lateral - middle).mean() / half)


def _symmetry(vertices: Points, axis: Vector) -> float:
    """Mirror symmetry along `axis`: 1 for an exact mirror image, 0 for one that is off by 3 % of the size."""
    from scipy.spatial import KDTree

    points = vertices[:: max(1, len(vertices) // 4000)]
    middle = 0.5 * ((points @ axis).max() + (points @ axis).min())
    mirrored = points[:: max(1, len(points) // 600)]
    mirrored = mirrored - 2 * (mirrored @ axis - middle)[:, None] * axis
    gap = KDTree(points).query(mirrored)[0].mean() / max(_size(vertices), 1e-30)
    return float(np.clip(1 - gap / 0.03, 0, 1))


def _find_facing(vertices: Points, skeleton: Skeleton | None, up: Vector, usual: Vector, moves: Moves) -> Vector:
    """The horizontal axis nearest to a weighted sum of unit vectors, one for each hint in names, clips and shape."""
    if abs(usual @ up) > 0.5:
        usual = np.roll(np.abs(up), 1)
    told, size = np.zeros(3), _size(vertices)
    if skeleton is not None:
        heads = skeleton.heads
        head, trunk, rear, face = (_mean(heads, skeleton, part) for part in (HEAD, TRUNK, REAR, FACE))
        skull = _mean(heads, skeleton, {"head", "skull"})
        legs = _mean(heads, skeleton, FRONT_LEG, LEG) - _mean(heads, skeleton, BACK_LEG, LEG)
        left = _mean(heads, skeleton, LEFT) - _mean(heads, skeleton, RIGHT)
        toes = _mean(skeleton.tails - heads, skeleton, FOOT)
        hints = (head - rear, 2.0, 0.03), (head - trunk, 1.5, 0.15), (legs, 2.0, 0.1), (np.cross(left, up), 1.5, 0.03)
        hints = *hints, (face - (trunk if np.isnan(skull[0]) else skull), 1.5, 0.04), (toes, 1.0, 0.01)
        for direction, weight, least in (*hints, (_moved_forward(moves, skeleton, up), 2.5, 0.03)):
            flat = direction - (direction @ up) * up
            length = np.linalg.norm(flat)
            if length > least * size:
                told = told + weight * flat / length
    votes = told + 0.4 * usual
    if len(vertices) >= 50 and np.linalg.norm(votes) < 1:
        level = [axis for axis in np.eye(3) if abs(axis @ up) < 0.5]
        symmetric = [_symmetry(vertices, axis) for axis in level]
        if abs(symmetric[0] - symmetric[1]) > 0.15:
            forward = level[1 - int(np.argmax(symmetric))]
            odds = USUAL * float(usual @ forward) + _shape_facing(vertices, up, forward)
            votes = told + np.tanh(0.5 * odds) * forward
    return AXES[axis_name(votes - (votes @ up) * up)]


def _moved_forward(moves: Moves, skeleton: Skeleton, up: Vector) -> Vector:
    """Where the clips go: a body advances over its lowest joints, and one that swims waves its rear most."""
    total, heads, tall = np.zeros(3), skeleton.heads, np.ptp(skeleton.heads @ up)
    unnamed = not (HEAD | LEG | TRUNK | GAITS | SWIMS) & _words(" ".join((*skeleton.names, *dict(moves))))
    for name, place in moves:
        said = set() if len(place) < 3 else _words(name)
        if said & GAITS and not said & ASIDE:
            step, height = np.diff(place, axis=0), place @ up
            standing = np.maximum(height[1:], height[:-1]) < height.min() + 0.06 * tall
            if standing.any():
                total += len(step) * (step.mean((0, 1)) - step[standing].mean(0)) @ _turned(place, heads, up)
        elif said & SWIMS or (said and unnamed):
            wave = np.linalg.norm((place - place.mean(1, keepdims=True)).std(0), axis=-1)
            sure = 0.3 if unnamed else 1.0  # what waves may also be a jaw
            total -= sure * (wave - wave.mean()) @ (heads - heads.mean(0)) / max(float(wave.sum()), 1e-30)
    return total


def _turned(place: Float[np.ndarray, "t joints 3"], heads: Float[np.ndarray, "joints 3"], up: Vector) -> np.ndarray:
    """The turn about `up` from rest to a clip, where the clip clearly faces elsewhere than the rest pose does."""
    level = np.eye(3) - np.outer(up, up)
    now, rest = (place - place.mean(1, keepdims=True)) @ level, (heads - heads.mean(0)) @ level
    turn = complex((now * rest).sum(), (np.cross(rest, now) @ up).sum())
    if turn.real > abs(turn.imag) or abs(turn) < 0.3 * np.linalg.norm(now) * np.linalg.norm(rest) * len(place) ** 0.5:
        return np.eye(3)
    c, s = turn.real / abs(turn), turn.imag / abs(turn)
    return c * level + np.outer(up, up) + s * np.cross(np.eye(3), up)


def _shape_facing(vertices: Points, up: Vector, forward: Vector) -> float:
    """Log odds by the shape alone that the body faces `forward` and not the opposite way."""
    if _sprawls(vertices, up, forward):
        return 0.0  # the thick end of a spider or an ant is the rear one
    signs = front_signs(vertices, up, forward)
    return float(sum(w * np.clip(signs[name], -3 * spread, 3 * spread) for name, (w, spread) in SHAPE.items()))


def _sprawls(vertices: Points, up: Vector, forward: Vector) -> bool:
    """The body is low, as wide as it is long, and stands as wide as that: on the legs of a spider."""
    height, side = vertices @ up - (vertices @ up).min(), vertices @ np.cross(up, forward)
    wide, tall, long = (float(np.ptp(extent)) for extent in (side, height, vertices @ forward))
    return tall < 0.6 * wide and wide > 0.8 * long and float(np.ptp(side[height <= 0.1 * tall])) > 0.6 * wide


def front_signs(vertices: Points, up: Vector, forward: Vector) -> dict[str, float]:
    """The signs of SHAPE that the body faces `forward`; those of the opposite way are their negatives."""
    height, along = vertices @ up - (vertices @ up).min(), vertices @ forward
    tall, size = float(np.ptp(height)), max(float(np.ptp(height)), float(np.ptp(along)), 1e-30)
    head, low, soles = height >= 0.7 * tall, height <= 0.3 * tall, height <= 0.04 * tall
    shins = (height > 0.08 * tall) & (height < 0.2 * tall)
    middles = [0.5 * (part.min() + part.max()) for part in (along, along[head], along[low])]
    lengths = {
        "toes": along[soles].mean() - along[shins].mean() if shins.any() else 0.0,
        "face": along[head].mean() - middles[1],
        "detail": along.mean() - middles[0],
        "feet": middles[2] - middles[0],
        "tail": np.median(along) - middles[0],
    }
    return {name: float(length) / size for name, length in lengths.items()}


def _find_scale(vertices: Points) -> float:
    """Metres per unit: 1 if that gives a plausible body, else the power of ten that comes nearest to two metres."""
    size = _size(vertices)
    if size <= 0 or SMALLEST_M <= size <= LARGEST_M:
        return 1.0
    # Large numbers are mostly centimetres.
    if SMALLEST_M <= size / 100 <= LARGEST_M / 4:
        return 0.01
    return float(10.0 ** np.round(np.log10(2.0 / size)))


def apply_frame(frame: Frame, points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
    """Points of the file in our world."""
    return frame.scale * points @ frame.rotation.T + frame.translation


def to_file(frame: Frame, points: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n 3"]:
    """Points of our world in the coordinates and units of the file: x_file = Rᵀ (x_world - t) / s."""
    return (points - frame.translation) @ frame.rotation / frame.scale


def place_skeleton(skeleton: Skeleton, frame: Frame) -> Skeleton:
    """A skeleton of the file in our world."""
    axes = skeleton.wxyz_world_file
    axes = None if axes is None else multiply(from_matrix(frame.rotation), axes)
    heads, tails = apply_frame(frame, skeleton.heads), apply_frame(frame, skeleton.tails)
    return Skeleton(skeleton.names, skeleton.parents, heads, tails, axes)


def unplace_skeleton(skeleton: Skeleton, frame: Frame) -> Skeleton:
    """A skeleton of our world in the coordinates of its file, with the world's axes there."""
    heads, tails = to_file(frame, skeleton.heads), to_file(frame, skeleton.tails)
    return Skeleton(skeleton.names, skeleton.parents, heads, tails)


def place_clip(clip: Clip, frame: Frame) -> Clip:
    """A clip of the file in our world."""
    wxyz = change_axes(clip.wxyz_parent_joint, frame.rotation)
    translation = None if clip.translation is None else frame.scale * clip.translation @ frame.rotation.T
    return Clip(clip.name, clip.fps, apply_frame(frame, clip.root_position), wxyz, translation)


def place(character: Character, frame: Frame) -> Character:
    """A character in its file's coordinates, in our world."""
    mesh = replace(character.mesh, vertices=apply_frame(frame, character.mesh.vertices))
    skeleton = None if character.skeleton is None else place_skeleton(character.skeleton, frame)
    clips = tuple(place_clip(clip, frame) for clip in character.clips)
    return replace(character, mesh=mesh, skeleton=skeleton, clips=clips, frame=frame)
