"""A file's clips in our parameters: rotations and a root path, with slides of joints where those cannot follow."""

import itertools

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Clip, Frame
from kinema.asset.rigs.cleanup import CleanRig, RawRig
from kinema.asset.rigs.cleanup_fit import (
    PULL,
    coming_off,
    fit_error,
    fit_rotations,
    gather_targets,
    own_places,
    translations,
    tree_positions,
)
from kinema.asset.rigs.orientation import apply_frame

AT_ONCE = 4096
"""Frames that are fitted together, to bound the memory; each frame is a problem of its own."""
SLIDES = 1e-4
"""Where rotations leave more than this error (root mean square, share of the size), a clip lets its joints slide."""
SLIDES_REHUNG = 1e-2
"""The same for rigs whose tree we changed: their joints leave the parents that we chose for them, and rotations that
come near are worth more (to physics, to other programs) than sockets that the file does not have."""


def make_clips(
    names: tuple[str, ...],
    rates: list[float],
    motions: list[Float[np.ndarray, "_ raw 3 4"]],
    raw: RawRig,
    clean: CleanRig,
    frame: Frame,
) -> tuple[tuple[Clip, ...], list[str]]:
    """All clips in our parameters (rotations are fitted at once), and lines where rotations are not exact."""
    from scipy.spatial.transform import Rotation

    if not motions:
        return (), []
    kept = list(clean.joints)
    heads = raw.heads[kept]
    lost = [tuple(coming_off(motion[:, kept], heads, clean.parents, size=raw.size)) for motion in motions]
    frames = np.cumsum([0, *(len(motion) for motion in motions)])
    root, rotation = np.empty((frames[-1], 3)), np.empty((frames[-1], len(kept), 3, 3))
    error = np.empty(frames[-1])
    for missing in dict.fromkeys(lost):
        same = [i for i in range(len(motions)) if lost[i] == missing]
        pull = np.array([PULL if j in missing else 1.0 for j in clean.carrier])
        every = np.concatenate([motions[i] for i in same])
        places = np.concatenate([np.arange(frames[i], frames[i + 1]) for i in same])
        for start in range(0, len(every), AT_ONCE):
            motion, rows = every[start : start + AT_ONCE], places[start : start + AT_ONCE]
            targets, moments, square = gather_targets(motion, raw.moments * pull[:, None, None], clean.carrier)
            root[rows], rotation[rows], error[rows] = fit_rotations(
                motion[:, kept], targets, square, moments, heads, clean.parents, size=raw.size
            )
    translation: list[Float[np.ndarray, "_ joints 3"] | None] = []
    for i, motion in enumerate(motions):
        rows = slice(frames[i], frames[i + 1])
        found = None
        if lost[i] or _rms(error[rows]) > SLIDES:
            found = _slid(motion, root[rows], rotation[rows], raw, clean)
        if found is not None:
            root[rows], rotation[rows] = found[0][:, 0], found[1]
        translation.append(None if found is None else translations(*found, heads, clean.parents, size=raw.size))
    world = frame.rotation @ rotation @ frame.rotation.T
    local = np.swapaxes(world[:, [max(p, 0) for p in clean.parents]], -1, -2) @ world
    local[:, 0] = world[:, 0]
    xyzw = Rotation.from_matrix(local.reshape(-1, 3, 3)).as_quat().reshape(*local.shape[:2], 4)
    wxyz, position = xyzw[..., [3, 0, 1, 2]], apply_frame(frame, root)
    clips = []
    for i, (name, fps) in enumerate(zip(names, rates)):
        rows = slice(frames[i], frames[i + 1])
        turns = wxyz[rows].copy()
        turns[1:] *= np.cumprod(np.where((turns[1:] * turns[:-1]).sum(-1) < 0, -1.0, 1.0), axis=0)[..., None]
        out = translation[i]
        clips.append(
            Clip(name, fps, position[rows], turns, None if out is None else frame.scale * out @ frame.rotation.T)
        )
    misfits = [_rms(error[a:b]) for a, b in itertools.pairwise(frames)]
    return tuple(clips), _lines(names, misfits, lost, translation, [raw.names[j] for j in kept], clean.parents)


def _slid(
    motion: Float[np.ndarray, "frames raw 3 4"],
    root: Float[np.ndarray, "frames 3"],
    rotation: Float[np.ndarray, "frames joints 3 3"],
    raw: RawRig,
    clean: CleanRig,
) -> tuple[Float[np.ndarray, "frames joints 3"], Float[np.ndarray, "frames joints 3 3"]] | None:
    """Heads and rotations of a clip as the file has them, if those that were fitted are too far off."""
    kept = list(clean.joints)
    heads = raw.heads[kept]
    targets, moments, square = gather_targets(motion, raw.moments, clean.carrier)
    own = own_places(motion[:, kept], heads)
    fitted, free = (
        _rms(fit_error(*placed, targets, square, moments, heads)) / raw.size
        for placed in ((tree_positions(root, rotation, heads, clean.parents), rotation), own)
    )
    return own if free < fitted and fitted > (SLIDES_REHUNG if clean.rehung else SLIDES) else None


def _rms(values: Float[np.ndarray, "n"]) -> float:
    return float(np.sqrt((values**2).mean()))


def _lines(
    clips: tuple[str, ...],
    misfits: list[float],
    lost: list[tuple[int, ...]],
    translation: list[Float[np.ndarray, "_ joints 3"] | None],
    names: list[str],
    parents: tuple[int, ...],
) -> list[str]:
    """What `kinema inspect` says about clips that do more than rotate."""
    lines = []
    turning = [i for i in range(len(clips)) if translation[i] is None]
    for j in sorted({j for i in turning for j in lost[i]}):
        which = _some([clips[i] for i in turning if j in lost[i]], 3)
        lines.append(f"{which} take {names[j]} off {names[parents[j]]}: it stays on")
    moved = [np.abs(out).max((0, 2)) > 0 for out in translation if out is not None]
    if moved:
        which = _some([names[j] for j in np.flatnonzero(np.any(moved, axis=0))], 4)
        lines.append(f"{len(moved)} of {len(clips)} clips slide joints out of their places: {which}")
    off = [(misfits[i], clips[i]) for i in turning if misfits[i] > SLIDES]
    if off:
        lines.append(
            f"{len(off)} of {len(clips)} clips move joints apart: replaced by the nearest rotations "
            f"(root mean square error up to {100 * max(off)[0]:.2g} % of the size, in {max(off)[1]})"
        )
    return lines


def _some(names: list[str], most: int) -> str:
    return ", ".join(names[:most]) + (" ..." if len(names) > most else "")
