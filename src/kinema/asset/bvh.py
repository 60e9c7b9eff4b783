"""BVH, the plain-text skeleton and motion of motion capture.

At zero angles a BVH skeleton stands in its rest pose with all joint axes along the world's, which is our own
convention: rotations are taken over as they are. A position channel replaces the joint's OFFSET; we write such channels
for the root and for joints with translations. The format names no unit; `scale` gives it.
"""

import math
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from kinema.asset.character import MOST_JOINTS, Clip, Skeleton, bone_tails, unique_names
from kinema.errors import KinemaError
from kinema.files import Budget, write_text
from kinema.geometry.rotations import bone_offsets, children, continuous

LARGEST = 1e9
"""Larger numbers are refused as damage, which also keeps sums along a chain finite."""
BYTES_PER_WORD, BYTES_PER_POSE = 80, 160
"""Memory of a number as text, and of a joint in a frame: its channels, place, rotation and what they are made from."""
Values = Float[np.ndarray, "frames channels"]
Positions = Float[np.ndarray, "frames joints 3"]


@dataclass
class _Joint:
    name: str
    parent: int
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    channels: list[str] = field(default_factory=list)
    """"Xposition" is written "Xp", "Zrotation" "Zr"; in the order of the file."""
    end_site: tuple[float, float, float] | None = None


def read_bvh(path: Path, *, scale: float = 1.0) -> tuple[Skeleton, Clip]:
    """Skeleton at rest and its motion; lengths are multiplied by `scale` (0.01 for a file in centimetres).

    Where position channels move joints other than the root, their OFFSET is the rest pose and the difference the
    clip's translation; constant channels are the bone.
    """
    path = Path(path)
    try:
        budget = Budget.of(path)
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise KinemaError(f"{path}: cannot be read ({error.strerror})") from None
    joints, motion_line = _read_hierarchy(path, lines)
    fps, values = _read_motion(path, lines, motion_line + 1, joints, budget)
    place, wxyz = _poses(joints, values)
    skeleton, translation = _rest(joints, place, scale)
    return skeleton, Clip(path.stem, fps, place[:, 0] * scale, wxyz, translation)


def _read_hierarchy(path: Path, lines: list[str]) -> tuple[list[_Joint], int]:
    """Joints in file order (parents first) and the index of the line MOTION."""
    joints: list[_Joint] = []
    # What each open brace belongs to: a joint's index, or -1 - index for its End Site, whose OFFSET has to find it.
    open_blocks: list[int] = []
    pending: int | None = None
    start = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if not lines or lines[start].strip().upper() != "HIERARCHY":
        raise KinemaError(f"{path}: line {start + 1}: not a BVH file, which begins with HIERARCHY")
    for number, line in enumerate(lines[start + 1 :], start + 2):
        # Some writers put the brace behind the joint's name.
        for part in re.findall(r"[{}]|[^{}\s][^{}]*", line):
            words = part.split()
            keyword = words[0].upper()
            if pending is not None and keyword != "{":
                raise KinemaError(f"{path}: line {number}: expected '{{' and found {words[0][:40]!r}")
            if keyword == "{" and pending is not None:
                open_blocks.append(pending)
                pending = None
            elif keyword == "}" and open_blocks:
                open_blocks.pop()
            elif keyword in ("ROOT", "JOINT"):
                if (keyword == "ROOT") != (not joints) or (keyword == "JOINT" and not open_blocks):
                    raise KinemaError(f"{path}: line {number}: {keyword} out of place; one root with joints is read")
                if open_blocks and open_blocks[-1] < 0:
                    raise KinemaError(f"{path}: line {number}: an End Site cannot hold a joint")
                if len(joints) >= MOST_JOINTS:
                    raise KinemaError(f"{path}: line {number}: has more than {MOST_JOINTS} joints")
                name = " ".join(words[1:]) or f"joint{len(joints)}"
                joints.append(_Joint(name, open_blocks[-1] if open_blocks else -1))
                pending = len(joints) - 1
            elif keyword == "END" and open_blocks and open_blocks[-1] >= 0:
                joints[open_blocks[-1]].end_site = (0.0, 0.0, 0.0)
                pending = -1 - open_blocks[-1]
            elif keyword == "OFFSET" and open_blocks and open_blocks[-1] >= 0:
                joints[open_blocks[-1]].offset = _three_numbers(path, number, words[1:])
            elif keyword == "OFFSET" and open_blocks:
                joints[-1 - open_blocks[-1]].end_site = _three_numbers(path, number, words[1:])
            elif keyword == "CHANNELS" and open_blocks and open_blocks[-1] >= 0:
                joints[open_blocks[-1]].channels = _channels(path, number, words[1:])
            elif keyword == "MOTION" and not open_blocks and joints:
                return joints, number - 1
            else:
                raise KinemaError(f"{path}: line {number}: {words[0][:40]!r} is out of place")
    raise KinemaError(f"{path}: line {len(lines)}: the file ends before MOTION")


def _three_numbers(path: Path, number: int, words: list[str]) -> tuple[float, float, float]:
    try:
        x, y, z = (float(word) for word in words)
    except ValueError:
        raise KinemaError(f"{path}: line {number}: OFFSET needs three numbers, not {' '.join(words)[:60]!r}") from None
    if not all(abs(value) <= LARGEST for value in (x, y, z)):
        raise KinemaError(f"{path}: line {number}: OFFSET {x:g} {y:g} {z:g} is not a length")
    return x, y, z


def _channels(path: Path, number: int, words: list[str]) -> list[str]:
    channels = [word[:1].upper() + word[1:2].lower() for word in words[1:]]
    known = {f"{axis}{kind}" for axis in "xyz" for kind in ("position", "rotation")}
    if not words or words[0] != str(len(channels)) or not all(word.lower() in known for word in words[1:]):
        raise KinemaError(f"{path}: line {number}: CHANNELS {' '.join(words)[:80]} is not a count and as many channels")
    positions = [channel for channel in channels if channel[1] == "p"]
    if len(channels) > 6 or len(set(positions)) < len(positions):
        raise KinemaError(f"{path}: line {number}: CHANNELS {' '.join(words)[:80]} names a channel twice")
    return channels


def _read_motion(
    path: Path, lines: list[str], first: int, joints: list[_Joint], budget: Budget
) -> tuple[float, Values]:
    """Frames per second and the channel values; a frame may be broken over several lines."""
    header: dict[str, float] = {}
    while first < len(lines) and len(header) < 2:
        key, colon, value = lines[first].partition(":")
        key = " ".join(key.upper().split())
        first += 1
        if not key and not colon:
            continue
        try:
            header[key] = float(value)
        except ValueError:
            raise KinemaError(f"{path}: line {first}: expected a number behind {key[:40]!r}") from None
    frames, frame_time = header.get("FRAMES", math.nan), header.get("FRAME TIME", math.nan)
    if not (frames >= 1 and frames.is_integer()):
        raise KinemaError(f"{path}: line {first}: 'Frames: {frames:g}' is not a count of frames")
    if not (1e-6 <= frame_time <= 1e6):
        raise KinemaError(f"{path}: line {first}: 'Frame Time: {frame_time:g}' is not a time in seconds")
    channel_count = sum(len(joint.channels) for joint in joints)
    if channel_count == 0:
        raise KinemaError(f"{path}: no joint has a channel, so there is no motion")
    what, poses = f"{frames:g} frames of {len(joints)} joints", int(frames) * len(joints)
    budget.take(BYTES_PER_WORD * int(frames) * channel_count + BYTES_PER_POSE * poses, what)
    words = " ".join(lines[first:]).split()
    if len(words) != frames * channel_count:
        number = next((i for i in range(first, len(lines)) if len(lines[i].split()) != channel_count), len(lines) - 1)
        needed = f"{int(frames)} frames of {channel_count} channels need {int(frames) * channel_count}"
        raise KinemaError(f"{path}: line {number + 1}: {len(words)} values where {needed}")
    try:
        values = np.array(words, dtype=np.float64)
    except ValueError:
        values = np.genfromtxt(words, comments="\n")  # NaN for words that are no numbers
    damaged = ~(np.abs(values) <= LARGEST)
    if damaged.any():
        place = int(damaged.argmax())
        count = np.cumsum([len(line.split()) for line in lines[first:]])
        number = first + int(np.searchsorted(count, place, side="right")) + 1
        raise KinemaError(f"{path}: line {number}: {words[place][:40]!r} is not a channel value")
    rate = 1 / frame_time
    # "0.0083333" means 120 frames per second.
    rate = round(rate) if abs(rate - round(rate)) < 1e-4 * rate else rate
    return float(rate), values.reshape(int(frames), channel_count)


def _poses(joints: list[_Joint], values: Values) -> tuple[Positions, Float[np.ndarray, "frames joints 4"]]:
    """Positions in the parents, and quaternions of the rotation channels multiplied in file order."""
    place = np.tile(np.array([joint.offset for joint in joints]), (len(values), 1, 1))
    wxyz = np.empty((len(values), len(joints), 4))
    columns = iter(values.T)  # zip stops at a joint's last channel before it takes another column
    for index, joint in enumerate(joints):
        turn = Rotation.identity(len(values))
        for channel, column in zip(joint.channels, columns):
            if channel[1] == "p":
                place[:, index, "XYZ".index(channel[0])] = column
            else:
                turn = turn * Rotation.from_euler(channel[0], column[:, None], degrees=True)
        wxyz[:, index] = turn.as_quat()[:, [3, 0, 1, 2]]
    return place, continuous(wxyz)


def _rest(joints: list[_Joint], place: Positions, scale: float) -> tuple[Skeleton, Positions | None]:
    """The skeleton at rest, and the translations of joints other than the root, if any has one."""
    offsets, parents = np.array([joint.offset for joint in joints]), tuple(joint.parent for joint in joints)
    moved = place - offsets
    moved[:, 0] = 0
    mean = offsets + moved.mean(0)
    still = np.ptp(moved, axis=0).max(-1) <= 1e-4 * np.maximum(1e-9, np.abs(mean).max(-1))
    # Some programs write such channels for every joint, and OFFSETs of zero beside them.
    bones = np.where((still | ~offsets.any(-1))[:, None], mean, offsets)
    translation = np.where(still[:, None], 0.0, moved + offsets - bones)
    heads, tips = bones.copy(), bones.copy()
    for index, (joint, parent) in enumerate(zip(joints, parents)):
        heads[index] += heads[parent] if parent >= 0 else 0
        # A leaf without an End Site ends half a bone further on.
        beyond = 0.5 * bones[index] if parent >= 0 else 0
        tips[index] = heads[index] + (beyond if joint.end_site is None else joint.end_site)
    tails = bone_tails(heads, parents, tips)
    skeleton = Skeleton(unique_names(joint.name for joint in joints), parents, heads * scale, tails * scale)
    return skeleton, translation * scale if translation.any() else None


def write_bvh(path: Path, skeleton: Skeleton, clip: Clip, *, scale: float = 1.0) -> None:
    """Write skeleton and motion, lengths times `scale`; angles are Z, X, Y in degrees, continuous in time."""
    heads, tails, below = skeleton.heads * scale, skeleton.tails * scale, children(skeleton.parents)
    offsets = bone_offsets(skeleton.parents, heads)
    places = np.tile(offsets, (len(clip.root_position), 1, 1))
    if clip.translation is not None:
        places += clip.translation * scale
    moves = (places != offsets).any((0, 2))
    places[:, 0], moves[0] = clip.root_position * scale, True
    text, order = ["HIERARCHY"], []
    # Depth first, as the channels have to follow the nesting of the file; a negative entry closes a brace.
    stack = [(0, 0)]
    while stack:
        index, depth = stack.pop()
        outer, inner = "\t" * depth, "\t" * (depth + 1)
        if index < 0:
            text.append(outer + "}")
            continue
        # Other programs end a name at the first blank.
        name = re.sub(r"[\s{}]+", "_", skeleton.names[index])
        channels = "CHANNELS 6 Xposition Yposition Zposition" if moves[index] else "CHANNELS 3"
        offset = "OFFSET {:.9g} {:.9g} {:.9g}".format(*offsets[index])
        text += [f"{outer}{'JOINT' if depth else 'ROOT'} {name}", f"{outer}{{", f"{inner}{offset}"]
        text.append(f"{inner}{channels} Zrotation Xrotation Yrotation")
        order.append(index)
        if not below[index]:
            end = "OFFSET {:.9g} {:.9g} {:.9g}".format(*(tails[index] - heads[index]))
            text += [f"{inner}End Site", f"{inner}{{", f"{inner}\t{end}", f"{inner}}}"]
        stack.append((-1, depth))
        stack += [(child, depth + 1) for child in reversed(below[index])]
    angles = np.rad2deg(_continuous_zxy(clip.wxyz_parent_joint[:, order]))
    channels = np.concatenate((places[:, order], angles), axis=2)
    written = np.repeat(np.stack((moves[order], np.ones(len(order), dtype=bool)), axis=1), 3, axis=1)
    rows = channels[:, written]
    text += ["MOTION", f"Frames: {len(rows)}", f"Frame Time: {1 / clip.fps:.9g}"]
    # Ten significant digits: 1e-7 degrees, far below what the programs that read it resolve.
    text += [" ".join(f"{value:.10g}" for value in row) for row in rows]
    write_text(Path(path), "\n".join(text) + "\n")


def _continuous_zxy(wxyz: Float[np.ndarray, "frames joints 4"]) -> Float[np.ndarray, "frames joints 3"]:
    """Angles (z, x, y) with R = Rz Rx Ry [rad]; of the two triples per rotation the one nearer to the frame before."""
    with warnings.catch_warnings():
        # At |x| = 90 degrees only z ± y is determined; scipy leaves y at 0 there and warns.
        warnings.simplefilter("ignore")
        near = Rotation.from_quat(wxyz[..., [1, 2, 3, 0]].reshape(-1, 4)).as_euler("ZXY").reshape(*wxyz.shape[:2], 3)
    far = near * [1, -1, 1] + np.pi
    result, before = np.empty_like(near), np.zeros_like(near[0])
    for frame, both in enumerate(np.stack((near, far), 1)):
        both += 2 * np.pi * np.round((before - both) / (2 * np.pi))
        nearer = np.abs(both - before).sum(-1).argmin(0)
        before = result[frame] = np.take_along_axis(both, nearer[None, :, None], 0)[0]
    return result
