"""Template skeletons for meshes without one: where the joints of a body plan usually are.

The statistics come from the built-in creatures: mean and spread of every joint's place in the body's box, and of every
bone, over the species of a family and individuals drawn from them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from kinema.create.creatures.proportions import Proportions

Plan = Literal["biped", "quadruped"]

_SPINE = (("hips", ""), ("spine", "hips"), ("chest", "spine"), ("neck", "chest"), ("head", "neck"))
_BIPED = (
    *_SPINE, ("head_end", "head"),
    *((f"{s}_{a}", b.format(s)) for s in ("left", "right") for a, b in (
        ("leg_upper", "hips"), ("leg_lower", "{}_leg_upper"), ("leg_foot", "{}_leg_lower"), ("leg_end", "{}_leg_foot"),
        ("arm_upper", "chest"), ("arm_lower", "{}_arm_upper"), ("hand", "{}_arm_lower"), ("hand_end", "{}_hand"),
    )),
)  # fmt: skip
_QUADRUPED = (
    *_SPINE, ("head_end", "head"),
    *((f"{f}_{s}_{a}", b.format(f, s)) for f, root in (("hind", "hips"), ("front", "chest")) for s in ("left", "right")
      for a, b in (("upper", root), ("lower", "{}_{}_upper"), ("foot", "{}_{}_lower"), ("end", "{}_{}_foot"))),
    ("tail_1", "hips"), ("tail_2", "tail_1"), ("tail_3", "tail_2"), ("tail_end", "tail_3"),
)  # fmt: skip
JOINTS: dict[Plan, tuple[tuple[str, str], ...]] = {"biped": _BIPED, "quadruped": _QUADRUPED}
SPECIES_OF: dict[Plan, tuple[str, ...]] = {
    "biped": ("human", "astronaut", "robot"),
    "quadruped": (
        "dog", "cat", "fox", "wolf", "horse", "zebra", "deer", "cow", "pig", "elephant", "giraffe", "camel", "bear",
        "panda", "lion", "tiger", "rabbit", "mouse",
    ),
}  # fmt: skip
INDIVIDUALS = 6
"""Drawn from each species."""


@dataclass(frozen=True)
class Template:
    """A tree of points with statistics; points whose names end in `_end` are tips, the others joints."""

    plan: Plan
    names: tuple[str, ...]
    parents: tuple[int, ...]
    place: Float[np.ndarray, "points 3"]
    """Mean place in the body's frame (see `Frame`), and how much it varies."""
    place_spread: Float[np.ndarray, "points 3"]
    bone: Float[np.ndarray, "points 3"]
    """Mean vector from the parent in the same frame, and how much it varies."""
    bone_spread: Float[np.ndarray, "points 3"]
    free: Bool[np.ndarray, "points"]
    """Points of arms, which are modelled hanging or stretched out: of their bones only the length counts."""
    length: Float[np.ndarray, "points"]
    """Mean length of the bone to the parent, and how much it varies, in heights."""
    length_spread: Float[np.ndarray, "points"]

    @property
    def is_end(self) -> Bool[np.ndarray, "points"]:
        return np.array([name.endswith("_end") for name in self.names])


@dataclass(frozen=True)
class BodyFrame:
    """Units in which bodies of one plan resemble each other: heights for bipeds, sides of the box for quadrupeds."""

    origin: Float[np.ndarray, "3"]
    unit: Float[np.ndarray, "3"]

    @staticmethod
    def around(low: Float[np.ndarray, "3"], high: Float[np.ndarray, "3"], plan: Plan) -> "BodyFrame":
        size = np.maximum(high - low, 1e-12)
        origin = np.array([(low[0] + high[0]) / 2, low[1], (low[2] + high[2]) / 2])
        return BodyFrame(origin, np.full(3, size[1]) if plan == "biped" else size)

    def local(self, points: Float[np.ndarray, "points 3"]) -> Float[np.ndarray, "points 3"]:
        return (points - self.origin) / self.unit


@cache
def template(plan: Plan, *, without: str = "") -> Template:
    """Statistics over the built-in species of a plan, or over all but one of them."""
    from kinema.create.creatures.table import SPECIES
    from kinema.create.creatures.variation import vary

    names = tuple(name for name, _ in JOINTS[plan])
    parents = tuple(names.index(parent) if parent else -1 for _, parent in JOINTS[plan])
    samples = []
    for name in SPECIES_OF[plan]:
        row = SPECIES[name]
        if name == without:
            continue
        rng = np.random.default_rng(0)
        individuals = [row, *(vary(row, rng, amount=0.1) for _ in range(INDIVIDUALS))]
        for k, individual in enumerate(individuals):
            # Arms of unrigged bipeds are anything from hanging to stretched out.
            samples.append(_sample(individual, plan, names, arms_deg=90.0 * k / INDIVIDUALS))
    places = np.array([place for place, _ in samples])
    tall = np.array([height for _, height in samples])
    at = np.array([max(p, 0) for p in parents])
    bones = places - places[:, at]
    lengths = np.linalg.norm(bones * tall[:, None], axis=2)
    free = np.array([plan == "biped" and ("arm" in name or "hand" in name) for name in names])
    return Template(
        plan,
        names,
        parents,
        np.nanmean(places, axis=0),
        np.nanstd(places, axis=0),
        np.nanmean(bones, axis=0),
        np.nanstd(bones, axis=0),
        free,
        np.nanmean(lengths, axis=0),
        np.nanstd(lengths, axis=0),
    )


def _sample(
    row: Proportions, plan: Plan, names: Sequence[str], *, arms_deg: float
) -> tuple[Float[np.ndarray, "points 3"], Float[np.ndarray, "3"]]:
    """Places of the template's points in the frame of one creature, NaN where it has none, and that frame's unit."""
    from kinema.create.creatures.field import blob_box

    body = row.build()
    index = {name: j for j, name in enumerate(body.names)}
    points = np.full((len(names), 3), np.nan)
    for k, name in enumerate(names):
        points[k] = _find(name, index, body.skeleton.heads, body.skeleton.tails)
    boxes = [blob_box(blob) for blob in body.blobs]
    low, high = np.min([b[0] for b in boxes], axis=0), np.max([b[1] for b in boxes], axis=0)
    if plan == "biped":
        for sign, side in ((1, "left"), (-1, "right")):
            chain = [names.index(f"{side}_{part}") for part in ("arm_upper", "arm_lower", "hand", "hand_end")]
            shoulder, away = points[chain[0]], points[chain[1:]] - points[chain[0]]
            turn = np.deg2rad(arms_deg) - np.arctan2(sign * away[-1, 0], -away[-1, 1])
            c, s = np.cos(turn), np.sin(sign * turn)
            points[chain[1:], 0] = shoulder[0] + c * away[:, 0] - s * away[:, 1]
            points[chain[1:], 1] = shoulder[1] + s * away[:, 0] + c * away[:, 1]
    frame = BodyFrame.around(np.array([low[0], 0.0, low[2]]), high, plan)
    return frame.local(points), frame.unit / frame.unit[1]


def _find(
    name: str, index: dict[str, int], heads: Float[np.ndarray, "joints 3"], tails: Float[np.ndarray, "joints 3"]
) -> Float[np.ndarray, "3"]:
    """A template's point in a creature: chains of several neck or tail joints are cut anew."""
    if name in index:
        if not name.startswith("tail"):
            return heads[index[name]]
    elif name == "neck" and "neck_1" in index:
        return heads[index["neck_1"]]
    if name.startswith("tail"):
        chain = sorted(j for other, j in index.items() if other.startswith("tail"))
        if not chain:
            return np.full(3, np.nan)
        line = np.concatenate((heads[chain], tails[chain[-1:]]))
        along = np.concatenate(([0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))))
        share = {"tail_1": 0.0, "tail_2": 1 / 3, "tail_3": 2 / 3, "tail_end": 1.0}[name]
        return np.array([np.interp(share * along[-1], along, line[:, axis]) for axis in range(3)])
    if name.endswith("_end"):
        stem = name.removesuffix("_end")
        for last in (f"{stem}_toes", f"{stem}_foot", stem):
            if last in index:
                return tails[index[last]]
    return np.full(3, np.nan)
