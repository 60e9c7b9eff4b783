"""New proportions out of the table's: rows blended, numbers shaken, colours drawn."""

import colorsys
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from kinema.create.creatures.proportions import Arms, Arthropod, Bones, Coat, Proportions, Rgb, Tail, Vertebrate

ANGLES = {"pitch", "angle", "curve", "curl", "spread", "forward", "sprawl", "eye_side", "eye_up", "fan"}
"""Fields in degrees: they are shaken by adding, lengths by a factor."""


def mix(a: Any, b: Any, t: float, rng: np.random.Generator) -> Any:
    """`a` moved a share `t` towards `b`: numbers linearly, what cannot be mixed is taken from either."""
    if is_dataclass(a) and type(a) is type(b):
        values = {f.name: mix(getattr(a, f.name), getattr(b, f.name), t, rng) for f in fields(a)}
        return replace(a, **values)  # pyright: ignore[reportArgumentType]
    if isinstance(a, float | int) and not isinstance(a, bool) and isinstance(b, float | int):
        return a + t * (b - a) if isinstance(a, float) or isinstance(b, float) else a
    if isinstance(a, tuple) and isinstance(b, tuple) and a and len(a) == len(b) and not isinstance(a[0], str):
        return tuple(mix(x, y, t, rng) for x, y in zip(a, b, strict=True))
    return a if rng.random() >= 0.5 * t else (b if a is not None and type(a) is type(b) else a)


def shake(value: Any, rng: np.random.Generator, *, amount: float, name: str = "") -> Any:
    """Every length times exp(N(0, amount)), every angle plus N(0, 40° amount); counts, kinds and colours stay."""
    if isinstance(value, Coat):
        return value
    if is_dataclass(value):
        values = {f.name: shake(getattr(value, f.name), rng, amount=amount, name=f.name) for f in fields(value)}
        return replace(value, **values)  # pyright: ignore[reportArgumentType]
    if name in ("hind", "front") and isinstance(value, tuple):
        return shake_leg(value, rng, amount=amount)
    if name in ("speed", "legs", "bones", "eyes") or isinstance(value, bool | str | tuple) or value is None:
        return value
    if name in ANGLES:
        return float(value + 40 * amount * rng.normal())
    return float(value * np.exp(amount * rng.normal()))


def shake_leg(bones: Bones, rng: np.random.Generator, *, amount: float) -> Bones:
    """Bones longer or shorter, and the whole leg straighter or more crouched; the foot keeps its angle."""
    crouch = float(np.exp(1.2 * amount * rng.normal()))
    changed = [(float(l * np.exp(0.6 * amount * rng.normal())), float(a * crouch)) for l, a in bones[:-1]]
    changed = [(l, float(np.clip(a, -62, 66))) for l, a in changed]
    return (*changed, (float(bones[-1][0] * np.exp(amount * rng.normal())), bones[-1][1]))


def vary(proportions: Proportions, rng: np.random.Generator, *, amount: float) -> Proportions:
    """Shaken proportions that still stand: feet apart, head and neck no thicker than what carries them."""
    p = shake(proportions, rng, amount=amount)
    if isinstance(p, Arthropod):
        return replace(p, height=min(max(p.height, 0.6 * p.abdomen), 0.8 * p.knee + 0.02))
    assert isinstance(proportions, Vertebrate)
    assert isinstance(p, Vertebrate)
    upright = proportions.pitch > 70
    p = replace(p, pitch=proportions.pitch + (0.3 if upright else 0.6) * (p.pitch - proportions.pitch))
    trunk = min(p.chest, p.belly, p.rump)
    legs = p.thigh / p.leg
    most = 0.17 if p.family == "quadruped" else 0.2
    p = replace(
        p,
        width=float(np.clip(p.width, 0.6, 1.5)),
        leg=max(p.leg, (1.9 if p.family == "bird" else 1.15) * p.belly),
        sag=min(p.sag, 0.06),
        sprawl=max(p.sprawl, 0.0) if proportions.sprawl else 0.0,
        thigh=float(np.clip(p.thigh, 0.42 * trunk, 0.9 * p.rump)) * min(1.0, most / legs),
    )
    p = replace(p, shank=float(np.clip(p.shank, 0.2 * p.thigh, 0.85 * p.thigh)))
    p = replace(p, paw=float(np.clip(p.paw, p.shank, 2 * p.shank + 0.01)))
    p = replace(p, stance=max(p.stance, 1.15 * p.paw, 0.75 * p.thigh))
    neck = replace(p.neck, base=min(p.neck.base, 0.95 * p.chest))
    neck = replace(neck, top=min(neck.top, neck.base, 0.95 * p.head.radius))
    head = replace(p.head, height=float(np.clip(p.head.height, 0.8, 1.35)), eye=float(np.clip(p.head.eye, 0.1, 0.3)))
    head = replace(head, snout_base=min(head.snout_base, 0.9 * head.radius))
    head = replace(head, snout_tip=min(head.snout_tip, head.snout_base))
    tail = p.tail
    if tail:
        tail = replace(tail, base=min(tail.base, 0.95 * p.rump), tip=min(tail.tip, tail.base))
        tail = _off_the_ground(p, tail)
    front = p.front
    if isinstance(front, Arms) and isinstance(proportions.front, Arms):
        front = replace(front, spread=float(np.clip(front.spread, 22, 60)), hand=max(front.hand, 0.6 * front.radius))
    return replace(p, neck=neck, head=head, tail=tail, front=front)


def as_figure(p: Vertebrate, rng: np.random.Generator) -> Vertebrate:
    """The short legs and large head of toys and game figures, some with their arms stretched out to be rigged."""
    legs, head = float(rng.uniform(0.45, 1.0)), float(rng.uniform(1.0, 2.2))
    front = p.front
    if isinstance(front, Arms) and rng.random() < 0.5:
        front = replace(front, spread=float(rng.uniform(65, 92)))
    return replace(
        p,
        leg=max(legs * p.leg, 1.2 * p.belly),
        thigh=p.thigh * max(legs, 0.7),
        head=replace(p.head, radius=head * p.head.radius),
        front=front,
    )


def _off_the_ground(p: Vertebrate, tail: Tail) -> Tail:
    """Shorter where it would end below the ground."""
    angles = [tail.angle + tail.curl * k / max(1, tail.bones - 1) for k in range(tail.bones)]
    drop = -sum(np.sin(np.deg2rad(angle)) for angle in angles) / tail.bones
    room = p.leg - tail.base
    return replace(tail, length=room / drop) if drop > 0.05 and tail.length * drop > room else tail


def shade_coat(coat: Coat, rng: np.random.Generator) -> Coat:
    """The same coat a little lighter or darker, as two animals of one litter have it."""
    turn, light = rng.normal(0, 0.012), float(np.exp(rng.normal(0, 0.12)))
    return _recolor(coat, lambda rgb: _shift(rgb, turn, 1.0, light))


def random_coat(coat: Coat, rng: np.random.Generator) -> Coat:
    """New colours in the old places: half of them the natural ones shifted, half anything."""
    if rng.random() < 0.5:
        turn, light = rng.normal(0, 0.04), float(np.exp(rng.normal(0, 0.35)))
        return _recolor(coat, lambda rgb: _shift(rgb, turn, 1.0, light))
    turn, rich, light = rng.random(), float(np.exp(rng.normal(0, 0.4))), float(np.exp(rng.normal(0, 0.35)))
    kinds = ("plain", "plain", "patches", "stripes", "spots")
    accent = _shift(coat.base, rng.random(), rich, float(np.exp(rng.normal(0, 0.8))))
    return replace(
        _recolor(coat, lambda rgb: _shift(rgb, turn, rich, light)),
        pattern=kinds[int(rng.integers(len(kinds)))],
        accent=accent,
    )


def _recolor(coat: Coat, change: Any) -> Coat:
    regions = ("base", "belly", "thighs", "legs", "feet", "muzzle", "head", "ear", "tail", "tail_tip", "mane", "accent")
    values = {name: getattr(coat, name) for name in regions}
    return replace(coat, **{name: change(rgb) for name, rgb in values.items() if rgb is not None})


def _shift(rgb: Rgb, turn: float, rich: float, light: float) -> Rgb:
    hue, saturation, value = colorsys.rgb_to_hsv(*rgb)
    return colorsys.hsv_to_rgb(
        (hue + turn) % 1.0, min(1.0, saturation * rich), float(np.clip(value * light, 0.06, 0.97))
    )
