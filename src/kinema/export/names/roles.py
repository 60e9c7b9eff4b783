"""The name of each joint that has a role, in one engine's convention.

Unreal's rule for any number of legs serves all: the rearmost pair are the legs, the foremost the arms of a body that
has none, and those between are LegA, LegB and so on from front to back.
"""

import re
from collections.abc import Iterator

import numpy as np

from kinema.asset.character import Character, Skeleton
from kinema.export.names.conventions import FINGERS, Convention
from kinema.geometry.rotations import ancestors, children
from kinema.rig.limbs import Arm, Limbs, find_limbs

GIRDLE = 0.75
"""A first bone shorter than this share of the second is a collar bone or a scapula, not an upper limb."""
ROOTS = re.compile(r"root|armature|master|reference|world|origin|(?<![a-z])base(?![a-z])", re.IGNORECASE)
FINGER_WORDS = tuple(re.compile(words, re.IGNORECASE) for words in (
    "thumb", "index|fore_?finger|point", "middle|mid(?![a-z])", "ring", "pink|little",
))  # fmt: skip
GIRDLES = re.compile(r"clav|collar|scap|anchor|pelvis|shoulder", re.IGNORECASE)
JAW, EYE = re.compile(r"jaw|mandible", re.IGNORECASE), re.compile(r"eye(?!_?(brow|lid|lash))", re.IGNORECASE)
Named = Iterator[tuple[int, str]]


def joint_names(character: Character, convention: Convention) -> dict[int, str]:
    """The convention's name of each joint that has a role."""
    assert character.skeleton is not None
    names: dict[int, str] = {}
    for joint, name in _all_names(character.skeleton, find_limbs(character), convention):
        # A joint keeps the first role found for it, and a name belongs to the first joint that asks for it.
        if joint not in names and name not in names.values():
            names[joint] = name
    return names


def is_humanoid(limbs: Limbs) -> bool:
    """Two legs, two arms and a head."""
    return len(limbs.legs) == 2 and len(limbs.limbs_of("arm")) == 2 and limbs.head is not None


def find_hips(skeleton: Skeleton, limbs: Limbs) -> int:
    """The joint that carries the body: joint 0, or where the tree begins below a bone at the origin."""
    tops = [leg.joints[0] for leg in limbs.legs] + [j for j in (limbs.head,) if j is not None]
    paths = [[joint, *ancestors(skeleton.parents, joint)][::-1] for joint in tops]
    hips, floor = 0, float(skeleton.heads[:, 1].min())
    tall = max(float(np.ptp(skeleton.heads[:, 1])), 1e-9)
    while paths and all(len(path) > 2 for path in paths) and len({path[1] for path in paths}) == 1:
        low = skeleton.heads[hips][1] - floor < 0.1 * tall
        if not limbs.legs or not (low or ROOTS.search(skeleton.names[hips])):
            break
        hips, paths = paths[0][1], [path[1:] for path in paths]
    return hips


def _all_names(skeleton: Skeleton, limbs: Limbs, c: Convention) -> Named:
    hips, body = find_hips(skeleton, limbs), is_humanoid(limbs) or not c.creatures_in_chains
    yield hips, c.hips
    if hips > 0:
        yield 0, c.root
    above = ancestors(skeleton.parents, hips)
    yield from _spine([j for j in limbs.spine if j != hips and j not in above], c)
    for i, joint in enumerate(limbs.neck):
        yield joint, c.neck if i == 0 else c.more_neck.format(i=i + 1, j=i)
    for i, joint in enumerate(j for j in limbs.heads if j != hips):
        yield joint, c.head if i == 0 else f"{c.head}{i + 1}"
    for side in (1, -1):
        yield from _legs(skeleton, limbs, side, c, body=body)
        arms = [arm for arm in limbs.limbs_of("arm") if arm.side == side]
        for i, arm in enumerate(arms):
            if i == 0 and body:
                yield from _arm(skeleton, arm, c)
            else:
                yield from _chain(arm.joints, "Arm" + _letter(i - 1 if body else i, len(arms)), side, c)
        for kind, word in (("wing", "Wing"), ("fin", "Fin")):
            pairs = [limb for limb in limbs.arms if limb.kind == kind and limb.side == side]
            for i, limb in enumerate(pairs):
                yield from _chain(limb.joints, word + _letter(i, len(pairs)), side, c)
    for i, tail in enumerate(limbs.tails):
        yield from _chain(tail, "Tail" + _letter(i, len(limbs.tails)), 0, c)
    for head in limbs.heads[:1]:
        yield from _face(skeleton, head, c)


def _letter(i: int, of: int) -> str:
    """What tells a pair from the others of its kind."""
    return chr(ord("A") + i) if of > 1 else ""


def _spine(joints: list[int], c: Convention) -> Named:
    count = len(joints)
    fixed = c.spine[:count]
    for i, joint in enumerate(joints):
        if not c.spine or (not c.more_spine and i >= len(c.spine)):
            yield joint, (c.more_spine or c.spine[0] + "{j}").format(i=i + 1, j=i)
        elif count <= len(c.spine) or i == 0 or not c.more_spine:
            yield joint, fixed[i]
        else:
            # Chest and upper chest are those at the ribs, which arms and neck hang on.
            last = count - i
            yield joint, c.spine[-last] if last < len(c.spine) else c.more_spine.format(i=i + 1)


def _sided(template: str, side: int, **values: object) -> str:
    word = {1: "Left", -1: "Right", 0: ""}[side]
    return template.format(Side=word, side=word.lower(), s=word[:1].lower(), **values)


def _chain(joints: tuple[int, ...], word: str, side: int, c: Convention) -> Named:
    for i, joint in enumerate(joints):
        name = _sided(c.chain, side, word=word, i=i + 1)
        # Conventions that begin small do so in the middle, too.
        yield joint, name[0].lower() + name[1:] if c.hips.islower() and side == 0 else name


def _girdled(skeleton: Skeleton, joints: tuple[int, ...]) -> bool:
    """Does a limb begin with a collar bone or the like?"""
    if all(GIRDLES.search(skeleton.names[j]) for j in joints[:1]) and not GIRDLES.search(skeleton.names[joints[1]]):
        return True
    bones = np.linalg.norm(np.diff(skeleton.heads[list(joints[:3])], axis=0), axis=-1)
    return len(bones) == 2 and bool(bones[0] < GIRDLE * bones[1])


def _legs(skeleton: Skeleton, limbs: Limbs, side: int, c: Convention, *, body: bool) -> Named:
    legs = sorted((leg for leg in limbs.legs if leg.side == side), key=lambda leg: leg.rank)
    armless = not limbs.limbs_of("arm")
    for i, leg in enumerate(legs):
        last = i == len(legs) - 1
        joints: tuple[int, ...] = leg.joints
        girdle: tuple[int, ...] = joints[:1] if len(joints) >= 5 and _girdled(skeleton, joints) else ()
        joints = tuple(joints[len(girdle) :])
        fore = i == 0 and armless and not last
        if not (last or fore) or not body:
            first = 0 if armless else -1
            yield from _chain(
                joints, "Arm" if fore else "Leg" if last else f"Leg{chr(ord('A') + i - 1 - first)}", side, c
            )
            continue
        if fore:
            # The collar bone may have been left out of the leg, which does not step with it.
            above = (
                [] if girdle else [j for j in (skeleton.parents[joints[0]],) if _beside(skeleton, limbs, j, joints[0])]
            )
            for joint in (*girdle, *above):
                yield joint, _sided(c.shoulder, side)
        parts = c.arm if fore else c.leg
        for k, joint in enumerate(joints):
            name = _sided(parts[min(k, len(parts) - 1)], side)
            yield joint, name if k < len(parts) else f"{name}{k - len(parts) + 2}"


def _beside(skeleton: Skeleton, limbs: Limbs, joint: int, below: int) -> bool:
    """Is a joint above a limb its girdle: to the same side, and nothing of the trunk?"""
    trunk = {0, *limbs.spine, *limbs.neck, *limbs.heads}
    return joint not in trunk and skeleton.heads[joint][0] * skeleton.heads[below][0] > 0


def _arm(skeleton: Skeleton, arm: Arm, c: Convention) -> Named:
    """Collar bone, upper arm, lower arm, hand and fingers."""
    joints, below = list(arm.joints), children(skeleton.parents)
    forks = [i for i, joint in enumerate(joints) if i >= 2 and len(below[joint]) > 1]
    hand = forks[0] if forks else None
    girdle = len(joints) >= 4 and (_girdled(skeleton, arm.joints) if hand is None else hand >= 3)
    if girdle:
        yield joints[0], _sided(c.shoulder, arm.side)
    first = 1 if girdle else 0
    hand = first + 2 if hand is None else hand
    upper = [joints[first], *joints[first + 1 : first + 2]] + ([joints[hand]] if hand < len(joints) else [])
    for template, joint in zip(c.arm, upper, strict=False):
        yield joint, _sided(template, arm.side)
    if hand < len(joints):
        yield from _fingers(skeleton, joints[hand], below, arm.side, c)


def _fingers(skeleton: Skeleton, hand: int, below: list[list[int]], side: int, c: Convention) -> Named:
    fingers = []
    for top in below[hand]:
        chain = [top]
        while len(below[chain[-1]]) == 1:
            chain.append(below[chain[-1]][0])
        fingers.append(chain)
    for which, chain in _told_apart(skeleton, hand, fingers):
        parts = c.thumb if which == 0 else c.phalanges
        for joint, part in zip(chain, parts, strict=False):
            yield joint, _sided(c.fingers[which], side, p=part)


def _told_apart(skeleton: Skeleton, hand: int, fingers: list[list[int]]) -> list[tuple[int, list[int]]]:
    """Which of `FINGERS` each chain is: by its names, else the thumb is nearest to the wrist, the others in a row."""
    named = [
        next((k for k, word in enumerate(FINGER_WORDS) if word.search(skeleton.names[f[0]])), None) for f in fingers
    ]
    if any(k is not None for k in named):
        return [(k, chain) for k, chain in zip(named, fingers, strict=True) if k is not None]
    if len(fingers) < 2:
        # One bone for all fingers.
        return [(2, chain) for chain in fingers]
    heads = np.array([skeleton.heads[chain[0]] for chain in fingers])
    thumb = int(np.linalg.norm(heads - skeleton.heads[hand], axis=-1).argmin())
    order = np.argsort(np.linalg.norm(heads - heads[thumb], axis=-1), kind="stable")
    return [(k, fingers[i]) for k, i in enumerate(order[: len(FINGERS)].tolist())]


def _face(skeleton: Skeleton, head: int, c: Convention) -> Named:
    for joint, name in enumerate(skeleton.names):
        if head not in ancestors(skeleton.parents, joint):
            continue
        if JAW.search(name):
            yield joint, c.jaw
        elif EYE.search(name) and abs(skeleton.heads[joint][0] - skeleton.heads[head][0]) > 1e-4:
            yield joint, _sided(c.eye, 1 if skeleton.heads[joint][0] > skeleton.heads[head][0] else -1)
