"""Heads, necks, spine and tails: what lies in the middle plane of a body."""

from dataclasses import dataclass

import numpy as np

from kinema.geometry.rotations import ancestors
from kinema.rig.roles import HEAD, NONE, TAIL, TRUNK, WORDS
from kinema.rig.tree import JointTree

NAMED, GUESSED, DOUBTFUL = 0.95, 0.75, 0.6
"""Confidence in what names and geometry agree on, geometry alone says, and geometry hardly says."""


@dataclass(frozen=True)
class Found:
    """Chains of joints and how sure they are, in [0, 1]."""

    chains: tuple[tuple[int, ...], ...]
    confidence: float


def find_heads(tree: JointTree) -> Found:
    """The joint that carries each head, as chains of one; joint 0 if the head carries the body (fish, snakes)."""
    middle, root = tree.middle_joints, 0
    # Of a body with several heads, those at the sides count as well.
    named = [j for j in range(1, len(tree.parents)) if HEAD.search(tree.names[j])]
    named = [j for j in named if not any(k in named for k in ancestors(tree.parents, j))]
    if named:
        largest = max(tree.share(tree.subtree(j)) for j in named)
        return Found(tuple((j,) for j in named if tree.share(tree.subtree(j)) > 0.3 * largest), NAMED)
    if HEAD.search(tree.names[root]):
        return Found(((root,),), NAMED)
    limbs = bool(tree.limb_tops)
    line = np.ptp(tree.heads[[root, *middle]], axis=0)
    if not limbs and line[2] < max(0.6 * line[1], 0.3 * tree.size):
        # A post or a blob: nothing tells a head from the rest.
        return Found((), DOUBTFUL)
    own = {j: tree.points[j].mean(0) for j in range(len(tree.parents)) if len(tree.points[j])}
    spread = {j: p for j, p in own.items() if j in middle or j == root}
    if not limbs and root in own and all(own[root][2] >= p[2] for p in spread.values()):
        return Found(((root,),), GUESSED)
    ahead = {j: float(tree.tails[j][2] + tree.tails[j][1]) for j in middle if not TAIL.search(tree.names[j])}
    ends = [j for j in ahead if not any(c in ahead for c in tree.children[j])]
    if not ends:
        return Found((), GUESSED)
    head = max(ends, key=lambda j: ahead[j])
    # A jaw or nose hangs on the head and carries less than it.
    parent = tree.parents[head]
    if (parent in ahead and len(tree.points[parent]) > 1.5 * len(tree.points[head])) or WORDS[NONE].search(
        tree.names[head]
    ):
        head = parent
    rest = [j for j in (root, *middle) if j not in tree.subtree(head)]
    if head <= root or TRUNK.search(tree.names[head]):
        return Found((), GUESSED)
    if tree.share(rest) < 0.01 or head not in own:
        # What carries nearly all of the middle is the trunk.
        return Found((), DOUBTFUL)
    trunk = np.mean([own[j] for j in rest if j in own] or [tree.heads[0]], axis=0)
    forward = float((own[head] - trunk)[1:].sum()) / tree.size
    return Found(((head,),), GUESSED) if forward > 0.08 else Found((), DOUBTFUL)


def find_tails(tree: JointTree, hips: list[int], head: int | None) -> Found:
    """Middle chains that go back behind the hindmost hips; behind the middle of the body if it has none."""
    taken = {k for top in hips for k in tree.path(top)}
    if head:
        taken |= {*tree.path(head), *tree.subtree(head)}
    free = [j for j in tree.middle_joints if j not in taken]
    rear = min((float(tree.heads[j][2]) for j in hips), default=float(tree.heads[0][2]))
    middle = float(np.mean([tree.heads[j][2] for j in hips or [0]]))
    found: list[tuple[float, float, tuple[int, ...]]] = []
    for top in (j for j in free if tree.parents[j] not in free):
        chain = [top]
        while below := [c for c in tree.children[chain[-1]] if c in free]:
            chain.append(min(below, key=lambda c: tree.tails[c][2]))
        named = [j for j in chain if TAIL.search(tree.names[j])]
        if named:
            chain = chain[chain.index(named[0]) :]
        elif not hips:
            # The hind half of a body that swims or crawls on its belly.
            half = (tree.heads[0][2] + tree.tails[chain[-1]][2]) / 2
            chain = [j for j in chain if tree.heads[j][2] <= half] or chain[-1:]
        else:
            while len(chain) > 1 and np.append(tree.points[chain[0]][:, 2], tree.tails[chain[0]][2]).mean() > rear:
                chain = chain[1:]
        points = np.concatenate([tree.points[j] for j in chain] + [tree.tails[chain[-1]][None]])
        sure = NAMED if named else GUESSED if len(chain) > 1 or not hips else DOUBTFUL
        trunk = not named and any(TRUNK.search(tree.names[j]) for j in chain)
        behind = points[:, 2].mean() < (middle if named else rear - 0.02 * tree.size) and not trunk
        if behind and (named or len(chain) > 1 or not hips or _sticks_out(tree, chain[0])):
            found.append((float(points[:, 2].min()), sure, tuple(chain)))
    found = [f for f in found if f[1] == NAMED] or sorted(found)[:1]
    return Found(tuple(chain for _, _, chain in sorted(found)), min((f[1] for f in found), default=GUESSED))


def _sticks_out(tree: JointTree, joint: int) -> bool:
    """Does a part of one joint end behind all others, and is it slimmer than the body?"""
    points = tree.points[joint]
    others = np.concatenate([p for j, p in enumerate(tree.points) if j != joint])
    slim = len(points) and np.ptp(points[:, 0]) < 0.8 * np.ptp(others[:, 0])
    return bool(slim and points[:, 2].min() < others[:, 2].min() - 0.02 * tree.size)


def spine_and_neck(tree: JointTree, head: int | None, tops: list[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Joints from the root to the head: the neck starts above the last one that carries a limb."""
    middle = tree.middle_joints
    if not head:
        return (), ()
    path = tree.path(head)
    carriers = {next((k for k in (top, *ancestors(tree.parents, top)) if k in middle), 0) for top in tops}
    carrying = [i for i, j in enumerate(path) if j in carriers]
    named_neck = [i for i, j in enumerate(path) if "neck" in tree.names[j]]
    split = carrying[-1] + 1 if carrying else max(len(path) - 2, 0)
    split = named_neck[0] if named_neck else min(split, len(path) - 1)
    # A rig whose head hangs on the root may have its spine beside it.
    aside = [j for j in middle if TRUNK.search(tree.names[j]) and head not in tree.subtree(j)]
    return tuple(path[:split] or aside), tuple(path[split:-1])
