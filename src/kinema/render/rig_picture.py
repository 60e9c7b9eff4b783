"""A picture of a rig: the mesh from the front, the side and above, grey, with its bones and joints drawn over it."""

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.files import replacing
from kinema.geometry.surface import face_areas_normals
from kinema.rig.limbs import Limbs, find_limbs

SIDE_PX = 420
"""Size of each of the three views."""
MOST_FACES = 40_000
"""Faces that are drawn; of more, evenly picked ones, the rest are hardly larger than a pixel."""
COLORS = {
    "legs": "#d62728",
    "arms": "#1f77b4",
    "wings": "#9467bd",
    "fins": "#17becf",
    "tails": "#8c564b",
    "heads": "#2ca02c",
}
OTHER = "#222222"
VIEWS = (("front", (0, 1), 2, 1.0), ("left side", (2, 1), 0, 1.0), ("above", (0, 2), 1, 1.0))
"""Name, the axes to the right and up, the axis towards the viewer and its sign."""


def draw_rig(path: Path, character: Character) -> None:
    """Write the picture as PNG."""
    from PIL import Image

    picture = Image.new("RGB", (SIDE_PX * len(VIEWS), SIDE_PX), "white")
    for k, image in enumerate(rig_views(character)):
        picture.paste(image, (k * SIDE_PX, 0))
    with replacing(path) as partial:
        picture.save(partial, format="PNG")


def rig_views(character: Character) -> list[Any]:
    """The three views as images of PIL's."""
    from PIL import Image, ImageDraw

    skeleton = character.skeleton
    if skeleton is None:
        raise KinemaError(f"{character.name}: has no skeleton to draw")
    colors = joint_colors(find_limbs(character), len(skeleton.names))
    vertices = np.asarray(character.mesh.vertices, dtype=np.float64)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    middle, scale = (low + high) / 2, 0.9 * SIDE_PX / max(float((high - low).max()), 1e-300)
    faces = character.mesh.faces[:: max(1, len(character.mesh.faces) // MOST_FACES)]
    normals = face_areas_normals(vertices, faces)[1]
    images = []
    for name, axes, depth, sign in VIEWS:

        def flat(points: Float[np.ndarray, "n 3"], axes: tuple[int, int] = axes) -> Float[np.ndarray, "n 2"]:
            around = (points - middle)[:, axes] * scale * [1, -1]
            return around + SIDE_PX / 2

        image = Image.new("RGB", (SIDE_PX, SIDE_PX), "white")
        draw = ImageDraw.Draw(image)
        corners = flat(vertices)[faces]
        order = np.argsort(sign * vertices[faces].mean(axis=1)[:, depth], kind="stable")
        light = (185 + 60 * np.abs(normals[:, depth])).astype(int)
        for f in order:
            draw.polygon([tuple(corner) for corner in corners[f]], fill=(int(light[f]),) * 3)
        heads, tails = flat(skeleton.heads), flat(skeleton.tails)
        for j, parent in enumerate(skeleton.parents):
            if parent >= 0:
                draw.line([tuple(heads[parent]), tuple(heads[j])], fill=colors[j], width=2)
            draw.line([tuple(heads[j]), tuple(tails[j])], fill=colors[j], width=2)
        for (x, y), color in zip(heads, colors):
            draw.ellipse([x - 4, y - 4, x + 4, y + 4], fill=color, outline="white")
        draw.text((6, 4), name, fill="black")
        images.append(image)
    return images


def joint_colors(limbs: Limbs, count: int) -> list[str]:
    """The colour of each joint by its role."""
    colors = [OTHER] * count
    chains = {"legs": [leg.joints for leg in limbs.legs], "tails": limbs.tails, "heads": [(j,) for j in limbs.heads]}
    chains |= {f"{kind}s": [arm.joints for arm in limbs.limbs_of(kind)] for kind in ("arm", "wing", "fin")}
    for role, found in chains.items():
        for chain in found:
            for joint in chain:
                colors[joint] = COLORS[role]
    return colors
