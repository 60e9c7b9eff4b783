"""Skin weights by bone heat (Baran and Popović, "Automatic rigging and animation of 3D characters", section 4).

Every bone is held at temperature one in turn while all others are at zero, and heat spreads over the surface:

    -Δw + H w = H p,    H = c / d² where the nearest bone is visible from the vertex, else 0

with p = 1 where that bone is the nearest one. With the cotangent stiffness matrix S and lumped areas M this is
(S + M H) w = M H p: one factorisation, one right-hand side per bone.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from kinema.asset.character import Character, Mesh, Skeleton
from kinema.errors import KinemaError
from kinema.geometry.decimate import decimate
from kinema.geometry.distance_field import FILLED, SLACK, Solid, segments_inside
from kinema.geometry.laplacian import laplacian
from kinema.geometry.nearest import SurfaceTree
from kinema.geometry.rays import RayCaster
from kinema.geometry.rotations import children
from kinema.geometry.surface import Faces, Vertices, face_areas_normals, sum_by_group

HEAT = 3.0
"""c for lumped areas: Pinocchio's own areas are three times as large at stiffness 1."""
TIE = 1e-5
"""Relative difference of distances below which bones count as equally near."""
CONE = 0.5
"""Least cosine between a vertex normal and the direction from the bone: a vertex is heated only from behind."""
CHUNK = 8192
"""Vertices whose distances to all bones are held in memory at once."""

LARGE = 60_000
"""Vertices beyond which heat spreads over a coarser mesh, whose weights are carried back: the factorisation of the
system needs memory and time that grow faster than the mesh."""

Visibility = Literal["field", "rays"]
"""What decides that a vertex sees its bone: Pinocchio's distance field, or rays against the mesh itself."""
BonePoints = Float[np.ndarray, "bones 3"]
Weights = Float[np.ndarray, "vertices bones"]
Pairs = Int[np.ndarray, "pairs"]
"""Pairs of a vertex and a bone that is nearest to it."""
PairPoints = Float[np.ndarray, "pairs 3"]
Mask = Bool[np.ndarray, "pairs"]


@dataclass(frozen=True)
class Bones:
    """Line segments that heat the surface, each belonging to a joint; a joint may have several."""

    starts: BonePoints
    ends: BonePoints
    joints: Int[np.ndarray, "bones"]

    @staticmethod
    def from_skeleton(skeleton: Skeleton) -> "Bones":
        """From each joint to every child, and to its tail where no child says where the bone goes."""
        heads, tails = np.asarray(skeleton.heads, np.float64), np.asarray(skeleton.tails, np.float64)
        size = max(float(np.ptp(np.concatenate((heads, tails)), axis=0).max()), 1e-12)
        ends, joints = [], []
        for j, below in enumerate(children(skeleton.parents)):
            targets = [heads[k] for k in below if np.linalg.norm(heads[k] - heads[j]) > 1e-6 * size]
            known = [*targets, np.mean(targets, axis=0)] if targets else []
            if all(np.linalg.norm(tails[j] - point) > 1e-3 * size for point in known):
                targets.append(tails[j])
            joints += [j] * len(targets)
            ends += targets
        return Bones(heads[joints], np.array(ends), np.array(joints))


def rig_character(
    character: Character, skeleton: Skeleton, *, visibility: Visibility = "field", influences: int = 4
) -> Character:
    """Attach a skeleton to a mesh with weights by bone heat.

    `influences` joints with the largest weights are kept per vertex; game engines read four.
    """
    if influences < 1:
        raise KinemaError(f"{influences} joints per vertex: at least one must be kept")
    bones, small_mesh = Bones.from_skeleton(skeleton), coarse_mesh(character.mesh)
    heat = bone_heat(small_mesh, bones.starts, bones.ends, visibility=visibility)
    weights = np.zeros((len(heat), len(skeleton.names)))
    np.add.at(weights.T, bones.joints, heat.T)
    if small_mesh is not character.mesh:
        surface = SurfaceTree.from_triangles(small_mesh.vertices, small_mesh.faces)
        weights = surface.nearest(character.mesh.vertices).interpolate(small_mesh.faces, weights)
    if influences < weights.shape[1]:
        small = np.argpartition(-weights, influences - 1, axis=1)[:, influences:]
        np.put_along_axis(weights, small, 0.0, axis=1)
    weights /= weights.sum(axis=1, keepdims=True)
    return replace(character, skeleton=skeleton, weights=weights, clips=())


def coarse_mesh(mesh: Mesh) -> Mesh:
    """The mesh itself, or one of at most about LARGE vertices that stands for it; colours are left out."""
    if len(mesh.vertices) <= LARGE:
        return mesh
    vertices, faces, _ = decimate(np.asarray(mesh.vertices, np.float64), mesh.faces, LARGE)
    return Mesh(vertices, faces, np.ones((len(vertices), 3)))


def bone_heat(mesh: Mesh, starts: BonePoints, ends: BonePoints, *, visibility: Visibility = "field") -> Weights:
    """Weights of the bones; rows sum to one.

    The `visibility` "field" gives the weights of the original Pinocchio, "rays" ones that are a little nearer to those
    of artists on meshes with few vertices (docs/rigging.md).
    """
    if len(starts) == 0:
        raise KinemaError("bone heat needs at least one bone")
    bad = np.flatnonzero(~np.isfinite(np.concatenate((starts, ends), axis=1)).all(axis=1))
    if len(bad):
        raise KinemaError(f"bone {bad[0]} is not finite: {starts[bad[0]].tolist()} to {ends[bad[0]].tolist()}")
    if len(mesh.vertices) == 0:
        raise KinemaError("bone heat needs a mesh; this one has no vertices")
    bad = np.flatnonzero(~np.isfinite(mesh.vertices).all(axis=1))
    if len(bad):
        raise KinemaError(f"vertex {bad[0]} of the mesh is not finite: {mesh.vertices[bad[0]].tolist()}")
    points, faces, welded = _weld(mesh)
    vertices, bones, places = _nearest_bones(points, starts, ends)
    seen = _faces_away(points, faces, vertices, places)
    # A surface without faces hides nothing.
    if len(faces):
        facing = np.flatnonzero(seen)
        segments = points[vertices[facing]], places[facing]
        if visibility == "field":
            seen[facing] = segments_inside(Solid.from_triangles(points, faces), *segments)
        else:
            seen[facing] = _inside_by_rays(points, faces, *segments)
    seen |= _in_blind_component(points, faces, vertices, seen)
    distances = np.linalg.norm(points[vertices] - places, axis=1)
    return _spread(points, faces, len(starts), vertices[seen], bones[seen], distances[seen])[welded]


def _weld(mesh: Mesh) -> tuple[Vertices, Faces, Int[np.ndarray, "all"]]:
    """Vertices and faces with the vertices at one place merged, without empty faces; each old vertex's new index."""
    vertices = np.asarray(mesh.vertices, dtype=np.float64)
    size = max(float(np.ptp(vertices, axis=0).max()), 1e-300)
    grid = np.round((vertices - vertices.min(axis=0)) / size * 2**20).astype(np.int64)
    key = (grid[:, 0] << 42) | (grid[:, 1] << 21) | grid[:, 2]
    _, first, welded = np.unique(key, return_index=True, return_inverse=True)
    faces = welded.ravel()[mesh.faces]
    return vertices[first], faces[(faces != np.roll(faces, 1, axis=1)).all(axis=1)], welded.ravel()


def _nearest_bones(points: Vertices, starts: BonePoints, ends: BonePoints) -> tuple[Pairs, Pairs, PairPoints]:
    """For every point its nearest bone, or several that are equally near, and the nearest place on the bone."""
    starts = np.asarray(starts, dtype=np.float64)
    along = np.asarray(ends, dtype=np.float64) - starts
    squared_length = np.maximum((along * along).sum(axis=1), 1e-300)
    middle = points.mean(axis=0)
    pairs = []
    for low in range(0, len(points), CHUNK):
        these = points[low : low + CHUNK]
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
        pairs.append((point[near] + low, bone[near], place[near]))
    vertices, bones, places = (np.concatenate(part) for part in zip(*pairs))
    return vertices, bones, places


def _faces_away(points: Vertices, faces: Faces, vertices: Pairs, places: PairPoints) -> Mask:
    """Pairs whose bone lies behind the surface, within a cone around the inward normal."""
    normal = np.repeat(face_areas_normals(points, faces)[1], 3, axis=0)
    total = sum_by_group(faces.ravel(), normal, len(points))
    total = total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-300)
    ray = points[vertices] - places
    return (ray * total[vertices]).sum(axis=1) > CONE * np.linalg.norm(ray, axis=1)


def _inside_by_rays(points: Vertices, faces: Faces, starts: PairPoints, ends: PairPoints) -> Mask:
    """Segments that cross nothing of the mesh but what is next to their start."""
    # Embree works in single precision: give it a cube of one.
    low, scale = points.min(axis=0), FILLED / max(float(np.ptp(points, axis=0).max()), 1e-300)
    rays = (starts - ends) * scale
    length = np.linalg.norm(rays, axis=1)
    inside = length <= SLACK
    if (long := ~inside).any():
        caster, directions = RayCaster((points - low) * scale, faces), rays[long] / length[long, None]
        inside[long] = caster.free((ends[long] - low) * scale, directions, length[long] - SLACK)
    return inside


def _in_blind_component(points: Vertices, faces: Faces, vertices: Pairs, seen: Mask) -> Mask:
    """Pairs of connected components none of whose vertices sees its bone; without heat they would be singular."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    i, j = np.concatenate((faces[:, :2], faces[:, 1:])).T
    graph = coo_array((np.ones(len(i), dtype=np.int8), (i, j)), shape=(len(points), len(points)))
    number, component = connected_components(graph, directed=False)
    heated = np.zeros(number, dtype=bool)
    heated[component[vertices[seen]]] = True
    return ~heated[component[vertices]]


def _spread(
    points: Vertices, faces: Faces, count: int, vertices: Pairs, bones: Pairs, distances: Float[np.ndarray, "pairs"]
) -> Float[np.ndarray, "vertices count"]:
    """Solve (S + M H) w = M H p for all `count` bones. Pairs are the visible nearest bones of each vertex."""
    from scipy.sparse import csc_array, diags_array
    from scipy.sparse.linalg import splu

    stiffness, areas = laplacian(points, faces)
    size = max(float(np.ptp(points, axis=0).max()), 1e-300)
    # The system is scale-free: S has no unit and M / d² neither. The floor is for vertices that lie on a bone.
    heat = HEAT / np.maximum(distances, max(1e-7 * size, 1e-100)) ** 2
    total = areas * np.bincount(vertices, heat, minlength=len(points))
    right = np.zeros((len(points), count))
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
def _blas_threads() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()  # looking for the libraries takes longer than a small factorisation
