"""Heads: skull, snout, nose, ears and eyes. Beaks are in `extras`."""

import numpy as np

from kinema.create.creatures.body import SIDES, Body, Eye, Vector, forward, mirror, toward
from kinema.create.creatures.vertebrate.proportions import Ears, Vertebrate


def add_face(body: Body, p: Vertebrate, middle: Vector) -> None:
    """Build the head around the middle of the skull."""
    unit, coat, h, radius = p.trunk, p.coat, p.head, p.skull
    color, joint = coat.head or coat.base, body.core[-1]
    beaked, boxy, helmet = bool({"beak", "flat beak"} & {*p.extras}), "boxy" in p.extras, "helmet" in p.extras
    ahead = forward(h.pitch)
    tip = middle + h.snout * unit * ahead
    body.blob(middle, middle + 0.15 * radius * ahead, radius, 0.95 * radius, color, blend=0.5 * radius,
              scale=(1.0, h.height, 1.0), sharp=5.0 if boxy else 2.0)  # fmt: skip
    if h.snout > h.radius and not beaked:
        base = middle + 0.3 * radius * ahead - 0.12 * radius * forward(90)
        end = tip - 0.8 * h.snout_tip * unit * ahead
        body.blob(base, end, h.snout_base * unit, h.snout_tip * unit, color, blend=0.6 * radius)
        if coat.muzzle:
            share = coat.muzzle_from
            wide = ((1 - share) * h.snout_base + share * h.snout_tip) * unit
            drop = (0.55 * wide if share < 0.5 else 0.0) * forward(h.pitch - 90)
            start = base + share * (end - base)
            body.mark(start + drop, end + 0.5 * h.snout_tip * unit * ahead + 0.6 * drop, 1.15 * wide,
                      1.25 * h.snout_tip * unit, coat.muzzle, soft=0.25 * wide)  # fmt: skip
        if "nose" in p.extras:
            at = tip - 0.45 * h.snout_tip * unit * ahead + 0.55 * h.snout_tip * unit * forward(h.pitch + 90)
            r, angle = 0.55 * h.snout_tip * unit, np.linspace(0, np.pi, 7)
            path = at + np.stack((0 * angle, -np.cos(angle) * r * 0.85, 0 * angle), -1)
            body.tube(path, r * np.sin(angle) * 1.25, coat.nose, joint)
    elif not (beaked or boxy or helmet):
        body.blob(tip - 0.4 * radius * ahead, tip, h.snout_base * unit, h.snout_tip * unit, color, blend=0.08 * radius)
    if p.ears:
        for name, sign in SIDES:
            _ear(body, p, p.ears, middle, name, sign)
    if h.eye > 0 and not helmet:
        for _, sign in SIDES:
            direction = toward(h.eye_side, h.eye_up, sign)
            look = direction + [0, -0.2, 0.9]
            look = look / np.linalg.norm(look)
            body.eyes.append(Eye(middle, direction, h.eye * radius, coat.eye, joint, coat.iris, look))


def _ear(body: Body, p: Vertebrate, ears: Ears, middle: Vector, name: str, sign: float) -> None:
    unit, coat, radius, height = p.trunk, p.coat, p.skull, p.head.height
    length, width = ears.length * unit, ears.width * unit
    ends = {"pointed": (1.0, 0.3), "round": (0.9, 0.9), "long": (0.75, 0.6), "floppy": (0.7, 0.95), "fan": (0.8, 1.0)}
    thick, thin_end = ends[ears.kind]
    if ears.kind == "floppy":
        root = middle + radius * np.array([0.85, 0.45 * height, -0.1])
        inner, tip = root - [0.2 * radius, 0, 0], root + length * np.array([0.35, -0.9, 0.05])
        thin = (0.45, 1.0, 1.0)
    elif ears.kind == "fan":
        root = middle + radius * np.array([0.75, 0.35, -0.30])
        inner, tip = root - [0.15 * radius, 0, 0], root + length * np.array([0.84, -0.06, -0.42])
        thin = (0.9, 1.2, 0.30)
    else:
        spread = np.deg2rad(ears.spread)
        direction = np.array([np.sin(spread), np.cos(spread), -0.15])
        direction /= np.linalg.norm(direction)
        root = middle + radius * np.array([0.62 * np.sin(spread) + 0.25, 0.75 * height * np.cos(spread) + 0.1, -0.2])
        inner, tip = root - 0.3 * radius * direction, root + length * direction
        thin = (1.0, 1.0, 0.42)
    tips = mirror(inner, sign), mirror(tip, sign)
    limb = body.limb([body.joint(f"{name}_ear", body.core[-1], *tips)], 0.35 * width)
    body.blob(*tips, thick * width, thin_end * width, coat.ear or coat.head or coat.base, limb=limb, blend=0.01 * unit,
              scale=thin)  # fmt: skip
