"""From the places of a template's points to joints: limbs that the body lacks go, tails and toes are cut anew."""

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Skeleton
from kinema.rig.embed.arms import LEVEL, find_arm, fold_wings, has_arms
from kinema.rig.embed.branches import Branch, cut, outside, smooth_path
from kinema.rig.embed.fit import Fit
from kinema.rig.embed.joints import Joints, Point
from kinema.rig.embed.legs import place_legs, straight_knees, toe_tips
from kinema.rig.embed.medial import Balls
from kinema.rig.embed.plans import Form
from kinema.rig.embed.templates import BodyFrame
from kinema.rig.embed.toys import stub_tops, toy_beast, toy_person

SHORT_TAIL = 0.07
"""Length below which a tail has no joint, in lengths of the body's longest side."""
TOES, FETLOCK = 0.55, 0.75
"""Place of the toes between ankle and tip, of a foot that lies on its sole and of one that stands on its toes."""
SLENDER = 2.5
"""Least length of such a part in radii where it begins."""
EXTRA, ORNAMENT = (0.13, 0.08), (0.2, 0.2)
"""Least length of an ear, a horn or a trunk that gets joints of its own, and of a joint there, in lengths of the
longest side; on a biped more: people wear hats and belts and hold things."""
FINGERS = (0.35, 0.6, 0.8)
"""Places of the joints that bend all fingers, between wrist and tip."""
CUSTOM: dict[str, dict[str, tuple[float, float, float]]] = {
    "quadruped": {
        "hips": (0.0, 0.07, -0.02), "spine": (0.0, 0.06, 0.0), "chest": (0.0, 0.05, 0.0), "neck": (0.0, 0.03, 0.01),
        "head": (0.0, 0.03, 0.01), "tail_1": (0.0, 0.01, 0.0),
    },
    "biped": {
        "hips": (0.0, -0.01, 0.02), "spine": (0.0, -0.04, 0.01), "chest": (0.0, -0.02, 0.0),
        "neck": (0.0, -0.02, -0.01), "head": (0.0, -0.03, 0.01), "leg_upper": (0.01, 0.01, 0.0),
        "leg_lower": (0.0, 0.02, 0.0), "leg_foot": (0.0, 0.02, 0.01), "arm_upper": (0.01, 0.0, 0.0),
        "arm_lower": (-0.03, 0.01, 0.0), "hand": (-0.02, 0.0, -0.02),
    },
}  # fmt: skip
"""Where artists put joints beside the middle of the flesh, outward, up and forward in units of the form: the spine of a
quadruped near its back. Of quadrupeds robust means over the rigs for tuning, of bipeds by
benchmarks/auto_rig_shifts.py on the same rigs."""
SKULL_RADIUS, SKULL_BASE, NAPE = 0.075, 1.1, 0.055
"""Least radius of the ball in a big head, in heights of the body; where the head's joint lies below its centre, in
radii, and the neck's below that, in heights: under a big head the template has them anywhere."""
HAND, PALM = 0.2, 0.08
"""Greatest length and radius of a hand, in lengths of the longest side."""
NECK_GAP = 0.1
"""Distance between the joints of a long neck, in lengths of the longest side."""
MIDDLE, LOW = 0.05, 0.1
"""Greatest distance of a tail's end from the middle plane, and its least height, in lengths of the longest side."""
AXIS = (0.13, 0.32, 0.47, 0.61, 0.75, 0.87)
"""Places of a fish's joints between its nose and the end of its tail, in lengths of the line."""


def shape(found: Fit, balls: Balls, branches: list[Branch], vertices: Float[np.ndarray, "vertices 3"]) -> Skeleton:
    """The joints of a fitted template in a mesh with these vertices."""
    points, places = found.template, found.places
    size = float((balls.high - balls.low).max())
    at = dict(zip(points.names, places))
    tops = stub_tops(balls)
    if points.form.plan in ("quadruped", "winged") and len(tops) == 4:
        return toy_beast(at, tops, balls)
    if points.form.plan == "biped" and len(tops) == 2:
        return toy_person(tops, balls)
    if points.form.plan in ("quadruped", "winged", "biped"):
        at |= place_legs(at, balls)
        at |= _fingertips(at, vertices, size)
    at = _as_artists_do(points.form, at, balls)
    at |= straight_knees(at)
    if points.form.plan == "biped" and "tail_1" not in at:
        at |= toe_tips(at, vertices)
    above = {name: points.names[p] if p >= 0 else "" for name, p in zip(points.names, points.parents)}
    if points.form.plan == "biped" and not has_arms(found, balls):
        level = "tail_1" in at and at["head"][2] - at["hips"][2] > LEVEL * (at["head"][1] - at["hips"][1])
        for side in ("left", "right"):
            find_arm(at, above, side, balls, there=not level)
        if level:
            fold_wings(at, above, balls)
    if points.form.plan == "biped" and "tail_1" not in at:
        at |= _under_skull(at, balls)
    if points.form.plan == "fish":
        at |= _axis(at)
    if points.form.plan in ("quadruped", "winged", "bird"):
        _split_neck(at, above, size)
    absent = _absent(at, balls)
    joints, index = Joints([], [], [], []), {}
    for name in _in_order(at, above):
        place = at[name]
        stem = name.rsplit("_", 1)[0]
        if name in absent or name.startswith("tail_") or name.endswith("_end"):
            continue
        tip = next((at[end] for end in (f"{name}_end", f"{stem}_end") if end in at), place)
        index[name] = joints.add(name, index.get(above[name], -1), place, tip)
        if name.endswith("_foot") and np.linalg.norm(tip - place) > 0.05 * size:
            share = TOES if _lies(place, tip) else FETLOCK
            joints.add(f"{stem}_toes", index[name], place + share * (tip - place), tip)
        elif name.endswith("_hand") and "wing" not in name and np.linalg.norm(tip - place) > 0.04 * size:
            rows = place + np.array(FINGERS)[:, None] * (tip - place)
            joints.chain(f"{name.removesuffix('hand')}fingers", index[name], rows, tip)
    _add_tail(joints, at | _tail(at, balls, branches, size), index, size)
    if points.form.plan != "fish":
        _add_extras(joints, balls, branches, size, biped=points.form.plan == "biped")
    return joints.skeleton()


def _in_order(at: dict[str, Point], above: dict[str, str]) -> list[str]:
    """Names with parents before their children."""
    done: list[str] = []

    def visit(name: str) -> None:
        if name and name not in done:
            visit(above[name])
            done.append(name)

    for name in at:
        visit(name)
    return done


def _split_neck(at: dict[str, Point], above: dict[str, str], size: float) -> None:
    """Put more joints between neck and head where they are far apart."""
    start, end = at["neck"], at["head"]
    count = int(np.linalg.norm(end - start) / (NECK_GAP * size))
    for k in range(1, count + 1):
        name = f"neck_{k + 1}"
        at[name] = start + k / (count + 1) * (end - start)
        above[name] = above["head"]
        above["head"] = name


def _axis(at: dict[str, Point]) -> dict[str, Point]:
    """The joints of a fish from head to tail, at the places AXIS of the line through its points."""
    names = ["head", "body", *(name for name in at if name.startswith("tail") and name != "tail_end")]
    rows = _resample(np.array([at[name] for name in ("head_end", *names, "tail_end")]), np.array(AXIS))
    return dict(zip(names, rows))


def _resample(line: Float[np.ndarray, "points 3"], shares: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n 3"]:
    """Points of a polyline at shares of its length."""
    along = np.concatenate(([0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))))
    return np.column_stack([np.interp(shares * along[-1], along, line[:, axis]) for axis in range(3)])


def _fingertips(at: dict[str, Point], vertices: Float[np.ndarray, "vertices 3"], size: float) -> dict[str, Point]:
    """Ends of hands where the mesh ends: fingers are thinner than the balls that are kept."""
    tips = {}
    for side in ("left", "right"):
        if f"{side}_hand_end" not in at:
            continue
        elbow, wrist, tip = (at[f"{side}_{part}"] for part in ("arm_lower", "hand", "hand_end"))
        way = (wrist - elbow) / max(float(np.linalg.norm(wrist - elbow)), 1e-300)
        gap = vertices - wrist
        ahead = gap @ way
        beside = np.linalg.norm(gap - ahead[:, None] * way, axis=1)
        hand = ahead[(ahead > 0) & (ahead < HAND * size) & (beside < PALM * size)]
        # A hand that holds something does not end there.
        if len(hand) and (ahead[beside < PALM * size] < HAND * size).all():
            tips[f"{side}_hand_end"] = wrist + max(float(hand.max()), float((tip - wrist) @ way)) * way
    return tips


def _as_artists_do(form: Form, at: dict[str, Point], balls: Balls) -> dict[str, Point]:
    """The points moved by CUSTOM."""
    shifts, unit = CUSTOM.get(form.plan, {}), BodyFrame.around(balls.low, balls.high, form).unit
    moved = dict(at)
    for name, place in at.items():
        out, up, ahead = shifts.get(name.replace("left_", "").replace("right_", ""), (0.0, 0.0, 0.0))
        side = 1.0 if "left" in name else -1.0 if "right" in name else 0.0
        moved[name] = place + unit * [side * out, up, ahead]
    return moved


def _under_skull(at: dict[str, Point], balls: Balls) -> dict[str, Point]:
    """Head and neck of an upright body with a big head, at the lower end of its skull, and the trunk below them."""
    tall, middle = float(balls.high[1] - balls.low[1]), float(balls.low[0] + balls.high[0]) / 2
    high = (balls.centers[:, 1] > (at["neck"][1] + at["head"][1]) / 2) & (
        np.abs(balls.centers[:, 0] - middle) < 0.05 * tall
    )
    if not high.any() or (radius := float(balls.radii[high].max())) < SKULL_RADIUS * tall:
        return {}
    center = balls.centers[high][int(balls.radii[high].argmax())]
    head = center - [0.0, SKULL_BASE * radius, 0.0]
    neck, hips = head - [0.0, NAPE * tall, 0.0], at["hips"]
    rise = (neck[1] - hips[1]) / max(float(at["neck"][1] - hips[1]), 1e-9)
    if rise <= 0.3:
        return {}
    neck[2] = (at["chest"][2] + head[2]) / 2
    trunk = {
        name: at[name] * [1, 0, 1] + [0, hips[1] + rise * (at[name][1] - hips[1]), 0] for name in ("spine", "chest")
    }
    return trunk | {"neck": neck, "head": head}


def _lies(ankle: Point, tip: Point) -> bool:
    """Does a foot lie on its sole rather than stand on its toes?"""
    away = tip - ankle
    return bool(np.hypot(away[0], away[2]) > 0.6 * abs(away[1]))


def _absent(at: dict[str, Point], balls: Balls) -> set[str]:
    """Points of fins that do not stick out of the body: they are too thin to be seen."""
    if "body" not in at:
        return set()
    near = np.linalg.norm(balls.centers - at["body"], axis=1).argmin()
    middle, trunk = (balls.low[0] + balls.high[0]) / 2, float(balls.radii[near])
    fins = {side: [name for name in at if name.startswith(f"{side}_fin")] for side in ("left", "right")}
    return {name for fin in fins.values() if fin and abs(at[fin[-1]][0] - middle) < 1.5 * trunk for name in fin}


def _tail(at: dict[str, Point], balls: Balls, branches: list[Branch], size: float) -> dict[str, Point]:
    """Points of the tail along the branch that leaves the body behind, if there is one in the middle plane."""
    names = [name for name in at if name.startswith("tail")]
    legs = [at[name] for name in ("hind_left_upper", "hind_right_upper") if name in at]
    if not names or not legs:
        return {}
    middle, behind = float(balls.low[0] + balls.high[0]) / 2, float(np.mean(legs, axis=0)[2])
    best: Float[np.ndarray, "n 3"] | None = None
    longest = SHORT_TAIL * size
    for branch in branches:
        line = outside(balls, branch)[:, :3]
        inside = np.flatnonzero(line[:, 2] > behind)
        line = line[int(inside[-1]) + 1 if len(inside) else 0 :]
        if len(line) < 4 or abs(line[-1, 0] - middle) > MIDDLE * size or line[-1, 1] < balls.low[1] + LOW * size:
            continue
        length = float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum())
        if length > longest:
            longest, best = length, line
    if best is None:
        return {}
    own = np.array([at[name] for name in names])
    if float(np.linalg.norm(np.diff(own, axis=0), axis=1).sum()) > SHORT_TAIL * size:
        # A tail that hangs down touches the body: the branch leaves out its upper part.
        gap = np.linalg.norm(best[:, None] - own[None], axis=2).min(axis=1)
        near = np.flatnonzero(gap < 0.06 * size)
        best = np.concatenate((own, best[int(near[-1]) + 1 if len(near) else 0 :]))
    if balls.symmetric:
        best = np.column_stack((np.full(len(best), middle), best[:, 1:]))
    return dict(zip(names, _resample(best, np.linspace(0, 1, len(names)))))


def _add_tail(joints: Joints, at: dict[str, Point], index: dict[str, int], size: float) -> None:
    tail = [at[name] for name in at if name.startswith("tail")]
    if not tail:
        return
    line = np.array(tail)
    length = float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum())
    swims = "body" in index
    if length < SHORT_TAIL * size:
        return
    count = len(tail) - 1 if swims else int(np.clip(round(length / (0.09 * size)), 1, 5))
    rows = _resample(line, np.linspace(0, 1, count + 1))
    parent = index["body" if swims else "hips" if "hips" in index else "thorax"]
    for k in range(count):
        parent = joints.add(f"tail_{k + 1}", parent, rows[k], rows[k + 1])


def _add_extras(joints: Joints, balls: Balls, branches: list[Branch], size: float, *, biped: bool) -> None:
    """Joints for branches that no bone lies in: ears, horns, a trunk; of a biped long ears alone."""
    least, step = ORNAMENT if biped else EXTRA
    middle = float(balls.low[0] + balls.high[0]) / 2
    count: dict[str, int] = {}
    for branch in branches:
        line = smooth_path(balls.centers[branch.balls], balls.radii[branch.balls])
        bones = _bone_samples(joints)
        gap = np.linalg.norm(line[:, None, :3] - bones[None], axis=2).min(axis=1)
        bare = gap > np.maximum(1.3 * line[:, 3], 0.04 * size)
        if not bare[-1]:
            continue
        start = int(np.flatnonzero(~bare)[-1]) if not bare.all() else 0
        part = line[start:]
        length = float(np.linalg.norm(np.diff(part[:, :3], axis=0), axis=1).sum())
        # Corners of a boxy body are no limbs: they are thick where they begin.
        if len(part) < 4 or length < least * size or length < SLENDER * part[0, 3]:
            continue
        side = part[-1, 0] - middle
        if balls.symmetric and side < -0.02 * size:
            continue  # it comes with its left image
        parent = int(np.linalg.norm(np.array(joints.heads) - part[0, :3], axis=1).argmin())
        ear = "head" in joints.names and parent == joints.names.index("head")
        if biped and not (ear and abs(side) > 0.02 * size):
            continue
        kind = "ear" if ear else "extra"
        count[kind] = count.get(kind, 0) + 1
        label = kind if count[kind] == 1 else f"{kind}{count[kind]}"
        rows = cut(part, int(np.clip(round(length / (step * size)), 1, 3)))[:, :3]
        if balls.symmetric and side > 0.02 * size:
            flip = np.array([-1.0, 1, 1]), np.array([2 * middle, 0, 0])
            joints.chain(f"left_{label}", parent, rows, part[-1, :3])
            joints.chain(
                f"right_{label}", _image(joints, parent), rows * flip[0] + flip[1], part[-1, :3] * flip[0] + flip[1]
            )
        else:
            joints.chain(label, parent, rows, part[-1, :3])


def _image(joints: Joints, parent: int) -> int:
    """The joint on the other side."""
    other = joints.names[parent].replace("left", "right")
    return joints.names.index(other) if other in joints.names else parent


def _bone_samples(joints: Joints) -> Float[np.ndarray, "points 3"]:
    """Points along all bones, and along those of the leaves to their tips."""
    share = np.linspace(0, 1, 8)[:, None]
    lines = [
        joints.heads[p] + share * (joints.heads[j] - joints.heads[p]) for j, p in enumerate(joints.parents) if p >= 0
    ]
    lines += [head + share * (tip - head) for head, tip in zip(joints.heads, joints.tips)]
    return np.concatenate(lines)
