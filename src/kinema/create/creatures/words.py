"""From words to a creature: species, colour and size."""

import difflib
import re
from dataclasses import dataclass, replace

import numpy as np

from kinema.asset.character import Character
from kinema.create.creatures.generate import Detail, generate
from kinema.create.creatures.proportions import Arms, Arthropod, Coat, Family, Number, Proportions, Rgb, Vertebrate
from kinema.create.creatures.table import ALSO, SPECIES
from kinema.create.creatures.variation import as_figure, mix, random_coat, shade_coat, vary
from kinema.errors import KinemaError


@dataclass(frozen=True)
class Species:
    """What the table says about a species."""

    name: str
    family: Family
    speed: Number
    """Typical walk [m/s]."""


COLORS: dict[str, Rgb] = {
    "red": (0.78, 0.22, 0.14), "orange": (0.90, 0.50, 0.15), "yellow": (0.92, 0.80, 0.25), "golden": (0.85, 0.65, 0.30),
    "green": (0.36, 0.62, 0.28), "blue": (0.25, 0.42, 0.75), "purple": (0.50, 0.28, 0.62), "pink": (0.93, 0.60, 0.68),
    "brown": (0.43, 0.28, 0.18), "black": (0.11, 0.11, 0.12), "white": (0.94, 0.93, 0.91), "grey": (0.52, 0.52, 0.53),
    "gray": (0.52, 0.52, 0.53), "silver": (0.70, 0.72, 0.75), "cream": (0.92, 0.85, 0.70), "dark": (0.20, 0.17, 0.16),
}  # fmt: skip

FILLERS = {"a", "an", "the", "one", "my", "of", "and", "with", "very", "cute", "little", "walking", "standing"}


def species() -> tuple[Species, ...]:
    """All built-in species."""
    return tuple(Species(name, row.family, row.speed) for name, row in SPECIES.items())


def creature(words: str, *, seed: int | None = None, detail: Detail = "full") -> Character:
    """The creature that the words name, at natural size: `creature("a small black fox")`.

    Args:
        words: A species with colours and shapes before it, in any order.
        seed: Draws an individual with its own proportions; None is the table's row itself.
        detail: "full" is 2-8k vertices, "low" about a thousand.
    """
    tokens = re.findall(r"[a-z]+(?:-[a-z]+)*", words.lower())
    name, used = _find_species(tokens, words)
    row = SPECIES[name]
    if seed is not None:
        rng = np.random.default_rng(seed)
        row = vary(row, rng, amount=0.07)
        row = replace(row, coat=shade_coat(row.coat, rng))
    for token in tokens:
        if token in COLORS:
            row = replace(row, coat=_colored(row.coat, COLORS[token], species=name, token=token))
        elif token in SHAPES:
            row = SHAPES[token](row)
        elif token not in used and token not in FILLERS:
            close = difflib.get_close_matches(token, [*COLORS, *SHAPES], n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise KinemaError(f"{words!r}: {token!r} is neither a colour nor a shape{hint}")
    return generate(words.strip(), row, seed=seed or 0, detail=detail)


def random_creature(
    rng: np.random.Generator, *, family: str | None = None, detail: Detail = "low", amount: float = 0.22
) -> Character:
    """A creature that is in no table: two related rows blended, every proportion shaken, new colours.

    Args:
        rng: Source of all randomness.
        family: Only of this family; None draws one of all species.
        detail: "low" is meant for training data.
        amount: Standard deviation of the logarithm of each length.
    """
    rows = {name: row for name, row in SPECIES.items() if family is None or row.family == family}
    if not rows:
        known = ", ".join(sorted({row.family for row in SPECIES.values()}))
        raise KinemaError(f"{family}: no such family; known are {known}")
    names = list(rows)
    name = names[int(rng.integers(len(names)))]
    row = rows[name]
    related = [other for other in rows.values() if other is not row and _related(row, other)]
    if related:
        row = mix(row, related[int(rng.integers(len(related)))], rng.uniform(0, 0.6), rng)
    row = vary(row, rng, amount=amount)
    if isinstance(row, Vertebrate) and row.family == "biped" and row.pitch > 70 and rng.random() < 0.5:
        row = as_figure(row, rng)
    row = replace(row, coat=random_coat(row.coat, rng))
    return generate(f"random {name}", row, seed=int(rng.integers(2**31)), detail=detail)


def _related(a: Proportions, b: Proportions) -> bool:
    """Whether a blend of two rows stands on its legs."""
    if isinstance(a, Arthropod) or isinstance(b, Arthropod):
        return type(a) is type(b) and a.family == b.family
    return (
        a.family == b.family
        and abs(a.pitch - b.pitch) < 35
        and len(a.hind) == len(b.hind)
        and type(a.front) is type(b.front)
        and (a.sprawl > 0) == (b.sprawl > 0)
        and not (isinstance(a.front, Arms) and isinstance(b.front, Arms) and a.front.wing != b.front.wing)
    )


def _find_species(tokens: list[str], words: str) -> tuple[str, set[str]]:
    """The last species named, and the words that named it."""
    spaced = " ".join(tokens).replace("-", " ")
    found = None
    for name, target in [(key, key) for key in SPECIES] + list(ALSO.items()):
        match = re.search(rf"\b{name}s?\b", spaced)
        if match and (found is None or (match.start(), len(name)) > found[0]):
            found = ((match.start(), len(name)), target, match.group())
    if found:
        hyphened = {token for token in tokens if token.replace("-", " ") == found[2]}
        return found[1], set(found[2].split()) | hyphened
    known = [*SPECIES, *ALSO]
    close = [match for token in tokens for match in difflib.get_close_matches(token, known, n=1, cutoff=0.75)]
    hint = f"did you mean {close[0]}? " if close else ""
    raise KinemaError(f"{words!r}: names no built-in creature; {hint}known are {', '.join(SPECIES)}")


def _colored(coat: Coat, rgb: Rgb, *, species: str, token: str) -> Coat:
    """Another main colour; a fox that is called red stays the red fox of the table."""
    if token in ("red", "orange") and species == "fox":
        return coat
    ear = None if coat.ear is None else (0.6 * rgb[0], 0.6 * rgb[1], 0.6 * rgb[2])
    plain = {"white": True, "black": True}.get(token, False)
    coat = replace(coat, base=rgb, ear=ear)
    return replace(coat, legs=None, belly=None, pattern="plain") if plain and species != "human" else coat


def _sized(row: Proportions, factor: float) -> Proportions:
    if isinstance(row, Arthropod):
        return replace(row, body=row.body * factor)
    return replace(row, trunk=row.trunk * factor)


def _baby(row: Proportions) -> Proportions:
    """Half the size with a large head, large eyes and short legs."""
    if isinstance(row, Arthropod):
        return _sized(row, 0.5)
    head = replace(row.head, radius=1.35 * row.head.radius, eye=1.25 * row.head.eye, snout=1.1 * row.head.snout)
    return _sized(
        replace(row, head=head, leg=0.88 * row.leg, neck=replace(row.neck, length=0.85 * row.neck.length)), 0.5
    )


def _legged(row: Proportions, factor: float) -> Proportions:
    if isinstance(row, Arthropod):
        return replace(row, reach=row.reach * factor, knee=row.knee * factor)
    return replace(row, leg=max(row.leg * factor, 1.15 * row.belly))


def _girth(row: Proportions, factor: float) -> Proportions:
    if isinstance(row, Arthropod):
        return replace(row, abdomen=row.abdomen * factor, leg_radius=row.leg_radius * factor)
    leg = {"thigh": row.thigh * factor**0.5, "shank": row.shank * factor**0.5}
    return replace(row, chest=row.chest * factor, belly=row.belly * factor**1.3, rump=row.rump * factor, **leg)


def _necked(row: Proportions, factor: float) -> Proportions:
    return replace(row, neck=replace(row.neck, length=row.neck.length * factor)) if isinstance(row, Vertebrate) else row


def _tailed(row: Proportions, factor: float) -> Proportions:
    if isinstance(row, Arthropod) or not row.tail:
        return row
    return replace(row, tail=replace(row.tail, length=row.tail.length * factor))


SHAPES = {
    "small": lambda row: _sized(row, 0.7),
    "tiny": lambda row: _sized(row, 0.45),
    "big": lambda row: _sized(row, 1.4),
    "large": lambda row: _sized(row, 1.4),
    "giant": lambda row: _sized(row, 3.0),
    "huge": lambda row: _sized(row, 2.0),
    "baby": _baby,
    "young": _baby,
    "long-legged": lambda row: _legged(row, 1.35),
    "short-legged": lambda row: _legged(row, 0.7),
    "tall": lambda row: _legged(row, 1.2),
    "fat": lambda row: _girth(row, 1.22),
    "thick": lambda row: _girth(row, 1.22),
    "thin": lambda row: _girth(row, 0.85),
    "slim": lambda row: _girth(row, 0.85),
    "long-necked": lambda row: _necked(row, 1.6),
    "long-tailed": lambda row: _tailed(row, 1.5),
    "short-tailed": lambda row: _tailed(row, 0.5),
}
"""Adjectives of shape and what they do to a row."""
