"""What a user's words mean: a file, a built-in creature, the folder of a finished run, a motion or a clip's name."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kinema.asset.bvh import read_bvh
from kinema.asset.character import Character, Clip
from kinema.asset.load import as_told, existing_file, load
from kinema.asset.options import FileOptions
from kinema.create.creatures import creature
from kinema.errors import KinemaError
from kinema.geometry.rotations import change_axes
from kinema.motion.motion import Motion, load_motion
from kinema.rig.kinematics import Rig

CONFIG = "config.json"
"""The options of a run; its presence makes a folder the folder of a run."""
LONGEST_NAME = 1000
"""Characters beyond which words cannot be meant as a file."""


def find_path(words: str) -> Path | None:
    """The file or folder of that name, if there is one; a sentence too long for a name is none."""
    try:
        return Path(words) if words.strip() and Path(words).exists() else None
    except (OSError, ValueError):
        return None


def find_character(words: str, **reading: Any) -> Character:
    """A file if there is one of that name (`reading` as `load` takes it), else a built-in creature."""
    if not words.strip():
        raise KinemaError("no character: give a file or the words of a built-in creature, such as 'a red fox'")
    path = find_path(words)
    if path is not None:
        return load(path, **reading)
    if len(words) < LONGEST_NAME and (re.search(r"\.\w{2,5}$", words) or "/" in words):
        raise KinemaError(f"{words}: no such file")
    return as_told(creature(words), ground=reading.get("ground"), legs=reading.get("legs"))


def find_motion(character: Character, name: str | None) -> tuple[Rig, Motion]:
    """The rig with a motion file, a clip of the character by name, or its first clip."""
    if character.skeleton is None:
        raise KinemaError(f"{character.name}: has no skeleton to move")
    rig = Rig.from_skeleton(character.skeleton)
    suffix = Path(name).suffix.lower() if name is not None else ""
    if suffix == ".npz":
        return rig, load_motion(existing_file(name or ""), rig)
    if suffix == ".bvh":
        return rig, Motion.from_clip(rig, _bvh_clip(existing_file(name or ""), character))
    clips = {clip.name: clip for clip in character.clips}
    if name is not None and name not in clips and Path(name).is_dir():
        raise KinemaError(f"{name}: is a folder, not a motion (.npz or .bvh) or the name of a clip")
    if name is None and clips:
        return rig, Motion.from_clip(rig, next(iter(clips.values())))
    if name is None:
        raise KinemaError(f"{character.name}: has no clip; give a motion with --motion FILE")
    if name not in clips:
        raise KinemaError(f"{character.name}: has no clip {name!r}; it has {', '.join(clips) or 'none'}")
    return rig, Motion.from_clip(rig, clips[name])


def _bvh_clip(path: Path, character: Character) -> Clip:
    """A clip of the character's own joints, as `write` puts it into a BVH: in the coordinates of its file."""
    skeleton, clip = read_bvh(path)
    own, frame = character.skeleton, character.frame
    assert own is not None
    if set(skeleton.names) != set(own.names):
        raise KinemaError(f"{path}: its {len(skeleton.names)} joints are not those of {character.name}")
    order = [skeleton.names.index(name) for name in own.names]
    parents = list(own.parents[1:])
    theirs, ours = (np.linalg.norm(h[1:] - h[parents], axis=-1) for h in (skeleton.heads[order], own.heads))
    if not np.allclose(frame.scale * theirs, ours, atol=0.02 * ours.max(initial=0.0)):
        raise KinemaError(f"{path}: its bones have other lengths than those of {character.name}")
    root = frame.scale * clip.root_position @ frame.rotation.T + frame.translation
    wxyz = change_axes(clip.wxyz_parent_joint[:, order], frame.rotation)
    moved = None if clip.translation is None else frame.scale * clip.translation[:, order] @ frame.rotation.T
    return replace(clip, root_position=root, wxyz_parent_joint=wxyz, translation=moved)


def read_config(folder: Path) -> dict[str, Any]:
    """What a run was started with: `config`, `versions`, `hashes`."""
    path = folder / CONFIG
    if not folder.exists():
        raise KinemaError(f"{folder}: no such folder")
    try:
        saved = json.loads(path.read_text())
        if not isinstance(saved["config"]["asset"], str):
            raise KeyError("asset")
        return saved
    except (OSError, ValueError, KeyError, TypeError):
        raise KinemaError(f"{folder}: not the folder of a run of kinema animate (no valid {CONFIG} in it)") from None


def load_result(folder: Path) -> tuple[Character, Rig, Motion]:
    """A finished run's character and motion."""
    config = read_config(folder)["config"]
    if not (folder / "motion.npz").is_file():
        raise KinemaError(f"{folder}: is not finished; go on with kinema animate --resume {folder}")
    character = rigged(find_character(config["asset"], **FileOptions.from_json(config.get("reading", {})).arguments()))
    assert character.skeleton is not None
    rig = Rig.from_skeleton(character.skeleton)
    return character, rig, load_motion(folder / "motion.npz", rig)


def find_motion_of(words: str, motion: str | None, **reading: Any) -> tuple[Character, Rig, Motion]:
    """A finished run, or a character with one of its clips or a motion file."""
    folder = find_path(words)
    if folder is not None and folder.is_dir():
        if motion is None:
            return load_result(folder)
        config = read_config(folder)["config"]
        words, reading = config["asset"], FileOptions.from_json(config.get("reading", {})).arguments()
    character = rigged(find_character(words, **reading))
    return character, *find_motion(character, motion)


def rigged(character: Character) -> Character:
    """The character as it is, or with the skeleton and weights that it lacks."""
    if character.skeleton is not None and character.weights is not None:
        return character
    if character.skeleton is not None:
        from kinema.rig.weights.bone_heat import rig_character

        return rig_character(character, character.skeleton)
    from kinema.rig.embed.embed import auto_rig

    return auto_rig(character)
