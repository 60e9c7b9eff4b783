"""Heads: skull, snout or beak, ears, eyes, nose."""

import numpy as np

from kinema.create.creatures.builder import Builder, forward, side
from kinema.create.creatures.field import Eye, Shell
from kinema.create.creatures.proportions import Ears, Number, Vertebrate


def add_face(build: Builder, p: Vertebrate, head: int, skull: np.ndarray) -> None:
    unit, coat, h = p.trunk, p.coat, p.head
    radius = h.radius * unit
    color = coat.head or coat.base
    beaked = "beak" in p.extras or "flat beak" in p.extras
    boxy = 5.0 if "boxy" in p.extras else 2.0
    middle = skull + 0.35 * radius * forward(50)
    ahead = forward(h.pitch)
    tip = middle + h.snout * unit * ahead
    scale = (1.0, h.height, 1.0)
    build.blob(middle, middle + 0.15 * radius * ahead, radius, 0.95 * radius, color, blend=0.5 * radius, scale=scale,
               sharp=boxy)  # fmt: skip
    if h.snout > h.radius and not beaked:
        base = middle + 0.3 * radius * ahead - 0.12 * radius * forward(90)
        end = tip - 0.8 * h.snout_tip * unit * ahead
        build.blob(base, end, h.snout_base * unit, h.snout_tip * unit, color, blend=0.6 * radius)
        if coat.muzzle:
            share = coat.muzzle_from
            wide = ((1 - share) * h.snout_base + share * h.snout_tip) * unit
            drop = (0.55 * wide if share < 0.5 else 0.0) * forward(h.pitch - 90)
            start = base + share * (end - base)
            build.mark(start + drop, end + 0.5 * h.snout_tip * unit * ahead + 0.6 * drop, 1.15 * wide,
                       1.25 * h.snout_tip * unit, coat.muzzle, soft=0.25 * wide)  # fmt: skip
        if "nose" in p.extras:
            r = 0.55 * h.snout_tip * unit
            at = tip - 0.45 * h.snout_tip * unit * ahead + 0.55 * h.snout_tip * unit * forward(h.pitch + 90)
            build.shells.append(ball(at, r, np.asarray(coat.nose), head, scale=(1.25, 0.85, 0.8)))
    elif not beaked and "boxy" not in p.extras and "helmet" not in p.extras:
        build.blob(tip - 0.4 * radius * ahead, tip, h.snout_base * unit, h.snout_tip * unit, color,
                   blend=0.08 * radius)  # fmt: skip
    if p.ears:
        for name, sign in (("left", 1.0), ("right", -1.0)):
            _ear(build, p, p.ears, head, middle, name, sign)
    if h.eye > 0 and "helmet" not in p.extras:
        out, up = np.deg2rad(h.eye_side), np.deg2rad(h.eye_up)
        for sign in (1.0, -1.0):
            direction = np.array([np.sin(out) * np.cos(up) * sign, np.sin(up), np.cos(out) * np.cos(up)])
            iris = None if coat.iris is None else np.asarray(coat.iris)
            look = direction + [0, -0.2, 0.9]
            look = look / np.linalg.norm(look)
            build.eyes.append(Eye(middle, direction, h.eye * radius, np.asarray(coat.eye), head, iris, look))


def _ear(build: Builder, p: Vertebrate, ears: Ears, head: int, middle: np.ndarray, name: str, sign: float) -> None:
    unit, coat = p.trunk, p.coat
    radius, length, width = p.head.radius * unit, ears.length * unit, ears.width * unit
    spread = np.deg2rad(ears.spread)
    direction = np.array([np.sin(spread), np.cos(spread), -0.15])
    direction /= np.linalg.norm(direction)
    root = middle + radius * np.array([0.62 * np.sin(spread) + 0.25, 0.75 * p.head.height * np.cos(spread) + 0.1, -0.2])
    color = coat.ear or coat.head or coat.base
    inner = root - 0.3 * radius * direction
    tip = root + length * direction
    thin = (1.0, 1.0, 0.42)
    thick, thin_end = {
        "pointed": (width, 0.3 * width),
        "round": (0.9 * width, 0.9 * width),
        "long": (0.75 * width, 0.6 * width),
        "floppy": (0.7 * width, 0.95 * width),
        "fan": (0.8 * width, width),
    }[ears.kind]
    if ears.kind == "floppy":
        root = middle + radius * np.array([0.85, 0.45 * p.head.height, -0.1])
        inner = root - [0.2 * radius, 0, 0]
        tip = root + length * np.array([0.35, -0.9, 0.05])
        thin = (0.45, 1.0, 1.0)
    if ears.kind == "fan":
        root = middle + radius * np.array([0.75, 0.35, -0.30])
        inner = root - [0.15 * radius, 0, 0]
        tip = root + length * np.array([0.84, -0.06, -0.42])
        thin = (0.9, 1.2, 0.30)
    joint = build.joint(f"{name}_ear", head, side(inner, sign), side(tip, sign))
    limb = build.limb([joint], 0.35 * width)
    build.blob(side(inner, sign), side(tip, sign), thick, thin_end, color, limb=limb, blend=0.01 * unit, scale=thin)


def ball(
    center: np.ndarray,
    radius: Number,
    color: np.ndarray,
    joint: int,
    *,
    rings: int = 7,
    scale: tuple[Number, Number, Number] = (1.0, 1.0, 1.0),
) -> Shell:
    """A sphere as a shell of rings about the vertical."""
    angle = np.linspace(0, np.pi, rings)
    path = center + np.stack((0 * angle, -np.cos(angle) * radius * scale[1], 0 * angle), -1)
    return Shell(path, radius * np.sin(angle) * scale[0], color, joint)
