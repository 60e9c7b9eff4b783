"""Rigs in the wild made into one tree of rotations.

A file's joints may be several trees, stretch, or only steer others (IK targets, poles). We keep the joints that carry
vertices, hang each stray one (an IK foot) below the joint that it moves with, and find for every frame of every clip
the rotations and the root path that move the vertices most nearly as the file does.

All lengths are in the coordinates of `RawRig`. F maps a point at rest to where a joint takes it: G_joint(t) G_joint⁻¹.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

SAMPLES = 160
"""Frames of all clips together that are looked at to see which joints move together."""
MOVES = 0.004
"""A joint that leaves its place in its parent by more than this share of the body size is not attached to it."""
LEAVES = 0.02
"""A light root is dropped if the body that hangs on it moves by more than this share of the size on its own."""
LIGHT = 0.02
"""A root that carries less than this share of all vertices is light."""


@dataclass(frozen=True)
class RawRig:
    """Joints as a file has them, at rest."""

    names: tuple[str, ...]
    parents: tuple[int, ...]
    """-1 for roots; there may be several, in any order."""
    heads: Float[np.ndarray, "joints 3"]
    tips: Float[np.ndarray, "joints 3"]
    """Where a bone ends if nothing hangs on it."""
    moments: Float[np.ndarray, "joints 4 4"]
    """Σ_v w_v (v, 1)(v, 1)ᵀ over the vertices of each joint: all that a least-squares fit needs to know of the mesh."""
    size: float
    """Diagonal of the body's bounding box."""


@dataclass(frozen=True)
class CleanRig:
    """A tree out of a RawRig's joints."""

    joints: tuple[int, ...]
    """Kept joints of the RawRig; the first is the root, parents come before children."""
    parents: tuple[int, ...]
    """In the new numbering."""
    carrier: tuple[int, ...]
    """For each joint of the RawRig the kept joint (new numbering) that carries its vertices."""
    changes: tuple[str, ...]
    rehung: bool = False
    """Some joint has another parent than in the file."""


def clean_rig(raw: RawRig, motion: Float[np.ndarray, "frames joints 3 4"]) -> CleanRig:
    """One tree of the joints that matter. `motion` are frames of all clips (see `sample_frames`), possibly none."""
    parents = list(raw.parents)
    mass = raw.moments[:, 3, 3]
    stray = _strays(raw, motion)
    changes: list[str] = []
    taken_by = list(range(len(parents)))

    carries = _subtree_sums(parents, mass) > 0
    idle = [j for j in range(len(parents)) if not carries[j]]
    if idle:
        changes.append(f"dropped {_count(idle)} without vertices: {_listed(raw, idle)}")
    alive = [j for j in range(len(parents)) if carries[j]]

    # A root that only steers: what hangs on it moves on its own.
    while True:
        found = next((r for r in alive if parents[r] < 0 and _only_steers(r, alive, parents, mass, stray)), None)
        if found is None:
            break
        children = [j for j in alive if parents[j] == found]
        sums = _subtree_sums(parents, mass)
        heir = max(children, key=lambda j: sums[j])
        for child in children:
            parents[child] = -1
        alive.remove(found)
        taken_by[found] = heir
        why = "what hangs on it moves on its own" if len(children) > 1 else f"it only holds {raw.names[heir]}"
        moved = f", its vertices now follow {raw.names[heir]}" if mass[found] > 0 else ""
        changes.append(f"dropped root {raw.names[found]}: {why}{moved}")

    roots = [j for j in alive if parents[j] < 0]
    if len(roots) > 1:
        for child, parent in _join_roots(raw, parents, alive, roots, mass, stray):
            parents[child] = parent
            changes.append(f"re-parented {raw.names[child]}, a root of its own, to {raw.names[parent]}")
    moved = _rehang(raw, parents, alive, stray)

    order = _tree_order(alive, parents)
    place = {joint: i for i, joint in enumerate(order)}
    carrier = []
    for j in range(len(parents)):
        k = j
        while k not in place:
            k = taken_by[k] if taken_by[k] != k else raw.parents[k]
            if k < 0:
                k = order[0]
        carrier.append(place[k])
    new_parents = tuple(place[parents[j]] if parents[j] >= 0 else -1 for j in order)
    return CleanRig(tuple(order), new_parents, tuple(carrier), (*changes, *moved), len(roots) > 1 or bool(moved))


def sample_frames(frames: int) -> np.ndarray:
    """Evenly spread indices, at most SAMPLES."""
    return np.unique(np.linspace(0, max(frames - 1, 0), min(frames, SAMPLES)).astype(int))


def _count(joints: list[int]) -> str:
    return f"{len(joints)} joint{'s' if len(joints) > 1 else ''}"


def _listed(raw: RawRig, joints: list[int]) -> str:
    names = [raw.names[j] for j in joints]
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _subtree_sums(parents: list[int], values: Float[np.ndarray, "joints"]) -> Float[np.ndarray, "joints"]:
    sums = values.astype(np.float64).copy()
    for j in reversed(_tree_order(list(range(len(parents))), parents)):
        if parents[j] >= 0:
            sums[parents[j]] += sums[j]
    return sums


def _tree_order(joints: list[int], parents: list[int]) -> list[int]:
    """Depth first, siblings in the file's order."""
    children: dict[int, list[int]] = {}
    for j in joints:
        children.setdefault(parents[j], []).append(j)
    order, stack = [], children.get(-1, [])[::-1]
    while stack:
        j = stack.pop()
        order.append(j)
        stack += children.get(j, [])[::-1]
    return order


def _strays(raw: RawRig, motion: Float[np.ndarray, "frames joints 3 4"]) -> Float[np.ndarray, "joints joints"]:
    """[j, p]: how far (root mean square, as a share of the size) j's head moves as seen from p."""
    if not len(motion):
        return np.zeros((len(raw.names),) * 2)
    at = np.einsum("tjab,jb->tja", motion[..., :3], raw.heads) + motion[..., 3]
    result = np.empty((len(raw.names),) * 2)
    for p in range(len(raw.names)):
        carried = np.einsum("tab,jb->tja", motion[:, p, :, :3], raw.heads) + motion[:, p, None, :, 3]
        result[:, p] = np.sqrt(((carried - at) ** 2).sum(-1).mean(0)) / raw.size
    return result


def _only_steers(
    root: int,
    alive: list[int],
    parents: list[int],
    mass: Float[np.ndarray, "joints"],
    stray: Float[np.ndarray, "joints joints"],
) -> bool:
    children = [j for j in alive if parents[j] == root]
    if not children or mass[root] > LIGHT * mass.sum():
        return False
    if mass[root] == 0 and len(children) == 1:
        return True
    # It is the body that must move on its own; a branching pelvis that one stretching leg leaves stays the root.
    sums = _subtree_sums(parents, mass)
    return bool(stray[max(children, key=lambda j: sums[j]), root] > LEAVES)


def _bone_distance(raw: RawRig, parents: list[int], alive: list[int]) -> Float[np.ndarray, "joints joints"]:
    """[j, p]: how far j's head lies from p's bone (its segments to its children, or to its tip), share of the size."""
    result = np.full((len(raw.names),) * 2, np.inf)
    for p in alive:
        ends = [raw.heads[j] for j in alive if parents[j] == p] or [raw.tips[p]]
        for end in ends:
            along = end - raw.heads[p]
            length = float(along @ along)
            t = np.clip((raw.heads - raw.heads[p]) @ along / length, 0, 1) if length > 0 else np.zeros(len(raw.heads))
            gap = np.linalg.norm(raw.heads - raw.heads[p] - t[:, None] * along, axis=-1) / raw.size
            result[:, p] = np.minimum(result[:, p], gap)
    return result


def _join_roots(
    raw: RawRig,
    parents: list[int],
    alive: list[int],
    roots: list[int],
    mass: Float[np.ndarray, "joints"],
    stray: Float[np.ndarray, "joints joints"],
) -> list[tuple[int, int]]:
    """(root, new parent) for all roots but one, so that the heads leave their places least."""
    # Moving apart counts in full; lying apart only decides between joints that the clips cannot tell apart.
    cost = stray + 0.05 * _bone_distance(raw, parents, alive)
    tree_of = {}
    for j in _tree_order(alive, parents):
        tree_of[j] = j if parents[j] < 0 else tree_of[parents[j]]
    weight = {root: sum(mass[j] for j in alive if tree_of[j] == root) for root in roots}
    best: tuple[float, list[tuple[int, int]]] = (np.inf, [])
    for main in roots:
        joined, total, pairs = {main}, 0.0, []
        while len(joined) < len(roots):
            price, child, parent = min(
                (cost[r, p], r, p) for r in roots if r not in joined for p in alive if tree_of[p] in joined
            )
            joined.add(child)
            pairs.append((child, parent))
            total += price * weight[child]
        if total < best[0]:
            best = (total, pairs)
    return best[1]


def _rehang(raw: RawRig, parents: list[int], alive: list[int], stray: Float[np.ndarray, "joints joints"]) -> list[str]:
    """Joints that leave their parent and clearly move with another one hang on that one instead."""
    changes = []
    near = 0.05 * _bone_distance(raw, parents, alive)
    for j in alive:
        p = parents[j]
        if p < 0 or stray[j, p] < 2 * MOVES:
            continue
        below = {j}
        for k in _tree_order(alive, parents):
            if parents[k] in below:
                below.add(k)
        options = [k for k in alive if k not in below]
        best = min(options, key=lambda k: stray[j, k] + near[j, k])
        if best != p and stray[j, best] < 0.3 * stray[j, p] and near[j, best] <= near[j, p] + 0.005:
            parents[j] = best
            changes.append(f"re-parented {raw.names[j]} from {raw.names[p]} to {raw.names[best]}, which it moves with")
    return changes
