"""A file's clips in our parameters: rotations, a root path, and translations of joints where those do not suffice."""

import itertools

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Clip, Frame, listed
from kinema.asset.rigs import cleanup_fit
from kinema.asset.rigs.cleanup import CleanRig, RawRig
from kinema.asset.rigs.cleanup_fit import PerFrame, Positions, RootPath, Rotations, Targets, detached_joints
from kinema.asset.rigs.orientation import place_clip
from kinema.geometry.rotations import bone_offsets, continuous, from_matrix, joint_positions

FRAMES_AT_ONCE = 4096
"""Frames that are fitted together, to bound the memory; each frame is a problem of its own."""
LARGEST_ERROR = 1e-4
"""A clip gets translations if rotations leave a larger error (root mean square, share of the size)."""
LARGEST_ERROR_REPARENTED = 1e-2
"""The same for rigs whose tree we changed. Their joints leave the parents that we chose for them, and rotations that
come near are worth more (to physics, to other programs) than translations that the file does not have."""

Motion = Float[np.ndarray, "_ raw 3 4"]
"""Maps of the file's joints from rest, for each frame of a clip."""


def make_clips(
    names: tuple[str, ...], rates: list[float], motions: list[Motion], raw: RawRig, clean: CleanRig, frame: Frame
) -> tuple[tuple[Clip, ...], list[str]]:
    """All clips in our world and parameters, and lines for `inspect` about those that do more than rotate."""
    kept, parents = list(clean.joints), clean.parents
    heads = raw.heads[kept]
    detached = [tuple(detached_joints(motion[:, kept], heads, parents, size=raw.size)) for motion in motions]
    root, rotation, error = _fit(motions, detached, raw, clean)
    clips, errors = [], []
    for i, (start, end) in enumerate(itertools.pairwise(np.cumsum([0, *map(len, motions)]))):
        errors.append(_rms(error[start:end]))
        place, turn, translation = root[start:end], rotation[start:end], None
        far = detached[i] or errors[i] > LARGEST_ERROR
        own = _file_poses_if_better(motions[i], place, turn, raw, clean) if far else None
        if own is not None:
            place, turn = own[0][:, 0], own[1]
            translation = cleanup_fit.translations(*own, heads, parents, size=raw.size)
        local = np.swapaxes(turn[:, [max(p, 0) for p in parents]], -1, -2) @ turn
        local[:, 0] = turn[:, 0]
        wxyz = continuous(from_matrix(local))
        clips.append(place_clip(Clip(names[i], rates[i], place, wxyz, translation), frame))
    return tuple(clips), _lines(clips, errors, detached, [raw.names[j] for j in kept], parents)


def _fit(
    motions: list[Motion], detached: list[tuple[int, ...]], raw: RawRig, clean: CleanRig
) -> tuple[RootPath, Rotations, PerFrame]:
    """Root positions, global rotations and errors of all frames; clips that detach the same joints go together."""
    kept, starts = list(clean.joints), np.cumsum([0, *map(len, motions)])
    root, rotation, error = np.empty((starts[-1], 3)), np.empty((starts[-1], len(kept), 3, 3)), np.empty(starts[-1])
    for missing in dict.fromkeys(detached):
        same = [i for i in range(len(motions)) if detached[i] == missing]
        factor = np.where(np.isin(clean.carrier, missing), cleanup_fit.DETACHED_WEIGHT, 1.0)
        every = np.concatenate([motions[i] for i in same])
        places = np.concatenate([np.arange(starts[i], starts[i + 1]) for i in same])
        for first in range(0, len(every), FRAMES_AT_ONCE):
            motion, rows = every[first : first + FRAMES_AT_ONCE], places[first : first + FRAMES_AT_ONCE]
            targets = Targets.from_motion(motion, raw.moments * factor[:, None, None], clean.carrier)
            root[rows], rotation[rows], error[rows] = cleanup_fit.fit_rotations(
                motion[:, kept], targets, raw.heads[kept], clean.parents, size=raw.size
            )
    return root, rotation, error


def _file_poses_if_better(
    motion: Motion, root: RootPath, rotation: Rotations, raw: RawRig, clean: CleanRig
) -> tuple[Positions, Rotations] | None:
    """Heads and rotations of a clip as the file has them, if the fitted ones are too far off."""
    kept, parents = list(clean.joints), clean.parents
    heads = raw.heads[kept]
    targets = Targets.from_motion(motion, raw.moments, clean.carrier)
    own = cleanup_fit.file_poses(motion[:, kept], heads)
    position = joint_positions(parents, bone_offsets(parents, heads), rotation, root)
    fitted, free = (_rms(targets.error(*pose, heads)) / raw.size for pose in ((position, rotation), own))
    return own if max(free, LARGEST_ERROR_REPARENTED if clean.reparented else LARGEST_ERROR) < fitted else None


def _rms(values: Float[np.ndarray, "n"]) -> float:
    return float(np.sqrt((values**2).mean()))


def _lines(
    clips: list[Clip], errors: list[float], detached: list[tuple[int, ...]], names: list[str], parents: tuple[int, ...]
) -> list[str]:
    """What `kinema inspect` says about clips that do more than rotate joints."""
    lines = []
    rotating = [i for i, clip in enumerate(clips) if clip.translation is None]
    for j in sorted({j for i in rotating for j in detached[i]}):
        which = listed([clips[i].name for i in rotating if j in detached[i]], 3)
        lines.append(f"{which} detach {names[j]} from {names[parents[j]]}: it stays attached")
    moved = [np.abs(clip.translation).max((0, 2)) > 0 for clip in clips if clip.translation is not None]
    if moved:
        which = listed([names[j] for j in np.flatnonzero(np.any(moved, axis=0))], 4)
        lines.append(f"{len(moved)} of {len(clips)} clips move joints in their parents (kept as translations): {which}")
    off = [(errors[i], clips[i].name) for i in rotating if errors[i] > LARGEST_ERROR]
    if off:
        error, name = max(off)
        worst = f"root mean square error up to {100 * error:.2g} % of the size, in {name}"
        lines.append(f"{len(off)} of {len(clips)} clips stretch bones: replaced by the nearest rotations ({worst})")
    return lines
