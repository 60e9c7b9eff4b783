"""NPZ and JSON for those who read a motion with their own code.

The NPZ is in our world (docs/conventions.md) and is also what `motion.load_motion` reads. The JSON is in the
coordinates of the character's file and is also what `--skeleton` reads.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kinema.asset.character import Clip, Frame, Skeleton
from kinema.export.timing import in_file_frame, world_transforms
from kinema.files import replacing, write_text
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig


def write_npz(path: Path, skeleton: Skeleton, clip: Clip) -> None:
    """Parameters (root_position, angles, translation if any), rotations, T_world_joint and the skeleton at rest."""
    motion = Motion.from_clip(Rig.from_skeleton(skeleton, dtype=torch.float64), clip)
    arrays: dict[str, Any] = {
        "root_position": motion.root_position.numpy(), "angles": motion.angles.numpy(), "fps": np.float64(clip.fps),
        "names": np.array(skeleton.names), "parents": np.array(skeleton.parents), "heads": skeleton.heads,
        "tails": skeleton.tails, "wxyz_parent_joint": clip.wxyz_parent_joint,
        "T_world_joint": world_transforms(skeleton, clip)[..., :3, :],
    }  # fmt: skip
    if clip.translation is not None:
        arrays["translation"] = clip.translation
    with replacing(path) as partial, partial.open("wb") as file:
        np.savez_compressed(file, **arrays)


def write_json(path: Path, frame: Frame, skeleton: Skeleton, clip: Clip, *, still: bool = False) -> None:
    """Joints (name, parent, head, tail) and, unless `still`, root positions, rotations and any translations."""
    skeleton, moved = in_file_frame(frame, skeleton, clip)
    joints = zip(skeleton.names, skeleton.parents, _short(skeleton.heads), _short(skeleton.tails))
    rows = [
        {"name": name, "parent": skeleton.names[parent] if parent >= 0 else None, "head": head, "tail": tail}
        for name, parent, head, tail in joints
    ]
    content: dict[str, object] = {"joints": rows}
    if not still:
        arrays = {key: getattr(moved, key) for key in ("root_position", "wxyz_parent_joint", "translation")}
        arrays = {key: _short(value) for key, value in arrays.items() if value is not None}
        content["motion"] = {"name": clip.name, "fps": clip.fps, **arrays}
    write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def _short(values: np.ndarray) -> list:
    # Nine digits are exact in float32 and halve the file.
    return np.array([float(f"{value:.9g}") for value in values.flat]).reshape(values.shape).tolist()
