"""Kinema's JSON format for joints that someone placed by hand.

    {"joints": [{"name": "hips", "parent": null, "head": [0, 0.9, 0], "tail": [0, 1.1, 0]}, ...]}

Lengths and axes are those of the mesh file that the skeleton is meant for. "tail" may be left out. Beside the joints,
"roles" may say what is what, a joint for each limb, where it is found wrong:

    {"joints": [...], "roles": {"legs": ["foot_l", "foot_r"], "arms": [], "tails": ["tail_1"]}}
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kinema.asset.character import MOST_JOINTS, ROLES, Skeleton, bone_tails
from kinema.errors import KinemaError, is_text
from kinema.files import read_json, replacing
from kinema.geometry.rotations import depth_first


def read_skeleton_json(path: Path) -> Skeleton:
    """Joints in any order; parents are named, null for the one root."""
    content = read_json(Path(path))
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
    with replacing(Path(path)) as partial:
        partial.write_text('{\n  "joints": [\n' + ",\n".join(lines) + f"\n  ]{told}\n}}\n", encoding="utf-8")
