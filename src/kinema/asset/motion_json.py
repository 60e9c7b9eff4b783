"""The motion in Kinema's JSON (`export.arrays.write_json`): a clip beside the joints, in the file's coordinates.

{"joints": [...], "motion": {"name": "walk", "fps": 24, "root_position": [[x, y, z], ...],
 "wxyz_parent_joint": [[[w, x, y, z], ...], ...]}}
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from kinema.asset.character import Clip, Skeleton
from kinema.asset.skeleton_json import read_skeleton_json
from kinema.errors import KinemaError

LARGEST_FILE = 500_000_000
"""Bytes of text; the arrays in it take about as much again."""


def read_motion_json(path: Path) -> tuple[Skeleton, Clip]:
    """Joints and clip in the file's coordinates, as `read_bvh` gives them."""
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise KinemaError(f"{path}: {size / 1e6:.0f} MB of JSON are more than can be read")
    skeleton = read_skeleton_json(path)
    content = json.loads(path.read_text(encoding="utf-8"))
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
