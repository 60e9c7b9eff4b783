"""Template skeletons for meshes without one: statistics of the joints' places and of the bones of a body plan.

They come from the built-in creatures: mean and spread over the species of a form (`plans`) and individuals drawn from
them.
"""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from kinema.create.creatures.proportions import Proportions, scaled
from kinema.rig.embed.plans import Form

Points = Float[np.ndarray, "points 3"]
INDIVIDUALS = 6
"""Individuals drawn from each species, besides the species itself."""
ARMS_DEG = (10.0, 35.0, 60.0, 85.0)
"""Arms of meshes without a rig hang (0), are stretched out (90) or anything between: a template for each pose."""
AROUND_DEG = 12.0
"""Spread of the arms about the pose of their template."""


class Statistics(NamedTuple):
    mean: np.ndarray
    spread: np.ndarray
    """Standard deviation."""


@dataclass(frozen=True)
class Template:
    """A tree of points with statistics; points whose names end in `_end` are tips, the others joints."""

    form: Form
    names: tuple[str, ...]
    parents: tuple[int, ...]
    place: Statistics
    """Of the place in the body's frame (see `BodyFrame`) [points, 3]."""
    bone: Statistics
    """Of the vector from the parent in the same frame [points, 3]."""
    free: Bool[np.ndarray, "points"]
    """Points of arms, which are modelled in any of the poses ARMS_DEG."""

    @property
    def is_end(self) -> Bool[np.ndarray, "points"]:
        return np.array([name.endswith("_end") for name in self.names])

    @property
    def is_reached(self) -> Bool[np.ndarray, "points"]:
        """Tips that are ends of the body too."""
        hidden = [any(word in name for word in self.form.hidden) for name in self.names]
        return self.is_end & ~np.array(hidden)


@dataclass(frozen=True)
class BodyFrame:
    """Units in which bodies of one form resemble each other: heights for bipeds, sides of the box for quadrupeds."""

    origin: Float[np.ndarray, "3"]
    unit: Float[np.ndarray, "3"]

    @staticmethod
    def around(low: Float[np.ndarray, "3"], high: Float[np.ndarray, "3"], form: Form) -> "BodyFrame":
        size = np.maximum(high - low, 1e-12)
        origin = np.array([(low[0] + high[0]) / 2, low[1], (low[2] + high[2]) / 2])
        return BodyFrame(origin, size[["xyz".index(axis) for axis in form.unit]])

    def local(self, points: Points) -> Points:
        return (points - self.origin) / self.unit


def templates(form: Form, *, without: str = "") -> tuple[Template, ...]:
    """The templates of a form, one for each pose of the arms; of the built-in species, one may be left out."""
    return tuple(_template(form, without, arms_deg) for arms_deg in (ARMS_DEG if form.free else (0.0,)))


@cache
def _template(form: Form, without: str, arms_deg: float) -> Template:
    """Statistics over the built-in species of a form."""
    from kinema.create.creatures.table import SPECIES
    from kinema.create.creatures.variation import vary

    names = tuple(name for name, _ in form.links)
    parents = tuple(names.index(parent) if parent else -1 for _, parent in form.links)
    places = []
    for row in (SPECIES[name] for name in form.species if name != without):
        rng = np.random.default_rng(0)
        row = scaled(row, dict(form.shapes))
        for k, individual in enumerate([row, *(vary(row, rng, amount=0.1) for _ in range(INDIVIDUALS))]):
            turned = arms_deg + AROUND_DEG * (2 * k / INDIVIDUALS - 1)
            points, frame = _sample(individual, form, names, arms_deg=turned)
            places.append(frame.local(points))
    at = np.array(places)
    bones = at - at[:, np.maximum(parents, 0)]
    free = np.array([any(word in name for word in form.free) for name in names])
    place, bone = (Statistics(np.nanmean(x, axis=0), np.nanstd(x, axis=0)) for x in (at, bones))
    return Template(form, names, parents, place, bone, free)


def _sample(row: Proportions, form: Form, names: tuple[str, ...], *, arms_deg: float) -> tuple[Points, BodyFrame]:
    """Places of the template's points in one creature [m], NaN where it has none, and its frame."""
    from kinema.create.creatures.field import blob_box

    body = row.build()
    heads, tails = (dict(zip(body.names, x)) for x in (body.skeleton.heads, body.skeleton.tails))
    points = np.array([_find(name, names, heads, tails) for name in names])
    boxes = [blob_box(blob) for blob in body.blobs]
    low, high = np.min([b[0] for b in boxes], axis=0), np.max([b[1] for b in boxes], axis=0)
    if body.ground:
        low[1] = 0.0
    for sign, side in ((1, "left"), (-1, "right")) if form.free else ():
        shoulder, *arm = (names.index(f"{side}_{part}") for part in ("arm_upper", "arm_lower", "hand", "hand_end"))
        away = points[arm] - points[shoulder]
        turn = np.deg2rad(arms_deg) - np.arctan2(sign * away[-1, 0], -away[-1, 1])
        c, s = np.cos(turn), np.sin(sign * turn)
        points[arm, 0] = points[shoulder, 0] + c * away[:, 0] - s * away[:, 1]
        points[arm, 1] = points[shoulder, 1] + s * away[:, 0] + c * away[:, 1]
    return points, BodyFrame.around(low, high, form)


def _find(name: str, names: tuple[str, ...], heads: dict, tails: dict) -> Float[np.ndarray, "3"]:
    """A template's point in a creature; a tail of several joints is cut anew into as many as the template has."""
    chain = [joint for joint in heads if joint.startswith("tail")]
    if name.startswith("tail") and chain:
        line = np.array([*(heads[joint] for joint in chain), tails[chain[-1]]])
        along = np.concatenate(([0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))))
        wanted = [other for other in names if other.startswith("tail")]
        share = wanted.index(name) / (len(wanted) - 1)
        return np.array([np.interp(share * along[-1], along, line[:, axis]) for axis in range(3)])
    stem = name.removesuffix("_end")
    last = (f"{stem}_{part}" for part in ("toes", "foot", "claw", "tip", "hand", "lower"))
    known, places = ((name, f"{name}_1"), heads) if stem == name else ((*last, stem), tails)
    return next((places[joint] for joint in known if joint in places), np.full(3, np.nan))
