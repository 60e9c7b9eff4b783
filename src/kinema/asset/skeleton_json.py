"""Our small JSON of joints: what someone who placed bones by hand needs to write down.

    {"joints": [{"name": "hips", "parent": null, "head": [0, 0.9, 0], "tail": [0, 1.1, 0]}, ...]}

Lengths and axes are those of the mesh file that the skeleton is meant for.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from kinema.asset.character import Skeleton
from kinema.errors import KinemaError
from kinema.files import replacing

MOST_JOINTS = 10_000


def read_skeleton_json(path: Path) -> Skeleton:
    """Joints in any order; parents are named, null for the one root."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise KinemaError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise KinemaError(f"{path}: not JSON ({str(error).splitlines()[0]})") from None
    joints = content.get("joints") if isinstance(content, dict) else content
    if not isinstance(joints, list) or not 0 < len(joints) <= MOST_JOINTS:
        raise KinemaError(f"{path}: has no list of joints")
    by_name: dict[str, dict[str, Any]] = {}
    for i, joint in enumerate(joints):
        if not isinstance(joint, dict) or not isinstance(joint.get("name"), str) or not joint["name"]:
            raise KinemaError(f"{path}: joint {i} has no name")
        if joint["name"] in by_name:
            raise KinemaError(f"{path}: two joints are called {joint['name']}")
        by_name[joint["name"]] = joint
    children: dict[str | None, list[str]] = {}
    for name, joint in by_name.items():
        parent = joint.get("parent")
        if parent is not None and (not isinstance(parent, str) or parent not in by_name):
            raise KinemaError(f"{path}: joint {name} has the parent {parent!r}, which is not there")
        children.setdefault(parent, []).append(name)
    roots = children.get(None, [])
    if len(roots) != 1:
        raise KinemaError(f"{path}: has {len(roots)} joints without a parent, not one")
    order, stack = [], list(roots)
    while stack:
        name = stack.pop()
        order.append(name)
        stack += children.get(name, [])[::-1]
    if len(order) != len(by_name):
        lost = next(name for name in by_name if name not in set(order))
        raise KinemaError(f"{path}: joint {lost} is its own ancestor")
    place = {name: i for i, name in enumerate(order)}
    heads = np.array([_point(path, by_name[name], "head") for name in order])
    tails = np.array(
        [
            _point(path, by_name[name], "tail")
            if "tail" in by_name[name]
            else _default_tail(heads, [place[c] for c in children.get(name, [])], place[name])
            for name in order
        ]
    )
    parents = tuple(-1 if by_name[name].get("parent") is None else place[by_name[name]["parent"]] for name in order)
    return Skeleton(tuple(order), parents, heads, tails)


def _point(path: Path, joint: dict[str, Any], key: str) -> list[float]:
    value = joint.get(key)
    if (
        not isinstance(value, list)
        or len(value) != 3
        or not all(isinstance(x, int | float) and not isinstance(x, bool) and abs(x) < 1e15 for x in value)
    ):
        raise KinemaError(f"{path}: joint {joint['name']} has {key} {value!r:.60}, not three numbers")
    return [float(x) for x in value]


def _default_tail(heads: np.ndarray, children: list[int], joint: int) -> np.ndarray:
    if children:
        return heads[children].mean(0)
    return heads[joint] + np.array([0.0, 0.05 * max(float(np.ptp(heads, axis=0).max()), 1e-3), 0.0])


def write_skeleton_json(path: Path, skeleton: Skeleton) -> None:
    """The file appears whole or not at all."""
    joints = [
        {
            "name": name,
            "parent": skeleton.names[parent] if parent >= 0 else None,
            "head": [float(x) for x in head],
            "tail": [float(x) for x in tail],
        }
        for name, parent, head, tail in zip(skeleton.names, skeleton.parents, skeleton.heads, skeleton.tails)
    ]
    lines = ",\n".join("    " + json.dumps(joint) for joint in joints)
    with replacing(Path(path)) as partial:
        partial.write_text('{\n  "joints": [\n' + lines + "\n  ]\n}\n", encoding="utf-8")
