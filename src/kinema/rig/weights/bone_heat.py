"""Skin weights by bone heat (Baran and Popović, "Automatic rigging and animation of 3D characters", section 4).

Every bone is held at temperature one in turn while all others are at zero, and heat spreads over the surface:

    -Δw + H w = H p,    H = c / d² where the nearest bone is visible from the vertex, else 0

with p = 1 where that bone is the nearest one. With the cotangent stiffness matrix S and lumped areas M this is
(S + M H) w = M H p: one factorisation, one right-hand side per bone.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from kinema.asset.character import Character, Mesh, Skeleton
from kinema.errors import KinemaError
from kinema.geometry.distance_field import FILLED, SLACK, Solid, segments_inside
from kinema.geometry.rays import RayCaster
from kinema.geometry.surface import face_areas_normals, sum_by_group

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

HEAT = 3.0
"""c for lumped areas: Pinocchio's own areas are three times as large at stiffness 1."""
TIE = 1e-5
"""Bones whose distances differ by less than this share count as equally near."""
CONE = 0.5
"""A vertex is heated only from behind: cosine between its normal and the direction from the bone."""

Visibility = Literal["field", "rays"]
"""How to tell whether a vertex sees its bone: in Pinocchio's distance field, or by rays against the mesh itself."""


@dataclass(frozen=True)
class Bones:
    """Line segments that heat the surface, each belonging to a joint; a joint may have several."""

    starts: Float[np.ndarray, "bones 3"]
    ends: Float[np.ndarray, "bones 3"]
    joints: Int[np.ndarray, "bones"]

    @staticmethod
    def from_skeleton(skeleton: Skeleton) -> "Bones":
        """From each joint to every child, and to its tail where no child says where the bone goes."""
        heads, tails = np.asarray(skeleton.heads, np.float64), np.asarray(skeleton.tails, np.float64)
        size = max(float(np.ptp(np.concatenate((heads, tails)), axis=0).max()), 1e-12)
        starts, ends, joints = [], [], []
        for j in range(len(heads)):
            children = [k for k, parent in enumerate(skeleton.parents) if parent == j]
            targets = [heads[k] for k in children if np.linalg.norm(heads[k] - heads[j]) > 1e-6 * size]
            known = [*targets, np.mean(targets, axis=0)] if targets else []
            if all(np.linalg.norm(tails[j] - point) > 1e-3 * size for point in known):
                targets.append(tails[j])
            starts += [heads[j]] * len(targets)
            ends += targets
            joints += [j] * len(targets)
        return Bones(np.array(starts), np.array(ends), np.array(joints))


def rig_character(
    character: Character,
    skeleton: Skeleton,
    *,
    visibility: Visibility = "field",
    influences: int = 4,
) -> Character:
    """Attach a skeleton to a mesh with weights by bone heat.

    Args:
        visibility: As in `bone_heat`.
        influences: Joints kept per vertex, the largest; game engines read four.
    """
    if influences < 1:
        raise KinemaError(f"{influences} joints per vertex: at least one must be kept")
    bones = Bones.from_skeleton(skeleton)
    heat = bone_heat(character.mesh, bones.starts, bones.ends, visibility=visibility)
    weights = np.zeros((len(heat), len(skeleton.names)))
    for bone, joint in enumerate(bones.joints):
        weights[:, joint] += heat[:, bone]
    return replace(character, skeleton=skeleton, weights=keep_largest(weights, influences), clips=())


def keep_largest(weights: Float[np.ndarray, "vertices joints"], count: int) -> Float[np.ndarray, "vertices joints"]:
    """The `count` largest weights of each row, normalised again."""
    if count < weights.shape[1]:
        small = np.argpartition(-weights, count - 1, axis=1)[:, count:]
        weights = weights.copy()
        np.put_along_axis(weights, small, 0.0, axis=1)
    return weights / weights.sum(axis=1, keepdims=True)


def bone_heat(
    mesh: Mesh,
    starts: Float[np.ndarray, "bones 3"],
    ends: Float[np.ndarray, "bones 3"],
    *,
    visibility: Visibility = "field",
) -> Float[np.ndarray, "vertices bones"]:
    """Weights of the bones; rows sum to one.

    Args:
        visibility: "field" gives the weights of the original Pinocchio, "rays" ones that are a little nearer to those
            of artists on meshes with few vertices (docs/rigging.md).
    """
    if len(starts) == 0:
        raise KinemaError("bone heat needs at least one bone")
    bad = np.flatnonzero(~np.isfinite(np.concatenate((starts, ends), axis=1)).all(axis=1))
    if len(bad):
        raise KinemaError(f"bone {bad[0]} is not finite: {starts[bad[0]].tolist()} to {ends[bad[0]].tolist()}")
    if len(mesh.vertices) == 0:
        raise KinemaError("bone heat needs a mesh; this one has no vertices")
    if not np.isfinite(mesh.vertices).all():
        bad = int((~np.isfinite(mesh.vertices)).any(axis=1).argmax())
        raise KinemaError(f"vertex {bad} of the mesh is not finite: {mesh.vertices[bad].tolist()}")
    solid, vertex_of = _weld(mesh)
    vertices, bones, places = _nearest_bones(solid.vertices, starts, ends)
    distances = np.linalg.norm(solid.vertices[vertices] - places, axis=1)
    seen = _faces_away(solid, vertices, places)
    # A surface without faces hides nothing.
    if len(solid.faces):
        facing = np.flatnonzero(seen)
        segments = solid.vertices[vertices[facing]], places[facing]
        if visibility == "field":
            seen[facing] = segments_inside(Solid.from_triangles(solid.vertices, solid.faces), *segments)
        else:
            seen[facing] = _inside_by_rays(solid, *segments)
    seen |= _in_blind_component(solid, vertices, seen)
    weights = _spread(solid, len(starts), vertices[seen], bones[seen], distances[seen])
    return weights[vertex_of]


def _weld(mesh: Mesh) -> tuple[Mesh, Int[np.ndarray, "vertices"]]:
    """The mesh in the unit of its bounding cube, without seams: vertices at one place become one, empty faces go."""
    vertices = np.asarray(mesh.vertices, dtype=np.float64)
    size = max(float(np.ptp(vertices, axis=0).max()), 1e-300)
    grid = np.round((vertices - vertices.min(axis=0)) / size * 2**20).astype(np.int64)
    _, first, vertex_of = np.unique(
        (grid[:, 0] << 42) | (grid[:, 1] << 21) | grid[:, 2], return_index=True, return_inverse=True
    )
    vertex_of = vertex_of.ravel()
    faces = vertex_of[mesh.faces]
    a, b, c = faces[:, 0], faces[:, 1], faces[:, 2]
    faces = faces[(a != b) & (b != c) & (c != a)]
    return Mesh(vertices[first], faces, np.ones((len(first), 3))), vertex_of


def _nearest_bones(
    points: Float[np.ndarray, "points 3"],
    starts: Float[np.ndarray, "bones 3"],
    ends: Float[np.ndarray, "bones 3"],
    *,
    chunk: int = 8192,
) -> tuple[Int[np.ndarray, "pairs"], Int[np.ndarray, "pairs"], Float[np.ndarray, "pairs 3"]]:
    """For every point its nearest bone, or several that are equally near, and the place on the bone."""
    starts = np.asarray(starts, dtype=np.float64)
    along = np.asarray(ends, dtype=np.float64) - starts
    squared_length = np.maximum((along * along).sum(axis=1), 1e-300)
    middle = points.mean(axis=0)
    rows, columns, places = [], [], []
    for low in range(0, len(points), chunk):
        these = points[low : low + chunk]
        # |v - a - t b|² expanded, so that the large products are matrix products.
        v, a = these - middle, starts - middle
        va, vb, ab = v @ a.T, v @ along.T, (a * along).sum(axis=1)
        t = np.clip((vb - ab) / squared_length, 0, 1)
        squared = (v * v).sum(axis=1)[:, None] - 2 * va + (a * a).sum(axis=1) - t * (2 * (vb - ab) - t * squared_length)
        # The expansion loses digits: collect a few candidates by it and compare them exactly.
        loose = squared.min(axis=1, keepdims=True)
        point, bone = np.nonzero(squared <= loose * (1 + 1e-3) + 1e-12 * float((v * v).sum(axis=1).max()))
        place = starts[bone] + t[point, bone][:, None] * along[bone]
        distance = np.linalg.norm(these[point] - place, axis=1)
        first = np.searchsorted(point, np.arange(len(these)))
        near = distance <= np.minimum.reduceat(distance, first)[point] * (1 + TIE)
        rows.append(point[near] + low)
        columns.append(bone[near])
        places.append(place[near])
    return np.concatenate(rows), np.concatenate(columns), np.concatenate(places)


def _faces_away(
    mesh: Mesh, vertices: Int[np.ndarray, "pairs"], places: Float[np.ndarray, "pairs 3"]
) -> Bool[np.ndarray, "pairs"]:
    """Whether the bone lies behind the surface, within a cone around the inward normal."""
    _, normal = face_areas_normals(mesh.vertices, mesh.faces)
    total = sum_by_group(mesh.faces.ravel(), np.repeat(normal, 3, axis=0), len(mesh.vertices))
    total = total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-300)
    ray = mesh.vertices[vertices] - places
    return (ray * total[vertices]).sum(axis=1) > CONE * np.linalg.norm(ray, axis=1)


def _inside_by_rays(
    mesh: Mesh, starts: Float[np.ndarray, "segments 3"], ends: Float[np.ndarray, "segments 3"]
) -> Bool[np.ndarray, "segments"]:
    """Segments that cross nothing of the mesh but what is next to their start."""
    # Embree works in single precision: give it a cube of one.
    low = mesh.vertices.min(axis=0)
    scale = FILLED / max(float(np.ptp(mesh.vertices, axis=0).max()), 1e-300)
    rays = (starts - ends) * scale
    length = np.linalg.norm(rays, axis=1)
    inside = length <= SLACK
    long = np.flatnonzero(~inside)
    if len(long):
        caster = RayCaster((mesh.vertices - low) * scale, mesh.faces)
        directions = rays[long] / length[long, None]
        inside[long] = caster.free((ends[long] - low) * scale, directions, length[long] - SLACK)
    return inside


def _in_blind_component(
    mesh: Mesh, vertices: Int[np.ndarray, "pairs"], seen: Bool[np.ndarray, "pairs"]
) -> Bool[np.ndarray, "pairs"]:
    """Pairs of connected components none of whose vertices sees its bone; without heat they would be singular."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = len(mesh.vertices)
    ends = np.concatenate((mesh.faces[:, [0, 1]], mesh.faces[:, [1, 2]]))
    graph = coo_array((np.ones(len(ends), dtype=np.int8), (ends[:, 0], ends[:, 1])), shape=(count, count))
    number, component = connected_components(graph, directed=False)
    heated = np.zeros(number, dtype=bool)
    heated[component[vertices[seen]]] = True
    return ~heated[component[vertices]]


def _spread(
    mesh: Mesh,
    bone_count: int,
    vertices: Int[np.ndarray, "sources"],
    bones: Int[np.ndarray, "sources"],
    distances: Float[np.ndarray, "sources"],
) -> Float[np.ndarray, "vertices bones"]:
    """Solve (S + M H) w = M H p for all bones. Sources are the visible nearest bones of each vertex."""
    from scipy.sparse import csc_array, diags_array
    from scipy.sparse.linalg import splu

    stiffness, areas = laplacian(mesh)
    size = max(float(np.ptp(mesh.vertices, axis=0).max()), 1e-300)
    # The system is scale-free: S has no unit and M / d² neither. The floor is for vertices that lie on a bone.
    heat = HEAT / np.maximum(distances, max(1e-7 * size, 1e-100)) ** 2
    total = areas * np.bincount(vertices, heat, minlength=len(mesh.vertices))
    right = np.zeros((len(mesh.vertices), bone_count))
    # Each of several equally near bones gets the whole heat, as in Pinocchio; normalising shares it out.
    right[vertices, bones] = total[vertices]
    system = csc_array(stiffness + diags_array(total))
    # The blocks of a surface's factor are small: BLAS threads would only wait for each other.
    with _blas_threads().limit(limits=1, user_api="blas"):
        factor = splu(system, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        weights = np.clip(factor.solve(right), 0, 1)
    weights[weights < 1e-8] = 0
    return weights / weights.sum(axis=1, keepdims=True)


@cache
def _blas_threads() -> "ThreadpoolController":
    """Looking for the libraries takes longer than a small factorisation."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def laplacian(mesh: Mesh) -> tuple[object, Float[np.ndarray, "vertices"]]:
    """Cotangent stiffness matrix S (positive semi-definite) and lumped areas M [m²].

    Closed and manifold meshes give the textbook cotangents; others go through the robust Laplacian of their tufted
    cover, which is defined for any triangles.
    """
    from scipy.sparse import coo_array, diags_array

    count, faces = len(mesh.vertices), mesh.faces
    if len(faces) == 0:
        return coo_array((count, count)), np.ones(count)
    if not _is_closed_manifold(faces):
        return _robust_laplacian(mesh)
    corners = mesh.vertices[faces].astype(np.float64)
    edges = np.roll(corners, -1, axis=1) - corners
    double_area = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
    if double_area.min() <= 1e-10 * double_area.max():
        return _robust_laplacian(mesh)
    # The angle at corner k lies between edge k and edge k - 1 reversed; it belongs to the edge opposite.
    half_cot = -(edges * np.roll(edges, 1, axis=1)).sum(axis=2) / double_area[:, None] / 2
    i, j = np.roll(faces, -1, axis=1).ravel(), np.roll(faces, -2, axis=1).ravel()
    off = coo_array((np.tile(half_cot.ravel(), 2), (np.r_[i, j], np.r_[j, i])), shape=(count, count)).tocsc()
    areas = np.bincount(faces.ravel(), np.repeat(double_area / 6, 3), minlength=count)
    return diags_array(np.asarray(off.sum(axis=0)).ravel()) - off, _without_zeros(areas)


def _is_closed_manifold(faces: Int[np.ndarray, "faces 3"]) -> bool:
    """Whether every directed edge occurs once and its reverse once."""
    a, b = faces.ravel().astype(np.int64), np.roll(faces, -1, axis=1).ravel().astype(np.int64)
    count = int(faces.max()) + 1
    forward, backward = np.sort(a * count + b), np.sort(b * count + a)
    return bool((forward[1:] != forward[:-1]).all() and (forward == backward).all())


def _robust_laplacian(mesh: Mesh) -> tuple[object, Float[np.ndarray, "vertices"]]:
    import robust_laplacian

    stiffness, mass = robust_laplacian.mesh_laplacian(
        np.asarray(mesh.vertices, np.float64), mesh.faces.astype(np.int64)
    )
    return stiffness, _without_zeros(mass.diagonal())


def _without_zeros(areas: Float[np.ndarray, "vertices"]) -> Float[np.ndarray, "vertices"]:
    """Vertices without faces have no area, but their heat must count."""
    return np.maximum(areas, 1e-12 * float(areas.max()))
