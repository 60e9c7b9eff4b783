"""A mesh as a few pieces of one colour each, which is what viser's meshes can show.

Vertices that move every frame rule out textures and colours per vertex there, so faces are grouped by a palette; a mesh
with a texture is divided first, where its colours change, so that the pattern survives. An edge is halved or not, so
neighbours always fit, also across a seam of the texture, where vertices stand twice.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8

from kinema.asset.character import Mesh
from kinema.geometry.surface import Faces, SurfacePoints
from kinema.splat.colors import surface_colors

COLORS = 32
MOST_FACES = 16_000
"""Every frame sends all vertices, so this bounds the traffic and the browser's work."""
ROUNDS = 10
SAME_COLOR = 0.06
"""Difference of sRGB within a face that is not worth a division."""
SHORTEST = 0.003
"""Edges shorter than this share of the mesh are some pixels long and are not divided."""
SAMPLES = np.array([[i, j, 3 - i - j] for i in range(4) for j in range(4 - i)]) / 3 * 0.9 + 0.1 / 3
"""Barycentric coordinates at which a face is looked at, a little within it: at a seam of the texture the edge itself
may have the colour of what lies beside it."""
CHILDREN = {
    (False, False, False): [[0, 1, 2]],
    (True, False, False): [[0, 3, 2], [3, 1, 2]],
    (False, True, False): [[1, 4, 0], [4, 2, 0]],
    (False, False, True): [[2, 5, 1], [5, 0, 1]],
    (True, True, True): [[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]],
}
"""Which of the edges ab, bc, ca are halved, and the faces that follow: of corners a, b, c and the edges' middles."""


@dataclass(frozen=True)
class Division:
    """A mesh whose vertices are those of another, and middles of edges in rounds."""

    faces: Faces
    colors: Float[np.ndarray, "faces 3"]
    """Mean sRGB of each face."""
    edges: tuple[Int[np.ndarray, "_ 2"], ...]
    """Edges of each round; their middles are its new vertices."""

    def positions(self, vertices: Float[np.ndarray, "vertices 3"]) -> Float[np.ndarray, "divided 3"]:
        """All vertices where those of the undivided mesh are known."""
        for edges in self.edges:
            vertices = np.concatenate((vertices, vertices[edges].mean(1)))
        return vertices


def divide(mesh: Mesh) -> Division:
    """Divide the faces of a textured mesh until each has about one colour, the patchiest first."""
    faces, face = mesh.faces, np.arange(len(mesh.faces))
    # Barycentric coordinates of the corners in the face that they were cut from.
    place, vertices = np.tile(np.eye(3), (len(faces), 1, 1)), mesh.vertices
    _, same = np.unique(vertices, axis=0, return_inverse=True)
    same, edges = same.reshape(-1), []
    colors, spread = _face_colors(mesh, face, place)
    while mesh.textures and len(edges) < ROUNDS:
        chosen = _chosen(vertices, faces, spread)
        if not chosen.any():
            break
        sides = faces[:, [[0, 1], [1, 2], [2, 0]]]
        shared, edge = np.unique(np.sort(same[sides], -1).reshape(-1, 2), axis=0, return_inverse=True)
        edge = edge.reshape(-1, 3)
        halved = _halved(edge, chosen, len(shared))
        pairs, first, which = np.unique(np.sort(sides, -1)[halved], axis=0, return_index=True, return_inverse=True)
        middle = np.full(faces.shape, -1)
        middle[halved] = len(vertices) + which.reshape(-1)
        same = np.concatenate((same, same.max() + 1 + edge[halved][first]))
        vertices = np.concatenate((vertices, vertices[pairs].mean(1)))
        edges.append(pairs)
        corners = np.concatenate((faces, middle), 1)
        places = np.concatenate((place, (place + np.roll(place, -1, axis=1)) / 2), 1)
        parts = [(np.flatnonzero((halved == case).all(1)), children) for case, children in CHILDREN.items()]
        face = np.concatenate([np.repeat(face[rows], len(children)) for rows, children in parts])
        faces = np.concatenate([corners[rows][:, children].reshape(-1, 3) for rows, children in parts])
        place = np.concatenate([places[rows][:, children].reshape(-1, 3, 3) for rows, children in parts])
        colors, spread = _face_colors(mesh, face, place)
    return Division(faces, colors, tuple(edges))


def _face_colors(
    mesh: Mesh, face: Int[np.ndarray, "faces"], place: Float[np.ndarray, "faces 3 3"]
) -> tuple[Float[np.ndarray, "faces 3"], Float[np.ndarray, "faces"]]:
    """Mean colour of each face, and how far its colours are apart."""
    points = SurfacePoints(np.repeat(face, len(SAMPLES)), (SAMPLES @ place).reshape(-1, 3))
    seen = surface_colors(mesh, points)[:, :3].reshape(len(face), len(SAMPLES), 3).astype(np.float64)
    return seen.mean(1), np.ptp(seen, axis=1).max(-1)


def _chosen(
    vertices: Float[np.ndarray, "vertices 3"], faces: Faces, spread: Float[np.ndarray, "faces"]
) -> Bool[np.ndarray, "faces"]:
    """Faces to divide in this round: as many of the patchiest and largest as may be added."""
    corners = vertices[faces]
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1).max(1)
    worth = np.where((spread > SAME_COLOR) & (longest > SHORTEST * np.ptp(vertices, axis=0).max()), spread * longest, 0)
    # Four for one, and as many again for the neighbours that have to fit.
    count = min(int((worth > 0).sum()), max(0, MOST_FACES - len(faces)) // 6)
    chosen = np.zeros(len(faces), dtype=bool)
    chosen[np.argsort(-worth, kind="stable")[:count]] = True
    return chosen


def _halved(
    edge: Int[np.ndarray, "faces 3"], chosen: Bool[np.ndarray, "faces"], count: int
) -> Bool[np.ndarray, "faces 3"]:
    """Which edges are halved: all of the chosen faces, and the third where two are."""
    marked = np.zeros(count, dtype=bool)
    marked[edge[chosen]] = True
    while (two := marked[edge].sum(1) == 2).any():
        marked[edge[two]] = True
    return marked[edge]


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
