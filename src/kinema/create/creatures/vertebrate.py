"""The body plan of everything with a spine: from a row of proportions to bones and blobs."""

import numpy as np

from kinema.create.creatures.builder import Builder, forward, side
from kinema.create.creatures.extras import add_extras
from kinema.create.creatures.face import add_face
from kinema.create.creatures.field import CORE, Body
from kinema.create.creatures.proportions import Arms, Bones, Number, Vertebrate


def vertebrate(p: Vertebrate) -> Body:
    """Bones and blobs of one creature, standing on y = 0 with its hips above z = 0."""
    build = Builder()
    unit, coat = p.trunk, p.coat
    belly_color = coat.belly or coat.base
    up = forward(p.pitch)
    back = forward(p.pitch + 90)
    boxy = 6.0 if "boxy" in p.extras else 2.0
    melt = (0.03 if boxy > 2 else 0.10) * unit

    hips = np.array([0.0, p.leg * unit + 0.10 * p.rump * unit, 0.0])
    spine = hips + 0.33 * unit * up - p.sag * unit * back
    chest = hips + 0.68 * unit * up
    shoulders = hips + unit * up
    neck_nodes = [shoulders]
    angle = p.neck.angle
    for _ in range(p.neck.bones):
        neck_nodes.append(neck_nodes[-1] + p.neck.length * unit / p.neck.bones * forward(angle))
        angle += p.neck.curve / max(1, p.neck.bones - 1)
    skull = neck_nodes[-1]
    nose = skull + (0.35 * p.head.radius * forward(50) + p.head.snout * forward(p.head.pitch)) * unit
    neck_names = ["neck"] if p.neck.bones == 1 else [f"neck_{k + 1}" for k in range(p.neck.bones)]
    names = ["hips", "spine", "chest", *neck_names, "head"]
    build.core = build.chain(names, -1, [hips, spine, chest, *neck_nodes, nose])
    head = build.core[-1]

    # The trunk: two cones that meet in the belly, then the neck.
    flat = (p.width, 1.0, 1.0)
    waist = hips + 0.45 * unit * up - 0.5 * p.sag * unit * back
    ribs = hips + 0.86 * unit * up
    build.blob(hips, waist, p.rump * unit, p.belly * unit, coat.base, blend=melt, scale=flat, sharp=boxy)
    build.blob(waist, ribs, p.belly * unit, p.chest * unit, coat.base, blend=melt, scale=flat, sharp=boxy)
    radii = np.linspace(p.neck.base, p.neck.top, p.neck.bones + 1) * unit
    for k in range(p.neck.bones):
        start = neck_nodes[k] if k else neck_nodes[0] - 0.3 * p.chest * unit * up
        color = coat.base if k < 2 else coat.head or coat.base
        build.blob(start, neck_nodes[k + 1], radii[k], radii[k + 1], color, blend=melt)
    if "clothes" in p.extras:
        # Trousers end in a level waistband above the thighs.
        seat = hips - 0.25 * unit * up
        build.mark(seat, seat, 0.46 * unit, 0.46 * unit, coat.accent, soft=0.02 * unit, scale=(1.6, 1.0, 1.6))
    if belly_color != coat.base:
        under = -back if p.pitch < 75 else forward(0)
        low, high = hips + 0.95 * p.rump * unit * under, ribs + 0.95 * p.chest * unit * under
        build.mark(low, high, 0.92 * p.rump * unit, 0.92 * p.chest * unit, belly_color, soft=0.35 * p.belly * unit,
                   limb=CORE, scale=flat)  # fmt: skip
        # The bib runs on along the throat to the chin.
        throat = neck_nodes[-1] + p.neck.top * unit * forward(p.neck.angle - 90)
        build.mark(
            high, throat, 0.85 * p.chest * unit, 0.8 * p.neck.top * unit, belly_color, soft=0.1 * unit, limb=CORE
        )

    _legs(build, p, "hind", p.hind, build.core[0], hips)
    if isinstance(p.front, Arms):
        _arms(build, p, p.front, build.core[2], shoulders)
    elif p.front is not None:
        _legs(build, p, "front", p.front, build.core[2], shoulders - 0.10 * unit * up)
    if p.tail:
        _tail(build, p, hips, up, back)
    add_face(build, p, head, skull)
    add_extras(build, p, head, skull)
    return build.build()


def _legs(build: Builder, p: Vertebrate, which: str, bones: Bones, parent: int, top: np.ndarray) -> None:
    """A pair of legs from the trunk at `top` to the ground."""
    unit, coat = p.trunk, p.coat
    thick = (1.0 if which == "hind" else p.fore) * unit
    boxy = 6.0 if "boxy" in p.extras else 2.0
    paw, thigh, shank = p.paw * thick, p.thigh * thick, p.shank * thick
    trunk = (p.rump if which == "hind" else p.chest) * unit
    names = ("upper", "lower", "foot", "toes")[: len(bones)]
    prefix = "" if p.family == "biped" or isinstance(p.front, Arms) or p.front is None else f"{which}_"
    part = "leg_" if not prefix else ""
    # The thigh shows on the flank: a hip inside a thick trunk would pull its skin along instead of bending.
    flank = max(trunk, 0.92 * p.belly * unit if which == "hind" and p.family == "bird" else 0.0) * p.width
    out = max(min(p.stance * unit, 0.75 * trunk * p.width), 1.1 * flank - thigh)
    drop = 0.38 if which == "front" else 0.5 if p.family == "bird" else 0.2
    start = np.array([out, top[1] - drop * trunk, top[2]])
    nodes = leg_nodes(bones, start, sole=0.55 * paw, out=p.stance * unit, sprawl=p.sprawl)
    count = len(nodes)
    knee = 0.42 * thigh + 0.58 * shank
    radii = {3: [thigh, knee, shank, paw], 4: [thigh, knee, shank, 0.95 * shank, paw]}[count - 1]
    sock = coat.legs or coat.base
    high = coat.thighs or coat.base
    if "clothes" in p.extras:
        high = sock = coat.accent
    colors = {3: [high, sock, coat.feet or sock], 4: [high, high, sock, coat.feet or sock]}[count - 1]
    for name, sign in (("left", 1.0), ("right", -1.0)):
        here = [side(node, sign) for node in nodes]
        joints = build.chain([f"{prefix}{name}_{part}{n}" for n in names], parent, here)
        limb = build.limb(joints, 0.55 * thigh + 0.02 * unit)
        soft = (0.15 if boxy > 2 else 0.6) * shank
        for k in range(count - 2):
            build.blob(here[k], here[k + 1], radii[k], radii[k + 1], colors[k], limb=limb, blend=soft, sharp=boxy)
        toe = here[-1] - [0, 0.2 * paw, 0]
        build.blob(here[-2], toe, radii[-2], paw, colors[-1], limb=limb, blend=soft, sharp=boxy)
        if len(bones) == 3:
            heel = here[-2] * [1, 0, 1] + [0, 0.6 * paw, -0.3 * paw]
            build.blob(heel, toe, 0.85 * paw, paw, colors[-1], limb=limb, blend=soft, scale=(1.1, 0.8, 1), sharp=boxy)


def leg_nodes(bones: Bones, start: np.ndarray, *, sole: float, out: float, sprawl: Number) -> list[np.ndarray]:
    """Joint positions of a left leg: scaled to reach the ground, turned so that the ankle is under the hip.

    Args:
        bones: Relative lengths and angles.
        start: The hip joint [m].
        sole: Height of the last node above the ground [m].
        out: Distance of the foot from the middle [m].
        sprawl: Angle of the first bone from hanging to sideways.
    """
    length = np.array([bone[0] for bone in bones])
    angle = np.deg2rad([bone[1] for bone in bones])
    lift = np.ones(len(bones))
    lift[0] = np.cos(np.deg2rad(sprawl))
    # Ankle under the hip: subtract the mean lean of all bones but the foot.
    drift = (length[:-1] * np.sin(angle[:-1])).sum() / (length[:-1] * np.cos(angle[:-1])).sum()
    angle[:-1] -= 0.85 * np.arctan(drift)
    scale = (start[1] - sole) / (length * np.cos(angle) * lift).sum()
    nodes = [start]
    for k in range(len(bones)):
        down = length[k] * scale * np.cos(angle[k])
        ahead = length[k] * scale * np.sin(angle[k])
        sideways = down * np.sin(np.deg2rad(sprawl)) if k == 0 else 0.0
        nodes.append(nodes[-1] + [sideways, -down * lift[k], ahead])
    if sprawl == 0:
        # Lean evenly to the wanted stance width.
        shift = out - start[0]
        for k, node in enumerate(nodes):
            node_share = (start[1] - node[1]) / max(start[1] - sole, 1e-6)
            nodes[k] = node + [shift * node_share, 0, 0]
    return nodes


def _arms(build: Builder, p: Vertebrate, arms: Arms, parent: int, shoulders: np.ndarray) -> None:
    unit, coat = p.trunk, p.coat
    boxy = 6.0 if "boxy" in p.extras else 2.0
    length, radius, hand = arms.length * unit, arms.radius * unit, arms.hand * unit
    out, ahead = np.deg2rad(arms.spread), np.deg2rad(arms.forward)
    up = forward(p.pitch)
    if arms.wing:
        hang = np.array([0.16, -0.25, -1.0]) / np.linalg.norm([0.16, 0.25, 1.0])
        upper, fore = hang, hang
    else:
        upper = np.array([np.sin(out), -np.cos(out) * np.cos(ahead), np.cos(out) * np.sin(ahead)])
        bend = ahead + np.deg2rad(14 if p.pitch > 70 else 35)
        fore = np.array([np.sin(out) * 0.95, -np.cos(out) * np.cos(bend), np.cos(out) * np.sin(bend)])
        fore /= np.linalg.norm(fore)
    reach = p.width * (max(p.chest, p.belly) if arms.wing else 0.92 * p.chest if p.pitch > 70 else 0.86 * p.chest)
    start = shoulders + np.array([reach * unit, 0, 0]) - (0.10 if p.pitch > 70 else 0.22) * unit * up
    elbow = start + 0.44 * length * upper
    wrist = elbow + 0.40 * length * fore
    tip = wrist + 0.16 * length * fore
    names = ("upper", "lower", "hand")
    part = "wing" if arms.wing else "arm"
    if p.pitch > 70:
        # Shoulders: without them the arms grow out of a sausage.
        yoke = start * [0.85, 1, 1] - [0, 0.02 * unit, 0]
        build.blob(yoke, side(yoke, -1.0), 1.15 * radius, 1.15 * radius, coat.base, blend=0.12 * unit, sharp=boxy)
    for name, sign in (("left", 1.0), ("right", -1.0)):
        here = [side(node, sign) for node in (start, elbow, wrist, tip)]
        joints = build.chain([f"{name}_{part}_{n}" if n != "hand" or arms.wing else f"{name}_hand" for n in names],
                             parent, here)  # fmt: skip
        limb = build.limb(joints, 0.9 * radius + 0.01 * unit)
        color, lower = coat.base, coat.legs or coat.base
        if arms.wing:
            color = lower = coat.accent
            flat = (0.45, 1.0, 1.0)
            build.blob(here[0], here[1], 1.3 * radius, 1.5 * radius, color, limb=limb, blend=radius, scale=flat)
            build.blob(here[1], here[3], 1.5 * radius, 0.5 * radius, color, limb=limb, blend=radius, scale=flat)
            continue
        soft = (0.2 if boxy > 2 else 0.7) * radius
        build.blob(here[0], here[1], 1.2 * radius, 0.9 * radius, color, limb=limb, blend=soft, sharp=boxy)
        build.blob(here[1], here[2], 0.95 * radius, 0.7 * radius, lower, limb=limb, blend=soft, sharp=boxy)
        skin = coat.feet or lower if "clothes" not in p.extras else coat.head or lower
        palm = here[2] + 0.45 * (here[3] - here[2])
        build.blob(here[2], palm, 0.75 * hand, hand, skin, limb=limb, blend=0.5 * soft, scale=(0.8, 1, 1), sharp=boxy)
        build.blob(palm, here[3], 0.85 * hand, 0.6 * hand, skin, limb=limb, blend=0.5 * soft, scale=(0.7, 1, 1),
                   sharp=boxy)  # fmt: skip


def _tail(build: Builder, p: Vertebrate, hips: np.ndarray, up: np.ndarray, back: np.ndarray) -> None:
    tail = p.tail
    assert tail is not None
    unit, coat = p.trunk, p.coat
    reach = (0.9 if tail.base < 0.5 * p.rump else 0.7) * p.rump
    root = hips - reach * unit * up + 0.4 * (p.rump - tail.base) * unit * back
    nodes = [root]
    angle = 180 - tail.angle
    for _ in range(tail.bones):
        nodes.append(nodes[-1] + tail.length * unit / tail.bones * forward(angle))
        angle -= tail.curl / max(1, tail.bones - 1)
    joints = build.chain([f"tail_{k + 1}" for k in range(tail.bones)], build.core[0], nodes)
    limb = build.limb(joints, (0.6 * tail.base + 0.03) * unit)
    radii = np.linspace(tail.base, tail.tip, tail.bones + 1) * unit
    if tail.bush:
        brush = tail.bush * unit
        radii[2:-1] = brush
        radii[1] = max(radii[1], 0.55 * brush if tail.bones > 3 else radii[1])
        radii[-1] = 0.3 * brush
    color = coat.tail or coat.base
    flat = (tail.flat, 1.0, 1.0)
    for k in range(tail.bones):
        build.blob(nodes[k], nodes[k + 1], radii[k], radii[k + 1], color, limb=limb, blend=0.02 * unit, scale=flat)
    if coat.tail_tip:
        start = nodes[-2] + (0.65 if tail.bones > 2 else 0.5) * (nodes[-1] - nodes[-2])
        reach = 1.5 * max(radii[-2], radii[-1])
        end = nodes[-1] + reach / 3 * forward(angle)
        build.mark(start, end, reach, reach, coat.tail_tip, soft=0.02 * unit, limb=limb)
