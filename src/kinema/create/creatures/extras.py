"""What makes a species unmistakable: horns, trunks, beaks, manes, helmets."""

from itertools import pairwise

import numpy as np

from kinema.create.creatures.builder import Builder, forward, side
from kinema.create.creatures.field import CORE, Shell
from kinema.create.creatures.proportions import Number, Rgb, Vertebrate

BONE: Rgb = (0.90, 0.86, 0.76)
DARK: Rgb = (0.16, 0.14, 0.14)
RED: Rgb = (0.82, 0.12, 0.10)
PINK: Rgb = (0.92, 0.66, 0.62)


def add_extras(build: Builder, p: Vertebrate, head: int, skull: np.ndarray) -> None:
    """All extras of a row; `skull` is the head joint."""
    middle = skull + 0.35 * p.head.radius * p.trunk * forward(50)
    for extra in p.extras:
        if extra in ADD:
            ADD[extra](build, p, head, middle)


def _shell(
    build: Builder, path: np.ndarray, radii: list[Number], color: Rgb, joint: int, tip: Rgb | None = None
) -> None:
    """A tube on both sides, mirrored."""
    first, last = np.asarray(color, dtype=float), None if tip is None else np.asarray(tip, dtype=float)
    for sign in (1.0, -1.0):
        build.shells.append(Shell(side(path, sign), np.asarray(radii, dtype=float), first, joint, last))


def _horns(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    r = p.head.radius * p.trunk
    path = np.array([[0.3, 0.6, -0.1], [0.55, 0.85, -0.1], [1.05, 1.05, 0.0], [1.35, 1.35, 0.1], [1.4, 1.75, 0.15]])
    path[:, 1] *= p.head.height
    _shell(build, middle + path * r, [0, 0.24 * r, 0.2 * r, 0.13 * r, 0], BONE, head, DARK)


def _antlers(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    r = p.head.radius * p.trunk
    color = (0.62, 0.50, 0.36)
    beam = np.array([[0.2, 0.6, -0.1], [0.5, 1.0, -0.25], [1.3, 1.8, -0.7], [2.1, 2.7, -0.7], [2.3, 3.7, -0.1],
                     [2.0, 4.4, 0.4]])  # fmt: skip
    _shell(build, middle + beam * r, [0, 0.24 * r, 0.21 * r, 0.18 * r, 0.14 * r, 0], color, head, BONE)
    for at, tip in ((1, [0.7, 1.6, 0.9]), (2, [1.5, 2.6, 0.7]), (3, [2.3, 3.5, 0.9]), (4, [3.0, 4.5, -0.5])):
        start, end = beam[at] * 0.92, np.array(tip)
        path = np.stack((start, start + 0.25 * (end - start), start + 0.65 * (end - start), end))
        _shell(build, middle + path * r, [0, 0.17 * r, 0.12 * r, 0], color, head, BONE)


def _ossicones(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    r = p.head.radius * p.trunk
    path = np.array([[0.3, 0.6, -0.2], [0.33, 0.8, -0.25], [0.4, 1.5, -0.4], [0.42, 1.75, -0.45], [0.43, 1.9, -0.45]])
    _shell(build, middle + path * r, [0, 0.16 * r, 0.15 * r, 0.22 * r, 0], p.coat.base, head, DARK)


def _trunk(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    """Four bones that hang from the face and swing forward at the end."""
    r = p.head.radius * p.trunk
    nodes = [middle + r * np.array([0, -0.25, 0.75])]
    room = nodes[0][1] - 0.12 * p.trunk
    for share, angle in ((0.27, -50), (0.30, -78), (0.26, -85), (0.2, -55)):
        nodes.append(nodes[-1] + share * 1.08 * room * forward(angle))
    joints = build.chain([f"trunk_{k + 1}" for k in range(4)], head, nodes)
    limb = build.limb(joints, 0.45 * r)
    radii = np.array([0.52, 0.40, 0.28, 0.20, 0.15]) * r
    for k in range(4):
        build.blob(nodes[k], nodes[k + 1], radii[k], radii[k + 1], p.coat.head or p.coat.base, limb=limb, blend=0.1 * r)


def _tusks(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    r = p.head.radius * p.trunk
    path = np.array([[0.40, -0.45, 0.5], [0.45, -0.7, 0.8], [0.52, -1.05, 1.25], [0.52, -1.1, 1.8], [0.45, -0.95, 2.2]])
    _shell(build, middle + path * r, [0, 0.15 * r, 0.13 * r, 0.10 * r, 0], (0.96, 0.94, 0.86), head)


def _beak(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    unit, ahead = p.trunk, forward(p.head.pitch)
    r, length = p.head.radius * unit, p.head.snout * unit
    down = forward(p.head.pitch - 90)
    root = middle + 0.6 * r * ahead
    tip = middle + length * ahead + 0.10 * r * down
    base, end = p.head.snout_base * unit, p.head.snout_tip * unit
    color = p.coat.muzzle or p.coat.nose
    build.blob(root, tip, base, end, color, blend=0.1 * r, scale=(1.0, 0.75, 1.0))


def _flat_beak(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    """A duck's bill: broad and flat."""
    unit, ahead = p.trunk, forward(p.head.pitch)
    r = p.head.radius * unit
    root = middle + 0.6 * r * ahead - [0, 0.2 * r, 0]
    tip = middle + 0.85 * p.head.snout * unit * ahead - [0, 0.2 * r, 0]
    color = p.coat.muzzle or p.coat.nose
    build.blob(root, tip, p.head.snout_base * unit, p.head.snout_tip * unit, color, blend=0.1 * r,
               scale=(1.15, 0.5, 1.0))  # fmt: skip


def _patched_eyes(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    """Dark rings around the eyes, as a panda has."""
    r, h = p.head.radius * p.trunk, p.head
    out, up = np.deg2rad(h.eye_side), np.deg2rad(h.eye_up - 6)
    for sign in (1.0, -1.0):
        at = middle + 1.05 * r * np.array([np.sin(out) * np.cos(up) * sign, np.sin(up), np.cos(out) * np.cos(up)])
        build.mark(at, at - [-0.08 * r * sign, 0.14 * r, 0], 0.30 * r, 0.26 * r, DARK, soft=0.06 * r)
    shoulder = build.heads[2] + 0.2 * p.trunk * forward(p.pitch)
    build.mark(shoulder, shoulder, 1.15 * p.chest * p.trunk, 1.15 * p.chest * p.trunk, DARK, soft=0.06 * p.trunk,
               limb=CORE)  # fmt: skip


def _two_humps(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    unit, back = p.trunk, forward(p.pitch + 90)
    color = p.coat.mane or p.coat.base
    for share in (0.28, 0.72):
        at = build.heads[0] + share * unit * forward(p.pitch) + 0.7 * p.belly * unit * back
        build.blob(at, at + 0.17 * unit * back, 0.15 * unit, 0.075 * unit, color, blend=0.08 * unit, scale=(0.75, 1, 1))


def _comb(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    r = p.head.radius * p.trunk
    for angle, size in ((45, 0.30), (80, 0.36), (115, 0.33), (148, 0.26)):
        at = middle + 1.12 * r * forward(angle)
        build.blob(middle + 0.8 * r * forward(angle), at, size * r, size * r, RED, blend=0.1 * r, scale=(0.5, 1, 1))
    for sign in (1.0, -1.0):
        top = middle + r * np.array([0.22 * sign, -0.55, 0.72])
        build.blob(top, top - [0, 0.55 * r, 0], 0.2 * r, 0.28 * r, RED, blend=0.1 * r, scale=(0.6, 1, 1))


def _hump(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    unit = p.trunk
    at = build.heads[2] + 0.75 * p.chest * unit * forward(p.pitch + 90) + 0.1 * unit * forward(p.pitch)
    build.blob(at, at + 0.06 * unit * forward(p.pitch), 0.45 * p.chest * unit, 0.45 * p.chest * unit, p.coat.base,
               blend=0.4 * p.chest * unit, scale=(0.7, 1, 1))  # fmt: skip


def _mane(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    """A crest along the back of the neck, and a forelock."""
    color = p.coat.mane or DARK
    unit = p.trunk
    joints = build.core[3:-1]
    nodes = [build.heads[joint] for joint in joints] + [build.tails[joints[-1]]]
    radii = np.linspace(p.neck.base, p.neck.top, len(nodes)) * unit
    back = forward(p.neck.angle + 90)
    crest = [node + 0.98 * radius * back for node, radius in zip(nodes, radii, strict=True)]
    crest[-1] = crest[-1] + 0.5 * p.head.radius * unit * forward(90)
    thick = 0.45 * p.neck.top * unit
    for a, b in pairwise(crest):
        build.blob(a, b, 1.2 * thick, thick, color, blend=0.3 * thick, scale=(0.6, 1, 1))
    build.blob(crest[-1], middle + p.head.radius * unit * (0.9 * forward(40)), thick, 0.7 * thick, color,
               blend=0.3 * thick, scale=(0.8, 1, 1))  # fmt: skip


def _ruff(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    """A lion's mane: a thick collar around neck and head."""
    color = p.coat.mane or DARK
    r = p.head.radius * p.trunk
    neck = build.heads[build.core[-1]]
    back = build.heads[build.core[3]]
    build.blob(back + 0.1 * (neck - back), neck - [0, 0.1 * r, 0.1 * r], 1.35 * r, 1.5 * r, color, blend=0.2 * r)
    build.blob(back - [0, 0.9 * r, 0.2 * r], neck - [0, 0.9 * r, 0.1 * r], 0.9 * r, 0.9 * r, color, blend=0.4 * r)


def _jaw(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    """A lower jaw with a joint of its own."""
    unit, h = p.trunk, p.head
    r = h.radius * unit
    ahead, down = forward(h.pitch - 9), forward(h.pitch - 90)
    hinge = middle + 0.55 * r * down - 0.05 * r * ahead
    tip = hinge + (0.93 * h.snout * unit) * ahead
    joint = build.joint("jaw", head, hinge, tip)
    limb = build.limb([joint], 0.18 * r)
    color = p.coat.belly or p.coat.base
    build.blob(hinge, tip - 0.4 * h.snout_tip * unit * ahead, 0.55 * h.snout_base * unit, 0.55 * h.snout_tip * unit,
               color, limb=limb, blend=0.05 * r, scale=(1.25, 1, 1))  # fmt: skip


def _teeth(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    unit, h = p.trunk, p.head
    ahead, down = forward(h.pitch), forward(h.pitch - 90)
    length = 0.42 * h.snout_tip * unit
    for share in np.linspace(0.45, 0.92, 6):
        width = ((1 - share) * h.snout_base + share * h.snout_tip) * unit
        at = middle + share * h.snout * unit * ahead + 0.62 * width * down + [0.72 * width, 0, 0]
        path = np.stack((at, at + 0.25 * length * down, at + length * down))
        _shell(build, path, [0, 0.3 * length, 0], (0.97, 0.95, 0.88), head)


def _hair(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    r = p.head.radius * p.trunk
    color = p.coat.mane or (0.25, 0.16, 0.10)
    top = middle + r * np.array([0, 0.48 * p.head.height, -0.10])
    low = middle + r * np.array([0, -0.25 * p.head.height, -0.42])
    build.blob(top, low, 0.86 * r, 0.74 * r, color, blend=0.03 * r, scale=(1.16, 1.0, 1.0))
    # A nose, and lips as paint.
    tip = middle + r * np.array([0, -0.12 * p.head.height, 1.12])
    build.blob(tip + [0, 0.16 * r, -0.12 * r], tip, 0.07 * r, 0.12 * r, p.coat.head or p.coat.base, blend=0.08 * r)
    mouth = middle + r * np.array([0, -0.56 * p.head.height, 0.86])
    build.mark(
        mouth + [0.14 * r, 0, 0], mouth - [0.14 * r, 0, 0], 0.12 * r, 0.12 * r, (0.72, 0.36, 0.33), soft=0.06 * r
    )


def _helmet(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    r = p.head.radius * p.trunk
    build.mark(middle + r * np.array([0.12, 0.05, 0.85]), middle + r * np.array([-0.12, 0.05, 0.85]), 0.66 * r,
               0.66 * r, p.coat.accent, soft=0.05 * r)  # fmt: skip
    ring = build.heads[build.core[3]]
    build.blob(ring, ring + [0, 0.02 * p.trunk, 0], 0.72 * r, 0.72 * r, (0.55, 0.57, 0.60), blend=0.05 * r,
               scale=(1, 0.35, 1))  # fmt: skip


def _backpack(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    unit = p.trunk
    top, low = build.heads[build.core[3]], build.heads[build.core[1]]
    back = np.array([0, 0, -(0.85 * p.chest + 0.12) * unit])
    build.blob(top + back - [0, 0.1 * unit, 0], low + back, 0.2 * unit, 0.2 * unit, (0.78, 0.79, 0.82),
               blend=0.03 * unit, scale=(1.35, 0.9, 0.85), sharp=6.0)  # fmt: skip
    front = 0.5 * (top + low) + [0, 0, 0.86 * p.chest * unit]
    build.blob(front, front + [0, 0.04 * unit, 0], 0.11 * unit, 0.11 * unit, (0.42, 0.46, 0.52), blend=0.01 * unit,
               scale=(1.4, 0.8, 0.7), sharp=6.0)  # fmt: skip


def _antenna(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    r = p.head.radius * p.trunk
    top = middle + [0, 0.85 * r * p.head.height, 0]
    path = top + np.array([[0, 0, 0], [0, 0.1, 0], [0, 0.7, 0], [0, 0.8, 0], [0, 0.95, 0], [0, 1.05, 0]]) * r
    radii = np.array([0, 0.07, 0.06, 0.17, 0.15, 0]) * r
    build.shells.append(Shell(path, radii, np.array([0.4, 0.42, 0.45]), head, np.array(RED)))
    # Ears of a robot: bolts.
    bolt = middle + np.array([[0.7, 0, 0], [0.8, 0, 0], [1.15, 0, 0], [1.2, 0, 0]]) * r
    _shell(build, bolt, [0, 0.3 * r, 0.3 * r, 0], (0.4, 0.42, 0.45), head)
    chest = build.heads[build.core[2]] + [0, 0, 0.9 * p.chest * p.trunk]
    build.mark(chest + [0.1 * p.trunk, 0, 0], chest - [0.1 * p.trunk, 0, 0], 0.1 * p.trunk, 0.1 * p.trunk,
               p.coat.accent, soft=0.02 * p.trunk, limb=CORE)  # fmt: skip


def _visor(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    """The dark face plate behind a robot's eyes."""
    r = p.head.radius * p.trunk
    at = middle + [0, 0.12 * r, 1.0 * r]
    build.mark(at + [0.45 * r, 0, 0], at - [0.45 * r, 0, 0], 0.36 * r, 0.36 * r, DARK, soft=0.05 * r)


def _plumage(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    """Loose feathers over rump and thighs."""
    unit, color = p.trunk, p.coat.base
    hips = build.heads[0]
    up, back = forward(p.pitch), forward(p.pitch + 90)
    for sign in (1.0, -1.0):
        at = hips + 0.3 * unit * up + [sign * 0.08 * unit, 0.05 * unit, 0]
        build.blob(at, at - 0.35 * unit * up, 0.95 * p.belly * unit, 0.75 * p.rump * unit, color, blend=0.1 * unit)
    tip = p.coat.tail_tip or color
    rear = hips - 0.55 * unit * up + 0.05 * unit * back
    build.blob(hips, rear, 0.9 * p.rump * unit, 0.55 * p.rump * unit, tip, blend=0.1 * unit)


def _claws(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    unit = p.trunk
    for joint, name in enumerate(list(build.names)):
        if not name.endswith("toes"):
            continue
        tip, radius = build.tails[joint], p.paw * unit
        for shift in (-0.55, 0.0, 0.55):
            at = tip + np.array([shift, 0.0, 0.45]) * radius
            path = np.stack((at, at + [0, 0.05 * radius, 0.35 * radius], at + [0, -0.4 * radius, 1.15 * radius]))
            path[:, 1] = np.maximum(path[:, 1], 0.12 * radius)
            build.shells.append(Shell(path, np.array([0, 0.32 * radius, 0]), np.asarray(DARK), joint))


def _udder(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    unit = p.trunk
    at = build.heads[0] + np.array([0, -1.02 * p.rump * unit, 0.2 * unit])
    build.blob(at, at + [0, 0, 0.03 * unit], 0.09 * unit, 0.09 * unit, PINK, blend=0.04 * unit)


def _silverback(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    unit, back = p.trunk, forward(p.pitch + 90)
    low, high = build.heads[0], build.heads[2]
    r = 0.9 * p.belly * unit
    build.mark(low + r * back, high + r * back, 0.9 * p.rump * unit, 0.7 * p.belly * unit, (0.55, 0.55, 0.57),
               soft=0.15 * unit, limb=CORE)  # fmt: skip
    # The bare face, and the heavy brow above it.
    h = p.head
    face = middle + h.radius * unit * forward(h.pitch)
    build.mark(face, face + 0.3 * h.radius * unit * forward(h.pitch), 0.75 * h.radius * unit, 0.6 * h.radius * unit,
               p.coat.muzzle or DARK, soft=0.15 * h.radius * unit)  # fmt: skip


def _crest(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    """A high crown, as gorillas have."""
    r = p.head.radius * p.trunk
    color = p.coat.head or p.coat.base
    build.blob(middle, middle + 0.65 * r * forward(112), 0.8 * r, 0.6 * r, color, blend=0.4 * r)


def _spikes(build: Builder, p: Vertebrate, head: int, middle: np.ndarray) -> None:
    """A row of small spikes along the back."""
    unit, up, back = p.trunk, forward(p.pitch), forward(p.pitch + 90)
    for share in np.linspace(0.05, 0.95, 8):
        joint = build.core[0 if share < 0.3 else 1 if share < 0.65 else 2]
        radius = (p.rump + share * (p.chest - p.rump)) * unit
        at = build.heads[0] + share * unit * up + 0.8 * radius * back
        path = np.stack((at, at + 0.1 * radius * back, at + (0.55 * back - 0.25 * up) * radius))
        build.shells.append(Shell(path, np.array([0, 0.2 * radius, 0]), np.asarray(p.coat.accent, dtype=float), joint))


ADD = {
    "horns": _horns, "antlers": _antlers, "ossicones": _ossicones, "trunk": _trunk, "tusks": _tusks, "beak": _beak,
    "comb": _comb, "hump": _hump, "mane": _mane, "ruff": _ruff, "jaw": _jaw, "teeth": _teeth, "hair": _hair,
    "helmet": _helmet, "backpack": _backpack, "antenna": _antenna, "visor": _visor, "plumage": _plumage,
    "claws": _claws, "udder": _udder, "silverback": _silverback, "crest": _crest, "spikes": _spikes,
    "two humps": _two_humps, "patched eyes": _patched_eyes, "flat beak": _flat_beak,
}  # fmt: skip
"""What each extra of `proportions.Extra` adds; those not listed change the plan itself."""
