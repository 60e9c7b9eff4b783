"""Which joints are legs, arms, spine, neck, head and tail: from geometry and weights, names where those are silent.

A character faces +Z and stands on y = 0, so a limb is a subtree whose flesh lies on one side of the middle plane; it
is a leg if it reaches the ground. What is left lies in the middle: the part behind the hips is the tail, the part in
front or above ends in the head.
"""

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Character, Skeleton
from kinema.errors import KinemaError

FIN = re.compile(r"flipper|fin(?!ger)")
WING = re.compile(r"wing|feather|flipper|fin(?!ger)")
EAR = re.compile(r"(?<![a-z])ear|eye|horn|antler|brow|whisker")

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
    """Height of the trunk's lowest flesh over the ground at rest [m]."""
    probes: Float[np.ndarray, "joints 3 3"]
    """Lowest, foremost and farthest point of each joint's flesh, in its frame [m]: what may hit the ground."""

    @property
    def body(self) -> str:
        """A word for the number of legs: 'fish' without, 'biped', 'bird' (biped with wings), 'quadruped', 'crawler'."""
        count = len(self.legs)
        if count == 2:
            return "bird" if any(arm.wing for arm in self.arms) else "biped"
        return "fish" if count == 0 else "hopper" if count == 1 else "quadruped" if count in (3, 4) else "crawler"


def find_limbs(character: Character) -> Limbs:
    """Find the limbs of any rigged character in Kinema's world (facing +Z, standing on y = 0)."""
    skeleton = character.skeleton
    if skeleton is None:
        raise KinemaError(f"{character.name}: has no skeleton; rig it first")
    tree = _Tree(skeleton, character)
    legs, arms = [], []
    for top in tree.lateral_tops():
        flesh = " ".join(tree.names[j] for j in tree.subtree(top))
        chain = None if FIN.search(flesh) else tree.grounded_chain(top)
        if chain is not None:
            legs.append(_leg(tree, chain))
        elif not EAR.search(flesh):
            joints = tree.longest_chain(top)
            length = sum(float(np.linalg.norm(tree.heads[b] - tree.heads[a])) for a, b in pairwise(joints))
            length += float(np.linalg.norm(tree.tails[joints[-1]] - tree.heads[joints[-1]]))
            if len(joints) >= 2 and length > 0.1 * tree.height and not tree.on_head(top):
                arms.append(Arm(joints, 1 if tree.centre(top)[0] > 0 else -1, bool(WING.search(flesh))))
    legs = _ranked(tree, legs)
    head, neck, spine = _front_line(tree, legs, arms)
    tail = _tail(tree, legs, head)
    if legs:
        reach = [tree.heads[leg.joints[-1]] + leg.contact - tree.heads[leg.joints[0]] for leg in legs]
        length = float(np.mean(np.linalg.norm(reach, axis=-1)))
    else:
        length = tree.height / 2
    limb_joints = {k for leg in legs for k in tree.subtree(leg.joints[0])} | {k for a in arms for k in a.joints}
    hanging = limb_joints | set(tail) | set(neck) | (set(tree.subtree(head)) if head is not None else set())
    trunk = [tree.lowest(j) for j in range(len(tree.parents)) if j not in hanging]
    clearance = float(np.clip(min(trunk, default=0.0), 0.0, tree.height))
    return Limbs(
        tuple(legs), tuple(arms), spine, neck, head, tail, length, tree.height, clearance, tree.probes()
    )  # fmt: skip


class _Tree:
    """A skeleton with what each subtree carries."""

    def __init__(self, skeleton: Skeleton, character: Character):
        self.names = tuple(name.lower() for name in skeleton.names)
        self.parents = skeleton.parents
        self.heads = np.asarray(skeleton.heads, dtype=np.float64)
        self.tails = np.asarray(skeleton.tails, dtype=np.float64)
        count = len(self.parents)
        self.children = [[c for c in range(count) if self.parents[c] == j] for j in range(count)]
        vertices, weights = character.mesh.vertices, character.weights
        if weights is None or not len(vertices):
            self.points = [np.stack((self.heads[j], self.tails[j])) for j in range(count)]
            box = np.concatenate(self.points)
        else:
            top = weights.argmax(-1)
            self.points = [vertices[(top == j) | (weights[:, j] > 0.4)] for j in range(count)]
            box = vertices
        self.floor = float(box[:, 1].min())
        self.height = max(float(np.ptp(box[:, 1])), 1e-6)
        self.middle = float(box[:, 0].min() + box[:, 0].max()) / 2
        self.width = max(float(np.ptp(box[:, 0])), 1e-6)

    def subtree(self, j: int) -> list[int]:
        return [j] + [k for c in self.children[j] for k in self.subtree(c)]

    def flesh(self, j: int) -> np.ndarray:
        """All points that the subtree carries."""
        return np.concatenate([self.points[k] for k in self.subtree(j)])

    def centre(self, j: int) -> np.ndarray:
        return self.flesh(j).mean(0) - [self.middle, 0.0, 0.0]

    def is_lateral(self, j: int) -> bool:
        """Does all that the subtree carries lie on one side of the middle plane?"""
        flesh = self.flesh(j)
        if not len(flesh):
            return False
        x = flesh[:, 0] - self.middle
        # Limbs that meet in the middle (hips of one mesh) may cross it a little.
        return bool(abs(x.mean()) > 0.7 * np.abs(x).mean() and abs(x.mean()) > 0.04 * self.width)

    def lateral_tops(self) -> list[int]:
        """The highest joint of each limb; the limbs of a subtree in the middle are its children's."""
        found: list[int] = []

        def visit(j: int) -> None:
            for c in self.children[j]:
                if self.is_lateral(c):
                    found.append(c)
                else:
                    visit(c)

        visit(0)
        return found

    def on_head(self, j: int) -> bool:
        """Ears, eyes and horns hang on the head, not on the trunk."""
        while j > 0:
            j = self.parents[j]
            if "head" in self.names[j] or "face" in self.names[j]:
                return True
        return False

    def longest_chain(self, top: int) -> tuple[int, ...]:
        chain = [top]
        while self.children[chain[-1]]:
            chain.append(max(self.children[chain[-1]], key=lambda c: (len(self.subtree(c)), len(self.flesh(c)))))
        return tuple(chain)

    def lowest(self, j: int) -> float:
        """Height of the lowest point that the joint itself carries, over the floor."""
        return float(self.points[j][:, 1].min()) - self.floor if len(self.points[j]) else np.inf

    def probes(self) -> Float[np.ndarray, "joints 3 3"]:
        result = np.zeros((len(self.parents), 3, 3))
        for j, points in enumerate(self.points):
            if len(points):
                away = points - self.heads[j]
                picks = away[:, 1].argmin(), away[:, 2].argmax(), (away**2).sum(-1).argmax()
                result[j] = away[list(picks)]
        return result

    def grounded_chain(self, top: int) -> tuple[int, ...] | None:
        """From the top to the last joint that reaches the ground; None if none does."""
        near = 0.07 * self.height
        reach = [j for j in self.subtree(top) if self.lowest(j) < near]
        if not reach or len(self.subtree(top)) < 2:
            return None
        # An arm that merely hangs low is no leg, but a foot that is drawn up a little at rest is one.
        chain = [top]
        while True:
            below = [c for c in self.children[chain[-1]] if any(j in reach for j in self.subtree(c))]
            # A foot with several toes is the end: its toes follow it.
            if len(below) != 1:
                break
            chain.append(below[0])
        if chain[-1] not in reach and not below:
            return None
        return tuple(chain)


def _leg(tree: _Tree, chain: tuple[int, ...]) -> Leg:
    """Drop a girdle at the top, find the sole below."""
    sole = tree.flesh(chain[-1])
    low = sole[sole[:, 1] < tree.floor + max(0.06 * tree.height, 1e-6)]
    low = low if len(low) else sole[sole[:, 1] <= sole[:, 1].min() + 1e-9]
    hip = 0
    down = low.mean(0) - tree.heads[chain[0]]
    # A girdle (scapula, clavicle) runs sideways at the top of a leg that hangs; it carries the leg but does not step.
    while len(chain) - hip > 3 and abs(down[0]) < -down[1]:
        bone = tree.heads[chain[hip + 1]] - tree.heads[chain[hip]]
        if abs(bone[0]) < 0.7 * np.linalg.norm(bone):
            break
        hip += 1
        down = low.mean(0) - tree.heads[chain[hip]]
    chain = chain[hip:]
    length = max(float(tree.heads[chain[0]][1]) - tree.floor, 1e-6)
    z = np.quantile(low[:, 2], (0.04, 0.96))
    x, y = float(np.median(low[:, 0])), float(low[:, 1].min())
    head = tree.heads[chain[-1]]
    soles = np.array([[x, y, z[1]], [x, y, z[0]]]) - head
    ankle = float(head[1]) - tree.floor
    reach = low.mean(0) - tree.heads[chain[0]]
    spread = np.hypot(reach[0], reach[2]) > 0.8 * length
    # The last joint is a foot if it sits low over its sole; else the sole is the tip of the last bone.
    is_foot = len(chain) >= 3 and ankle < 0.45 * length and not (spread and z[1] - z[0] < 0.15 * length)
    foot = len(chain) - 1 if is_foot else len(chain)
    # A foot of two bones (ankle and toes): the ankle too is low, or its bone lies flat on the ground.
    if is_foot and len(chain) >= 4:
        above = tree.heads[chain[-2]]
        flesh = tree.points[chain[-2]]
        heel = bool(((flesh[:, 1] < tree.floor + 0.04 * tree.height) & (flesh[:, 2] < above[2])).any())
        flat = heel or abs(head[2] - above[2]) > 1.2 * abs(head[1] - above[1])
        if above[1] - tree.floor < (0.3 if flat else 0.2) * length:
            foot = len(chain) - 2
    if is_foot and foot == len(chain) - 1:
        # A rigid foot rolls off its front end.
        contact = np.array([x, y, 0.15 * z[0] + 0.85 * z[1]]) - head
    elif is_foot:
        contact = np.array([x, y, 0.5 * (max(z[0], head[2]) + z[1])]) - head
    else:
        contact = np.array([x, y, 0.5 * (z[0] + z[1])]) - head
    side: Side = 1 if x > tree.middle else -1
    return Leg(chain, contact, soles, side, 0, foot, _heel(tree, chain[foot]) if foot == len(chain) - 2 else None)


def _heel(tree: _Tree, j: int) -> np.ndarray:
    """Below the ankle, as far back as its flesh reaches near the ground."""
    flesh = tree.points[j]
    low = flesh[flesh[:, 1] < tree.floor + 0.06 * tree.height]
    back = float(low[:, 2].min()) if len(low) else float(tree.heads[j][2])
    height = float(low[:, 1].min()) if len(low) else tree.floor
    return np.array([tree.heads[j][0], height, min(back, float(tree.heads[j][2]))]) - tree.heads[j]


def _ranked(tree: _Tree, legs: list[Leg]) -> list[Leg]:
    """Number the pairs from front to back by where they stand; each side is counted for itself."""
    result = []
    for side in (1, -1):
        ordered = sorted(
            (leg for leg in legs if leg.side == side),
            key=lambda leg: -float(tree.heads[leg.joints[0]][2] + 0.5 * (tree.heads[leg.joints[-1]] + leg.contact)[2]),
        )
        result += [replace(g, rank=rank) for rank, g in enumerate(ordered)]
    return sorted(result, key=lambda leg: (leg.rank, -leg.side))


def _path(tree: _Tree, j: int) -> list[int]:
    """From below the root to j."""
    path = []
    while j > 0:
        path.append(j)
        j = tree.parents[j]
    return path[::-1]


def _middle_joints(tree: _Tree) -> list[int]:
    limbs = {k for top in tree.lateral_tops() for k in tree.subtree(top)}
    return [j for j in range(1, len(tree.parents)) if j not in limbs]


def _front_line(tree: _Tree, legs: list[Leg], arms: list[Arm]) -> tuple[int | None, tuple[int, ...], tuple[int, ...]]:
    """Head, neck and spine. The neck starts above the last joint that carries a limb."""
    middle = _middle_joints(tree)
    named = [j for j in middle if "head" in tree.names[j] and "headtop" not in tree.names[j]]
    back = min((tree.heads[leg.joints[0]][2] for leg in legs), default=float(tree.heads[0][2]))
    if named:
        head = named[0]
    else:
        # The end that is farthest forward and up; a jaw or nose hangs on the head and carries less than it.
        scores = {j: tree.tails[j][2] - back + tree.tails[j][1] for j in middle if "tail" not in tree.names[j]}
        ends = [j for j in scores if not any(c in scores for c in tree.children[j])]
        if not ends:
            return None, (), ()
        head = max(ends, key=lambda j: scores[j])
        parent = tree.parents[head]
        if parent in scores and len(tree.points[parent]) > 1.5 * len(tree.points[head]):
            head = parent
    path = _path(tree, head)
    limb_parents = {_first_middle(tree, part.joints[0], middle) for part in (*legs, *arms)}
    carrying = [i for i, j in enumerate(path) if j in limb_parents]
    split = carrying[-1] + 1 if carrying else max(len(path) - 2, 0)
    named_neck = [i for i, j in enumerate(path) if "neck" in tree.names[j]]
    split = named_neck[0] if named_neck else min(split, len(path) - 1)
    spine = path[:split] or _spine_aside(tree, middle, head)
    return head, tuple(path[split:-1]), tuple(spine)


def _first_middle(tree: _Tree, j: int, middle: list[int]) -> int:
    while j > 0 and j not in middle:
        j = tree.parents[j]
    return j


def _spine_aside(tree: _Tree, middle: list[int], head: int) -> list[int]:
    names = ("spine", "torso", "chest", "abdomen", "body", "hips")
    return [j for j in middle if any(n in tree.names[j] for n in names) and head not in tree.subtree(j)]


def _tail(tree: _Tree, legs: list[Leg], head: int | None) -> tuple[int, ...]:
    """The middle chain that goes farthest back, behind the hindmost hips."""
    middle = set(_middle_joints(tree))
    ahead = set(_path(tree, head)) if head is not None else set()
    below = {k for leg in legs for k in _path(tree, leg.joints[0])}
    if head is not None:
        ahead |= set(tree.subtree(head))
    free = [j for j in middle if j not in ahead and j not in below]
    tops = [j for j in free if tree.parents[j] not in free]
    back = min((tree.heads[leg.joints[0]][2] for leg in legs), default=float(tree.heads[0][2]))
    best: tuple[int, ...] = ()
    far = back - 0.05 * tree.height
    for top in tops:
        chain = [top]
        while any(c in free for c in tree.children[chain[-1]]):
            chain.append(min((c for c in tree.children[chain[-1]] if c in free), key=lambda c: tree.tails[c][2]))
        named = [j for j in chain if "tail" in tree.names[j]]
        chain = chain[chain.index(named[0]) :] if named else chain
        end = float(tree.tails[chain[-1]][2])
        if end < far and (named or len(chain) > 1):
            best, far = tuple(chain), end
    return best
