"""Legs, arms, wings, fins, spine, neck, head and tail of a rig, found by geometry, weights and symmetry.

A character faces +Z and stands on y = 0, so a limb is a subtree whose vertices lie on one side of the middle plane
(`tree`); whether it is a leg, an arm, a wing or a fin is a matter of evidence (`roles`). What is left lies in the
middle: the part behind the hips is the tail, the part in front or above ends in the head (`midline`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Character
from kinema.geometry.rotations import ancestors
from kinema.rig.given import as_given, given_chains, given_joints, given_legs
from kinema.rig.midline import find_heads, find_tails, spine_and_neck
from kinema.rig.roles import ARM, FIN, LEG, WING, Part, find_parts
from kinema.rig.tree import JointTree

Kind = Literal["arm", "wing", "fin"]
KINDS: dict[int, Kind] = {ARM: "arm", WING: "wing", FIN: "fin"}
"""Roles of limbs that do not stand on the ground."""
SLENDER = 33.0
"""Length of a snake over the standard deviation of its thickness; a fish has 10 to 26."""
Side = Literal[-1, 0, 1]
"""+1 left (+X), -1 right, 0 in the middle plane."""


@dataclass(frozen=True)
class Leg:
    """A chain of joints from the hip to the joint that carries the sole."""

    joints: tuple[int, ...]
    contact: Float[np.ndarray, "3"]
    """Where it rolls off the ground, in the frame of `joints[-1]` (world axes at rest, origin at its head) [m]."""
    soles: Float[np.ndarray, "points 3"]
    """Front and back end of the sole, in the same frame [m]."""
    side: Side
    rank: int
    """0 for the foremost pair."""
    foot: int
    """Index into `joints` of the first joint below the ankle whose orientation is the foot's; len(joints): none."""
    heel: Float[np.ndarray, "3"] | None = None
    """Back end of a foot of two bones, in the frame of `joints[foot]` [m]; else the soles say it."""


@dataclass(frozen=True)
class Arm:
    """A limb that does not stand on the ground: arm, wing or fin."""

    joints: tuple[int, ...]
    side: Side
    kind: Kind

    @property
    def wing(self) -> bool:
        """It beats rather than swings: a wing or a fin."""
        return self.kind != "arm"


@dataclass(frozen=True)
class Limbs:
    """The parts of a body as joint indices."""

    legs: tuple[Leg, ...]
    """Ordered by rank, left before right."""
    arms: tuple[Arm, ...]
    spine: tuple[int, ...]
    """From the root (excluded) towards the neck."""
    neck: tuple[int, ...]
    heads: tuple[int, ...]
    """Joints that carry a head; joint 0 if the body hangs on its head, as fishes' often do."""
    tails: tuple[tuple[int, ...], ...]
    leg_length: float
    """Mean distance from hip to contact point at rest [m]; without legs half the height, or a quarter of the length."""
    height: float
    clearance: float
    """Height of the trunk's lowest vertex over the ground at rest [m]."""
    probes: Float[np.ndarray, "joints 3 3"]
    """Lowest, foremost and farthest vertex that each joint carries, in its frame [m]: what may hit the ground."""

    slender: bool = False
    """A chain that is long and thin."""
    ground: bool = True
    """There is ground under it."""
    confidence: Mapping[str, float] = field(default_factory=dict)
    """How sure each of "legs", "arms", "wings", "fins", "tails" and "heads" is, in [0, 1]."""

    @property
    def head(self) -> int | None:
        """The head that moves against the root, the first of several."""
        return next((joint for joint in self.heads if joint > 0), None)

    @property
    def tail(self) -> tuple[int, ...]:
        """The first tail."""
        return self.tails[0] if self.tails else ()

    @property
    def build(self) -> tuple[float, float]:
        """Leg length over height, and joints per leg: what tells a horse from a block with four pegs."""
        joints = [len(leg.joints) for leg in self.legs]
        return self.leg_length / max(self.height, 1e-9), float(np.mean(joints)) if joints else 0.0

    @property
    def certainty(self) -> float:
        """The least confidence of all roles."""
        return min(self.confidence.values(), default=1.0)

    @property
    def counts(self) -> dict[str, int]:
        """How many there are of each of `confidence`."""
        others = {f"{kind}s": len(self.limbs_of(kind)) for kind in KINDS.values()}
        return {"legs": len(self.legs), **others, "tails": len(self.tails), "heads": len(self.heads)}

    def limbs_of(self, kind: Kind) -> tuple[Arm, ...]:
        """The limbs that are an "arm", a "wing" or a "fin"."""
        return tuple(arm for arm in self.arms if arm.kind == kind)

    def line(self, parents: Sequence[int]) -> list[int]:
        """Joints from the head to the tip of the tail, through what carries both."""
        front, back = self.head or 0, self.tail[-1] if self.tail else 0
        up, down = ([j, *ancestors(parents, j)] for j in (front, back))
        meet = next(j for j in up if j in down)
        return [*up[: up.index(meet) + 1], *reversed(down[: down.index(meet)])]

    @property
    def body(self) -> str:
        """A word for the kind of body.

        By legs: "biped", "bird" (biped with wings), "quadruped", "winged" (quadruped with wings), "crawler" and
        "hopper" (one leg); without legs: "fish" (fins, or a head and a tail), "snake" (long and thin) and "other".
        """
        winged = bool(self.limbs_of("wing"))
        if not self.legs:
            return self._legless()
        by_legs = ("hopper", "bird" if winged else "biped", "quadruped", "winged" if winged else "quadruped", "crawler")
        return by_legs[min(len(self.legs), 5) - 1]

    def _legless(self) -> str:
        if self.limbs_of("fin"):
            return "fish"
        if self.arms or not (self.heads and self.tails):
            return "other"
        return "snake" if self.slender else "fish"


def find_limbs(character: Character) -> Limbs:
    """Find the limbs of any rigged character in Kinema's world (facing +Z, standing on y = 0)."""
    tree, given = JointTree(character), given_joints(character)
    heads = given_chains(tree, given["heads"], whole=False) if "heads" in given else find_heads(tree)
    head = next((chain[0] for chain in heads.chains if chain[0] > 0), None)
    parts = as_given(tree, find_parts(tree, [chain[0] for chain in heads.chains]), given)
    standing = [part.top for part in parts if part.role == LEG]
    chains = [tree.grounded_chain(top) or [*tree.longest_chain(top)] for top in standing]
    chains = given_legs(tree, given["legs"]) if "legs" in given else chains
    legs = _ranked(tree, [_leg(tree, chain) for chain in chains])
    arms = []
    for part in parts:
        if part.role in KINDS:
            side: Side = 1 if tree.carried(part.top)[:, 0].mean() > tree.middle else -1
            arms.append(Arm(tree.longest_chain(part.top), side, KINDS[part.role]))
    spine, neck = spine_and_neck(tree, head, [limb.joints[0] for limb in (*legs, *arms)])
    hips = [leg.joints[0] for leg in legs]
    tails = given_chains(tree, given["tails"], whole=True) if "tails" in given else find_tails(tree, hips, head)
    confidence = {f"{word}s": _confidence(parts, role) for role, word in ((LEG, "leg"), *KINDS.items())}
    confidence |= {"tails": tails.confidence, "heads": heads.confidence}
    reach = [tree.heads[leg.joints[-1]] + leg.contact - tree.heads[leg.joints[0]] for leg in legs]
    length = float(np.mean(np.linalg.norm(reach, axis=-1))) if legs else max(tree.height, tree.length / 2) / 2
    limb_joints = {k for leg in legs for k in tree.subtree(leg.joints[0])} | {k for a in arms for k in a.joints}
    hanging = limb_joints | {*neck, *(k for tail in tails.chains for k in tail)}
    hanging |= set(tree.subtree(head) if head is not None else ())
    trunk = [tree.lowest(j) for j in range(len(tree.parents)) if j not in hanging]
    clearance = float(np.clip(min(trunk, default=0.0), 0.0, tree.height))
    probes = np.zeros((len(tree.parents), 3, 3))
    for j, points in enumerate(tree.points):
        if len(points):
            away = points - tree.heads[j]
            probes[j] = away[[away[:, 1].argmin(), away[:, 2].argmax(), (away**2).sum(-1).argmax()]]
    limbs = Limbs(
        tuple(legs), tuple(arms), spine, neck, tuple(chain[0] for chain in heads.chains), tails.chains, length,
        tree.height, clearance, probes, _is_slender(tree), confidence=confidence,
    )  # fmt: skip
    # What swims or flies has nothing below it; what has no legs but no wings either crawls.
    floats = not legs and (limbs.body == "fish" or bool(limbs.limbs_of("wing")))
    return replace(limbs, ground=not floats if character.ground is None else character.ground)


def has_ground(character: Character) -> bool:
    """Is there ground under a character? As someone said; else as its limbs suggest."""
    if character.ground is not None or character.skeleton is None:
        return character.ground is not False
    return find_limbs(character).ground


def _confidence(parts: list[Part], role: int) -> float:
    """The least certain of the parts that have the role, or that might."""
    sure = [part.confidence(role) if part.role == role else 1 - part.confidence(role) for part in parts]
    return round(min(sure, default=0.98), 3)


def _is_slender(tree: JointTree) -> bool:
    """Is the line of the joints, from end to end through the root, far longer than what they carry is thick?"""
    reach = np.linalg.norm(tree.tails - tree.heads, axis=-1)
    for j in range(len(tree.parents) - 1, 0, -1):
        reach[j] = max(
            (reach[c] + np.linalg.norm(tree.heads[c] - tree.heads[j]) for c in tree.children[j]), default=reach[j]
        )
    branches = sorted(
        (reach[c] + np.linalg.norm(tree.heads[c] - tree.heads[0]) for c in tree.children[0]), reverse=True
    )
    clouds = [points for points in tree.points if len(points) >= 6]
    thick = [np.sqrt(max(float(np.linalg.eigvalsh(np.cov(points.T))[1]), 0.0)) for points in clouds]
    return bool(thick and sum(branches[:2]) > SLENDER * float(np.median(thick)))


def _leg(tree: JointTree, chain: list[int]) -> Leg:
    """Drop a girdle at the top, find the sole below."""
    sole = tree.carried(chain[-1])
    # A last bone that carries no skin of its own touches with its end.
    sole = sole if len(sole) else tree.tails[chain[-1]][None]
    low = sole[sole[:, 1] < tree.floor + max(0.06 * tree.height, 1e-6)]
    low = low if len(low) else sole[sole[:, 1] <= sole[:, 1].min() + 1e-9]
    reach = low.mean(0) - tree.heads[chain[0]]
    # A girdle (scapula, clavicle) runs sideways at the top of a leg that hangs; it carries the leg but does not step.
    while len(chain) > 3 and abs(reach[0]) < -reach[1]:
        bone = tree.heads[chain[1]] - tree.heads[chain[0]]
        if abs(bone[0]) < 0.7 * np.linalg.norm(bone):
            break
        chain = chain[1:]
        reach = low.mean(0) - tree.heads[chain[0]]
    length = max(float(tree.heads[chain[0]][1]) - tree.floor, 1e-6)
    back, front = np.quantile(low[:, 2], (0.04, 0.96))
    x, y, head = float(np.median(low[:, 0])), float(low[:, 1].min()), tree.heads[chain[-1]]
    spread = np.hypot(reach[0], reach[2]) > 0.8 * length
    # The last joint is a foot if it sits low over its sole; else the sole is the tip of the last bone.
    is_foot = len(chain) >= 3 and head[1] - tree.floor < 0.45 * length and not (spread and front - back < 0.15 * length)
    foot, heel = len(chain) - 1 if is_foot else len(chain), None
    # A foot of two bones (ankle and toes): the ankle too is low, or its bone lies flat on the ground.
    if is_foot and len(chain) >= 4:
        above, points = tree.heads[chain[-2]], tree.points[chain[-2]]
        has_heel = bool(((points[:, 1] < tree.floor + 0.04 * tree.height) & (points[:, 2] < above[2])).any())
        flat = has_heel or abs(head[2] - above[2]) > 1.2 * abs(head[1] - above[1])
        if above[1] - tree.floor < (0.3 if flat else 0.2) * length:
            # The heel lies below the ankle, as far back as its vertices near the ground reach.
            near = points[points[:, 1] < tree.floor + 0.06 * tree.height]
            end = (near[:, 1].min(), min(near[:, 2].min(), above[2])) if len(near) else (tree.floor, above[2])
            foot, heel = len(chain) - 2, np.array([above[0], *end]) - above
    # A rigid foot rolls off its front end.
    roll = 0.15 * back + 0.85 * front if is_foot else 0.5 * (back + front)
    roll = roll if heel is None else 0.5 * (max(back, head[2]) + front)
    soles = np.array([[x, y, front], [x, y, back]]) - head
    side: Side = 1 if x > tree.middle else -1
    return Leg(tuple(chain), np.array([x, y, roll]) - head, soles, side, 0, foot, heel)


def _ranked(tree: JointTree, legs: list[Leg]) -> list[Leg]:
    """Number the pairs from front to back by where they stand; each side is counted for itself."""

    def place(leg: Leg) -> float:
        return float(tree.heads[leg.joints[0]][2] + 0.5 * (tree.heads[leg.joints[-1]] + leg.contact)[2])

    sides = (sorted((leg for leg in legs if leg.side == side), key=place, reverse=True) for side in (1, -1))
    ranked = [replace(leg, rank=rank) for side in sides for rank, leg in enumerate(side)]
    return sorted(ranked, key=lambda leg: (leg.rank, -leg.side))
