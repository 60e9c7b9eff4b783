"""New proportions out of the table's: rows blended, numbers shaken, colours drawn."""

import colorsys
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from kinema.create.creatures.body import Number, Rgb
from kinema.create.creatures.proportions import Coat, Degrees, Proportions


def mix(a: Any, b: Any, t: float, rng: np.random.Generator | None) -> Any:
    """`a` moved a share `t` towards `b`: numbers linearly, what cannot be mixed is drawn from either, or `a`'s."""
    if is_dataclass(a) and type(a) is type(b):
        values = {f.name: mix(getattr(a, f.name), getattr(b, f.name), t, rng) for f in fields(a)}
        return replace(a, **values)  # pyright: ignore[reportArgumentType]
    if isinstance(a, float | int) and not isinstance(a, bool) and isinstance(b, float | int):
        return a + t * (b - a) if isinstance(a, float) or isinstance(b, float) else a
    if isinstance(a, tuple) and isinstance(b, tuple) and a and len(a) == len(b) and not isinstance(a[0], str):
        return tuple(mix(x, y, t, rng) for x, y in zip(a, b, strict=True))
    return a if rng is None or rng.random() >= 0.5 * t else (b if a is not None and type(a) is type(b) else a)


def shake(value: Any, rng: np.random.Generator, *, amount: float, kind: Any = None) -> Any:
    """Every length times exp(N(0, amount)), every angle plus N(0, 40° amount); counts, kinds and colours stay.

    `kind` is the type of the field that holds the value.
    """
    if isinstance(value, Coat):
        return value
    if is_dataclass(value):
        values = {f.name: shake(getattr(value, f.name), rng, amount=amount, kind=f.type) for f in fields(value)}
        return replace(value, **values)  # pyright: ignore[reportArgumentType]
    if kind == Degrees:
        return float(value + 40 * amount * rng.normal())
    if kind == Number:
        # A part that is absent (0) draws nothing, or every kind of part that is added would change all individuals.
        return float(value * np.exp(amount * rng.normal())) if value else value
    if not (isinstance(value, tuple) and value and isinstance(value[0], tuple)):
        return value
    # A leg: bones longer or shorter, and the whole of it straighter or more crouched; the foot keeps its angle.
    *upper, (foot, flat) = value
    crouch = float(np.exp(1.2 * amount * rng.normal()))
    bones = [(float(l * np.exp(0.6 * amount * rng.normal())), float(np.clip(a * crouch, -62, 66))) for l, a in upper]
    return (*bones, (float(foot * np.exp(amount * rng.normal())), flat))


def vary(row: Proportions, rng: np.random.Generator, *, amount: float) -> Proportions:
    """Shaken proportions that still stand."""
    return shake(row, rng, amount=amount).limited(row)


def shade_coat(coat: Coat, rng: np.random.Generator, *, hue: float = 0.012, light: float = 0.12) -> Coat:
    """The same coat a little lighter or darker, as two animals of one litter have it."""
    return _recolor(coat, rng.normal(0, hue), 1.0, float(np.exp(rng.normal(0, light))))


def random_coat(coat: Coat, rng: np.random.Generator) -> Coat:
    """New colours in the old places: half of them the natural ones shifted, half anything."""
    if rng.random() < 0.5:
        return shade_coat(coat, rng, hue=0.04, light=0.35)
    turn, rich, light = rng.random(), float(np.exp(rng.normal(0, 0.4))), float(np.exp(rng.normal(0, 0.35)))
    kinds = ("plain", "plain", "patches", "stripes", "spots")
    accent = _shift(coat.base, rng.random(), rich, float(np.exp(rng.normal(0, 0.8))))
    pattern = kinds[int(rng.integers(len(kinds)))]
    return replace(_recolor(coat, turn, rich, light), pattern=pattern, accent=accent)


def _recolor(coat: Coat, turn: float, rich: float, light: float) -> Coat:
    """All colours of the coat shifted but those of eyes and nose."""
    regions = ("base", "belly", "thighs", "legs", "feet", "muzzle", "head", "ear", "tail", "tail_tip", "mane", "accent")
    values = {name: getattr(coat, name) for name in regions}
    return replace(coat, **{name: _shift(rgb, turn, rich, light) for name, rgb in values.items() if rgb is not None})


def _shift(rgb: Rgb, turn: float, rich: float, light: float) -> Rgb:
    """Hue turned, saturation and value multiplied; never quite black or white."""
    hue, saturation, value = colorsys.rgb_to_hsv(*rgb)
    return colorsys.hsv_to_rgb((hue + turn) % 1, min(1.0, saturation * rich), float(np.clip(value * light, 0.06, 0.97)))
