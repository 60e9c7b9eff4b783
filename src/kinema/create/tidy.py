"""A mesh that a model made, made fit to be rigged: welded, without floaters, not too fine, upright and facing +Z."""

from dataclasses import replace

import numpy as np
from jaxtyping import Int
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from kinema.asset.character import Character, Frame, Mesh
from kinema.asset.rigs.orientation import find_frame, place
from kinema.create.make import Made
from kinema.errors import KinemaError
from kinema.geometry.decimate import cell_means, cells, faces_between
from kinema.geometry.nearest import SurfaceTree

SMALL = 0.02
"""A part with less than this share of the surface may be a floater."""
APART = 0.01
"""It is one if nothing of the rest is nearer than this share of the size."""
LEAST_FACES = 20
Faces = Int[np.ndarray, "faces 3"]


def tidy(character: Character, *, most_faces: int, usual_up: str | None = None) -> Made:
    """The character ready for a rig; one that came with a rig (UniRig's, say) keeps it and its mesh as they are.

    `usual_up` is the up axis of whoever made it; None: it was turned upright when its file was read.
    """
    if character.skeleton is not None and character.weights is not None:
        return Made(character, (f"it came with a rig of {len(character.skeleton.names)} joints",))
    notes, count = [], len(character.mesh.faces)
    mesh, dropped = without_floaters(weld(character.mesh))
    if dropped:
        notes.append(f"{dropped} loose {'part' if dropped == 1 else 'parts'} dropped")
    if len(mesh.faces) > most_faces:
        mesh = decimate(mesh, most_faces)
        notes.append(f"{count} triangles made {len(mesh.faces)}")
    if len(mesh.faces) < LEAST_FACES or np.ptp(mesh.vertices, axis=0).max() <= 0:
        raise KinemaError(f"{character.name}: the mesh has no body, only {len(mesh.faces)} triangles are left of it")
    if usual_up is None:
        frame, lines = Frame(translation=np.array([0.0, -float(mesh.vertices[:, 1].min()), 0.0])), ()
    else:
        frame, lines = find_frame(mesh.vertices, None, usual_up=usual_up)
    placed = place(Character(character.name, mesh), frame)
    return Made(replace(placed, frame=Frame()), (*notes, *lines))


def weld(mesh: Mesh) -> Mesh:
    """One vertex where several agree in place, colour and texture coordinates; triangles without area go."""
    size = max(float(np.ptp(mesh.vertices, axis=0).max()), 1e-300)
    parts = [np.round(mesh.vertices / (1e-6 * size)), np.round(255 * mesh.colors)]
    parts += [] if mesh.uv is None else [np.round(1e5 * mesh.uv)]
    _, first, same = np.unique(np.concatenate(parts, 1), axis=0, return_index=True, return_inverse=True)
    faces = same.reshape(-1)[mesh.faces]
    solid = (faces != np.roll(faces, 1, axis=1)).all(1)
    return _chosen(mesh, first, faces[solid], np.flatnonzero(solid))


def without_floaters(mesh: Mesh) -> tuple[Mesh, int]:
    """The mesh without small parts that hang in the air, and how many there were; eyes and horns touch the body."""
    vertices = mesh.vertices
    size = max(float(np.ptp(vertices, axis=0).max()), 1e-300)
    # Parts are joined across seams of texture and colour.
    _, place_of = np.unique(np.round(vertices / (1e-6 * size)), axis=0, return_inverse=True)
    corners = place_of.reshape(-1)[mesh.faces]
    count = int(corners.max(initial=-1)) + 1
    links = np.concatenate((corners[:, :2], corners[:, 1:]))
    graph = coo_matrix((np.ones(len(links)), links.T), (count, count))
    label = connected_components(graph, directed=False)[1][corners[:, 0]]
    a, b, c = vertices[mesh.faces].transpose(1, 0, 2)
    area = np.bincount(label, np.linalg.norm(np.cross(b - a, c - a), axis=-1))
    largest, small = int(area.argmax()), np.flatnonzero((area > 0) & (area < SMALL * area.sum()))
    kept = np.ones(len(mesh.faces), dtype=bool)
    body = SurfaceTree.from_triangles(vertices, mesh.faces[~np.isin(label, small) | (label == largest)])
    dropped = 0
    for part in small[small != largest].tolist():
        own = label == part
        points = vertices[np.unique(mesh.faces[own])]
        near = body.nearest(points)
        places = np.einsum("pk,pkx->px", near.barycentric, body.corners[near.face])
        if np.linalg.norm(points - places, axis=-1).min() > APART * size:
            kept &= ~own
            dropped += 1
    used, faces = np.unique(mesh.faces[kept], return_inverse=True)
    return _chosen(mesh, used, faces.reshape(-1, 3), np.flatnonzero(kept)), dropped


def decimate(mesh: Mesh, most_faces: int) -> Mesh:
    """At most so many triangles, by merging the vertices of each cell of the finest grid that does it.

    Textures become colours of vertices: merged triangles have no place on them.
    """
    mesh = with_vertex_colors(mesh)
    size = float(np.ptp(mesh.vertices, axis=0).max())
    # n cells along the longest side leave about as many triangles as a surface crosses, some n².
    few, many = 4, max(8, int(4 * most_faces**0.5))
    best = _clustered(mesh, size / few)
    while many - few > max(1, few // 50):
        middle = (few + many) // 2
        tried = _clustered(mesh, size / middle)
        if len(tried.faces) <= most_faces:
            few, best = middle, tried
        else:
            many = middle
    return best


def with_vertex_colors(mesh: Mesh) -> Mesh:
    """The mesh with its textures' colours at the vertices and no textures."""
    colors = mesh.colors.copy()
    if mesh.uv is not None and mesh.face_texture is not None:
        for index, texture in enumerate(mesh.textures):
            used = np.unique(mesh.faces[mesh.face_texture == index])
            height, width = texture.shape[:2]
            # glTF repeats a texture beyond its edges.
            x, y = (np.floor((mesh.uv[used] % 1.0) * [width, height]).astype(int)).T
            texels = texture[np.clip(y, 0, height - 1), np.clip(x, 0, width - 1), :3] / 255.0
            colors[used] = mesh.colors[used] * texels
    return Mesh(mesh.vertices, mesh.faces, colors)


def _clustered(mesh: Mesh, step: float) -> Mesh:
    cell = cells(mesh.vertices, step)
    used, faces = np.unique(faces_between(cell, mesh.faces), return_inverse=True)
    vertices, colors = (cell_means(cell, values)[used] for values in (mesh.vertices, mesh.colors))
    return Mesh(vertices, faces.reshape(-1, 3), np.clip(colors, 0.0, 1.0))


def _chosen(mesh: Mesh, vertices: Int[np.ndarray, "kept"], faces: Faces, of: Int[np.ndarray, "faces"]) -> Mesh:
    """Some vertices and triangles of a mesh; `of` are the triangles' former places."""
    return replace(
        mesh, vertices=mesh.vertices[vertices], faces=faces, colors=mesh.colors[vertices],
        uv=None if mesh.uv is None else mesh.uv[vertices],
        face_texture=None if mesh.face_texture is None else mesh.face_texture[of],
    )  # fmt: skip
