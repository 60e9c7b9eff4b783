"""What a user's words mean beyond a character: the folder of a finished run, a motion or a clip's name."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from kinema.asset.bvh import read_bvh
from kinema.asset.character import Character, Clip, Joints, Skeleton
from kinema.asset.load import existing_file, load
from kinema.asset.skeleton_json import read_motion_json
from kinema.create.find import find_character, find_path
from kinema.errors import KinemaError
from kinema.geometry.rotations import change_axes
from kinema.motion.motion import Motion, load_motion
from kinema.motion.saved import CONFIG, read_config
from kinema.rig.kinematics import Rig


def find_motion(character: Character, name: str | None) -> tuple[Rig, Motion]:
    """The rig with a motion file, a clip of the character by name, or its first clip."""
    if character.skeleton is None:
        raise KinemaError(f"{character.name}: has no skeleton to move")
    rig = Rig.from_skeleton(character.skeleton)
    clips = {clip.name: clip for clip in character.clips}
    suffix = Path(name).suffix.lower() if name is not None and name not in clips else ""
    if suffix == ".npz":
        return rig, load_motion(existing_file(name or ""), rig)
    if suffix in CLIPS:
        return rig, Motion.from_clip(rig, CLIPS[suffix](existing_file(name or ""), character))
    if name is not None and name not in clips and Path(name).is_dir():
        raise KinemaError(f"{name}: is a folder, not a motion ({' '.join(('.npz', *CLIPS))}) or the name of a clip")
    if name is None and clips:
        return rig, Motion.from_clip(rig, next(iter(clips.values())))
    if name is None:
        raise KinemaError(f"{character.name}: has no clip; give a motion with --motion FILE")
    if name not in clips:
        raise KinemaError(f"{character.name}: has no clip {name!r}; it has {', '.join(clips) or 'none'}")
    return rig, Motion.from_clip(rig, clips[name])


def _clip_in_file_frame(path: Path, character: Character, skeleton: Skeleton, clip: Clip) -> Clip:
    """A clip of the character's own joints, as `write` puts it into a BVH: in the coordinates of its file."""
    frame = character.frame
    order = _joint_order(path, character, skeleton.names, frame.scale * skeleton.heads)
    root = frame.scale * clip.root_position @ frame.rotation.T + frame.translation
    wxyz = change_axes(clip.wxyz_parent_joint[:, order], frame.rotation)
    moved = None if clip.translation is None else frame.scale * clip.translation[:, order] @ frame.rotation.T
    return replace(clip, root_position=root, wxyz_parent_joint=wxyz, translation=moved)


def _gltf_clip(path: Path, character: Character) -> Clip:
    """The first clip of another glTF of the same joints in the same rest pose."""
    other, own = load(path), character.skeleton
    if other.skeleton is None or not other.clips:
        raise KinemaError(f"{path}: has no clip")
    order, clip = _joint_order(path, character, other.skeleton.names, other.skeleton.heads), other.clips[0]
    assert own is not None
    offsets = [h - h[:1] for h in (other.skeleton.heads[order], own.heads)]
    if not np.allclose(*offsets, atol=0.05 * float(np.ptp(own.heads, axis=0).max())):
        raise KinemaError(f"{path}: its joints stand elsewhere at rest than those of {character.name}")
    moved = None if clip.translation is None else clip.translation[:, order]
    return replace(clip, wxyz_parent_joint=clip.wxyz_parent_joint[:, order], translation=moved)


def _joint_order(path: Path, character: Character, names: tuple[str, ...], heads: Joints) -> list[int]:
    """Index of the file's joint for each of the character's; heads are in metres, in axes of any direction."""
    own = character.skeleton
    assert own is not None
    if set(names) != set(own.names):
        raise KinemaError(f"{path}: its {len(names)} joints are not those of {character.name}")
    order = [names.index(name) for name in own.names]
    parents = list(own.parents[1:])
    theirs, ours = (np.linalg.norm(h[1:] - h[parents], axis=-1) for h in (heads[order], own.heads))
    if not np.allclose(theirs, ours, atol=0.02 * ours.max(initial=0.0)):
        raise KinemaError(f"{path}: its bones have other lengths than those of {character.name}")
    return order


CLIPS: dict[str, Callable[[Path, Character], Clip]] = {
    ".bvh": lambda path, character: _clip_in_file_frame(path, character, *read_bvh(path)),
    ".json": lambda path, character: _clip_in_file_frame(path, character, *read_motion_json(path)),
    ".glb": _gltf_clip,
    ".gltf": _gltf_clip,
}
"""Motion files beside .npz; a clip may have a name that ends like one of them."""


def sub_runs(folder: Path) -> tuple[Path, ...]:
    """Folders of the runs of several prompts, in their order; none in the folder of a single run."""
    count = len(read_config(folder)[0].more) + 1 if (folder / CONFIG).is_file() else 0
    if count < 2:
        return ()
    found = (next(iter(sorted(folder.glob(f"{k + 1}-*/{CONFIG}"))), None) for k in range(count))
    return tuple(path.parent for path in found if path is not None)


def load_result(folder: Path) -> tuple[Character, Rig, Motion]:
    """A finished run's character and motion."""
    job, _ = read_config(folder)
    if job.more:
        names = ", ".join(one.name for one in sub_runs(folder)) or "none is finished"
        raise KinemaError(f"{folder}: holds {1 + len(job.more)} runs; give the folder of one: {names}")
    if not (folder / "motion.npz").is_file():
        raise KinemaError(f"{folder}: is not finished; go on with kinema animate --resume {quote(str(folder))}")
    character = rigged(find_character(job.asset, **job.reading.arguments()))
    assert character.skeleton is not None
    rig = Rig.from_skeleton(character.skeleton)
    return character, rig, load_motion(folder / "motion.npz", rig)


def find_motion_of(words: str, motion: str | None, **reading: Any) -> tuple[Character, Rig, Motion]:
    """A finished run, or a character with one of its clips or a motion file."""
    folder = find_path(words)
    if folder is not None and folder.is_dir():
        if motion is None:
            return load_result(folder)
        job, _ = read_config(folder)
        words, reading = job.asset, job.reading.arguments()
    character = rigged(find_character(words, **reading))
    return character, *find_motion(character, motion)


def rigged(character: Character) -> Character:
    """The character as it is, or with the skeleton and weights that it lacks; a warning tells what was found."""
    if character.skeleton is not None and character.weights is not None:
        return character
    from kinema.rig.embed.embed import rig_as

    result, found = rig_as(character)
    if found is not None:
        warnings.warn(result.changes[-1], stacklevel=2)
    return result
