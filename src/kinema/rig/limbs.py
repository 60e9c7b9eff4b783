"""Legs, arms, spine, neck, head and tail of a rig, found by geometry and weights, by names where those do not decide.

A character faces +Z and stands on y = 0, so a limb is a subtree whose vertices lie on one side of the middle plane; it
is a leg if it reaches the ground. What is left lies in the middle: the part behind the hips is the tail, the part in
front or above ends in the head.
"""

import re
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.geometry.rotations import ancestors, children, depth_first

FIN = re.compile(r"flipper|fin(?!ger)")
WING = re.compile(r"wing|feather|flipper|fin(?!ger)")
EAR = re.compile(r"(?<![a-z])ear|eye|horn|antler|brow|whisker")
TRUNK_NAMES = ("spine", "torso", "chest", "abdomen", "body", "hips")

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
    wing: bool


@dataclass(frozen=True)
class Limbs:
    """The parts of a body as joint indices."""

    legs: tuple[Leg, ...]
    """Ordered by rank, left before right."""
    arms: tuple[Arm, ...]
    spine: tuple[int, ...]
    """From the root (excluded) towards the neck."""
    neck: tuple[int, ...]
    head: int | None
    tail: tuple[int, ...]
    leg_length: float
    """Mean distance from hip to contact point at rest [m]; height/2 without legs."""
    height: float
    clearance: float
    """Height of the trunk's lowest vertex over the ground at rest [m]."""
    probes: Float[np.ndarray, "joints 3 3"]
    """Lowest, foremost and farthest vertex that each joint carries, in its frame [m]: what may hit the ground."""

    @property
    def body(self) -> str:
        """A word for the number of legs: 'fish' without, 'biped', 'bird' (biped with wings), 'quadruped', 'crawler'."""
        pair = "bird" if any(arm.wing for arm in self.arms) else "biped"
        return ("fish", "hopper", pair, "quadruped", "quadruped", "crawler")[min(len(self.legs), 5)]


def find_limbs(character: Character) -> Limbs:
    """Find the limbs of any rigged character in Kinema's world (facing +Z, standing on y = 0)."""
    tree = _Tree(character)
    legs, arms = [], []
    for top in tree.limb_tops:
        names = " ".join(tree.names[j] for j in tree.subtree(top))
        chain = None if FIN.search(names) else tree.grounded_chain(top)
        if chain is not None:
            legs.append(_leg(tree, chain))
        elif not EAR.search(names):
            joints = tree.longest_chain(top)
            line = np.array([*tree.heads[list(joints)], tree.tails[joints[-1]]])
            length = np.linalg.norm(np.diff(line, axis=0), axis=1).sum()
            # Ears, eyes and horns hang on the head, not on the trunk.
            on_head = any("head" in tree.names[j] or "face" in tree.names[j] for j in ancestors(tree.parents, top))
            if len(joints) >= 2 and length > 0.1 * tree.height and not on_head:
                side: Side = 1 if tree.carried(top)[:, 0].mean() > tree.middle else -1
                arms.append(Arm(joints, side, bool(WING.search(names))))
    legs = _ranked(tree, legs)
    head, neck, spine = _front_line(tree, legs, arms)
    tail = _tail(tree, legs, head)
    reach = [tree.heads[leg.joints[-1]] + leg.contact - tree.heads[leg.joints[0]] for leg in legs]
    length = float(np.mean(np.linalg.norm(reach, axis=-1))) if legs else tree.height / 2
    limb_joints = {k for leg in legs for k in tree.subtree(leg.joints[0])} | {k for a in arms for k in a.joints}
    hanging = limb_joints | {*tail, *neck} | set(tree.subtree(head) if head is not None else ())
    trunk = [tree.lowest(j) for j in range(len(tree.parents)) if j not in hanging]
    clearance = float(np.clip(min(trunk, default=0.0), 0.0, tree.height))
    probes = np.zeros((len(tree.parents), 3, 3))
    for j, points in enumerate(tree.points):
        if len(points):
            away = points - tree.heads[j]
            probes[j] = away[[away[:, 1].argmin(), away[:, 2].argmax(), (away**2).sum(-1).argmax()]]
    return Limbs(tuple(legs), tuple(arms), spine, neck, head, tail, length, tree.height, clearance, probes)


class _Tree:
    """A skeleton with the vertices that each joint carries."""

    def __init__(self, character: Character):
        skeleton, vertices, weights = character.skeleton, character.mesh.vertices, character.weights
        if skeleton is None:
            raise KinemaError(f"{character.name}: has no skeleton; rig it first")
        self.names = tuple(name.lower() for name in skeleton.names)
        self.parents, self.children = skeleton.parents, children(skeleton.parents)
        self.heads, self.tails = (np.asarray(x, dtype=np.float64) for x in (skeleton.heads, skeleton.tails))
        joints = range(len(self.parents))
        if weights is None or not len(vertices):
            self.points = [np.stack((self.heads[j], self.tails[j])) for j in joints]
            vertices = np.concatenate(self.points)
        else:
            top = weights.argmax(-1)
            self.points = [vertices[(top == j) | (weights[:, j] > 0.4)] for j in joints]
        self.floor = float(vertices[:, 1].min())
        self.height = max(float(np.ptp(vertices[:, 1])), 1e-6)
        self.middle = float(vertices[:, 0].min() + vertices[:, 0].max()) / 2
        self.width = max(float(np.ptp(vertices[:, 0])), 1e-6)
        self.limb_tops: list[int] = []
        """The highest joint of each limb, that is of a subtree whose vertices lie on one side of the middle plane."""
        for j in depth_first(self.parents)[1:]:
            x = self.carried(j)[:, 0] - self.middle
            # Limbs that meet in the middle (hips of one mesh) may cross it a little.
            lateral = len(x) and abs(x.mean()) > 0.7 * np.abs(x).mean() and abs(x.mean()) > 0.04 * self.width
            if lateral and not any(k in self.limb_tops for k in ancestors(self.parents, j)):
                self.limb_tops.append(j)
        limbs = {k for top in self.limb_tops for k in self.subtree(top)}
        self.middle_joints = [j for j in joints if j > 0 and j not in limbs]

    def subtree(self, j: int) -> list[int]:
        return [j] + [k for c in self.children[j] for k in self.subtree(c)]

    def path(self, j: int) -> list[int]:
        """Joints from below the root to j."""
        return [k for k in (j, *ancestors(self.parents, j)) if k > 0][::-1]

    def carried(self, j: int) -> np.ndarray:
        """All vertices that the subtree carries."""
        return np.concatenate([self.points[k] for k in self.subtree(j)])

    def longest_chain(self, top: int) -> tuple[int, ...]:
        chain = [top]
        while self.children[chain[-1]]:
            chain.append(max(self.children[chain[-1]], key=lambda c: (len(self.subtree(c)), len(self.carried(c)))))
        return tuple(chain)

    def lowest(self, j: int) -> float:
        """Height of the lowest vertex that the joint itself carries, over the floor."""
        return float(self.points[j][:, 1].min()) - self.floor if len(self.points[j]) else np.inf

    def grounded_chain(self, top: int) -> list[int] | None:
        """Joints from the top to the last one that reaches the ground; None if none does."""
        # An arm that merely hangs low is no leg, but a foot that is drawn up a little at rest is one.
        reach = {j for j in self.subtree(top) if self.lowest(j) < 0.07 * self.height}
        if not reach or len(self.subtree(top)) < 2:
            return None
        chain = [top]
        # A foot with several toes is the end: its toes follow it.
        while len(below := [c for c in self.children[chain[-1]] if not reach.isdisjoint(self.subtree(c))]) == 1:
            chain.append(below[0])
        return chain if chain[-1] in reach or below else None


def _leg(tree: _Tree, chain: list[int]) -> Leg:
    """Drop a girdle at the top, find the sole below."""
    sole = tree.carried(chain[-1])
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


def _ranked(tree: _Tree, legs: list[Leg]) -> list[Leg]:
    """Number the pairs from front to back by where they stand; each side is counted for itself."""

    def place(leg: Leg) -> float:
        return float(tree.heads[leg.joints[0]][2] + 0.5 * (tree.heads[leg.joints[-1]] + leg.contact)[2])

    sides = (sorted((leg for leg in legs if leg.side == side), key=place, reverse=True) for side in (1, -1))
    ranked = [replace(leg, rank=rank) for side in sides for rank, leg in enumerate(side)]
    return sorted(ranked, key=lambda leg: (leg.rank, -leg.side))


def _rear(tree: _Tree, legs: list[Leg]) -> float:
    """z of the hindmost hips; of the root without legs."""
    return min((float(tree.heads[leg.joints[0]][2]) for leg in legs), default=float(tree.heads[0][2]))


def _front_line(tree: _Tree, legs: list[Leg], arms: list[Arm]) -> tuple[int | None, tuple[int, ...], tuple[int, ...]]:
    """Head, neck and spine. The neck starts above the last joint that carries a limb."""
    middle = tree.middle_joints
    named = [j for j in middle if "head" in tree.names[j] and "headtop" not in tree.names[j]]
    if named:
        head = named[0]
    else:
        # The end that is farthest forward and up; a jaw or nose hangs on the head and carries less than it.
        rear = _rear(tree, legs)
        scores = {j: tree.tails[j][2] - rear + tree.tails[j][1] for j in middle if "tail" not in tree.names[j]}
        ends = [j for j in scores if not any(c in scores for c in tree.children[j])]
        if not ends:
            return None, (), ()
        head = max(ends, key=lambda j: scores[j])
        parent = tree.parents[head]
        if parent in scores and len(tree.points[parent]) > 1.5 * len(tree.points[head]):
            head = parent
    path = tree.path(head)
    tops = [part.joints[0] for part in (*legs, *arms)]
    carriers = {next((k for k in (top, *ancestors(tree.parents, top)) if k in middle), 0) for top in tops}
    carrying = [i for i, j in enumerate(path) if j in carriers]
    named_neck = [i for i, j in enumerate(path) if "neck" in tree.names[j]]
    split = carrying[-1] + 1 if carrying else max(len(path) - 2, 0)
    split = named_neck[0] if named_neck else min(split, len(path) - 1)
    # A rig whose head hangs on the root may have its spine beside it.
    aside = [j for j in middle if any(n in tree.names[j] for n in TRUNK_NAMES) and head not in tree.subtree(j)]
    return head, tuple(path[split:-1]), tuple(path[:split] or aside)


def _tail(tree: _Tree, legs: list[Leg], head: int | None) -> tuple[int, ...]:
    """The middle chain that goes farthest back, behind the hindmost hips."""
    taken = {k for leg in legs for k in tree.path(leg.joints[0])}
    if head is not None:
        taken |= {*tree.path(head), *tree.subtree(head)}
    free = [j for j in tree.middle_joints if j not in taken]
    best, far = (), _rear(tree, legs) - 0.05 * tree.height
    for top in (j for j in free if tree.parents[j] not in free):
        chain = [top]
        while below := [c for c in tree.children[chain[-1]] if c in free]:
            chain.append(min(below, key=lambda c: tree.tails[c][2]))
        named = [j for j in chain if "tail" in tree.names[j]]
        chain = chain[chain.index(named[0]) :] if named else chain
        end = float(tree.tails[chain[-1]][2])
        if end < far and (named or len(chain) > 1):
            best, far = tuple(chain), end
    return best
