"""Independent judges of what we export: Khronos' gltf-validator in node, and Blender."""

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.spatial import cKDTree

from kinema.asset.blender import blender_command, run_blender
from kinema.asset.character import Character, Clip
from kinema.export.timing import world_transforms
from kinema.rig.kinematics import Rig
from kinema.skin import Skin, blend, skin_points

HERE = Path(__file__).parent
NODE = shutil.which("node")
needs_validator = pytest.mark.skipif(
    NODE is None or not (HERE / "node_modules" / "gltf-validator").is_dir(),
    reason="gltf-validator is absent: `make judges` installs it",
)
needs_blender = pytest.mark.skipif(
    blender_command() is None, reason="neither `blender` nor a Python with bpy is here: `make judges` installs it"
)


def validator_errors(path: Path) -> list[str]:
    """Codes of all errors of a glTF file."""
    done = subprocess.run(
        [str(NODE), str(HERE / "validate_gltf.cjs"), str(path)], capture_output=True, text=True, timeout=120, check=True
    )
    report = json.loads(done.stdout)
    assert len(report["errors"]) == report["error_count"]
    return [error["code"] for error in report["errors"]]


@dataclass(frozen=True)
class Seen:
    """A clip as somebody sees it, in the file's own Y-up coordinates."""

    joints: dict[str, np.ndarray]
    """Path [frames, 3] of every joint's head."""
    vertices: np.ndarray
    """[frames, vertices, 3]."""


def seen_in_blender(path: Path, clip: Clip) -> Seen:
    """The file at `path`, imported into an empty Blender."""
    out = path.with_suffix(path.suffix + ".npz")
    frames = str(len(clip.root_position))
    run_blender(HERE / "blender_joints.py", [str(path), str(out), frames, str(clip.fps), clip.name], about=path)
    with np.load(out) as found:
        joints = dict(zip(found["names"].tolist(), found["positions"].transpose(1, 0, 2)))
        return Seen(joints, found["vertices"])


def seen_by_us(character: Character, clip: Clip) -> Seen:
    """The same by our own kinematics and skinning."""
    skeleton, frame = character.skeleton, character.frame
    assert skeleton is not None
    pose = world_transforms(skeleton, clip)[..., :3, :]
    rig = Rig.from_skeleton(skeleton, dtype=torch.float64)
    blended = blend(Skin.from_character(character, dtype=torch.float64), rig, torch.from_numpy(pose))
    world = skin_points(blended, torch.from_numpy(character.mesh.vertices.astype(np.float64))).numpy()

    def in_file(points: np.ndarray) -> np.ndarray:
        return (points - frame.translation) @ frame.rotation / frame.scale

    return Seen(dict(zip(skeleton.names, in_file(pose[..., 3]).transpose(1, 0, 2))), in_file(world))


def worst_joint(found: Seen, ours: Seen, *, size: float, rename: Callable[[str], str] = str) -> float:
    """Largest distance of any joint at any frame, as a fraction of the body's size; every joint must be there."""
    missing = [name for name in ours.joints if rename(name) not in found.joints]
    assert not missing, f"Blender has no bone for {missing}, only {list(found.joints)}"
    return max(float(np.linalg.norm(found.joints[rename(n)] - p, axis=-1).max()) for n, p in ours.joints.items()) / size


def worst_vertex(found: Seen, ours: Seen, *, size: float) -> float:
    """Largest distance from a vertex of either to the nearest of the other; importers reorder and split vertices."""
    return (
        max(
            float(cKDTree(a).query(b)[0].max())
            for one, other in zip(found.vertices, ours.vertices)
            for a, b in ((one, other), (other, one))
        )
        / size
    )


def body_size(character: Character) -> float:
    return float(np.ptp(character.mesh.vertices, axis=0).max()) / character.frame.scale
