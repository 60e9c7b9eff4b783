"""The bind pose of a glTF file, which is our rest pose."""

import numpy as np
from jaxtyping import Float

from kinema.asset.gltf.animation import global_matrices, inverse_bind_matrices, local_matrices
from kinema.asset.gltf.document import Document, node_order, node_parents
from kinema.asset.gltf.geometry import Part
from kinema.asset.rigs.cleanup_fit import nearest_rotation
from kinema.errors import KinemaError


def rest_pose(document: Document, parts: list[Part]) -> Float[np.ndarray, "nodes 4 4"]:
    """Every node's global transform in the bind pose, in the file's world.

    An inverse bind matrix takes the mesh's coordinates to the joint's, so a joint's bind pose is M IBM⁻¹ with one M per
    skin: where the mesh stands in the file's world. If the file's own pose is the bind pose, all G IBM are equal and
    are M. Otherwise M is the similarity that comes nearest to that of the main joint.
    """
    default = global_matrices(document, local_matrices(document))
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
        order = sorted(range(len(nodes)), key=lambda i: -mass[nodes[i]])
        shared = next((i for i in order if nodes[i] in fixed), None)
        if shared is not None:
            mesh_in_file = fixed[nodes[shared]] @ inverse[shared]
        else:
            maps = default[nodes] @ inverse
            clouds = [part.vertices for part in parts if part.skin == skin]
            mesh_in_file = _common_map(maps, mass[nodes], clouds, _main_joint(document, nodes))
        for node, matrix in zip(nodes, inverse):
            fixed.setdefault(node, mesh_in_file @ np.linalg.inv(matrix))
    parents, local = node_parents(document), local_matrices(document)
    result = default.copy()
    for node in node_order(parents):
        if node in fixed:
            result[node] = fixed[node]
        elif parents[node] >= 0:
            result[node] = result[parents[node]] @ local[node]
    return result


def _main_joint(document: Document, nodes: list[int]) -> int:
    """The place of the joint with most joints below it."""
    parents = node_parents(document)
    below = dict.fromkeys(nodes, 0)
    for node in nodes:
        while node >= 0:
            if node in below:
                below[node] += 1
            node = parents[node]
    return max(range(len(nodes)), key=lambda i: below[nodes[i]])


def _common_map(
    maps: Float[np.ndarray, "joints 4 4"],
    mass: Float[np.ndarray, "joints"],
    clouds: list[Float[np.ndarray, "_ 3"]],
    main: int,
) -> Float[np.ndarray, "4 4"]:
    """One M for all G IBM: theirs if they agree on the joints that carry vertices, else that of the `main` joint."""
    used = np.flatnonzero(mass > 0)
    first = maps[used[mass[used].argmax()]] if len(used) else maps[0]
    points = np.concatenate(clouds)
    corners = np.stack((points.min(0), points.max(0)))
    corners = np.array(
        [[corners[i, 0], corners[j, 1], corners[k, 2], 1] for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    )
    spread = np.einsum("jab,cb->jca", maps[used], corners)[..., :3]
    reach = np.linalg.norm(np.ptp(spread[:1].reshape(-1, 3), axis=0)) if len(used) else 0.0
    if len(used) == 0 or np.abs(spread - spread[:1]).max() < 1e-4 * reach:
        return first
    # The file stands in another pose than the bind pose: the main joint says how large and which way round.
    rotation = nearest_rotation(maps[main, :3, :3])
    for snapped in _right_angles():
        if np.trace(snapped.T @ rotation) > 1 + 2 * np.cos(np.deg2rad(30)):
            rotation = snapped
    centre = points.mean(0)
    result = np.eye(4)
    result[:3, :3] = np.cbrt(np.abs(np.linalg.det(maps[main, :3, :3]))) * rotation
    result[:3, 3] = (maps[main] @ np.append(centre, 1))[:3] - result[:3, :3] @ centre
    return result


def _right_angles() -> list[Float[np.ndarray, "3 3"]]:
    axes = [sign * row for row in np.eye(3) for sign in (1, -1)]
    return [np.stack((a, b, np.cross(a, b))) for a in axes for b in axes if a @ b == 0]
