"""A file's clips in our parameters: rotations, a root path, and translations of joints where those do not suffice."""

import itertools
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Clip, Frame, listed
from kinema.asset.rigs import cleanup_fit
from kinema.asset.rigs.cleanup import CleanRig, RawRig
from kinema.asset.rigs.cleanup_fit import Extremes, PerFrame, Positions, RootPath, Rotations, Targets, detached_joints
from kinema.asset.rigs.orientation import place_clip
from kinema.geometry.rotations import bone_offsets, continuous, from_matrix, joint_positions

FRAMES_AT_ONCE = 4096
"""Frames that are fitted together, to bound the memory; each frame is a problem of its own."""
LARGEST_ERROR = 1e-4
"""A clip gets translations if rotations leave a larger error (root mean square, share of the size)."""
LARGEST_OFF_REPARENTED = 0.018
"""The same for rigs whose tree we changed, for the worst vertex, as a share of the height. Their joints leave the
parents that we chose for them, and rotations that come near are worth more (to physics, to other programs) than
translations that the file does not have."""
LEAST_SLIDE = 0.003
"""Joints of such rigs that come no further from their places [share of the height] do not slide."""
TOLD_OFF = 0.02
"""`inspect` names the joints that have a vertex further off than this share of the height."""

Motion = Float[np.ndarray, "_ raw 3 4"]
"""Maps of the file's joints from rest, for each frame of a clip."""
PerJoint = Float[np.ndarray, "joints"]


@dataclass(frozen=True)
class _Pose:
    """A clip's joints in the file's coordinates."""

    position: Positions
    rotation: Rotations
    translation: Positions | None = None


def make_clips(
    names: tuple[str, ...],
    rates: list[float],
    motions: list[Motion],
    raw: RawRig,
    clean: CleanRig,
    frame: Frame,
    extremes: Extremes,
) -> tuple[tuple[Clip, ...], list[str]]:
    """All clips in our world and parameters, and lines for `inspect` about those that do more than rotate."""
    kept, parents = list(clean.joints), clean.parents
    heads = raw.heads[kept]
    height = max(float(np.ptp(extremes.points @ frame.rotation[1])), 1e-6 * raw.size)
    detached = [tuple(detached_joints(motion[:, kept], heads, parents, size=raw.size)) for motion in motions]
    root, rotation, error = _fit(motions, detached, raw, clean)
    clips, off = [], []
    for i, (start, end) in enumerate(itertools.pairwise(np.cumsum([0, *map(len, motions)]))):
        place, turn = root[start:end], rotation[start:end]
        pose = _Pose(joint_positions(parents, bone_offsets(parents, heads), turn, place), turn)
        off.append(np.zeros(len(kept)))
        if detached[i] or np.sqrt((error[start:end] ** 2).mean()) > LARGEST_ERROR:
            off[i] = _off(pose, motions[i], raw, clean, extremes) / height
            if not clean.reparented or off[i].max() > LARGEST_OFF_REPARENTED:
                own = _file_poses(motions[i], raw, clean, least=LEAST_SLIDE * height)
                own_off = _off(own, motions[i], raw, clean, extremes) / height
                if own_off.max() < off[i].max():
                    pose, off[i] = own, own_off
        local = np.swapaxes(pose.rotation[:, [max(p, 0) for p in parents]], -1, -2) @ pose.rotation
        local[:, 0] = pose.rotation[:, 0]
        clip = Clip(names[i], rates[i], pose.position[:, 0], continuous(from_matrix(local)), pose.translation)
        clips.append(place_clip(clip, frame))
    return tuple(clips), _lines(clips, off, detached, [raw.names[j] for j in kept], parents)


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


def _file_poses(motion: Motion, raw: RawRig, clean: CleanRig, *, least: float) -> _Pose:
    """A clip with the rotations of the file, and translations of the joints that its positions ask for.

    In a tree that is not the file's own, those that are less than `least` away stay in their places.
    """
    kept = list(clean.joints)
    heads = raw.heads[kept]
    position, rotation = cleanup_fit.file_poses(motion[:, kept], heads)
    least = least if clean.reparented else cleanup_fit.NEGLIGIBLE * raw.size
    translation, placed = cleanup_fit.translations(position, rotation, heads, clean.parents, least=least)
    return _Pose(placed, rotation, translation if translation.any() else None)


def _off(pose: _Pose, motion: Motion, raw: RawRig, clean: CleanRig, extremes: Extremes) -> PerJoint:
    """Largest distance of a vertex of each joint, over all frames, from where the file has it."""
    maps = cleanup_fit.joint_maps(pose.position, pose.rotation, raw.heads[list(clean.joints)])
    carrier, result = np.array(clean.carrier), np.zeros(len(clean.joints))
    apart = extremes.errors(motion, maps[:, carrier])
    np.maximum.at(result, carrier[extremes.weights.argmax(1)], apart)
    return result


def _lines(
    clips: list[Clip], off: list[PerJoint], detached: list[tuple[int, ...]], names: list[str], parents: tuple[int, ...]
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
    stretched = [i for i in rotating if off[i].max() > 0]
    if stretched:
        worst = max(stretched, key=lambda i: off[i].max())
        where = f"{names[int(off[worst].argmax())]} in {clips[worst].name}"
        lines.append(
            f"{len(stretched)} of {len(clips)} clips stretch bones: replaced by the nearest rotations (the worst vertex"
            f" is {_percent(off[worst].max())} of the height off, at {where})"
        )
    most = np.max(off, axis=0, initial=0.0) if off else np.zeros(len(names))
    far = [j for j in np.argsort(-most) if most[j] > TOLD_OFF]
    if far:
        clip = clips[int(np.argmax([values[far[0]] for values in off]))].name
        which = listed([f"{names[j]} by {_percent(float(most[j]))}" for j in far], 6)
        lines.append(
            f"joints cannot follow the file, the worst vertex is off by shares of the height (worst in {clip}): {which}"
        )
    return lines


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:,.0f} %"
