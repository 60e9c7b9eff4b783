"""Roles that someone gave: names of joints, put in the place of what would be found."""

from collections.abc import Sequence

import numpy as np

from kinema.asset.character import Character, listed
from kinema.errors import KinemaError
from kinema.geometry.rotations import ancestors
from kinema.rig.midline import Found
from kinema.rig.roles import ARM, FIN, LEG, NONE, ROLES, WING, Part
from kinema.rig.tree import JointTree

LIMBS = {"legs": LEG, "arms": ARM, "wings": WING, "fins": FIN}
SURE = 20.0
"""Log-odds of what someone said."""


def given_joints(character: Character) -> dict[str, list[int]]:
    """Joints by role ("legs", "arms", "wings", "fins", "tails", "heads"), as far as the character has them given."""
    if not character.roles or character.skeleton is None:
        return {}
    names = character.skeleton.names
    for role, joints in character.roles.items():
        for name in joints:
            if name not in names:
                raise KinemaError(f"{character.name}: {role}: has no joint {name!r}; it has {listed(names, 12)}")
    return {role: [names.index(name) for name in joints] for role, joints in character.roles.items()}


def as_given(tree: JointTree, parts: list[Part], given: dict[str, list[int]]) -> list[Part]:
    """The parts with the roles that were given; a role that was given is no other part's."""
    result = []
    for part in parts:
        below, shown = tree.subtree(part.top), part.shown.copy()
        own = next((role for name, role in LIMBS.items() if not set(below).isdisjoint(given.get(name, ()))), None)
        if own is None:
            shown[[role for name, role in LIMBS.items() if name in given]] = -SURE
            taken = not set(below).isdisjoint((*given.get("tails", ()), *given.get("heads", ())))
            shown[NONE] = SURE if taken else shown[NONE]
            result.append(Part(part.top, shown, part.told))
        else:
            result.append(Part(part.top, SURE * np.eye(len(ROLES))[own], np.zeros(len(ROLES))))
    return result


def given_legs(tree: JointTree, joints: Sequence[int]) -> list[list[int]]:
    """A chain from the hip to the sole for each joint of a leg: its foot, its top or any between."""
    legs = []
    for j in joints:
        path = [j, *ancestors(tree.parents, j)][::-1]
        # A leg begins with its part of the body, or below where it parts from another that was given.
        start = next((i for i, k in enumerate(path) if k in tree.limb_tops), len(path) - 1)
        others = {k for other in joints if other != j for k in (other, *ancestors(tree.parents, other))}
        start = max(start, next((i for i, k in enumerate(path) if k not in others), len(path) - 1))
        below = tree.grounded_chain(j) or [*tree.longest_chain(j)]
        legs.append([*path[start:-1], *below])
    return legs


def given_chains(tree: JointTree, joints: Sequence[int], *, whole: bool) -> Found:
    """Chains that begin at the joints, `whole` to their ends, or the joints alone."""
    return Found(tuple(tree.longest_chain(j) if whole else (j,) for j in joints), 1.0)
