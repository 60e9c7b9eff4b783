"""Writing a character and its motion, or a rig: the suffix of the path chooses the format."""

import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kinema.asset.blender import convert_with_blender
from kinema.asset.bvh import write_bvh
from kinema.asset.character import Character, Clip, Skeleton
from kinema.asset.options import AS_NAMED, NameOptions
from kinema.asset.rignet import write_rignet
from kinema.asset.rigs.orientation import unplace_skeleton
from kinema.asset.skeleton_json import write_skeleton_json
from kinema.errors import KinemaError
from kinema.export.arrays import write_json, write_npz
from kinema.export.gltf.glb import write_glb
from kinema.export.names.rename import renamed, root_name
from kinema.export.root_bone import with_root_bone, with_root_motion
from kinema.export.targets import ALONE, BLENDER, GLTF, USD, check_target
from kinema.export.timing import arrange, as_clip, check_rate, in_file_frame, resample
from kinema.export.usd import write_usd
from kinema.motion.motion import Motion


@dataclass(frozen=True)
class Job:
    """What a writer of `FORMATS` gets."""

    path: Path
    character: Character
    clips: tuple[Clip, ...]
    """The new clips; formats that hold only one take the first."""
    keep_clips: bool
    """Write the clips of the character's own file too."""

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton, which a format that holds no mesh cannot do without."""
        if self.character.skeleton is None:
            raise KinemaError(f"{self.path}: {self.character.name} has no skeleton, which {self.path.suffix} is about")
        return self.character.skeleton

    @property
    def clip(self) -> Clip:
        """The one clip of a format that holds one; without any, the rest pose for one frame."""
        still = np.tile([1.0, 0.0, 0.0, 0.0], (1, len(self.skeleton.names), 1))
        return self.clips[0] if self.clips else Clip("rest", 30.0, self.skeleton.heads[:1].astype(np.float64), still)


def write(
    path: Path, character: Character, motion: Motion | Clip | Sequence[Clip] | None = None, *, name: str | None = None,
    fps: float | None = None, in_place: bool = False, loop: bool = False, keep_clips: bool = True,
    naming: NameOptions = AS_NAMED,
) -> None:  # fmt: skip
    """Write a character and its new motion as the suffix of `path` says: a key of `FORMATS`.

    Args:
        path: The file to write, which appears whole or not at all.
        motion: What it does; None writes the character as it stands, with the clips of its own file.
        name: Name of the new clip in the file.
        fps: Frames per second; by default the motion's.
        in_place: Take the root's mean horizontal velocity out.
        loop: The last frame meets the first.
        keep_clips: Keep the clips that a glTF already had. Formats that are written from it through Blender hold the
            new motion alone, or all clips if there is none.
        naming: Names of joints and clips, and whether there is a bone for root motion.
    """
    path = Path(path)
    check_target(path)
    if fps is not None:
        check_rate(fps)
    several = () if motion is None else (motion,) if isinstance(motion, Motion | Clip) else tuple(motion)
    clips = tuple(arrange(character, as_clip(character, one), fps=fps, in_place=in_place, loop=loop) for one in several)
    if name is not None and clips:
        clips = (replace(clips[0], name=name), *clips[1:])
    if clips and (called := naming.clip_names(len(clips))) is not None:
        clips = tuple(replace(clip, name=one) for clip, one in zip(clips, called, strict=True))
    character, clips = _dressed(path, character, clips, naming)
    FORMATS[path.suffix.lower()](Job(path, character, clips, keep_clips))


def _dressed(
    path: Path, character: Character, clips: tuple[Clip, ...], naming: NameOptions
) -> tuple[Character, tuple[Clip, ...]]:
    """Character and clips with the joint names and the root bone that were asked for."""
    reserved = (root_name(naming.names),) if naming.root_bone else ()
    named = renamed(character, naming.names, reserved=reserved)
    if not naming.root_bone:
        return named, clips
    if path.suffix.lower() in (".xml", ".vrma"):
        what = "a simulated body has no bone at the origin" if path.suffix.lower() == ".xml" else "VRM moves the hips"
        raise KinemaError(f"{path}: --root-bone: {what}")
    return with_root_bone(named, *reserved), tuple(with_root_motion(named, clip) for clip in clips)


def write_rig(path: Path, character: Character, *, naming: NameOptions = AS_NAMED) -> None:
    """Write a rigged character, or its rig alone in the coordinates of the mesh's own file."""
    suffix = path.suffix.lower()
    if suffix not in ALONE:
        write(path, character, naming=naming)
        return
    if character.skeleton is None:
        raise KinemaError(f"{path}: {character.name} has no skeleton to write")
    if suffix == ".txt":
        write_rignet(path, character)
    else:
        write_skeleton_json(path, unplace_skeleton(character.skeleton, character.frame), roles=character.roles)


def _write_mjcf(job: Job) -> None:
    """For MuJoCo: bones as boxes with the masses of their volumes, and the trajectory beside it."""
    import torch

    from kinema.export.mjcf import write_mjcf
    from kinema.physics.model import make_model
    from kinema.rig.anatomy import Anatomy

    anatomy = Anatomy.of(job.character, dtype=torch.float64)
    rig, cuboids = anatomy.rig, anatomy.cuboids
    motion = Motion.from_clip(rig, job.clip) if job.clips else None
    if motion is not None and motion.translation is not None:
        reason = f"simulated joints only turn; the translations of joints in {job.clip.name!r} are left out"
        warnings.warn(f"{job.path}: {reason}", stacklevel=3)
    write_mjcf(job.path, rig, make_model(rig, cuboids), cuboids, motion=motion)


def _write_vrma(job: Job) -> None:
    """For VRM avatars: the clip alone."""
    from kinema.export.vrma import write_vrma

    if not job.clips:
        raise KinemaError(f"{job.path}: {job.character.name} has no clip, which .vrma is about")
    write_vrma(job.path, job.character, job.clip)


def _write_with_blender(job: Job) -> None:
    """FBX and BLEND: our GLB, imported and saved by Blender, whose frames are whole."""
    first = (*job.clips, *job.character.clips)[:1]
    rate = float(max(1, round(first[0].fps))) if first else 30.0
    clips = tuple(resample(clip, rate) for clip in job.clips)
    with tempfile.TemporaryDirectory() as folder:
        between = Path(folder) / f"{job.path.stem}.glb"
        # Blender bakes each clip frame by frame: seventy that nobody asked for would take minutes.
        write_glb(between, job.character, clips, keep_clips=job.keep_clips and not clips)
        convert_with_blender(between, job.path, fps=rate, about=job.path)


FORMATS: dict[str, Callable[[Job], None]] = {
    **dict.fromkeys(GLTF, lambda job: write_glb(job.path, job.character, job.clips, keep_clips=job.keep_clips)),
    ".bvh": lambda job: write_bvh(job.path, *in_file_frame(job.character.frame, job.skeleton, job.clip)),
    **dict.fromkeys(USD, lambda job: write_usd(job.path, job.character, job.clips)),
    **dict.fromkeys(BLENDER, _write_with_blender),
    ".npz": lambda job: write_npz(job.path, job.skeleton, job.clip),
    ".json": lambda job: write_json(job.path, job.character.frame, job.skeleton, job.clip, still=not job.clips),
    ".xml": _write_mjcf,
    ".vrma": _write_vrma,
}
