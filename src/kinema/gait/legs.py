"""Leg inverse kinematics for whole clips at once: fold the hinges until the length fits, then aim the hip.

A leg is a hip that turns freely, hinges below it (knee, hock, wrist …) and an end point: the ankle of a foot, or the
tip of a peg. All hinges fold together by one number s, as the reciprocal apparatus of an ungulate does: s = 0 is the
rest pose, s = -1 stretches every hinge straight. The distance from hip to end falls with s, so a table and two Newton
steps invert it exactly; turning the hip does the rest. Legs are batched: shorter chains are padded with bones of
length zero.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from kinema.rig.hinges import chain_points, is_spread, leg_hinges
from kinema.rig.limbs import Limbs

GRID = 192
STRETCH = 0.9995
"""Of the full reach: a straight leg has no derivative."""


@dataclass(frozen=True)
class LegChains:
    """All legs of a body, as far as they bend (down to the ankle or the tip)."""

    bones: Float[np.ndarray, "legs bones 3"]
    """Vectors from each joint to the next at rest, from the hip on [m]."""
    axes: Float[np.ndarray, "legs hinges 3"]
    """Turning about it by a positive angle folds the leg."""
    bend: Float[np.ndarray, "legs hinges"]
    """Slope of the hinge angles near rest [rad]: their bend at rest."""
    fold: Float[np.ndarray, "legs hinges"]
    """Slope of the hinge angles far from rest [rad]; 0 for padding."""
    spread: Bool[np.ndarray, "legs"]
    """Legs that reach sideways (spiders): they turn about the vertical first."""
    table_s: Float[np.ndarray, "legs grid"]
    table_root: Float[np.ndarray, "legs grid"]
    """sqrt(reach - distance) at table_s, rising: nearly linear in s even where the leg is straight."""
    reach: Float[np.ndarray, "legs"]
    least: Float[np.ndarray, "legs"]


def leg_chains(limbs: Limbs, heads: Float[np.ndarray, "joints 3"]) -> LegChains:
    """Prepare the legs of a body; a millisecond, once per body."""
    most = max(min(leg.foot, len(leg.joints)) for leg in limbs.legs)
    count = len(limbs.legs)
    bones = np.zeros((count, most, 3))
    axes = np.tile([1.0, 0.0, 0.0], (count, most - 1, 1))
    bend, fold = np.zeros((count, most - 1)), np.zeros((count, most - 1))
    spread = np.zeros(count, dtype=bool)
    ranks = max(leg.rank for leg in limbs.legs) + 1
    for i, leg in enumerate(limbs.legs):
        points = chain_points(leg, heads)
        bones[i, : len(points) - 1] = np.diff(points, axis=0)
        spread[i] = is_spread(points[-1] - points[0])
        hinge_axes, angles = leg_hinges(points, front=leg.rank == 0 and ranks > 1)
        for k in range(len(hinge_axes)):
            axes[i, k], bend[i, k] = hinge_axes[k], max(angles[k], 0.05)
            fold[i, k] = 1.0
    chains = LegChains(
        bones, axes, bend, fold, spread, np.zeros((count, 1)), np.zeros((count, 1)), np.zeros(count), np.zeros(count)
    )
    grid = np.linspace(-1.0, 3.0, 4 * GRID)
    distance = np.linalg.norm(_end_points(chains, np.broadcast_to(grid, (count, len(grid)))), axis=-1)
    table_s, table_root = np.zeros((count, GRID)), np.zeros((count, GRID))
    reach, least = np.zeros(count), np.zeros(count)
    for i in range(count):
        top = int(distance[i].argmax())
        # Down to the first rise: beyond it the leg has folded through itself.
        rises = np.flatnonzero(np.diff(distance[i, top:]) > -1e-12)
        bottom = top + int(rises[0]) if len(rises) and rises[0] > 8 else len(grid) - 1
        reach[i], least[i] = distance[i, top], distance[i, bottom]
        keep = np.linspace(top, bottom, GRID).round().astype(int)
        table_s[i] = grid[keep]
        table_root[i] = np.sqrt(np.maximum(reach[i] - distance[i, keep], 0.0))
    return LegChains(bones, axes, bend, fold, spread, table_s, table_root, reach, least)


def solve_legs(
    chains: LegChains, targets: Float[np.ndarray, "legs frames 3"]
) -> tuple[Float[np.ndarray, "legs frames 3 3"], Float[np.ndarray, "legs frames hinges"]]:
    """Hip rotations and hinge angles that put the end points at the targets, given in the hip's rest-aligned frame.

    Targets out of reach are met in direction only.
    """
    distance = np.linalg.norm(targets, axis=-1)
    low = chains.least[:, None] * 1.0005
    wanted = np.clip(distance, low, chains.reach[:, None] * STRETCH)
    root = np.sqrt(chains.reach[:, None] - wanted)
    s = np.stack([np.interp(r, x, y) for r, x, y in zip(root, chains.table_root, chains.table_s)])
    for _ in range(2):
        step = 1e-5
        here = np.linalg.norm(_end_points(chains, s), axis=-1)
        slope = (np.linalg.norm(_end_points(chains, s + step), axis=-1) - here) / step
        s = s - np.clip((here - wanted) / np.where(np.abs(slope) < 1e-6, -1e-6, slope), -0.05, 0.05)
    ends = _end_points(chains, s)
    return _aim(ends, targets, chains.spread), _hinge_angles(chains, s)


def _hinge_angles(chains: LegChains, s: Float[np.ndarray, "legs n"]) -> Float[np.ndarray, "legs n hinges"]:
    """bend * s where the leg stretches, going over smoothly to fold * s where it folds far."""
    folding = np.maximum(s, 0.0)
    extra = folding * folding / (folding + 0.3)
    return chains.bend[:, None] * s[..., None] * (chains.fold[:, None] > 0) + extra[..., None] * np.maximum(
        chains.fold - chains.bend, 0.0
    )[:, None] * (chains.fold[:, None] > 0)


def _end_points(chains: LegChains, s: Float[np.ndarray, "legs n"]) -> Float[np.ndarray, "legs n 3"]:
    """End relative to the hip, in the hip's frame: o1 + R1 (o2 + R2 (o3 + …))."""
    angles = _hinge_angles(chains, s)
    end = np.broadcast_to(chains.bones[:, None, -1], (*s.shape, 3))
    for k in range(chains.axes.shape[1] - 1, -1, -1):
        end = chains.bones[:, None, k] + _turn(chains.axes[:, None, k], angles[..., k], end)
    return end


def _turn(axis: np.ndarray, angle: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Rodrigues on vectors."""
    cosine, sine = np.cos(angle)[..., None], np.sin(angle)[..., None]
    along = (axis * vector).sum(-1, keepdims=True)
    return cosine * vector + sine * np.cross(axis, vector) + (1 - cosine) * along * axis


def _aim(ends: np.ndarray, targets: np.ndarray, spread: np.ndarray) -> Float[np.ndarray, "legs frames 3 3"]:
    """Rotations that turn ends towards targets without twisting the leg's plane.

    First about one axis (lateral for hanging legs, vertical for spread ones), then the little that is left.
    """
    ex, ey, ez = np.moveaxis(ends, -1, 0)
    tx, ty, tz = np.moveaxis(targets, -1, 0)
    wide = spread[:, None]
    angle = np.where(
        wide,
        np.arctan2(tx, tz) - np.arctan2(ex, ez),  # about +y: z towards x
        np.arctan2(-tz, -ty) - np.arctan2(-ez, -ey),  # about +x: down (-y) towards back (-z)
    )
    cosine, sine = np.cos(angle), np.sin(angle)
    zero, one = np.zeros_like(cosine), np.ones_like(cosine)
    about_y = np.stack((cosine, zero, sine, zero, one, zero, -sine, zero, cosine), -1)
    about_x = np.stack((one, zero, zero, zero, cosine, -sine, zero, sine, cosine), -1)
    first = np.where(wide[..., None], about_y, about_x).reshape(*cosine.shape, 3, 3)
    moved = (first @ ends[..., None])[..., 0]
    return between(moved, targets) @ first


def between(a: Float[np.ndarray, "*n 3"], b: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n 3 3"]:
    """The smallest rotation that turns direction a into direction b."""
    a, b = _unit(a), _unit(b)
    v = np.cross(a, b)
    cosine = (a * b).sum(-1)[..., None, None]
    k = skew(v)
    return np.eye(3) + k + k @ k / np.maximum(1 + cosine, 1e-6)


def skew(v: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n 3 3"]:
    x, y, z = np.moveaxis(v, -1, 0)
    o = np.zeros_like(x)
    return np.stack((o, -z, y, z, o, -x, -y, x, o), -1).reshape(*x.shape, 3, 3)


def about(axis: Float[np.ndarray, "3"], angle: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n 3 3"]:
    """Rotation matrix about a unit axis [rad]."""
    k = skew(np.broadcast_to(axis, (*np.shape(angle), 3)))
    return np.eye(3) + np.sin(angle)[..., None, None] * k + (1 - np.cos(angle))[..., None, None] * (k @ k)


def _unit(v: np.ndarray) -> np.ndarray:
    return v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-12)
