"""One door out: the suffix chooses the format."""

import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kinema.asset.blender import convert_with_blender
from kinema.asset.bvh import write_bvh
from kinema.asset.character import Character, Clip
from kinema.asset.gltf.document import GltfBinding
from kinema.errors import KinemaError
from kinema.export.arrays import write_json, write_npz
from kinema.export.gltf.glb import write_glb
from kinema.export.timing import arrange, as_clip, check_rate, in_file_frame, resample
from kinema.export.usd import write_usd
from kinema.files import check_output
from kinema.motion.motion import Motion

USD = (".usd", ".usda", ".usdc", ".usdz")


@dataclass(frozen=True)
class _Job:
    path: Path
    character: Character
    clips: tuple[Clip, ...]
    """New ones; formats that hold only one take the first."""
    keep_clips: bool
    """Whether clips that the character's own file has are written too."""

    @property
    def clip(self) -> Clip:
        """The one clip of a format that holds one; without any, the rest pose for one frame."""
        skeleton = self.character.skeleton
        if skeleton is None:
            raise KinemaError(f"{self.path}: {self.character.name} has no skeleton, which {self.path.suffix} is about")
        if self.clips:
            return self.clips[0]
        still = np.tile([1.0, 0.0, 0.0, 0.0], (1, len(skeleton.names), 1))
        return Clip("rest", 30.0, skeleton.heads[:1].astype(np.float64), still)


def write(
    path: Path,
    character: Character,
    motion: Motion | Clip | Sequence[Clip] | None = None,
    *,
    name: str | None = None,
    fps: float | None = None,
    in_place: bool = False,
    loop: bool = False,
    keep_clips: bool = True,
) -> None:
    """Write a character and its new motion as the suffix of `path` says: a key of `FORMATS`.

    Args:
        path: The file to write; it appears whole or not at all.
        character: Read from a file or built in.
        motion: What it does; None writes the character as it stands, with the clips of its own file.
        name: Of the new clip in the file.
        fps: Frames per second; by default the motion's.
        in_place: Take the root's mean horizontal velocity out.
        loop: Close the loop: the last frame meets the first.
        keep_clips: Whether a glTF keeps the clips that it already had. Formats that are written from it through
            Blender hold the new motion alone, or all clips if there is none.
    """
    path = Path(path)
    check_target(path)
    if fps is not None:
        check_rate(fps)
    several = () if motion is None else (motion,) if isinstance(motion, Motion | Clip) else tuple(motion)
    clips = tuple(arrange(as_clip(character, one), fps=fps, in_place=in_place, loop=loop) for one in several)
    if name is not None and clips:
        clips = (replace(clips[0], name=name), *clips[1:])
    FORMATS[path.suffix.lower()](_Job(path, character, clips, keep_clips))


def check_target(path: Path, *, simulator: bool = False) -> None:
    """Say before the work that a file cannot be written: suffix (a simulator's scene: USD, not packed) or place."""
    known = USD[:-1] if simulator else tuple(FORMATS)
    if path.is_dir():
        raise KinemaError(f"{path}: is a folder; give the name of a file: {' '.join(known)}")
    if path.suffix.lower() not in known:
        raise KinemaError(f"{path}: cannot write {path.suffix or 'files without a suffix'}; can: {' '.join(known)}")
    check_output(path)


def convert(
    source: Path,
    target: Path,
    *,
    clip: str | None = None,
    fps: float | None = None,
    in_place: bool = False,
    loop: bool = False,
    **reading: Any,
) -> None:
    """Read any character file and write it as another: `kinema convert`.

    All clips go along where the target holds several, the first (or the one named `clip`) where it holds one. A
    glTF's own clips are copied as they are unless `clip`, `fps`, `in_place` or `loop` ask for something else.
    `reading` are the options of `asset.load.load`; a skeleton from another file gets its weights by bone heat.
    """
    from kinema.asset.load import load

    source, target = Path(source), Path(target)
    character = load(source, **reading)
    if character.skeleton is not None and character.weights is None:
        from kinema.rig.weights.bone_heat import rig_character

        character = rig_character(character, character.skeleton)
    clips = character.clips
    if clip is not None:
        clips = tuple(one for one in clips if one.name == clip)
        if not clips:
            names = ", ".join(one.name for one in character.clips) or "none"
            raise KinemaError(f"{source}: has no clip {clip!r}; it has {names}")
    untouched = clip is None and fps is None and not in_place and not loop
    if untouched and target.suffix.lower() in KEEPING and _has_own_clips(character):
        write(target, character)
    else:
        write(target, character, clips, fps=fps, in_place=in_place, loop=loop, keep_clips=False)


def _has_own_clips(character: Character) -> bool:
    skeleton, source = character.skeleton, character.source
    return skeleton is None or (isinstance(source, GltfBinding) and len(source.joint_nodes) == len(skeleton.names))


def _write_gltf(job: _Job) -> None:
    write_glb(job.path, job.character, job.clips, keep_clips=job.keep_clips)


def _write_bvh(job: _Job) -> None:
    skeleton = job.character.skeleton
    clip = job.clip
    assert skeleton is not None
    write_bvh(job.path, *in_file_frame(job.character.frame, skeleton, clip))


def _write_usd(job: _Job) -> None:
    write_usd(job.path, job.character, job.clips)


def _write_npz(job: _Job) -> None:
    write_npz(job.path, job.character, job.clip)


def _write_json(job: _Job) -> None:
    write_json(job.path, job.character, job.clip if job.clips or job.character.skeleton is None else None)


def _write_mjcf(job: _Job) -> None:
    """For MuJoCo: bones as boxes with the masses of their volumes, and the trajectory beside it."""
    import torch

    from kinema.export.mjcf import write_mjcf
    from kinema.physics.model import make_model
    from kinema.rig.cuboids import bone_cuboids
    from kinema.rig.kinematics import Rig

    clip, skeleton = job.clip, job.character.skeleton
    assert skeleton is not None
    rig, cuboids = Rig.from_skeleton(skeleton, dtype=torch.float64), bone_cuboids(job.character)
    motion = Motion.from_clip(rig, clip) if job.clips else None
    if motion is not None and motion.translation is not None:
        warnings.warn(
            f"{job.path}: simulated joints only turn: how {clip.name!r} slides them is left out", stacklevel=3
        )
    write_mjcf(job.path, rig, make_model(rig, cuboids), cuboids, motion=motion)


def _write_with_blender(job: _Job) -> None:
    """FBX and BLEND: our GLB, imported and saved by Blender, whose frames are whole."""
    first = (*job.clips, *job.character.clips)[:1]
    rate = float(max(1, round(first[0].fps))) if first else 30.0
    clips = tuple(resample(clip, rate) for clip in job.clips)
    with tempfile.TemporaryDirectory() as folder:
        between = Path(folder) / f"{job.path.stem}.glb"
        # Blender bakes each clip frame by frame: seventy that nobody asked for would take minutes.
        write_glb(between, job.character, clips, keep_clips=job.keep_clips and not clips)
        convert_with_blender(between, job.path, fps=rate, about=job.path)


FORMATS: dict[str, Callable[[_Job], None]] = {
    ".glb": _write_gltf,
    ".gltf": _write_gltf,
    ".bvh": _write_bvh,
    **dict.fromkeys(USD, _write_usd),
    ".fbx": _write_with_blender,
    ".blend": _write_with_blender,
    ".npz": _write_npz,
    ".json": _write_json,
    ".xml": _write_mjcf,
}
KEEPING = (".glb", ".gltf", ".fbx", ".blend")
"""Formats that take the character's own glTF along, with its clips."""
