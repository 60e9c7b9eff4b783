"""Joints of a file made into one tree that moves by rotations.

A file's joints may form several trees, stretch, or only control others (IK targets, poles). We keep the joints that
carry vertices and re-parent each stray one (an IK foot) to the joint that it moves with. `cleanup_fit` then finds the
rotations and the root path that move the vertices most nearly as the file does.

All lengths are in the coordinates of `RawRig`. F maps a point at rest to where a joint takes it: G_joint(t) G_joint⁻¹.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from kinema.asset.character import listed
from kinema.geometry.rotations import ancestors, depth_first, subtree_sums

SAMPLES = 160
"""Frames of all clips together from which drifts are measured."""
REPARENT_DRIFT = 0.008
"""A joint that drifts less than this share of the size in its parent stays there."""
CONTROL_DRIFT = 0.02
"""A light root is a control if the body below it drifts by more than this share of the size."""
LIGHT = 0.02
"""A root is light if it carries less than this share of all vertices."""
HEAVIER = 1e3
"""Cost of a tree that joins one that is lighter, or as light: it does so only if there is no other."""
FELLOW = 0.8
"""Two trees are alike if the lighter has at least this share of the other's vertices."""
MOST_TRUNKS = 40
"""Trees that are tried as the one which all others join, the heaviest first."""
DISTANCE_WEIGHT = 0.05
"""Weight of a joint's distance to a bone against its drift, so that it decides only between equal drifts."""

Mass = Float[np.ndarray, "joints"]
"""Sum of the vertex weights of each joint."""
Drift = Float[np.ndarray, "joints joints"]
"""[j, p]: root mean square motion of j's head as seen from p, as a share of the size."""


@dataclass(frozen=True)
class RawRig:
    """Joints as a file has them, at rest."""

    names: tuple[str, ...]
    parents: tuple[int, ...]
    """-1 for roots; there may be several, in any order."""
    heads: Float[np.ndarray, "joints 3"]
    tips: Float[np.ndarray, "joints 3"]
    """Where a bone ends if its joint has no children."""
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
    reparented: bool = False
    """Some joint has another parent than in the file."""


def clean_rig(raw: RawRig, motion: Float[np.ndarray, "frames joints 3 4"]) -> CleanRig:
    """One tree of the joints that carry vertices. `motion` are frames of all clips (`sample_frames`), possibly none."""
    parents, mass, drift = list(raw.parents), raw.moments[:, 3, 3], _drift(raw, motion)
    changes: list[str] = []
    carries = subtree_sums(parents, mass) > 0
    idle = [raw.names[j] for j in np.flatnonzero(~carries)]
    if idle:
        plural = "s" if len(idle) > 1 else ""
        changes.append(f"dropped {len(idle)} joint{plural} without vertices: {listed(idle, 6)}")
    alive = np.flatnonzero(carries).tolist()
    heir: dict[int, int] = {}
    while (root := _control_root(alive, parents, mass, drift)) is not None:
        below = [j for j in alive if parents[j] == root]
        heir[root] = _heaviest(below, parents, mass)
        for child in below:
            parents[child] = -1
        alive.remove(root)
        name = raw.names[heir[root]]
        why = "the joints below it move on their own" if len(below) > 1 else f"it only holds {name}"
        moved = f", its vertices now follow {name}" if mass[root] > 0 else ""
        changes.append(f"dropped root {raw.names[root]}: {why}{moved}")
    joined = _join_roots(raw, parents, alive, mass, drift)
    for child, parent in joined:
        parents[child] = parent
        changes.append(f"re-parented {raw.names[child]}, a root of its own, to {raw.names[parent]}")
    moved = _reparent(raw, parents, alive, drift)
    order = [j for j in depth_first(parents) if j in alive]
    place = {joint: i for i, joint in enumerate(order)}
    carrier = []
    for j in range(len(parents)):
        while j not in place:
            j = heir.get(j, raw.parents[j])
            j = order[0] if j < 0 else j
        carrier.append(place[j])
    new_parents = tuple(place[parents[j]] if parents[j] >= 0 else -1 for j in order)
    return CleanRig(tuple(order), new_parents, tuple(carrier), (*changes, *moved), bool(joined or moved))


def sample_frames(frames: int) -> np.ndarray:
    """Evenly spread indices, at most SAMPLES."""
    return np.unique(np.linspace(0, max(frames - 1, 0), min(frames, SAMPLES)).astype(int))


def _drift(raw: RawRig, motion: Float[np.ndarray, "frames joints 3 4"]) -> Drift:
    result = np.zeros((len(raw.names),) * 2)
    at = np.einsum("tjab,jb->tja", motion[..., :3], raw.heads) + motion[..., 3]
    for p in range(len(raw.names) if len(motion) else 0):
        carried = raw.heads @ motion[:, p, :, :3].swapaxes(-1, -2) + motion[:, p, None, :, 3]
        result[:, p] = np.sqrt(((carried - at) ** 2).sum(-1).mean(0)) / raw.size
    return result


def _heaviest(joints: list[int], parents: list[int], mass: Mass) -> int:
    return max(joints, key=subtree_sums(parents, mass).__getitem__)


def _control_root(alive: list[int], parents: list[int], mass: Mass, drift: Drift) -> int | None:
    """A light root that only controls what is below it: it holds a single joint, or the body drifts away from it."""
    for root in (j for j in alive if parents[j] < 0):
        below = [j for j in alive if parents[j] == root]
        if not below or mass[root] > LIGHT * mass.sum():
            continue
        # Only the body's drift counts; a branching pelvis that one stretching leg leaves stays the root.
        if (mass[root] == 0 and len(below) == 1) or drift[_heaviest(below, parents, mass), root] > CONTROL_DRIFT:
            return root
    return None


def _bone_distance(raw: RawRig, parents: list[int], alive: list[int]) -> Float[np.ndarray, "joints joints"]:
    """[j, p]: distance of j's head to p's bone (segments to its children, or to its tip), as a share of the size."""
    result = np.full((len(raw.names),) * 2, np.inf)
    for p in alive:
        away = raw.heads - raw.heads[p]
        for end in [raw.heads[j] for j in alive if parents[j] == p] or [raw.tips[p]]:
            along = end - raw.heads[p]
            t = np.clip(away @ along / max(float(along @ along), 1e-300), 0, 1)
            result[:, p] = np.minimum(result[:, p], np.linalg.norm(away - t[:, None] * along, axis=-1) / raw.size)
    return result


def _join_roots(raw: RawRig, parents: list[int], alive: list[int], mass: Mass, drift: Drift) -> list[tuple[int, int]]:
    """(root, new parent) for all roots but one, with the least total drift of the vertices below them.

    A foot joins its leg and a leg its body, never the other way or its fellow: the tree that is joined is the heavier.
    """
    cost = drift + DISTANCE_WEIGHT * _bone_distance(raw, parents, alive)
    root_of = {j: [j, *ancestors(parents, j)][-1] for j in alive}
    roots = [j for j in alive if parents[j] < 0]
    weight = {root: sum(mass[j] for j in alive if root_of[j] == root) for root in roots}
    for r in roots:
        cost[r, [p for p in alive if weight[root_of[p]] * FELLOW < weight[r]]] += HEAVIER
    # The cheapest parent of each root in each tree.
    trees = [np.array([p for p in alive if root_of[p] == root]) for root in roots]
    rows = np.array(roots)[:, None]
    parent = np.stack([tree[cost[rows, tree].argmin(1)] for tree in trees], 1)
    price = cost[rows, parent]
    best: tuple[float, list[tuple[int, int]]] = (np.inf, [])
    heaviest = sorted(range(len(roots)), key=lambda k: -weight[roots[k]])[:MOST_TRUNKS]
    for main in sorted(heaviest):
        joined, total, pairs = [main], 0.0, []
        lowest, through = price[:, main].copy(), np.full(len(roots), main)
        while len(joined) < len(roots):
            lowest[joined] = np.inf
            child = int(lowest.argmin())
            joined.append(child)
            pairs.append((roots[child], int(parent[child, through[child]])))
            total += lowest[child] * weight[roots[child]]
            tie = (price[:, child] == lowest) & (parent[:, child] < parent[np.arange(len(roots)), through])
            nearer = (price[:, child] < lowest) | tie
            lowest, through = np.where(nearer, price[:, child], lowest), np.where(nearer, child, through)
        best = min(best, (total, pairs), key=lambda option: option[0])
    return best[1]


def _reparent(raw: RawRig, parents: list[int], alive: list[int], drift: Drift) -> list[str]:
    """Give joints that drift in their parent, but clearly less in another joint, that one as parent."""
    changes, near = [], DISTANCE_WEIGHT * _bone_distance(raw, parents, alive)
    below = subtree_sums(parents, np.ones(len(parents)))
    for j in alive:
        p = parents[j]
        if p < 0 or drift[j, p] < REPARENT_DRIFT:
            continue
        # A leg is not moved to its fellow on the other side, although both swing about the same hips.
        fellows = [k for k in alive if k != j and parents[k] == p and below[k] == below[j] > 1]
        under = set(depth_first(parents, tops=(j, *fellows)))
        options = [k for k in alive if k not in under]
        best = min(options, key=lambda k: drift[j, k] + near[j, k])
        if best != p and drift[j, best] < 0.3 * drift[j, p] and near[j, best] <= near[j, p] + 0.005:
            parents[j] = best
            changes.append(f"re-parented {raw.names[j]} from {raw.names[p]} to {raw.names[best]}, which it moves with")
    return changes
