"""A long, consistent description of a clip for video models: they were trained on such captions, not on six words."""

import re
from collections import Counter

import numpy as np

from kinema.asset.character import Character
from kinema.geometry.surface import sample_surface
from kinema.splat.colors import surface_colors

COLORS = {
    "black": (0.08, 0.08, 0.08), "dark grey": (0.3, 0.3, 0.3), "grey": (0.5, 0.5, 0.5), "white": (0.95, 0.95, 0.95),
    "light grey": (0.75, 0.75, 0.75), "red": (0.75, 0.12, 0.1), "dark red": (0.4, 0.08, 0.06),
    "orange": (0.85, 0.45, 0.12), "brown": (0.42, 0.26, 0.14), "dark brown": (0.22, 0.14, 0.08),
    "yellow": (0.92, 0.82, 0.2), "green": (0.2, 0.55, 0.2), "dark green": (0.1, 0.28, 0.12), "pink": (0.92, 0.6, 0.68),
    "blue": (0.15, 0.3, 0.75), "light blue": (0.5, 0.7, 0.9), "purple": (0.45, 0.2, 0.6), "tan": (0.76, 0.62, 0.44),
}  # fmt: skip
"""sRGB of colour words."""


def describe(prompt: str, character: Character, *, ground: bool = True) -> str:
    """The prompt as a paragraph: who it is, what it looks like, what it does, and how it is filmed."""
    action = prompt.strip().rstrip(".")
    kind = _kind(action, character)
    colors = main_colors(character)
    look = f"{colors[0]} all over" if len(colors) == 1 else f"{', '.join(colors[:-1])} and {colors[-1]}"
    place = "on a flat grey checkerboard floor under a pale, empty sky" if ground else "before a pale, empty background"
    return (
        f"{action[:1].upper()}{action[1:]}. A detailed 3D animation of a single {kind}, {look}, {place}. The {kind} is"
        " the only subject; its whole body stays in the picture from head to feet, and its shape and colours stay the"
        " same in every frame. It moves naturally and continuously, with weight and balance, and its feet touch the"
        " floor firmly without sliding. The camera travels smoothly beside it at an even distance. Soft, even light,"
        " sharp focus, no cuts, no text."
    )


def main_colors(character: Character, *, most: int = 3) -> list[str]:
    """Words for the colours that cover most of the surface, the largest first."""
    mesh = character.mesh
    points = sample_surface(mesh.vertices, mesh.faces, 2000, rng=np.random.default_rng(0))
    rgb = surface_colors(mesh, points)[:, :3]
    names = list(COLORS)
    nearest = np.square(rgb[:, None] - np.array(list(COLORS.values()))).sum(-1).argmin(1)
    counts = Counter(nearest.tolist()).most_common(most)
    return [names[index] for index, count in counts if count >= 0.1 * len(rgb)] or [names[counts[0][0]]]


def _kind(action: str, character: Character) -> str:
    """The prompt's own noun, "fox" of "a red fox is trotting", or the character's name."""
    found = re.match(r"(?:an?|the)\s+(.+?)\s+(?:is|are|\w+s)\b", action, re.IGNORECASE)
    return found[1].lower() if found else re.sub(r"[^A-Za-z]+", " ", character.name).strip().lower() or "figure"
