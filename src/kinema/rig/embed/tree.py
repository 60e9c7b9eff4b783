"""A skeleton for any body, from its branches: trunk, pairs of limbs and a tail are told by where they lie.

The trunk is the unpaired path of largest radius; branches that mirror each other are limbs: legs if they reach the
ground, wings or fins if they are flat, else arms; what lies unpaired behind is the tail.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Mesh, Skeleton
from kinema.rig.embed.branches import Branch, cut, outside, smooth_path
from kinema.rig.embed.joints import Joints
from kinema.rig.embed.medial import Balls
from kinema.rig.embed.plans import BodyPlan

ASIDE = 0.06
"""Distance of a tip from the middle plane from which on a branch is to one side, in lengths of the longest side."""
FLAT = 3.0
"""Distance of a limb's surface from its path, in radii, from which on it is a wing or a fin."""
STOUT = 1.6
"""Least length of a limb in radii where it begins."""
RAISED, GROUNDED = 0.2, 0.05
"""Height over the ground from which on a trunk stands on something, in heights of the body, and height up to which the
end of a limb touches the ground, in lengths of the longest side."""
SLIM = 9.0
"""Length of a snake over its mean radius."""
Line = Float[np.ndarray, "n 4"]


@dataclass(frozen=True)
class Tree:
    """A skeleton that follows the branches of a body."""

    plan: BodyPlan
    skeleton: Skeleton
    roles: dict[str, tuple[str, ...]]


@dataclass
class _Limb:
    branch: int
    line: Line
    partner: int | None = None
    word: str = "extra"


def grow(mesh: Mesh, balls: Balls, branches: list[Branch], *, snake: bool = False) -> Tree:
    """Name the branches and cut them into joints; `snake`: it is one, whatever sticks out of it."""
    size = float((balls.high - balls.low).max())
    middle_x = float(balls.low[0] + balls.high[0]) / 2
    root = balls.centers[balls.middle]
    lines = [outside(balls, branch) for branch in branches]
    limbs = [_Limb(k, line) for k, line in enumerate(lines)]
    aside = [k for k, line in enumerate(lines) if abs(line[-1, 0] - middle_x) > ASIDE * size]
    for k in aside:
        _find_partner(limbs, k, aside, middle_x, size)
    for limb in limbs:
        if limb.partner is not None:
            limb.line = _beside(limb.line, balls, middle_x)
    median = [limb for limb in limbs if limb.branch not in aside and branches[limb.branch].parent == -1]
    head = max(median, key=lambda limb: _ahead(limb.line, root), default=None)
    head = head if head is not None and _ahead(head.line, root) > 0.08 * size else None
    tail = min((limb for limb in median if limb is not head), key=lambda limb: limb.line[-1, 2], default=None)
    tail = tail if tail is not None and root[2] - tail.line[-1, 2] > 0.12 * size else None
    slim = float(np.mean([np.median(limb.line[:, 3]) for limb in (head, tail) if limb] or [np.inf]))
    reach = sum(branches[limb.branch].length for limb in (head, tail) if limb)
    paired = [limb for limb in limbs if limb.partner is not None]
    plan: BodyPlan = "tree"
    if snake:
        plan, limbs = "snake", [limb for limb in (head, tail) if limb is not None]
    elif head is not None and tail is not None and not paired and reach > SLIM * slim:
        plan = "snake" if _is_one_tube(balls, np.concatenate((head.line, tail.line))) else "tree"
    joints, owner = Joints([], [], [], []), {-1: [0]}
    joints.add("body", -1, np.array([middle_x, *root[1:]]), root + [0, 0.05 * size, 0])
    if head:
        owner[head.branch] = _trunk(joints, head.line, "spine", "head", plan)
    if tail:
        owner[tail.branch] = _trunk(joints, tail.line, "tail", "", plan)
    hidden = paired and head is None and tail is None
    if hidden:
        # The longest paths run along the trunk and out of a leg: centipedes, spiders.
        front, back = _middle_lines(balls, middle_x, size)
        for line, name, last in ((front, "spine", "head"), (back, "rear", "")):
            if len(line) > 1:
                _trunk(joints, smooth_path(line[:, :3], line[:, 3]), name, last, plan)
    if len(joints.names) == 1:
        # A blob: it can at least nod.
        top = np.array([middle_x, balls.high[1], root[2]])
        joints.add("head", 0, (root + top) / 2, top)
    for limb in limbs:
        limb.word = _word(mesh, balls, limb, branches, size)
    raised = root[1] - balls.radii[balls.middle] > balls.low[1] + RAISED * (balls.high[1] - balls.low[1])
    if raised and not any(limb.word == "leg" for limb in limbs):
        # Something has to bear the body, however flat it is: plates of machines.
        for limb in limbs:
            if limb.word == "flat" and limb.line[-1, 1] - limb.line[-1, 3] < balls.low[1] + GROUNDED * size:
                limb.word = "leg"
    legs = any(limb.word == "leg" for limb in limbs)
    long = np.ptp(mesh.vertices[:, 2]) > 1.4 * np.ptp(mesh.vertices[:, 1])
    flat = "wing" if legs or not long else "fin"
    number: dict[str, int] = {}
    roles: dict[str, list[str]] = {role: [] for role in ("legs", "arms", "wings", "fins")}
    trunk = list(range(len(joints.names)))
    # Branches come after those that they hang on.
    for limb in limbs:
        if limb.branch in owner:
            continue
        # Corners and bumps of a thick body are no limbs.
        if branches[limb.branch].length < max(STOUT * float(limb.line[0, 3]), 0.12 * size):
            continue
        word = flat if limb.word == "flat" else limb.word
        number[word] = number.get(word, 0) + 1
        for side, one in _sides(limb, limbs, middle_x):
            # Paths of legs may run together within the body before they part: what begins there hangs on the trunk.
            on = branches[one.branch].parent
            base = [*owner.get(on, ())[0 if on < 0 or limbs[on].partner is None else 1 :], *trunk]
            parent = min(base, key=lambda j: float(np.linalg.norm(joints.heads[j] - one.line[0, :3])))
            label = "_".join(filter(None, (side, f"{word}{number[word]}")))
            first = len(joints.names)
            rows = cut(one.line, 3 if word == "leg" else 2)[:, :3]
            joints.chain(label, parent, rows, one.line[-1, :3])
            owner[one.branch] = list(range(first, len(joints.names)))
            if f"{word}s" in roles:
                roles[f"{word}s"].append(joints.names[first])
    found = {role: tuple(names) for role, names in roles.items()}
    if not hidden:  # else legs may hang on what goes back
        found |= {"tails": tuple(n for n in joints.names if n in ("tail", "tail_1"))}
    found |= {"heads": tuple(n for n in joints.names if n == "head")}
    return Tree(plan, joints.skeleton(), found)


def _beside(line: Line, balls: Balls, middle: float) -> Float[np.ndarray, "rows 4"]:
    """The part of a limb's path that is beside the trunk: paths of legs begin as the trunk does."""
    thick = float(balls.radii[balls.middle])
    aside, level = np.abs(line[:, 0] - middle), np.abs(line[:, 1] - balls.centers[balls.middle, 1])
    within = np.flatnonzero((aside < np.maximum(line[:, 3], 0.7 * thick)) & (level < thick))
    start = int(within[-1]) if len(within) else 0
    return line if start == 0 or start > len(line) - 8 else smooth_path(line[start:, :3], line[start:, 3])


def _middle_lines(
    balls: Balls, middle: float, size: float
) -> tuple[Float[np.ndarray, "front 4"], Float[np.ndarray, "back 4"]]:
    """The trunk before and behind the middle ball: the largest ball in the middle plane, slice by slice."""
    near = np.flatnonzero(np.abs(balls.centers[:, 0] - middle) < 0.02 * size)
    root, step = balls.centers[balls.middle], 0.04 * size
    slices = np.round((balls.centers[near, 2] - root[2]) / step).astype(int)
    rows = np.column_stack((balls.centers, balls.radii))
    found = {at: rows[near[slices == at][balls.radii[near[slices == at]].argmax()]] for at in set(slices.tolist())}
    # Feelers and tongues are thin.
    thick = 0.3 * float(np.median([row[3] for row in found.values()]))
    ways = ([at for at in sorted(found, key=abs) if side * at >= 0 and found[at][3] > thick] for side in (1, -1))
    front, back = (np.array([found[at] for at in way]).reshape(-1, 4) for way in ways)
    return front, back


def _is_one_tube(balls: Balls, trunk: Line) -> bool:
    """Does all of the body lie near its trunk?"""
    gap = np.linalg.norm(balls.centers[:, None] - trunk[None, :, :3], axis=2)
    nearest = gap.argmin(axis=1)
    beyond = gap.min(axis=1) + balls.radii > 2.2 * trunk[nearest, 3] + 0.015 * float((balls.high - balls.low).max())
    return bool(beyond.mean() < 0.08)


def _ahead(line: Line, root: np.ndarray) -> float:
    """How far a tip lies in front of the middle and above it."""
    return float((line[-1, 2] - root[2]) + 0.8 * (line[-1, 1] - root[1]))


def _find_partner(limbs: list[_Limb], k: int, aside: list[int], middle: float, size: float) -> None:
    if limbs[k].partner is not None:
        return
    image = limbs[k].line[-1, :3] * [-1, 1, 1] + [2 * middle, 0, 0]
    gaps = {other: float(np.linalg.norm(limbs[other].line[-1, :3] - image)) for other in aside if other != k}
    gaps = {other: gap for other, gap in gaps.items() if limbs[other].partner is None}
    best = min(gaps, key=lambda other: gaps[other], default=None)
    if best is not None and gaps[best] < 0.15 * size:
        limbs[k].partner, limbs[best].partner = best, k


def _trunk(joints: Joints, line: Line, name: str, last: str, plan: BodyPlan) -> list[int]:
    """A chain of the trunk from the root on; returns its joints, the root among them."""
    length = float(np.linalg.norm(np.diff(line[:, :3], axis=0), axis=1).sum())
    thick = 2.2 * max(float(np.mean(line[:, 3])), 1e-9)
    count = int(np.clip(round(length / thick), 2 if last else 1, 8 if plan == "snake" else 4))
    rows, first = cut(line, count)[:, :3], len(joints.names)
    parent = 0
    for k, head in enumerate(rows):
        label = last if last and k == len(rows) - 1 else f"{name}_{k + 1}"
        parent = joints.add(label, parent, head, rows[k + 1] if k + 1 < len(rows) else line[-1, :3])
    return [0, *range(first, len(joints.names))]


def _word(mesh: Mesh, balls: Balls, limb: _Limb, branches: list[Branch], size: float) -> str:
    """leg, arm, flat (a wing or fin) or extra."""
    from scipy.spatial import KDTree

    if limb.partner is None or branches[limb.branch].parent not in (-1, *range(len(branches))):
        return "extra"
    low, tall = float(mesh.vertices[:, 1].min()), float(np.ptp(mesh.vertices[:, 1]))
    path = branches[limb.branch].balls
    start = int(np.linalg.norm(balls.centers[path] - limb.line[0, :3], axis=1).argmin())
    within, path = path[:start], path[start:]
    outside = path[np.linalg.norm(balls.centers[path] - limb.line[0, :3], axis=1) > 0.5 * limb.line[0, 3]]
    if len(outside) == 0:
        return "extra"  # it ends where it begins: a bump
    others = [*within, *(j for b in branches if b is not branches[limb.branch] for j in b.balls)] or [balls.middle]
    some = mesh.vertices[:: max(1, len(mesh.vertices) // 20_000)]
    (gap, at), (rest, near) = (KDTree(balls.centers[part]).query(some) for part in (outside, others))
    own = (gap - balls.radii[outside][at] < rest - balls.radii[others][near]) & (gap < 0.3 * size)
    # The surface of a tube is as far from its path as the balls there are large, that of a sheet farther; what lies
    # beyond its ends is a shoulder, or too thin for a ball.
    beside = gap[own & (at > 0) & (at < len(outside) - 1)]
    thick = max(float(np.median(balls.radii[outside])), 0.01 * size)
    if len(beside) >= 8 and np.quantile(beside, 0.75) > FLAT * thick:
        return "flat"
    tip, ends = limb.line[-1, :3], some[own & (at == len(outside) - 1)]
    foot = min(float(tip[1] - limb.line[-1, 3]), float(ends[:, 1].min(initial=np.inf)))
    stands = foot < low + 0.15 * tall and limb.line[:, 1].max() > foot + 0.05 * size
    return "leg" if stands else "arm"


def _sides(limb: _Limb, limbs: list[_Limb], middle: float) -> list[tuple[str, _Limb]]:
    """A limb and its partner with their sides."""
    if limb.partner is None:
        return [("", limb)]
    pair = (limb, limbs[limb.partner])
    return [
        ("left" if one.line[-1, 0] > middle else "right", one) for one in sorted(pair, key=lambda o: -o.line[-1, 0])
    ]
