"""What makes a species unmistakable: horns, trunks, beaks, manes, helmets.

Each function adds one extra to a body; `middle` is the middle of the skull.
"""

from itertools import pairwise

import numpy as np

from kinema.create.creatures.body import CORE, SIDES, Body, Rgb, Vector, forward, toward
from kinema.create.creatures.vertebrate.proportions import Vertebrate

BONE: Rgb = (0.90, 0.86, 0.76)
DARK: Rgb = (0.16, 0.14, 0.14)
RED: Rgb = (0.82, 0.12, 0.10)
PINK: Rgb = (0.92, 0.66, 0.62)
STEEL: Rgb = (0.4, 0.42, 0.45)


def _horns(body: Body, p: Vertebrate, middle: Vector) -> None:
    path = np.array([[0.3, 0.6, -0.1], [0.55, 0.85, -0.1], [1.05, 1.05, 0.0], [1.35, 1.35, 0.1], [1.4, 1.75, 0.15]])
    path[:, 1] *= p.head.height
    body.tubes(middle + path * p.skull, np.array([0, 0.24, 0.2, 0.13, 0]) * p.skull, BONE, body.core[-1], DARK)


def _dragon_horns(body: Body, p: Vertebrate, middle: Vector) -> None:
    path = np.array([[0.35, 0.45, -0.3], [0.5, 0.75, -0.6], [0.7, 1.0, -1.3], [0.75, 1.05, -2.0], [0.7, 1.0, -2.5]])
    body.tubes(middle + path * p.skull, np.array([0, 0.22, 0.18, 0.11, 0]) * p.skull, BONE, body.core[-1], DARK)


def _goat_horns(body: Body, p: Vertebrate, middle: Vector) -> None:
    path = np.array([[0.3, 0.55, 0.0], [0.35, 0.85, -0.1], [0.45, 1.5, -0.6], [0.55, 1.5, -1.3], [0.6, 1.2, -1.6]])
    body.tubes(middle + path * p.skull, np.array([0, 0.2, 0.17, 0.11, 0]) * p.skull, STEEL, body.core[-1], DARK)


def _nose_horns(body: Body, p: Vertebrate, middle: Vector) -> None:
    """A long horn on the nose and a short one behind it."""
    ahead, up = forward(p.head.pitch), forward(p.head.pitch + 90)
    for share, length in ((0.85, 0.30), (0.5, 0.15)):
        wide = ((1 - share) * p.head.snout_base + share * p.head.snout_tip) * p.trunk
        at = middle + share * p.head.snout * p.trunk * ahead + 0.75 * wide * up
        path = at + length * p.trunk * np.outer((0.0, 0.15, 0.6, 1.0), up)
        path = path - 0.06 * p.trunk * np.outer((0, 0, 0.3, 1.0), ahead)
        body.tube(path, np.array([0, 0.2, 0.12, 0]) * length * p.trunk, BONE, body.core[-1], DARK)


def _unicorn_horn(body: Body, p: Vertebrate, middle: Vector) -> None:
    path = middle + np.outer((0.6, 0.85, 2.0, 4.2), forward(p.head.pitch + 80)) * p.skull
    body.tube(path, np.array([0, 0.22, 0.15, 0]) * p.skull, (0.95, 0.85, 0.55), body.core[-1], (1.0, 0.95, 0.8))


def _antlers(body: Body, p: Vertebrate, middle: Vector) -> None:
    r, color, head = p.skull, (0.62, 0.50, 0.36), body.core[-1]
    bends = (0.2, 0.6, -0.1), (0.5, 1.0, -0.25), (1.3, 1.8, -0.7), (2.1, 2.7, -0.7), (2.3, 3.7, -0.1), (2.0, 4.4, 0.4)
    beam = np.array(bends)
    body.tubes(middle + beam * r, [0, 0.24 * r, 0.21 * r, 0.18 * r, 0.14 * r, 0], color, head, BONE)
    for at, tip in ((1, [0.7, 1.6, 0.9]), (2, [1.5, 2.6, 0.7]), (3, [2.3, 3.5, 0.9]), (4, [3.0, 4.5, -0.5])):
        start, end = beam[at] * 0.92, np.array(tip)
        path = np.stack((start, start + 0.25 * (end - start), start + 0.65 * (end - start), end))
        body.tubes(middle + path * r, [0, 0.17 * r, 0.12 * r, 0], color, head, BONE)


def _ossicones(body: Body, p: Vertebrate, middle: Vector) -> None:
    path = np.array([[0.3, 0.6, -0.2], [0.33, 0.8, -0.25], [0.4, 1.5, -0.4], [0.42, 1.75, -0.45], [0.43, 1.9, -0.45]])
    radii = np.array([0, 0.16, 0.15, 0.22, 0]) * p.skull
    body.tubes(middle + path * p.skull, radii, p.coat.base, body.core[-1], DARK)


def _trunk(body: Body, p: Vertebrate, middle: Vector) -> None:
    """Four bones that hang from the face and swing forward at the end, off the ground at a gallop too."""
    r, nodes = p.skull, [middle + p.skull * np.array([0, -0.25, 0.75])]
    room = nodes[0][1] - 0.4 * p.trunk
    for share, angle in ((0.27, -50), (0.30, -78), (0.26, -85), (0.2, -55)):
        nodes.append(nodes[-1] + share * 1.08 * room * forward(angle))
    limb = body.limb(body.chain([f"trunk_{k + 1}" for k in range(4)], body.core[-1], nodes), 0.45 * r)
    radii = np.array([0.52, 0.40, 0.28, 0.20, 0.15]) * r
    for k in range(4):
        body.blob(nodes[k], nodes[k + 1], radii[k], radii[k + 1], p.coat.head or p.coat.base, limb=limb, blend=0.1 * r)


def _tusks(body: Body, p: Vertebrate, middle: Vector) -> None:
    path = np.array([[0.40, -0.45, 0.5], [0.45, -0.7, 0.8], [0.52, -1.05, 1.25], [0.52, -1.1, 1.8], [0.45, -0.95, 2.2]])
    radii = np.array([0, 0.15, 0.13, 0.10, 0]) * p.skull
    body.tubes(middle + path * p.skull, radii, (0.96, 0.94, 0.86), body.core[-1])


def _beak(body: Body, p: Vertebrate, middle: Vector) -> None:
    """A beak, or a duck's bill: broad, flat and low."""
    unit, h, r, ahead, flat = p.trunk, p.head, p.skull, forward(p.head.pitch), "flat beak" in p.extras
    root, tip = middle + 0.6 * r * ahead, middle + (0.85 if flat else 1.0) * h.snout * unit * ahead
    down = np.array([0, 0.2 * r, 0])
    root, tip = (root - down, tip - down) if flat else (root, tip + 0.10 * r * forward(h.pitch - 90))
    body.blob(root, tip, h.snout_base * unit, h.snout_tip * unit, p.coat.muzzle or p.coat.nose, blend=0.1 * r,
              scale=(1.15, 0.5, 1.0) if flat else (1.0, 0.75, 1.0))  # fmt: skip


def _patched_eyes(body: Body, p: Vertebrate, middle: Vector) -> None:
    """Dark rings around the eyes and dark shoulders, as a panda has."""
    r, unit = p.skull, p.trunk
    for _, sign in SIDES:
        at = middle + 1.05 * r * toward(p.head.eye_side, p.head.eye_up - 6, sign)
        body.mark(at, at - [-0.08 * r * sign, 0.14 * r, 0], 0.30 * r, 0.26 * r, DARK, soft=0.06 * r)
    shoulder, radius = body.heads[2] + 0.2 * unit * p.up, 1.15 * p.chest * unit
    body.mark(shoulder, shoulder, radius, radius, DARK, soft=0.06 * unit, limb=CORE)


def _two_humps(body: Body, p: Vertebrate, middle: Vector) -> None:
    unit, back, color = p.trunk, p.back, p.coat.mane or p.coat.base
    for share in (0.28, 0.72):
        at = body.heads[0] + share * unit * p.up + 0.7 * p.belly * unit * back
        end = at + 0.17 * unit * back
        body.blob(at, end, 0.15 * unit, 0.075 * unit, color, blend=0.08 * unit, scale=(0.75, 1, 1))


def _comb(body: Body, p: Vertebrate, middle: Vector) -> None:
    """A red comb on the head and wattles below the beak."""
    r = p.skull
    for angle, size in ((45, 0.30), (80, 0.36), (115, 0.33), (148, 0.26)):
        low, high = middle + 0.8 * r * forward(angle), middle + 1.12 * r * forward(angle)
        body.blob(low, high, size * r, size * r, RED, blend=0.1 * r, scale=(0.5, 1, 1))
    for _, sign in SIDES:
        top = middle + r * np.array([0.22 * sign, -0.55, 0.72])
        body.blob(top, top - [0, 0.55 * r, 0], 0.2 * r, 0.28 * r, RED, blend=0.1 * r, scale=(0.6, 1, 1))


def _hump(body: Body, p: Vertebrate, middle: Vector) -> None:
    unit, up, radius = p.trunk, p.up, 0.45 * p.chest * p.trunk
    at = body.heads[2] + 0.75 * p.chest * unit * p.back + 0.1 * unit * up
    body.blob(at, at + 0.06 * unit * up, radius, radius, p.coat.base, blend=0.4 * p.chest * unit, scale=(0.7, 1, 1))


def _mane(body: Body, p: Vertebrate, middle: Vector) -> None:
    """A crest along the back of the neck, and a forelock."""
    color, unit, back = p.coat.mane or DARK, p.trunk, forward(p.neck.angle + 90)
    nodes = [*(body.heads[joint] for joint in body.core[3:-1]), body.tails[body.core[-2]]]
    radii = np.linspace(p.neck.base, p.neck.top, len(nodes)) * unit
    crest = [node + 0.98 * radius * back for node, radius in zip(nodes, radii, strict=True)]
    crest[-1] = crest[-1] + 0.5 * p.head.radius * unit * forward(90)
    thick, lock = 0.45 * p.neck.top * unit, middle + p.skull * (0.9 * forward(40))
    for a, b in pairwise(crest):
        body.blob(a, b, 1.2 * thick, thick, color, blend=0.3 * thick, scale=(0.6, 1, 1))
    body.blob(crest[-1], lock, thick, 0.7 * thick, color, blend=0.3 * thick, scale=(0.8, 1, 1))


def _ruff(body: Body, p: Vertebrate, middle: Vector) -> None:
    """A lion's mane: a thick collar around neck and head."""
    color, r, neck, back = p.coat.mane or DARK, p.skull, body.heads[body.core[-1]], body.heads[body.core[3]]
    body.blob(back + 0.1 * (neck - back), neck - [0, 0.1 * r, 0.1 * r], 1.35 * r, 1.5 * r, color, blend=0.2 * r)
    body.blob(back - [0, 0.9 * r, 0.2 * r], neck - [0, 0.9 * r, 0.1 * r], 0.9 * r, 0.9 * r, color, blend=0.4 * r)


def _jaw(body: Body, p: Vertebrate, middle: Vector) -> None:
    """A lower jaw with a joint of its own."""
    unit, h, r, ahead, down = p.trunk, p.head, p.skull, forward(p.head.pitch - 9), forward(p.head.pitch - 90)
    hinge = middle + 0.55 * r * down - 0.05 * r * ahead
    tip = hinge + (0.93 * h.snout * unit) * ahead
    limb = body.limb([body.joint("jaw", body.core[-1], hinge, tip)], 0.18 * r)
    body.blob(hinge, tip - 0.4 * h.snout_tip * unit * ahead, 0.55 * h.snout_base * unit, 0.55 * h.snout_tip * unit,
              p.coat.belly or p.coat.base, limb=limb, blend=0.05 * r, scale=(1.25, 1, 1))  # fmt: skip


def _teeth(body: Body, p: Vertebrate, middle: Vector) -> None:
    unit, h, length = p.trunk, p.head, 0.42 * p.head.snout_tip * p.trunk
    ahead, down = forward(h.pitch), forward(h.pitch - 90)
    for share in np.linspace(0.45, 0.92, 6):
        width = ((1 - share) * h.snout_base + share * h.snout_tip) * unit
        at = middle + share * h.snout * unit * ahead + 0.62 * width * down + [0.72 * width, 0, 0]
        path = np.stack((at, at + 0.25 * length * down, at + length * down))
        body.tubes(path, [0, 0.3 * length, 0], (0.97, 0.95, 0.88), body.core[-1])


def _hair(body: Body, p: Vertebrate, middle: Vector) -> None:
    """A person's hair, nose and lips; the lips are paint."""
    r, height = p.skull, p.head.height
    top, low = middle + r * np.array([0, 0.48 * height, -0.10]), middle + r * np.array([0, -0.25 * height, -0.42])
    body.blob(top, low, 0.86 * r, 0.74 * r, p.coat.mane or (0.25, 0.16, 0.10), blend=0.03 * r, scale=(1.16, 1.0, 1.0))
    tip = middle + r * np.array([0, -0.12 * height, 1.12])
    body.blob(tip + [0, 0.16 * r, -0.12 * r], tip, 0.07 * r, 0.12 * r, p.coat.head or p.coat.base, blend=0.08 * r)
    mouth, half = middle + r * np.array([0, -0.56 * height, 0.86]), [0.14 * r, 0, 0]
    body.mark(mouth + half, mouth - np.array(half), 0.12 * r, 0.12 * r, (0.72, 0.36, 0.33), soft=0.06 * r)


def _helmet(body: Body, p: Vertebrate, middle: Vector) -> None:
    """A dark visor, and a ring around the neck."""
    r, ring = p.skull, body.heads[body.core[3]]
    ends = middle + r * np.array([0.12, 0.05, 0.85]), middle + r * np.array([-0.12, 0.05, 0.85])
    body.mark(*ends, 0.66 * r, 0.66 * r, p.coat.accent, soft=0.05 * r)
    body.blob(ring, ring + [0, 0.02 * p.trunk, 0], 0.72 * r, 0.72 * r, (0.55, 0.57, 0.60), blend=0.05 * r,
              scale=(1, 0.35, 1))  # fmt: skip


def _backpack(body: Body, p: Vertebrate, middle: Vector) -> None:
    """A box on the back, and one on the chest."""
    unit, top, low = p.trunk, body.heads[body.core[3]], body.heads[body.core[1]]
    back = np.array([0, 0, -(0.85 * p.chest + 0.12) * unit])
    body.blob(top + back - [0, 0.1 * unit, 0], low + back, 0.2 * unit, 0.2 * unit, (0.78, 0.79, 0.82),
              blend=0.03 * unit, scale=(1.35, 0.9, 0.85), sharp=6.0)  # fmt: skip
    front = 0.5 * (top + low) + [0, 0, 0.86 * p.chest * unit]
    body.blob(front, front + [0, 0.04 * unit, 0], 0.11 * unit, 0.11 * unit, (0.42, 0.46, 0.52), blend=0.01 * unit,
              scale=(1.4, 0.8, 0.7), sharp=6.0)  # fmt: skip


def _antenna(body: Body, p: Vertebrate, middle: Vector) -> None:
    """A robot's antenna, bolts for ears, and a painted chest plate."""
    r, unit, head = p.skull, p.trunk, body.core[-1]
    top = middle + [0, 0.85 * r * p.head.height, 0]
    path = top + np.array([[0, 0, 0], [0, 0.1, 0], [0, 0.7, 0], [0, 0.8, 0], [0, 0.95, 0], [0, 1.05, 0]]) * r
    body.tube(path, np.array([0, 0.07, 0.06, 0.17, 0.15, 0]) * r, STEEL, head, RED)
    bolt = middle + np.array([[0.7, 0, 0], [0.8, 0, 0], [1.15, 0, 0], [1.2, 0, 0]]) * r
    body.tubes(bolt, [0, 0.3 * r, 0.3 * r, 0], STEEL, head)
    chest, half = body.heads[body.core[2]] + [0, 0, 0.9 * p.chest * unit], np.array([0.1 * unit, 0, 0])
    body.mark(chest + half, chest - half, 0.1 * unit, 0.1 * unit, p.coat.accent, soft=0.02 * unit, limb=CORE)


def _visor(body: Body, p: Vertebrate, middle: Vector) -> None:
    """The dark face plate behind a robot's eyes."""
    r, at, half = p.skull, middle + np.array([0, 0.12, 1.0]) * p.skull, np.array([0.45 * p.skull, 0, 0])
    body.mark(at + half, at - half, 0.36 * r, 0.36 * r, DARK, soft=0.05 * r)


def _plumage(body: Body, p: Vertebrate, middle: Vector) -> None:
    """Loose feathers over rump and thighs."""
    unit, color, hips, up = p.trunk, p.coat.base, body.heads[0], p.up
    for _, sign in SIDES:
        at = hips + 0.3 * unit * up + [sign * 0.08 * unit, 0.05 * unit, 0]
        body.blob(at, at - 0.35 * unit * up, 0.95 * p.belly * unit, 0.75 * p.rump * unit, color, blend=0.1 * unit)
    rear = hips - 0.55 * unit * up + 0.05 * unit * p.back
    body.blob(hips, rear, 0.9 * p.rump * unit, 0.55 * p.rump * unit, p.coat.tail_tip or color, blend=0.1 * unit)


def _claws(body: Body, p: Vertebrate, middle: Vector) -> None:
    radius = p.paw * p.trunk
    for joint, name in enumerate(body.names):
        for shift in (-0.55, 0.0, 0.55) if name.endswith("toes") else ():
            at = body.tails[joint] + np.array([shift, 0.0, 0.45]) * radius
            path = np.stack((at, at + [0, 0.05 * radius, 0.35 * radius], at + [0, -0.4 * radius, 1.15 * radius]))
            path[:, 1] = np.maximum(path[:, 1], 0.12 * radius)
            body.tube(path, [0, 0.32 * radius, 0], DARK, joint)


def _udder(body: Body, p: Vertebrate, middle: Vector) -> None:
    unit, at = p.trunk, body.heads[0] + np.array([0, -1.02 * p.rump * p.trunk, 0.2 * p.trunk])
    body.blob(at, at + [0, 0, 0.03 * unit], 0.09 * unit, 0.09 * unit, PINK, blend=0.04 * unit)


def _silverback(body: Body, p: Vertebrate, middle: Vector) -> None:
    """A grey back, a bare face and a high crown, as gorillas have."""
    unit, h, r, up = p.trunk, p.head, p.skull, 0.9 * p.belly * p.trunk * p.back
    ends, grey = (body.heads[0] + up, body.heads[2] + up), (0.55, 0.55, 0.57)
    body.mark(*ends, 0.9 * p.rump * unit, 0.7 * p.belly * unit, grey, soft=0.15 * unit, limb=CORE)
    face = middle + r * forward(h.pitch)
    body.mark(face, face + 0.3 * h.radius * unit * forward(h.pitch), 0.75 * h.radius * unit, 0.6 * h.radius * unit,
              p.coat.muzzle or DARK, soft=0.15 * h.radius * unit)  # fmt: skip
    body.blob(middle, middle + 0.65 * r * forward(112), 0.8 * r, 0.6 * r, p.coat.head or p.coat.base, blend=0.4 * r)


def _ribs(body: Body, p: Vertebrate, middle: Vector) -> None:
    """A rib cage around a spine, hip bones, and dark sockets for eyes."""
    unit, up, back, r = p.trunk, p.up, p.back, p.skull
    angle = np.linspace(-0.93 * np.pi, 0.93 * np.pi, 15)
    for share in np.linspace(0.42, 0.95, 6):
        wide = (0.9 + 0.5 * np.sin(np.pi * (share - 0.2))) * p.chest * unit
        at, joint = body.heads[0] + share * unit * up, body.core[1 if share < 0.6 else 2]
        ring = np.outer(np.sin(angle), [p.width, 0, 0]) + np.outer(-np.cos(angle), -back)
        thick = 0.028 * unit * np.minimum(1.0, 6 * np.sin(np.linspace(0, np.pi, 15)))
        body.tube(at + wide * ring - 0.1 * wide * back, thick, BONE, joint)
    for _, sign in SIDES:
        socket = middle + 0.95 * r * toward(p.head.eye_side, p.head.eye_up, sign)
        body.mark(socket, socket, 0.32 * r, 0.32 * r, DARK, soft=0.04 * r)


def _spikes(body: Body, p: Vertebrate, middle: Vector) -> None:
    """A row of small spikes along the back."""
    unit, up, back = p.trunk, p.up, p.back
    for share in np.linspace(0.05, 0.95, 8):
        joint = body.core[0 if share < 0.3 else 1 if share < 0.65 else 2]
        radius = (p.rump + share * (p.chest - p.rump)) * unit
        at = body.heads[0] + share * unit * up + 0.8 * radius * back
        path = np.stack((at, at + 0.1 * radius * back, at + (0.55 * back - 0.25 * up) * radius))
        body.tube(path, [0, 0.2 * radius, 0], p.coat.accent, joint)


EXTRAS = {
    "horns": _horns, "dragon horns": _dragon_horns, "goat horns": _goat_horns,
    "nose horns": _nose_horns, "unicorn horn": _unicorn_horn,
    "antlers": _antlers, "ossicones": _ossicones, "trunk": _trunk, "tusks": _tusks, "beak": _beak,
    "comb": _comb, "hump": _hump, "mane": _mane, "ruff": _ruff, "jaw": _jaw, "teeth": _teeth, "hair": _hair,
    "helmet": _helmet, "backpack": _backpack, "antenna": _antenna, "visor": _visor, "plumage": _plumage,
    "claws": _claws, "udder": _udder, "silverback": _silverback, "spikes": _spikes, "two humps": _two_humps,
    "patched eyes": _patched_eyes, "flat beak": _beak, "ribs": _ribs,
}  # fmt: skip
PLAN_EXTRAS = {"nose", "boxy", "clothes"}
"""Extras that change the plan or the face itself."""
