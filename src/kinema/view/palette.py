"""A mesh as a few pieces of one colour each, which is what viser's meshes can show.

Vertices that move every frame rule out textures and colours per vertex there, so faces are grouped by a palette; a mesh
with a texture is divided first (`divide`), so that the pattern survives.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, UInt8

from kinema.asset.character import Mesh
from kinema.geometry.surface import Faces
from kinema.view.divide import Division, divide

COLORS = 32


@dataclass(frozen=True)
class Piece:
    """Faces of one colour."""

    vertices: Int[np.ndarray, "used"]
    """Indices into the divided mesh."""
    faces: Faces
    """Indices into `vertices`."""
    color: UInt8[np.ndarray, "3"]


@dataclass(frozen=True)
class Pieces:
    """The whole mesh; `positions` follows whatever the vertices do."""

    pieces: tuple[Piece, ...]
    division: Division

    def positions(self, vertices: Float[np.ndarray, "vertices 3"]) -> list[Float[np.ndarray, "_ 3"]]:
        """Positions of each piece's vertices."""
        divided = self.division.positions(vertices)
        return [divided[piece.vertices] for piece in self.pieces]


def pieces_of(mesh: Mesh) -> Pieces:
    """Group the faces by colour, exactly if there are few."""
    division = divide(mesh)
    exact, label = np.unique((255 * division.colors).round().astype(np.int64), axis=0, return_inverse=True)
    label, palette = label.reshape(-1), exact / 255
    if len(palette) > COLORS:
        from scipy.cluster.vq import kmeans2

        palette, label = kmeans2(division.colors, COLORS, iter=8, minit="++", rng=np.random.default_rng(0))
    pieces = []
    for index, color in enumerate(palette):
        used, local = np.unique(division.faces[label == index], return_inverse=True)
        if len(used):
            pieces.append(Piece(used, local.reshape(-1, 3), (255 * color.clip(0, 1)).round().astype(np.uint8)))
    return Pieces(tuple(pieces), division)
