"""Template skeletons for meshes without one: statistics of the joints' places and of the bones of a body plan.

They come from the built-in creatures: mean and spread over the species of a plan and individuals drawn from them.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from kinema.create.creatures.proportions import Proportions

BodyPlan = Literal["biped", "quadruped"]
Points = Float[np.ndarray, "points 3"]

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
JOINTS: dict[BodyPlan, tuple[tuple[str, str], ...]] = {"biped": _BIPED, "quadruped": _QUADRUPED}
SPECIES_OF: dict[BodyPlan, tuple[str, ...]] = {
    "biped": ("human", "astronaut", "robot"),
    "quadruped": (
        "dog", "cat", "fox", "wolf", "horse", "zebra", "deer", "cow", "pig", "elephant", "giraffe", "camel", "bear",
        "panda", "lion", "tiger", "rabbit", "mouse",
    ),
}  # fmt: skip
INDIVIDUALS = 6
"""Individuals drawn from each species, besides the species itself."""


class Statistics(NamedTuple):
    mean: np.ndarray
    spread: np.ndarray
    """Standard deviation."""


@dataclass(frozen=True)
class Template:
    """A tree of points with statistics; points whose names end in `_end` are tips, the others joints."""

    plan: BodyPlan
    names: tuple[str, ...]
    parents: tuple[int, ...]
    place: Statistics
    """Of the place in the body's frame (see `BodyFrame`) [points, 3]."""
    bone: Statistics
    """Of the vector from the parent in the same frame [points, 3]."""
    free: Bool[np.ndarray, "points"]
    """Points of arms, which are modelled hanging or stretched out: of their bones only the length counts."""
    length: Statistics
    """Of the length of the bone to the parent, in heights [points]."""

    @property
    def is_end(self) -> Bool[np.ndarray, "points"]:
        return np.array([name.endswith("_end") for name in self.names])


@dataclass(frozen=True)
class BodyFrame:
    """Units in which bodies of one plan resemble each other: heights for bipeds, sides of the box for quadrupeds."""

    origin: Float[np.ndarray, "3"]
    unit: Float[np.ndarray, "3"]

    @staticmethod
    def around(low: Float[np.ndarray, "3"], high: Float[np.ndarray, "3"], plan: BodyPlan) -> "BodyFrame":
        size = np.maximum(high - low, 1e-12)
        origin = np.array([(low[0] + high[0]) / 2, low[1], (low[2] + high[2]) / 2])
        return BodyFrame(origin, np.full(3, size[1]) if plan == "biped" else size)

    def local(self, points: Points) -> Points:
        return (points - self.origin) / self.unit


@cache
def template(plan: BodyPlan, *, without: str = "") -> Template:
    """Statistics over the built-in species of a plan, or over all but one of them."""
    from kinema.create.creatures.table import SPECIES
    from kinema.create.creatures.variation import vary

    names = tuple(name for name, _ in JOINTS[plan])
    parents = tuple(names.index(parent) if parent else -1 for _, parent in JOINTS[plan])
    places, units = [], []
    for row in (SPECIES[name] for name in SPECIES_OF[plan] if name != without):
        rng = np.random.default_rng(0)
        for k, individual in enumerate([row, *(vary(row, rng, amount=0.1) for _ in range(INDIVIDUALS))]):
            # Arms of unrigged bipeds are anything from hanging to stretched out.
            points, frame = _sample(individual, plan, names, arms_deg=90.0 * k / INDIVIDUALS)
            places.append(frame.local(points))
            units.append(frame.unit / frame.unit[1])
    at = np.array(places)
    bones = at - at[:, np.maximum(parents, 0)]
    lengths = np.linalg.norm(bones * np.array(units)[:, None], axis=2)
    free = np.array([plan == "biped" and ("arm" in name or "hand" in name) for name in names])
    place, bone, length = (Statistics(np.nanmean(x, axis=0), np.nanstd(x, axis=0)) for x in (at, bones, lengths))
    return Template(plan, names, parents, place, bone, free, length)


def _sample(row: Proportions, plan: BodyPlan, names: tuple[str, ...], *, arms_deg: float) -> tuple[Points, BodyFrame]:
    """Places of the template's points in one creature [m], NaN where it has none, and its frame."""
    from kinema.create.creatures.field import blob_box

    body = row.build()
    heads, tails = (dict(zip(body.names, x)) for x in (body.skeleton.heads, body.skeleton.tails))
    points = np.array([_find(name, heads, tails) for name in names])
    boxes = [blob_box(blob) for blob in body.blobs]
    low, high = np.min([b[0] for b in boxes], axis=0), np.max([b[1] for b in boxes], axis=0)
    for sign, side in ((1, "left"), (-1, "right")) if plan == "biped" else ():
        shoulder, *arm = (names.index(f"{side}_{part}") for part in ("arm_upper", "arm_lower", "hand", "hand_end"))
        away = points[arm] - points[shoulder]
        turn = np.deg2rad(arms_deg) - np.arctan2(sign * away[-1, 0], -away[-1, 1])
        c, s = np.cos(turn), np.sin(sign * turn)
        points[arm, 0] = points[shoulder, 0] + c * away[:, 0] - s * away[:, 1]
        points[arm, 1] = points[shoulder, 1] + s * away[:, 0] + c * away[:, 1]
    return points, BodyFrame.around(np.array([low[0], 0.0, low[2]]), high, plan)


def _find(name: str, heads: dict[str, np.ndarray], tails: dict[str, np.ndarray]) -> Float[np.ndarray, "3"]:
    """A template's point in a creature; a neck or tail of several joints is cut anew."""
    chain = [joint for joint in heads if joint.startswith("tail")]
    if name.startswith("tail") and chain:
        line = np.array([*(heads[joint] for joint in chain), tails[chain[-1]]])
        along = np.concatenate(([0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))))
        share = {"tail_1": 0.0, "tail_2": 1 / 3, "tail_3": 2 / 3, "tail_end": 1.0}[name]
        return np.array([np.interp(share * along[-1], along, line[:, axis]) for axis in range(3)])
    stem = name.removesuffix("_end")
    known, places = ((name, f"{name}_1"), heads) if stem == name else ((f"{stem}_toes", f"{stem}_foot", stem), tails)
    return next((places[joint] for joint in known if joint in places), np.full(3, np.nan))
