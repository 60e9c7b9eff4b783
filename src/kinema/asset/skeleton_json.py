"""Kinema's JSON format for joints that someone placed by hand, and for a motion of them.

    {"joints": [{"name": "hips", "parent": null, "head": [0, 0.9, 0], "tail": [0, 1.1, 0]}, ...]}

Lengths and axes are those of the mesh file that the skeleton is meant for. "tail" may be left out. Beside the joints,
"roles" may say what is what, a joint for each limb, where it is found wrong, and "motion" may hold a clip
(`export.arrays.write_json`):

    {"joints": [...], "roles": {"legs": ["foot_l", "foot_r"], "arms": [], "tails": ["tail_1"]}}
    {"joints": [...], "motion": {"name": "walk", "fps": 24, "root_position": [[x, y, z], ...],
     "wxyz_parent_joint": [[[w, x, y, z], ...], ...]}}
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kinema.asset.character import MOST_JOINTS, ROLES, Clip, Skeleton, bone_tails
from kinema.errors import KinemaError, is_text
from kinema.files import read_json, write_text
from kinema.geometry.rotations import depth_first

LARGEST_FILE = 500_000_000
"""Bytes of text; the arrays in it take about as much again."""


def read_skeleton_json(path: Path) -> Skeleton:
    """Joints in any order; parents are named, null for the one root."""
    return _skeleton(path, read_json(Path(path)))


def _skeleton(path: Path, content: Any) -> Skeleton:
    joints = content.get("joints") if isinstance(content, dict) else content
    if not isinstance(joints, list) or not 0 < len(joints) <= MOST_JOINTS:
        raise KinemaError(f"{path}: has no list of 1 to {MOST_JOINTS} joints")
    place: dict[str, int] = {}
    for i, joint in enumerate(joints):
        if not isinstance(joint, dict) or not is_text(joint.get("name")) or not joint["name"]:
            raise KinemaError(f"{path}: joint {i} has no name")
        if joint["name"] in place:
            raise KinemaError(f"{path}: two joints are called {joint['name']}")
        place[joint["name"]] = i
    parents = []
    for joint in joints:
        parent = joint.get("parent")
        if parent is not None and (not isinstance(parent, str) or parent not in place):
            raise KinemaError(f"{path}: joint {joint['name']} has the parent {parent!r}, which is not there")
        parents.append(-1 if parent is None else place[parent])
    if parents.count(-1) != 1:
        raise KinemaError(f"{path}: has {parents.count(-1)} joints without a parent, not one")
    order = depth_first(parents)
    if len(order) != len(joints):
        lost = min(set(range(len(joints))) - set(order))
        raise KinemaError(f"{path}: joint {joints[lost]['name']} is its own ancestor")
    rank = {-1: -1, **{i: k for k, i in enumerate(order)}}
    joints, ordered = [joints[i] for i in order], tuple(rank[parents[i]] for i in order)
    heads = np.array([_point(path, joint, "head") for joint in joints])
    # A leaf's bone points up, by a twentieth of the skeleton.
    up = np.array([0.0, 0.05 * max(float(np.ptp(heads, axis=0).max()), 1e-3), 0.0])
    tails = bone_tails(heads, ordered, heads + up)
    for j, joint in enumerate(joints):
        if "tail" in joint:
            tails[j] = _point(path, joint, "tail")
    return Skeleton(tuple(joint["name"] for joint in joints), ordered, heads, tails)


def read_roles_json(path: Path, names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Names of joints by role, as far as the file gives them."""
    content = read_json(Path(path))
    roles = content.get("roles", {}) if isinstance(content, dict) else {}
    if not isinstance(roles, dict) or not all(isinstance(joints, list) for joints in roles.values()):
        raise KinemaError(f"{path}: its roles are not lists of joints by role")
    for role, joints in roles.items():
        if role not in ROLES:
            raise KinemaError(f"{path}: has the role {role!r:.60}, which is not one of {', '.join(ROLES)}")
        unknown = [joint for joint in joints if joint not in names]
        if unknown:
            raise KinemaError(f"{path}: roles: {role}: has no joint {unknown[0]!r:.60}")
    return {role: tuple(joints) for role, joints in roles.items()}


def _point(path: Path, joint: dict[str, Any], key: str) -> list[float]:
    value = joint.get(key)
    if not isinstance(value, list) or [type(x) in (int, float) and abs(x) < 1e15 for x in value] != [True] * 3:
        raise KinemaError(f"{path}: joint {joint['name']} has {key} {value!r:.60}, not three numbers")
    return [float(x) for x in value]


def write_skeleton_json(path: Path, skeleton: Skeleton, *, roles: Mapping[str, tuple[str, ...]] | None = None) -> None:
    """Write what `read_skeleton_json` and `read_roles_json` read; the file appears whole or not at all."""
    lines = []
    for name, parent, head, tail in zip(skeleton.names, skeleton.parents, skeleton.heads, skeleton.tails):
        above = skeleton.names[parent] if parent >= 0 else None
        lines.append("    " + json.dumps({"name": name, "parent": above, "head": head.tolist(), "tail": tail.tolist()}))
    told = f',\n  "roles": {json.dumps(dict(roles))}' if roles else ""
    write_text(Path(path), '{\n  "joints": [\n' + ",\n".join(lines) + f"\n  ]{told}\n}}\n")


def read_motion_json(path: Path) -> tuple[Skeleton, Clip]:
    """Joints and clip in the file's coordinates, as `read_bvh` gives them."""
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise KinemaError(f"{path}: {size / 1e6:.0f} MB of JSON are more than can be read")
    content = read_json(path)
    skeleton = _skeleton(path, content)
    motion = content.get("motion") if isinstance(content, dict) else None
    if not isinstance(motion, dict):
        raise KinemaError(f"{path}: has joints but no motion")
    fps = motion.get("fps")
    if not isinstance(fps, int | float) or not 0 < fps < 1e6:
        raise KinemaError(f"{path}: {fps!r:.60} frames per second")
    # The skeleton is depth first, the rows of the arrays are as the joints stand in the file.
    names = [joint["name"] for joint in content["joints"]]
    order = [names.index(name) for name in skeleton.names]
    root = _array(path, motion, "root_position", (-1, 3))
    wxyz = _array(path, motion, "wxyz_parent_joint", (len(root), len(names), 4))[:, order]
    length = np.linalg.norm(wxyz, axis=-1, keepdims=True)
    if not len(root) or not (np.abs(length - 1) < 0.01).all():
        raise KinemaError(f"{path}: its motion has no frames or rotations that are no unit quaternions")
    moved = None
    if "translation" in motion:
        moved = _array(path, motion, "translation", (len(root), len(names), 3))[:, order]
    return skeleton, Clip(str(motion.get("name", path.stem)), float(fps), root, wxyz / length, moved)


def _array(path: Path, motion: dict[str, Any], key: str, shape: tuple[int, ...]) -> np.ndarray:
    try:
        values = np.array(motion[key], dtype=np.float64)
    except (KeyError, ValueError, TypeError, OverflowError):
        raise KinemaError(f"{path}: its motion has no numbers for {key}") from None
    if values.ndim != len(shape) or any(have != want for have, want in zip(values.shape, shape) if want >= 0):
        raise KinemaError(f"{path}: {key} of shape {values.shape} does not fit {shape}")
    if not (np.abs(values) < 1e15).all():
        raise KinemaError(f"{path}: {key} holds values that are not finite")
    return values
