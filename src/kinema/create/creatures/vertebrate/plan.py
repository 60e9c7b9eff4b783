"""The body plan of everything with a spine: from a row of proportions to bones and blobs."""

import numpy as np

from kinema.create.creatures.body import CORE, SIDES, Body, Number, Rgb, Vector, forward, mirror
from kinema.create.creatures.vertebrate.extras import EXTRAS, PLAN_EXTRAS
from kinema.create.creatures.vertebrate.face import add_face
from kinema.create.creatures.vertebrate.proportions import Arms, Bones, Tail, Vertebrate

FINGERS = {
    "index": (0.72, 0.50, 0.92),
    "middle": (0.24, 0.53, 1.0),
    "ring": (-0.24, 0.51, 0.94),
    "little": (-0.72, 0.47, 0.74),
}
"""Place across the hand [hand radii], where it begins along the hand, and length relative to the middle finger's."""
BONES = (0.46, 0.30, 0.24)
"""Shares of a finger's length."""


def build_vertebrate(p: Vertebrate) -> Body:
    """Bones and blobs of one creature, standing on y = 0 with its hips above z = 0."""
    body, unit, up = Body(), p.trunk, p.up
    hips = np.array([0.0, p.leg * unit + 0.10 * p.rump * unit, 0.0])
    spine = hips + 0.33 * unit * up - p.sag * unit * p.back
    chest, shoulders = hips + 0.68 * unit * up, hips + unit * up
    neck = _bend(shoulders, p.neck.length * unit, p.neck.bones, p.neck.angle, p.neck.curve)[0]
    nose = neck[-1] + (0.35 * p.head.radius * forward(50) + p.head.snout * forward(p.head.pitch)) * unit
    neck_names = ["neck"] if p.neck.bones == 1 else [f"neck_{k + 1}" for k in range(p.neck.bones)]
    body.core = body.chain(["hips", "spine", "chest", *neck_names, "head"], -1, [hips, spine, chest, *neck, nose])
    _trunk(body, p, hips, neck)
    _legs(body, p, "hind", p.hind, body.core[0], hips)
    wings = p.front if isinstance(p.front, Arms) and p.front.chord else p.wings
    if wings:
        _spread_wings(body, p, wings, body.core[2], shoulders)
    if isinstance(p.front, Arms):
        if not p.front.chord:
            _arms(body, p, p.front, body.core[2], shoulders)
    elif p.front is not None:
        _legs(body, p, "front", p.front, body.core[2], shoulders - 0.10 * unit * up)
    if p.tail:
        _tail(body, p, p.tail, hips)
    add_face(body, p, neck[-1] + 0.35 * p.skull * forward(50))
    # The same middle of the skull, but rounded as it always was: other bits would be other creatures.
    middle = neck[-1] + 0.35 * p.head.radius * unit * forward(50)
    for extra in p.extras:
        if extra not in PLAN_EXTRAS:
            EXTRAS[extra](body, p, middle)
    return body


def _bend(start: Vector, length: Number, bones: int, angle: Number, curve: Number) -> tuple[list[Vector], Number]:
    """Nodes of a chain in the plane of symmetry whose angle changes by `curve` in all, and the angle beyond it."""
    nodes = [start]
    for _ in range(bones):
        nodes.append(nodes[-1] + length / bones * forward(angle))
        angle += curve / max(1, bones - 1)
    return nodes, angle


def _trunk(body: Body, p: Vertebrate, hips: Vector, neck: list[Vector]) -> None:
    """Two cones that meet in the belly, then the neck; the belly's colour runs on along the throat."""
    unit, coat, up, back = p.trunk, p.coat, p.up, p.back
    boxy = 6.0 if "boxy" in p.extras else 2.0
    melt, flat = (0.03 if boxy > 2 else 0.10) * unit, (p.width, 1.0, 1.0)
    waist, ribs = hips + 0.45 * unit * up - 0.5 * p.sag * unit * back, hips + 0.86 * unit * up
    body.blob(hips, waist, p.rump * unit, p.belly * unit, coat.base, blend=melt, scale=flat, sharp=boxy)
    body.blob(waist, ribs, p.belly * unit, p.chest * unit, coat.base, blend=melt, scale=flat, sharp=boxy)
    radii = np.linspace(p.neck.base, p.neck.top, p.neck.bones + 1) * unit
    for k in range(p.neck.bones):
        start = neck[k] if k else neck[0] - 0.3 * p.chest * unit * up
        color = coat.base if k < 2 else coat.head or coat.base
        body.blob(start, neck[k + 1], radii[k], radii[k + 1], color, blend=melt)
    if "clothes" in p.extras:
        # Trousers end in a level waistband above the thighs.
        seat = hips - 0.25 * unit * up
        body.mark(seat, seat, 0.46 * unit, 0.46 * unit, coat.accent, soft=0.02 * unit, scale=(1.6, 1.0, 1.6))
    if coat.belly and coat.belly != coat.base:
        under = -back if p.pitch < 75 else forward(0)
        low, high = hips + 0.95 * p.rump * unit * under, ribs + 0.95 * p.chest * unit * under
        body.mark(low, high, 0.92 * p.rump * unit, 0.92 * p.chest * unit, coat.belly, soft=0.35 * p.belly * unit,
                  limb=CORE, scale=flat)  # fmt: skip
        throat = neck[-1] + p.neck.top * unit * forward(p.neck.angle - 90)
        body.mark(high, throat, 0.85 * p.chest * unit, 0.8 * p.neck.top * unit, coat.belly, soft=0.1 * unit, limb=CORE)


def _legs(body: Body, p: Vertebrate, which: str, bones: Bones, parent: int, top: Vector) -> None:
    """A pair of legs from the trunk at `top` to the ground."""
    unit, coat = p.trunk, p.coat
    thick = (1.0 if which == "hind" else p.fore) * unit
    boxy = 6.0 if "boxy" in p.extras else 2.0
    paw, thigh, shank = p.paw * thick, p.thigh * thick, p.shank * thick
    trunk = (p.rump if which == "hind" else p.chest) * unit
    # The thigh shows on the flank: a hip inside a thick trunk would pull its skin along instead of bending.
    flank = max(trunk, 0.92 * p.belly * unit if p.winged else 0.0) * p.width
    out = max(min(p.stance * unit, 0.75 * trunk * p.width), 1.1 * flank - thigh)
    drop = 0.38 if which == "front" else 0.5 if p.winged else 0.2
    start = np.array([out, top[1] - drop * trunk, top[2]])
    nodes = _leg_nodes(bones, start, sole=0.55 * paw, out=p.stance * unit, sprawl=p.sprawl)
    knee = 0.42 * thigh + 0.58 * shank
    radii = [thigh, knee, shank, paw] if len(bones) == 3 else [thigh, knee, shank, 0.95 * shank, paw]
    sock, high = coat.legs or coat.base, coat.thighs or coat.base
    if "clothes" in p.extras:
        high = sock = coat.accent
    colors = [high] * (len(bones) - 2) + [sock, coat.feet or sock]
    for name, sign in SIDES:
        here = [mirror(node, sign) for node in nodes]
        prefix = f"{which}_{name}_" if isinstance(p.front, tuple) else f"{name}_leg_"
        joints = body.chain([prefix + n for n in ("upper", "lower", "foot", "toes")[: len(bones)]], parent, here)
        limb = body.limb(joints, 0.55 * thigh + 0.02 * unit)
        soft = (0.15 if boxy > 2 else 0.6) * shank
        for k in range(len(bones) - 1):
            body.blob(here[k], here[k + 1], radii[k], radii[k + 1], colors[k], limb=limb, blend=soft, sharp=boxy)
        toe = here[-1] - [0, 0.2 * paw, 0]
        body.blob(here[-2], toe, radii[-2], paw, colors[-1], limb=limb, blend=soft, sharp=boxy)
        if len(bones) == 3:
            heel = here[-2] * [1, 0, 1] + [0, 0.6 * paw, -0.3 * paw]
            body.blob(heel, toe, 0.85 * paw, paw, colors[-1], limb=limb, blend=soft, scale=(1.1, 0.8, 1), sharp=boxy)


def _leg_nodes(bones: Bones, start: Vector, *, sole: float, out: float, sprawl: Number) -> list[Vector]:
    """Joint positions of a left leg from the hip at `start`: scaled to reach the ground, the ankle under the hip.

    `sole` is the height of the last node and `out` its distance from the middle [m].
    """
    length, degrees = np.array(bones, dtype=float).T
    angle, lift = np.deg2rad(degrees), np.ones(len(bones))
    lift[0] = np.cos(np.deg2rad(sprawl))
    # Ankle under the hip: subtract the mean lean of all bones but the foot.
    drift = (length[:-1] * np.sin(angle[:-1])).sum() / (length[:-1] * np.cos(angle[:-1])).sum()
    angle[:-1] -= 0.85 * np.arctan(drift)
    scale = (start[1] - sole) / (length * np.cos(angle) * lift).sum()
    down, ahead = length * scale * np.cos(angle), length * scale * np.sin(angle)
    sideways = np.zeros(len(bones))
    sideways[0] = down[0] * np.sin(np.deg2rad(sprawl))
    nodes = [*np.cumsum([start, *np.stack((sideways, -down * lift, ahead), -1)], axis=0)]
    if sprawl == 0:
        # Lean evenly to the wanted stance width.
        reach = max(start[1] - sole, 1e-6)
        nodes = [node + [(out - start[0]) * ((start[1] - node[1]) / reach), 0, 0] for node in nodes]
    return nodes


def _arms(body: Body, p: Vertebrate, arms: Arms, parent: int, shoulders: Vector) -> None:
    unit, coat = p.trunk, p.coat
    boxy = 6.0 if "boxy" in p.extras else 2.0
    length, radius, hand = arms.length * unit, arms.radius * unit, arms.hand * unit
    out, ahead = np.deg2rad(arms.spread), np.deg2rad(arms.forward)
    if arms.wing:
        upper = fore = np.array([0.16, -0.25, -1.0]) / np.linalg.norm([0.16, 0.25, 1.0])
    else:
        upper = np.array([np.sin(out), -np.cos(out) * np.cos(ahead), np.cos(out) * np.sin(ahead)])
        bend = ahead + np.deg2rad(14 if p.upright else 35)
        fore = np.array([np.sin(out) * 0.95, -np.cos(out) * np.cos(bend), np.cos(out) * np.sin(bend)])
        fore /= np.linalg.norm(fore)
    reach = p.width * (max(p.chest, p.belly) if arms.wing else 0.92 * p.chest if p.upright else 0.86 * p.chest)
    start = shoulders + np.array([reach * unit, 0, 0]) - (0.10 if p.upright else 0.22) * unit * p.up
    elbow = start + 0.44 * length * upper
    wrist = elbow + 0.40 * length * fore
    if p.upright:
        # Shoulders: without them the arms grow out of a sausage.
        yoke, wide = start * [0.85, 1, 1] - [0, 0.02 * unit, 0], (0.9 if arms.fingers else 1.15) * radius
        body.blob(yoke, mirror(yoke, -1.0), wide, wide, coat.base, blend=0.12 * unit, sharp=boxy)
    names = ("wing_upper", "wing_lower", "wing_hand") if arms.wing else ("arm_upper", "arm_lower", "hand")
    reach = (0.25 if arms.fingers else 0.16) * length
    for name, sign in SIDES:
        here = [mirror(node, sign) for node in (start, elbow, wrist, wrist + reach * fore)]
        if arms.fingers:
            collar, grown = start * [0.28, 1, 1], [f"{name}_{n}" for n in ("clavicle", *names)]
            joints = body.chain(grown, parent, [mirror(collar, sign), *here])
        else:
            joints = body.chain([f"{name}_{n}" for n in names], parent, here)
        limb = body.limb(joints, 0.9 * radius + 0.01 * unit)
        if arms.wing:
            look = {"limb": limb, "blend": radius, "scale": (0.45, 1.0, 1.0)}
            body.blob(here[0], here[1], 1.3 * radius, 1.5 * radius, coat.accent, **look)
            body.blob(here[1], here[3], 1.5 * radius, 0.5 * radius, coat.accent, **look)
            continue
        lower = coat.legs or coat.base
        soft = (0.2 if boxy > 2 else 0.7) * radius
        body.blob(here[0], here[1], 1.2 * radius, 0.9 * radius, coat.base, limb=limb, blend=soft, sharp=boxy)
        body.blob(here[1], here[2], 0.95 * radius, 0.7 * radius, lower, limb=limb, blend=soft, sharp=boxy)
        skin = coat.feet or lower if "clothes" not in p.extras else coat.head or lower
        palm = here[2] + 0.45 * (here[3] - here[2])
        look = {"limb": limb, "blend": 0.5 * soft, "sharp": boxy}
        if arms.fingers:
            along = mirror(fore, sign)
            # The collar bone shows: what moves with it lies on top of the chest.
            lift, wide = (1.5, 2.0) if boxy > 2 else (0.5, 1.25)
            top = mirror(start * [0.5, 1, 1] + [0, lift * radius, 0], sign)
            body.blob(top, here[0], wide * radius, 1.2 * radius, coat.base, limb=limb, blend=soft, sharp=boxy)
            body.blob(here[2], palm, 0.62 * hand, 0.95 * hand, skin, scale=(0.6, 1, 1), **look)
            add_fingers(body, name, joints[-1], here[2], along, length=reach, radius=hand, color=skin)
            continue
        body.blob(here[2], palm, 0.75 * hand, hand, skin, scale=(0.8, 1, 1), **look)
        body.blob(palm, here[3], 0.85 * hand, 0.6 * hand, skin, scale=(0.7, 1, 1), **look)


def _spread_wings(body: Body, p: Vertebrate, wings: Arms, parent: int, shoulders: Vector) -> None:
    """Wings stretched out to the sides: three bones along the leading edge of a thin sheet."""
    unit, coat = p.trunk, p.coat
    length, chord = wings.length * unit, wings.chord * unit
    start = shoulders + np.array([0.8 * p.width * p.chest, 0.45 * p.chest, 0]) * unit - 0.15 * unit * p.up
    ways = np.array([[0.95, 0.14, -0.2], [0.98, 0.06, 0.12], [0.94, 0.0, -0.3]]) * [[0.3], [0.34], [0.36]]
    nodes = np.cumsum([start, *(length * ways)], axis=0)
    widths, backs = np.array([0.9, 1.0, 0.85, 0.3]) * chord, np.array([0.32, 0.36, 0.36, 0.2])
    for name, sign in SIDES:
        here = [mirror(node, sign) for node in nodes]
        names = [f"{name}_wing_{n}" for n in ("upper", "lower", "hand")]
        limb = body.limb(body.chain(names, parent, here), 0.12 * chord + 0.01 * unit)
        # The bones lie near the leading edge; the sheet reaches back from them.
        sheet = [node - [0, 0, back * width] for node, back, width in zip(here, backs, widths)]
        for k in range(3):
            color = coat.accent if k < 2 else coat.tail_tip or coat.accent
            body.blob(sheet[k], sheet[k + 1], widths[k] / 2, widths[k + 1] / 2, color, limb=limb, blend=0.05 * chord,
                      scale=(0.35, wings.radius / wings.chord, 1.0))  # fmt: skip


def _tail(body: Body, p: Vertebrate, tail: Tail, hips: Vector) -> None:
    unit, coat = p.trunk, p.coat
    reach = (0.9 if tail.base < 0.5 * p.rump else 0.7) * p.rump
    root = hips - reach * unit * p.up + 0.4 * (p.rump - tail.base) * unit * p.back
    nodes, angle = _bend(root, tail.length * unit, tail.bones, 180 - tail.angle, -tail.curl)
    names = [f"tail_{k + 1}" for k in range(tail.bones)]
    limb = body.limb(body.chain(names, body.core[0], nodes), (0.6 * tail.base + 0.03) * unit)
    radii = np.linspace(tail.base, tail.tip, tail.bones + 1) * unit
    if tail.bush:
        brush = tail.bush * unit
        radii[2:-1], radii[-1] = brush, 0.3 * brush
        radii[1] = max(radii[1], 0.55 * brush if tail.bones > 3 else 0.0)
    color, flat = coat.tail or coat.base, (tail.flat, 1.0, 1.0)
    for k in range(tail.bones):
        body.blob(nodes[k], nodes[k + 1], radii[k], radii[k + 1], color, limb=limb, blend=0.02 * unit, scale=flat)
    if coat.tail_tip:
        start = nodes[-2] + (0.65 if tail.bones > 2 else 0.5) * (nodes[-1] - nodes[-2])
        reach = 1.5 * max(radii[-2], radii[-1])
        end = nodes[-1] + reach / 3 * forward(angle)
        body.mark(start, end, reach, reach, coat.tail_tip, soft=0.02 * unit, limb=limb)


def add_fingers(body: Body, side: str, hand: int, wrist: Vector, along: Vector, *, length: float, radius: float,
                color: Rgb) -> None:  # fmt: skip
    """Chains of joints below the joint `hand`, each bone a small closed part; the thumb points ahead.

    Args:
        wrist: Where the hand begins.
        along: Unit vector from there to the tip of the middle finger, which is `length` away.
        radius: Half the width of the palm [m].
    """
    ahead = np.array([0.0, 0.0, 1.0]) - along[2] * along
    ahead = ahead / np.linalg.norm(ahead)
    thick = 0.19 * radius
    for name, (across, start, share) in FINGERS.items():
        knuckle = wrist + start * length * along + across * radius * ahead
        way = along + 0.06 * across * ahead
        _finger(body, f"{side}_{name}", hand, knuckle, way / np.linalg.norm(way), 0.5 * share * length, thick, color)
    root, way = wrist + 0.16 * length * along + 0.62 * radius * ahead, 0.72 * along + 0.7 * ahead
    _finger(body, f"{side}_thumb", hand, root, way / np.linalg.norm(way), 0.44 * length, 1.15 * thick, color)


def _finger(
    body: Body, name: str, hand: int, root: Vector, way: Vector, length: float, thick: float, color: Rgb
) -> None:
    nodes = [root + share * length * way for share in (0.0, *np.cumsum(BONES))]
    joints = body.chain([f"{name}_{k + 1}" for k in range(3)], hand, nodes)
    for k, joint in enumerate(joints):
        radius = thick * (1.0 - 0.1 * k)
        ends = nodes[k] - 0.7 * radius * way, nodes[k + 1] + (0.3 if k == 2 else -0.4) * radius * way
        path = np.linspace(*ends, 6)
        body.tube(path, radius * np.array([0.0, 0.8, 1.0, 0.98, 0.78, 0.0]), color, joint)
