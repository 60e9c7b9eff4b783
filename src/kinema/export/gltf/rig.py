"""Characters that no file bound to glTF nodes get their nodes here: a mesh of our own, or a rig for a file's meshes."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int, UInt8

from kinema.asset.character import Character, Frame, Skeleton
from kinema.asset.gltf.animation import global_matrices, local_matrices
from kinema.asset.gltf.document import Document, GltfBinding
from kinema.export.gltf.file import INDEX_DATA, VERTEX_DATA, GltfFile
from kinema.export.timing import rotation_matrices
from kinema.rig.kinematics import bone_axes


def fresh_file(character: Character) -> tuple[GltfFile, GltfBinding, Frame]:
    """A glTF with our mesh, colours, textures and, if rigged, joints and skin, in the units of the character's file.

    glTF is Y up. A file that was not (a Z-up OBJ) keeps its numbers below one node that turns it upright. The Frame
    is that of the scene, above that node.
    """
    file, frame = GltfFile(), character.frame
    points = _to_file(frame, character.mesh.vertices)
    mesh_node: dict[str, Any] = {"name": character.name, "mesh": _add_mesh(file, character, points)}
    node = file.add("nodes", mesh_node)
    joint_nodes: tuple[int, ...] = ()
    if character.skeleton is not None:
        joint_nodes = _add_joints(file, frame, character.skeleton)
        if character.weights is not None:
            _add_weights(file, mesh_node, character.weights)
            mesh_node["skin"] = _add_skin(file, character, joint_nodes, np.eye(4))
    roots = [node, *joint_nodes[:1]]
    if not np.allclose(frame.rotation[1], [0, 1, 0], atol=1e-6):
        turn = [float(value) for value in matrix_to_xyzw(frame.rotation[None])[0]]
        # glTF ignores the place of a skinned mesh's node: it stays at the top, its joints go below.
        below = roots[1:] if "skin" in mesh_node else roots
        upright = file.add("nodes", {"name": f"{character.name}_upright", "rotation": turn, "children": below})
        roots = [root for root in roots if root not in below] + [upright]
        frame = Frame(np.eye(3), frame.scale, frame.translation)
    file.json["scenes"], file.json["scene"] = [{"nodes": roots}], 0
    document, count = file.document(Path(f"{character.name}.glb")), len(points)
    places = np.full(count, node), np.zeros(count, dtype=np.int64), np.arange(count)
    return file, GltfBinding(document, joint_nodes, _globals(document), *places), frame


def rig_file(character: Character, binding: GltfBinding) -> tuple[GltfFile, GltfBinding]:
    """The character's own glTF with our joints and weights hung on its meshes, which replace any it had."""
    file = GltfFile.from_document(binding.document)
    assert character.skeleton is not None
    joint_nodes = _add_joints(file, character.frame, character.skeleton)
    scene = file.json.get("scenes", [{}])[file.json.get("scene", 0)]
    scene.setdefault("nodes", []).append(joint_nodes[0])
    if character.weights is not None:
        for node in np.unique(binding.vertex_node).tolist():
            _skin_mesh_node(file, character, binding, node, joint_nodes)
    document = file.document(binding.document.path)
    grown = np.concatenate((binding.T_file_node_rest, _globals(document)[len(binding.T_file_node_rest) :]))
    return file, GltfBinding(
        document, joint_nodes, grown, binding.vertex_node, binding.vertex_primitive, binding.vertex_index
    )


def _skin_mesh_node(
    file: GltfFile, character: Character, binding: GltfBinding, node: int, joint_nodes: tuple[int, ...]
) -> None:
    assert character.weights is not None
    content = file.json["nodes"][node]
    # Two nodes may show one mesh, each with weights of its own: a copy of the mesh shares all other accessors.
    mesh = file.json["meshes"][content["mesh"]]
    mesh = {**mesh, "primitives": [{**p, "attributes": dict(p["attributes"])} for p in mesh["primitives"]]}
    here = binding.vertex_node == node
    for index, primitive in enumerate(mesh["primitives"]):
        attributes = primitive["attributes"]
        for key in [key for key in attributes if key.startswith(("JOINTS_", "WEIGHTS_"))]:
            del attributes[key]
        rows = np.flatnonzero(here & (binding.vertex_primitive == index))
        if len(rows):
            dense = np.zeros((file.json["accessors"][attributes["POSITION"]]["count"], len(joint_nodes)))
            # Vertices that no triangle uses may be missing from ours; the root carries them.
            dense[:, 0] = 1
            dense[binding.vertex_index[rows]] = character.weights[rows]
            _set_weights(file, attributes, dense)
    content["mesh"] = file.add("meshes", mesh)
    # A skinned mesh ignores its node's place, so the place moves into the bind matrices.
    content["skin"] = _add_skin(file, character, joint_nodes, binding.T_file_node_rest[node])


def _to_file(frame: Frame, points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
    return (points - frame.translation) @ frame.rotation / frame.scale


def matrix_to_xyzw(matrix: Float[np.ndarray, "*b 3 3"]) -> Float[np.ndarray, "*b 4"]:
    """Unit quaternions in glTF's order."""
    import torch

    from kinema.geometry.transforms import matrix_to_quaternion

    return matrix_to_quaternion(torch.from_numpy(np.ascontiguousarray(matrix))).numpy()[..., [1, 2, 3, 0]]


def joint_axes_file(frame: Frame, skeleton: Skeleton) -> Float[np.ndarray, "joints 3 3"]:
    """Axes of the joints we write: the file's own, else y along the bone and x the axis it flexes about.

    Blender draws a bone along its y axis, and a knee that bends about x is what animators expect.
    """
    if skeleton.wxyz_world_file is not None:
        world = rotation_matrices(skeleton.wxyz_world_file)
    else:
        axes = bone_axes(skeleton.heads, skeleton.tails)
        # The root turns about the world's axes in our parameters, but its bone still has a direction.
        axes[0] = bone_axes(np.repeat(skeleton.heads[:1], 2, 0), np.repeat(skeleton.tails[:1], 2, 0))[1]
        world = np.stack((axes[..., 0], axes[..., 2], -axes[..., 1]), -1)
    return frame.rotation.T @ world


def _add_joints(file: GltfFile, frame: Frame, skeleton: Skeleton) -> tuple[int, ...]:
    heads, axes = _to_file(frame, skeleton.heads), joint_axes_file(frame, skeleton)
    nodes = []
    for joint, (name, parent) in enumerate(zip(skeleton.names, skeleton.parents)):
        base, origin = (np.eye(3), np.zeros(3)) if parent < 0 else (axes[parent], heads[parent])
        local = {
            "name": name,
            "translation": [float(value) for value in base.T @ (heads[joint] - origin)],
            "rotation": [float(value) for value in matrix_to_xyzw((base.T @ axes[joint])[None])[0]],
        }
        nodes.append(file.add("nodes", local))
        if parent >= 0:
            file.json["nodes"][nodes[parent]].setdefault("children", []).append(nodes[joint])
    return tuple(nodes)


def _add_skin(
    file: GltfFile, character: Character, joint_nodes: Sequence[int], T_file_mesh: Float[np.ndarray, "4 4"]
) -> int:
    assert character.skeleton is not None
    bind = np.zeros((len(joint_nodes), 4, 4))
    axes = joint_axes_file(character.frame, character.skeleton)
    bind[:, :3, :3] = axes.transpose(0, 2, 1)
    bind[:, :3, 3] = -(bind[:, :3, :3] @ _to_file(character.frame, character.skeleton.heads)[..., None])[..., 0]
    bind[:, 3, 3] = 1
    flat = (bind @ T_file_mesh).astype(np.float32)
    flat[:, 3] = (0, 0, 0, 1)
    inverse = file.add_accessor(flat.transpose(0, 2, 1).reshape(-1, 16))
    skin = {"joints": list(joint_nodes), "inverseBindMatrices": inverse, "name": character.name}
    return file.add("skins", {**skin, "skeleton": joint_nodes[0]})


def _add_weights(file: GltfFile, mesh_node: dict[str, Any], weights: Float[np.ndarray, "vertices joints"]) -> None:
    shared: dict[str, int] = {}
    for primitive in file.json["meshes"][mesh_node["mesh"]]["primitives"]:
        if not shared:
            _set_weights(file, shared, weights)
        primitive["attributes"].update(shared)


def _set_weights(file: GltfFile, attributes: dict[str, int], weights: Float[np.ndarray, "vertices joints"]) -> None:
    """All influences in as many sets of four as the busiest vertex needs (JOINTS_0, JOINTS_1 ...)."""
    most = max(1, int((weights > 0).sum(-1).max(initial=1)))
    order = np.argsort(-weights, axis=-1, kind="stable")[:, :most]
    values = np.take_along_axis(weights, order, -1)
    order = np.where(values > 0, order, 0)
    padding = ((0, 0), (0, -most % 4))
    order, values = np.pad(order, padding), np.pad(values / values.sum(-1, keepdims=True), padding)
    for first in range(0, order.shape[1], 4):
        joints, part = order[:, first : first + 4].astype(np.uint16), values[:, first : first + 4].astype(np.float32)
        attributes[f"JOINTS_{first // 4}"] = file.add_accessor(joints, target=VERTEX_DATA)
        attributes[f"WEIGHTS_{first // 4}"] = file.add_accessor(part, target=VERTEX_DATA)


def _add_mesh(file: GltfFile, character: Character, points: Float[np.ndarray, "n 3"]) -> int:
    mesh = character.mesh
    attributes = {
        "POSITION": file.add_accessor(points.astype(np.float32), target=VERTEX_DATA, bounds=True),
        "NORMAL": file.add_accessor(vertex_normals(points, mesh.faces).astype(np.float32), target=VERTEX_DATA),
    }
    if (mesh.colors < 1).any():
        # glTF's vertex colours are linear; sixteen bits keep the dark ones apart.
        color = np.concatenate((linear_from_srgb(mesh.colors), np.ones((len(points), 1))), -1)
        packed = np.round(np.clip(color, 0, 1) * 65535).astype(np.uint16)
        attributes["COLOR_0"] = file.add_accessor(packed, target=VERTEX_DATA, normalized=True)
    if mesh.uv is not None:
        attributes["TEXCOORD_0"] = file.add_accessor(mesh.uv.astype(np.float32), target=VERTEX_DATA)
    textured = mesh.face_texture is not None and mesh.uv is not None
    texture_of = mesh.face_texture if textured and mesh.face_texture is not None else np.full(len(mesh.faces), -1)
    primitives = []
    for texture in np.unique(texture_of).tolist():
        faces = mesh.faces[texture_of == texture].astype(np.uint32).reshape(-1)
        image = mesh.textures[texture] if texture >= 0 else None
        primitives.append(
            {
                "attributes": dict(attributes),
                "indices": file.add_accessor(faces, target=INDEX_DATA),
                "material": _add_material(file, f"{character.name}_{max(texture, 0)}", image),
            }
        )
    return file.add("meshes", {"name": character.name, "primitives": primitives})


def _add_material(file: GltfFile, name: str, image: UInt8[np.ndarray, "h w 4"] | None) -> int:
    surface: dict[str, Any] = {"metallicFactor": 0.0, "roughnessFactor": 0.9}
    material: dict[str, Any] = {"name": name, "pbrMetallicRoughness": surface}
    if image is not None:
        source = file.add(
            "images", {"name": name, "mimeType": "image/png", "bufferView": file.add_view(encode_png(image))}
        )
        surface["baseColorTexture"] = {"index": file.add("textures", {"source": source})}
        if (image[..., 3] < 255).any():
            material["alphaMode"] = "MASK"
    return file.add("materials", material)


def encode_png(image: UInt8[np.ndarray, "h w 4"]) -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "PNG")
    return stream.getvalue()


def vertex_normals(points: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "faces 3"]) -> Float[np.ndarray, "n 3"]:
    """Unit normals, faces weighted by area; +Y for vertices of no face."""
    corners = points[faces]
    face = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = np.zeros_like(points)
    for corner in range(3):
        np.add.at(normals, faces[:, corner], face)
    length = np.linalg.norm(normals, axis=-1, keepdims=True)
    return np.where(length > 1e-20, normals / np.maximum(length, 1e-20), [0.0, 1.0, 0.0])


def linear_from_srgb(srgb: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
    """Inverse of `asset.gltf_material.srgb_from_linear`."""
    srgb = np.clip(srgb, 0, 1)
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def _globals(document: Document) -> Float[np.ndarray, "nodes 4 4"]:
    return global_matrices(document, local_matrices(document))
