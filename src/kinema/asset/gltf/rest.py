"""The rest pose of a glTF file: its bind pose, unless that is tilted and the file stands level in another."""

import itertools

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from kinema.asset.gltf import animation
from kinema.asset.gltf.animation import Track, global_matrices, inverse_bind_matrices, local_matrices
from kinema.asset.gltf.document import Document, node_parents
from kinema.asset.gltf.geometry import Part
from kinema.errors import KinemaError
from kinema.geometry.rotations import depth_first, nearest_rotation, subtree_sums

LEAST_TILT_DEG, LARGEST_TILTED_SUPPORT = 8.0, 0.25
"""A bind pose that leans by less, or stands on more of its length and width, stays the rest pose."""
LARGEST_STRETCH = 1.4
"""Of 98 in 100 edges, up to a common scale."""

Nodes = Float[np.ndarray, "nodes 4 4"]


def rest_pose(document: Document, parts: list[Part], animations: list[list[Track]]) -> tuple[Nodes, list[str]]:
    """Every node's global transform in the pose in which the character stands, and a line if it is not the bind pose.

    The nodes' own pose or the first frame of an idle clip (else of the first) takes its place if the bind pose is
    tilted against it, its soles share a plane (+y is up, as in glTF) more clearly, and it does not stretch the skin.
    """
    bind = bind_pose(document, parts)
    points = animation.skin_parts(document, parts, bind)
    if all(part.skin < 0 for part in parts) or _support(points) > LARGEST_TILTED_SUPPORT:
        return bind, []
    others = {"the nodes stand": global_matrices(document, local_matrices(document))}
    clips = {document.json["animations"][i].get("name", f"animation{i}"): t for i, t in enumerate(animations) if t}
    for name in sorted(clips, key=lambda name: "idle" not in name.lower())[:1]:
        start = np.array([min(track.times[0] for track in clips[name])])
        others[f"{name} begins"] = global_matrices(document, animation.animated_locals(document, clips[name], start))[0]
    starts = np.cumsum([0, *(len(part.vertices) for part in parts)])
    edges = np.concatenate([part.faces[:, :2] + start for part, start in zip(parts, starts)])
    for name, pose in others.items():
        moved = animation.skin_parts(document, parts, pose)
        turn = nearest_rotation((moved - moved.mean(0)).T @ (points - points.mean(0)))
        tilt = float(np.rad2deg(np.arccos(np.clip(turn[1, 1], -1, 1))))
        before, after = (np.linalg.norm(p[edges[:, 0]] - p[edges[:, 1]], axis=-1) for p in (points, moved))
        low, middle, high = np.quantile(np.append(1.0, after[before > 0] / before[before > 0]), (0.01, 0.5, 0.99))
        stretched = max(high / middle, middle / max(low, 1e-30)) > LARGEST_STRETCH
        if tilt >= LEAST_TILT_DEG and not stretched and _support(moved) > 1.5 * _support(points) + 0.1:
            return pose, [f"rest pose: as {name}; the bind pose is tilted by {tilt:.0f} degrees"]
    return bind, []


def _support(points: Float[np.ndarray, "vertices 3"]) -> float:
    """Share of the body's length and width [0, 1] that its lowest points (3 % of the height) span."""
    low = points[points[:, 1] <= points[:, 1].min() + 0.03 * np.ptp(points[:, 1])]
    return float(np.sqrt(np.prod(np.ptp(low[:, ::2], axis=0) / np.maximum(np.ptp(points[:, ::2], axis=0), 1e-30))))


def bind_pose(document: Document, parts: list[Part]) -> Nodes:
    """Every node's global transform in the bind pose, in the file's world.

    An inverse bind matrix takes the mesh's coordinates to the joint's, so a joint's bind pose is M IBM⁻¹ with one M per
    skin: where the mesh stands in the file's world. If the file's own pose is the bind pose, all G IBM are equal and
    are M. Otherwise M is the similarity that comes nearest to that of the main joint.
    """
    local, parents = local_matrices(document), node_parents(document)
    default = global_matrices(document, local)
    fixed: dict[int, np.ndarray] = {}
    for skin in dict.fromkeys(part.skin for part in parts if part.skin >= 0):
        nodes = document.json["skins"][skin]["joints"]
        inverse = inverse_bind_matrices(document, skin)
        if inverse is None or np.abs(inverse - np.eye(4)).max() < 1e-9:
            fixed.update({node: default[node] for node in nodes if node not in fixed})
            continue
        flat = [node for node, matrix in zip(nodes, inverse) if abs(np.linalg.det(matrix[:3, :3])) < 1e-30]
        if flat:
            name = document.nodes[flat[0]].get("name", "")
            raise KinemaError(f"{document.path}: skins[{skin}] joint {flat[0]} {name} has a singular bind matrix")
        mass = np.zeros(len(document.nodes))
        for part in parts:
            if part.skin == skin and part.joints is not None and part.weights is not None:
                np.add.at(mass, part.joints, part.weights)
        shared = [i for i, node in enumerate(nodes) if node in fixed]
        if shared:
            heaviest = max(shared, key=lambda i: mass[nodes[i]])
            mesh_in_file = fixed[nodes[heaviest]] @ inverse[heaviest]
        else:
            points = np.concatenate([part.vertices for part in parts if part.skin == skin])
            joints = np.isin(np.arange(len(parents)), nodes).astype(np.float64)
            main = int(subtree_sums(parents, joints)[nodes].argmax())
            mesh_in_file = _common_map(default[nodes] @ inverse, mass[nodes], points, main)
        for node, matrix in zip(nodes, inverse):
            fixed.setdefault(node, mesh_in_file @ np.linalg.inv(matrix))
    result = default.copy()
    for node in depth_first(parents):
        if node in fixed:
            result[node] = fixed[node]
        elif parents[node] >= 0:
            result[node] = result[parents[node]] @ local[node]
    return result


def _common_map(
    maps: Float[np.ndarray, "joints 4 4"], mass: Float[np.ndarray, "joints"], points: np.ndarray, main: int
) -> Float[np.ndarray, "4 4"]:
    """One M for all G IBM: theirs if they agree on the joints that carry vertices, else that of the `main` joint."""
    used = np.flatnonzero(mass > 0)
    if not len(used):
        return maps[0]
    corners = np.array(list(itertools.product(*zip(points.min(0), points.max(0)), [1.0])))
    spread = (maps[used] @ corners.T)[:, :3]
    if np.abs(spread - spread[:1]).max() < 1e-4 * np.linalg.norm(np.ptp(spread[0], axis=1)):
        return maps[used[mass[used].argmax()]]
    # The file stands in another pose than the bind pose: the main joint gives size and orientation.
    rotation = nearest_rotation(maps[main, :3, :3])
    right_angles = np.round(Rotation.create_group("O").as_matrix())
    alike = np.einsum("kij,ij->k", right_angles, rotation)
    if alike.max() > 1 + 2 * np.cos(np.deg2rad(30)):
        rotation = right_angles[alike.argmax()]
    centre, result = points.mean(0), np.eye(4)
    result[:3, :3] = np.cbrt(np.abs(np.linalg.det(maps[main, :3, :3]))) * rotation
    result[:3, 3] = (maps[main] @ np.append(centre, 1))[:3] - result[:3, :3] @ centre
    return result
