"""A mesh as a few pieces of one colour each, which is what viser's meshes can show.

Vertices that move every frame rule out textures and colours per vertex there, so faces are grouped by a palette; a
coarse mesh with a texture is divided first, so that the pattern survives.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, UInt8

from kinema.asset.character import Mesh
from kinema.geometry.surface import Faces, SurfacePoints
from kinema.splat.colors import surface_colors

COLORS = 16
FINE = 6000
"""Faces below which a textured mesh is divided."""


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
    edges: tuple[Int[np.ndarray, "_ 2"], ...]
    """Edges of each division; their middles are its new vertices."""

    def positions(self, vertices: Float[np.ndarray, "vertices 3"]) -> list[Float[np.ndarray, "_ 3"]]:
        """Positions of each piece's vertices."""
        for edges in self.edges:
            vertices = np.concatenate((vertices, vertices[edges].mean(1)))
        return [vertices[piece.vertices] for piece in self.pieces]


def pieces_of(mesh: Mesh) -> Pieces:
    """Group the faces by colour, exactly if there are few."""
    faces, edges = mesh.faces, []
    # Barycentric coordinates of the corners in the face that they were cut from.
    place = np.tile(np.eye(3), (len(faces), 1, 1))
    while mesh.textures and len(faces) < FINE and len(edges) < 4:
        # Divide each face into four: its corners a, b, c and the middles of ab, bc, ca.
        four = [[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]]
        sides = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]], axis=-1)
        middles, which = np.unique(sides.reshape(-1, 2), axis=0, return_inverse=True)
        count = len(mesh.vertices) + sum(map(len, edges))
        faces = np.concatenate((faces, count + which.reshape(-1, 3)), 1)[:, four].reshape(-1, 3)
        place = np.concatenate((place, (place + np.roll(place, -1, axis=1)) / 2), 1)[:, four].reshape(-1, 3, 3)
        edges.append(middles)
    face = np.repeat(np.arange(len(mesh.faces)), len(faces) // max(1, len(mesh.faces)))
    shown = surface_colors(mesh, SurfacePoints(face, place.mean(1)))[:, :3]
    exact, label = np.unique((255 * shown).round().astype(np.int64), axis=0, return_inverse=True)
    label, palette = label.reshape(-1), exact / 255
    if len(palette) > COLORS:
        from scipy.cluster.vq import kmeans2

        palette, label = kmeans2(shown.astype(np.float64), COLORS, iter=8, minit="++", rng=np.random.default_rng(0))
    pieces = []
    for index, color in enumerate(palette):
        used, local = np.unique(faces[label == index], return_inverse=True)
        if len(used):
            pieces.append(Piece(used, local.reshape(-1, 3), (255 * color.clip(0, 1)).round().astype(np.uint8)))
    return Pieces(tuple(pieces), tuple(edges))
