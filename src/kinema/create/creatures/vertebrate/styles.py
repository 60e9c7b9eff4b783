"""Bodies in another style: people with fingers, robots, skeletons, goblins."""

from dataclasses import replace

import numpy as np

from kinema.create.creatures.proportions import Coat, Proportions, scaled
from kinema.create.creatures.vertebrate.proportions import Arms, Ears, Vertebrate
from kinema.create.creatures.vertebrate.species import VERTEBRATES

GREEN = (0.42, 0.60, 0.30)
COATS = {
    "robot": VERTEBRATES["robot"].coat,
    "skeleton": Coat((0.90, 0.87, 0.78)),
    "greenskin": replace(
        VERTEBRATES["human"].coat, base=(0.36, 0.26, 0.18), head=GREEN, legs=GREEN, accent=(0.3, 0.22, 0.15)
    ),
}
"""Colours of each style."""
SOFT = ("hair", "clothes", "mane", "ruff", "comb", "plumage", "udder", "nose", "hump", "two humps")
"""Extras that neither a robot nor a skeleton has."""


def _arms(row: Proportions) -> Arms | None:
    """The arms of a person, None of all others."""
    if isinstance(row, Vertebrate) and row.upright and isinstance(row.front, Arms) and not row.winged:
        return row.front
    return None


def with_fingers(row: Proportions) -> Proportions:
    """People with collar bones and fingers; all others as they are."""
    arms = _arms(row)
    return row if arms is None else replace(row, front=replace(arms, fingers=True))  # pyright: ignore[reportCallIssue]


def in_random_style(row: Proportions, rng: np.random.Generator) -> Proportions:
    """Half of the people get the short legs and large head of toys, some with arms stretched out to be rigged."""
    arms = _arms(row)
    if arms is None or not isinstance(row, Vertebrate) or rng.random() >= 0.5:
        return row
    legs, head = float(rng.uniform(0.45, 1.0)), float(rng.uniform(1.0, 2.2))
    front = replace(arms, spread=float(rng.uniform(65, 92))) if rng.random() < 0.5 else arms
    leg = max(legs * row.leg, 1.2 * row.belly)
    return replace(scaled(row, {"thigh": max(legs, 0.7), "head.radius": head}), leg=leg, front=front)


def styled(row: Proportions, style: str) -> Proportions:
    """A robot or the skeleton of a vertebrate; what has no spine only takes the colours."""
    coat = COATS[style]
    if not isinstance(row, Vertebrate):
        return replace(row, coat=coat)  # pyright: ignore[reportCallIssue]
    if style == "greenskin":
        bare = tuple(extra for extra in row.extras if extra != "hair")
        return replace(row, coat=coat, extras=bare, ears=Ears("pointed", 0.26, 0.06, 74))
    extras = tuple(extra for extra in row.extras if extra not in SOFT)
    if style == "robot":
        return replace(row, coat=coat, extras=(*extras, "boxy"))
    thin = {"chest": 0.8, "belly": 0.4, "rump": 0.6, "thigh": 0.45, "shank": 0.7, "neck.base": 0.5, "neck.top": 0.5}
    thin |= {"tail.base": 0.6, "tail.bush": 0.0}
    lean = scaled(row, thin)
    if isinstance(lean.front, Arms):
        lean = replace(lean, front=scaled(lean.front, {"radius": 0.5, "hand": 0.7}))
    return replace(lean, ears=None, coat=coat, extras=(*extras, "ribs"))
