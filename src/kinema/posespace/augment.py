"""Bodies and poses that are changed alike, so that every rig of the training is many: mirrored, with another rest
pose, other proportions, fewer and more joints."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from kinema.geometry.transforms import rotation_matrix, rotation_vector
from kinema.posespace.batch import Bodies, Places, Turns, place, take
from kinema.posespace.body import Body
from kinema.posespace.pose import without_heading

Heights = Float[Tensor, "batch"]
SPLITS = (2, 3, 4, 6)
"""Joints that take the place of one in finer chains."""
Posed = tuple[Bodies, Turns, Heights]
"""Bodies with local rotations and heights in scales."""
MIRRORED, AT_ANOTHER_REST, RESHAPED, BARE = 0.5, 0.3, 0.6, 0.15
"""Shares of a batch that are mirrored, have another rest pose, other proportions, and no skin."""


def augment(bodies: Bodies, local: Turns, height: Heights, others: Turns, *, generator: torch.Generator) -> Posed:
    """A random change of every body and its pose; `others` are other poses of the same bodies, to rest in."""
    count = len(local)
    draw = torch.rand(4, count, generator=generator)
    bodies, local = mirrored(bodies, local, draw[0] < MIRRORED)
    others = torch.where((draw[0] < MIRRORED)[:, None, None, None], _mirror(others), others)
    bodies, local, height = rested(bodies, local, height, others, draw[1] < AT_ANOTHER_REST)
    bodies, local, height = reshaped(bodies, local, height, draw[2] < RESHAPED, generator=generator)
    return without_skin(bodies, draw[3] < BARE), local, height


def _mirror(turns: Turns) -> Turns:
    flip = turns.new_tensor([-1.0, 1.0, 1.0])
    return turns * flip[:, None] * flip


def mirrored(bodies: Bodies, local: Turns, which: Bool[Tensor, "batch"]) -> tuple[Bodies, Turns]:
    """The mirror image of body and pose: S R S with S = diag(-1, 1, 1)."""
    sign = torch.where(which[:, None, None], local.new_tensor([-1.0, 1.0, 1.0]), local.new_ones(3))
    changed = {key: getattr(bodies, key) * sign for key in ("heads", "tails", "skin_centers")}
    spreads = torch.where(which[:, None, None, None], _mirror(bodies.skin_spreads), bodies.skin_spreads)
    turned = torch.where(which[:, None, None, None], _mirror(local), local)
    return replace(bodies, **changed, skin_spreads=spreads), turned


def rested(bodies: Bodies, local: Turns, height: Heights, rest: Turns, which: Bool[Tensor, "batch"]) -> Posed:
    """The same poses, seen from another rest pose; heights are then over that one's root, which stays in its place.

    A joint's rotation since the new rest is R_pose R_restᵀ in the world, and local again relative to its parent's.
    """
    still = torch.eye(3).to(local)
    chosen = which[:, None, None, None]
    rest = torch.where(chosen, rest, still.expand_as(rest))
    none = torch.zeros_like(height)
    turn_rest, heads = place(bodies, rest, none)
    turn, _ = place(bodies, local, none)
    since = turn @ turn_rest.mT
    padded = torch.cat((since, still.expand(len(since), 1, 3, 3)), 1)
    new_local = take(padded, bodies.parents).mT @ since
    lean, _ = without_heading(new_local[:, 0])
    new_local = torch.cat((lean[:, None], new_local[:, 1:]), 1)
    rotated = {key: (turn_rest @ getattr(bodies, key)[..., None]).squeeze(-1) for key in ("tails", "skin_centers")}
    spreads = turn_rest @ bodies.skin_spreads @ turn_rest.mT
    # Onto the ground again: what was lowest at rest tells where that is.
    sunk = _lowest(bodies.heads, bodies.mask) - _lowest(heads, bodies.mask)
    up = heads.new_tensor([0.0, 1.0, 0.0])
    heads = (heads + sunk[:, None, None] * up) * bodies.mask[..., None]
    new = replace(bodies, heads=heads, skin_spreads=spreads, **rotated)
    return _where(which, new, bodies), torch.where(chosen, new_local, local), torch.where(which, height - sunk, height)


def reshaped(
    bodies: Bodies, local: Turns, height: Heights, which: Bool[Tensor, "batch"], *, generator: torch.Generator
) -> Posed:
    """Longer and shorter bones, alike on both sides, and a wider, taller or longer body; poses keep their rotations.

    The root keeps the lowest joint as high over the ground as it was, in the new scale.
    """
    batch, joints = local.shape[:2]
    factor = torch.exp(0.15 * torch.randn(batch, joints, 1, generator=generator))
    # Mirror partners are at equal distance from the root and equally high: rounding that gives them one number.
    key = (bodies.heads * bodies.heads.new_tensor([0.0, 40.0, 40.0])).round().sum(-1).long() % joints
    factor = take(factor, key)
    axes = torch.exp(0.12 * torch.randn(batch, 1, 3, generator=generator))
    offsets = bodies.offsets * factor * axes
    heads = _accumulate(bodies, offsets)
    ground = _lowest(bodies.heads, bodies.mask) - _lowest(heads, bodies.mask)
    heads = (heads + ground[:, None, None] * offsets.new_tensor([0.0, 1.0, 0.0])) * bodies.mask[..., None]
    spreads = bodies.skin_spreads * (axes[..., :, None] * axes[..., None, :])
    shape = replace(bodies, heads=heads, tails=bodies.tails * axes, skin_centers=bodies.skin_centers * axes,
                    skin_spreads=spreads)  # fmt: skip
    was = _lowest(place(bodies, local, height)[1], bodies.mask)
    now = _lowest(place(shape, local, torch.zeros_like(height))[1], bodies.mask)
    # Lengths in units of the new scale, the longest way along bones.
    ways = _ways(bodies, offsets.norm(dim=-1)) + shape.tails.norm(dim=-1)
    grown = (ways * bodies.mask).amax(1).clamp(min=1e-6)
    scaled = {key: getattr(shape, key) / grown[:, None, None] for key in ("heads", "tails", "skin_centers")}
    shape = replace(shape, **scaled, skin_spreads=spreads / grown.square()[:, None, None, None])
    return _where(which, shape, bodies), local, torch.where(which, (was - now) / grown, height)


def without_skin(bodies: Bodies, which: Bool[Tensor, "batch"]) -> Bodies:
    """Joints alone, as motion capture has them."""
    none = torch.zeros_like(bodies.skin_centers)
    facts = torch.cat((torch.zeros_like(bodies.facts[..., :2]), bodies.facts[..., 2:]), -1)
    bare = replace(bodies, skin_centers=none, skin_spreads=torch.zeros_like(bodies.skin_spreads), facts=facts)
    return _where(which, bare, bodies)


def _where(which: Bool[Tensor, "batch"], new: Bodies, old: Bodies) -> Bodies:
    def choose(a: Tensor, b: Tensor) -> Tensor:
        return a if a is b else torch.where(which.view(-1, *(1,) * (a.ndim - 1)), a, b)

    return Bodies(**{key: choose(value, getattr(old, key)) for key, value in vars(new).items()})


def _lowest(places: Places, mask: Bool[Tensor, "batch joints"]) -> Heights:
    return places[..., 1].masked_fill(~mask, torch.inf).amin(1)


def _accumulate(bodies: Bodies, offsets: Places) -> Places:
    """Places of joints whose offsets from their parents are given."""
    count = offsets.shape[1]
    above = torch.cat((bodies.parents, torch.full_like(bodies.parents[:, :1], count)), 1)
    places = torch.cat((offsets, torch.zeros_like(offsets[:, :1])), 1)
    while bool((above < count).any()):
        places = places + take(places, above)
        above = above.gather(1, above)
    return places[:, :count]


def _ways(bodies: Bodies, lengths: Float[Tensor, "batch joints"]) -> Float[Tensor, "batch joints"]:
    """Length of the bones from the root to each joint."""
    lengths = torch.cat((torch.zeros_like(lengths[:, :1]), lengths[:, 1:]), 1)
    return _accumulate(bodies, lengths[..., None].expand(-1, -1, 3))[..., 0]


@dataclass(frozen=True)
class Variant:
    """A body with some joints taken away and some added, and where its joints come from."""

    body: Body
    source: tuple[int, ...]
    """Joint of the first body that each joint turns like."""
    shares: tuple[float, ...]
    """Share of that joint's turn; 0 for a joint that was added and never turns."""

    @staticmethod
    def same(body: Body) -> "Variant":
        return Variant(body, tuple(range(len(body.parents))), (1.0,) * len(body.parents))


def shared_turns(local: Turns, shares: Float[Tensor, "batch joints"]) -> Turns:
    """Rotations by a share of their angle."""
    local = local.clone()
    split = shares < 1
    local[split] = rotation_matrix(shares[split][:, None] * rotation_vector(local[split]))
    return local


def regrown(
    body: Body, rng: np.random.Generator, *, insert: float = 0.08, drop: float = 0.15, fine: float = 0.4
) -> Variant:
    """Leaves dropped and joints inserted into bones at random; the others keep their order.

    A share of the bodies, `fine`, has up to six joints for each one of its spine, neck or tail, which share its turn:
    rigs of strangers have tails of twenty bones, which would curl up if each turned like one of five.
    """
    count, most = len(body.parents), SPLITS[int(rng.integers(len(SPLITS)))] if rng.random() < fine else 1
    light = body.skin_shares < 0.02
    gone = {j for j in range(1, count) if body.counts[j] == 0 and light[j] and rng.random() < drop}
    central = np.abs(body.heads[:, 0] - body.heads[0, 0]) < 0.02 * body.scale
    parents: list[int] = []
    source: list[int] = []
    shares: list[float] = []
    heads: list[np.ndarray] = []
    place_of: dict[int, int] = {}
    for j in range(count):
        if j in gone:
            continue
        above = body.parents[j]
        parent = place_of[above] if above >= 0 else -1
        length = np.linalg.norm(body.heads[j] - body.heads[above]) if above >= 0 else 0.0
        own, between = 1.0, []
        if above >= 0 and most > 1 and central[j] and central[above] and length > 0.01 * body.scale:
            own, between = 1 / most, [(k / most, 1 / most) for k in range(1, most)]
        elif above >= 0 and length > 0.06 * body.scale and rng.random() < insert:
            between = [(float(rng.uniform(0.3, 0.7)), 0.0)]
        for at, share in between:
            parents.append(parent)
            source.append(j)
            shares.append(share)
            heads.append((1 - at) * body.heads[above] + at * body.heads[j])
            parent = len(parents) - 1
        place_of[j] = len(parents)
        parents.append(parent)
        source.append(j)
        shares.append(own)
        heads.append(body.heads[j])
    kept, places = np.array(source), np.stack(heads)
    added = np.ones(len(kept), dtype=bool)
    added[list(place_of.values())] = False
    tails = body.tails[kept]
    for k in np.flatnonzero(added).tolist():
        tails[k] = places[parents.index(k)]
    skin = (np.where(added.reshape(-1, *(1,) * (x.ndim - 1)), 0.0, x[kept])
            for x in (body.skin_centers, body.skin_spreads, body.skin_shares))  # fmt: skip
    return Variant(Body(tuple(parents), places, tails, *skin), tuple(source), tuple(shares))
