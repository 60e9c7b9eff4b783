"""The writer of .glb and .gltf: the character's own file with new animations, or a new file where there was none.

Characters that are bound to no nodes get them: a mesh of our own, or a rig for the meshes of their file.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from kinema.asset.character import Character, Clip, Frame, Skeleton, unused_name
from kinema.asset.gltf.animation import global_matrices, local_matrices
from kinema.asset.gltf.document import GltfBinding
from kinema.asset.images import linear_from_srgb
from kinema.asset.rigs.orientation import to_file
from kinema.export.common import Weights, encode_png, face_textures
from kinema.export.gltf.channels import decompose, node_channels
from kinema.export.gltf.file import INDEX_DATA, VERTEX_DATA, GltfFile, drop_animations
from kinema.export.gltf.skin import add_joints, add_skin, normalize_weights, set_weights, to_xyzw
from kinema.geometry.surface import vertex_normals


def write_glb(path: Path, character: Character, clips: tuple[Clip, ...] = (), *, keep_clips: bool = True) -> None:
    """Write .glb (or .gltf) with `clips` added in front of the animations that the file already had.

    Meshes, materials, textures, names and extras are kept where the character came from a glTF; without `keep_clips`
    its own animations (and their bytes) are left out.
    """
    from kinema import __version__

    file, binding, frame = _bound_file(character)
    if not keep_clips:
        drop_animations(file)
    before = file.json["asset"].get("generator", "")
    if not before.startswith("Kinema"):
        file.json["asset"]["generator"] = f"Kinema {__version__}" + (f" (from: {before})" if before else "")
    if character.skeleton is not None and clips:
        old = file.json.get("animations", [])
        names = [animation.get("name") for animation in old]
        fresh = []
        for clip in clips:
            names.append(unused_name(clip.name, names))
            fresh.append(_animation(file, binding, frame, character.skeleton, replace(clip, name=names[-1])))
        # Viewers play the first one.
        file.json["animations"] = fresh + old
    file.write(Path(path))


def is_bound(character: Character) -> bool:
    """The character's joints are nodes of the glTF that it came from."""
    joints, source = 0 if character.skeleton is None else len(character.skeleton.names), character.source
    return isinstance(source, GltfBinding) and joints in (0, len(source.joint_nodes))


def _bound_file(character: Character) -> tuple[GltfFile, GltfBinding, Frame]:
    """A copy of the character's glTF, rigged if its joints are new, or a fresh file; with the nodes of the joints."""
    source = character.source
    if not isinstance(source, GltfBinding):
        return fresh_file(character)
    if not is_bound(character):
        return *rig_file(character, source), character.frame
    file = GltfFile.from_document(source.document)
    normalize_weights(file, source.document)
    return file, source, character.frame


def _animation(file: GltfFile, binding: GltfBinding, frame: Frame, skeleton: Skeleton, clip: Clip) -> dict[str, Any]:
    still = local_matrices(binding.document)
    times = file.add_accessor((np.arange(len(clip.root_position)) / clip.fps).astype(np.float32), bounds=True)
    samplers, channels = [], []
    for node, paths in sorted(node_channels(binding, frame, skeleton, clip).items()):
        # An animated node must not have a matrix: it gets the equal translation, rotation and scale.
        if file.json["nodes"][node].pop("matrix", None) is not None:
            for path, values in decompose(still[node][None]).items():
                file.json["nodes"][node][path] = values[0].tolist()
        for path, values in paths.items():
            samplers.append({"input": times, "output": file.add_accessor(values.astype(np.float32))})
            channels.append({"sampler": len(samplers) - 1, "target": {"node": node, "path": path}})
    return {"name": clip.name, "samplers": samplers, "channels": channels}


def fresh_file(character: Character) -> tuple[GltfFile, GltfBinding, Frame]:
    """A glTF with our mesh, colours, textures and, if rigged, joints and skin, in metres as glTF wants it.

    glTF is Y up. A file that was not (a Z-up OBJ) keeps its axes below one node that turns it upright. The Frame
    is that of the scene, above that node.
    """
    # x_world = R (s x_file) + t: the numbers of the file, multiplied by its unit.
    character = replace(character, frame=replace(character.frame, scale=1.0))
    file, frame = GltfFile(), character.frame
    points = to_file(frame, character.mesh.vertices)
    mesh_node: dict[str, Any] = {"name": character.name, "mesh": _add_mesh(file, character, points)}
    node = file.add("nodes", mesh_node)
    joint_nodes: tuple[int, ...] = ()
    if character.skeleton is not None:
        joint_nodes = add_joints(file, frame, character.skeleton)
        if character.weights is not None:
            primitives = file.json["meshes"][mesh_node["mesh"]]["primitives"]
            set_weights(file, [primitive["attributes"] for primitive in primitives], character.weights)
            mesh_node["skin"] = add_skin(file, character, joint_nodes, np.eye(4))
    roots = [node, *joint_nodes[:1]]
    if not np.allclose(frame.rotation[1], [0, 1, 0], atol=1e-6):
        # glTF ignores the place of a skinned mesh's node: it stays at the top, its joints go below.
        below = roots[1:] if "skin" in mesh_node else roots
        upright = {"name": f"{character.name}_upright", "rotation": to_xyzw(frame.rotation), "children": below}
        roots = [root for root in roots if root not in below] + [file.add("nodes", upright)]
        frame = Frame(np.eye(3), frame.scale, frame.translation)
    file.json["scenes"], file.json["scene"] = [{"nodes": roots}], 0
    document, count = file.document(Path(f"{character.name}.glb")), len(points)
    places = np.full(count, node), np.zeros(count, dtype=np.int64), np.arange(count)
    rest = global_matrices(document, local_matrices(document))
    return file, GltfBinding(document, joint_nodes, rest, *places), frame


def rig_file(character: Character, binding: GltfBinding) -> tuple[GltfFile, GltfBinding]:
    """The character's own glTF with our joints and weights hung on its meshes, which replace any it had."""
    file = GltfFile.from_document(binding.document)
    assert character.skeleton is not None
    joint_nodes = add_joints(file, character.frame, character.skeleton)
    scene = file.json.get("scenes", [{}])[file.json.get("scene", 0)]
    scene.setdefault("nodes", []).append(joint_nodes[0])
    if character.weights is not None:
        for node in np.unique(binding.vertex_node).tolist():
            _set_node_weights(file, binding, node, character.weights)
            # A skinned mesh ignores its node's place, so the place moves into the bind matrices.
            skin = add_skin(file, character, joint_nodes, binding.T_file_node_rest[node])
            file.json["nodes"][node]["skin"] = skin
    document = file.document(binding.document.path)
    rest, old = global_matrices(document, local_matrices(document)), binding.T_file_node_rest
    grown = np.concatenate((old, rest[len(old) :]))
    places = binding.vertex_node, binding.vertex_primitive, binding.vertex_index
    return file, GltfBinding(document, joint_nodes, grown, *places)


def _set_node_weights(file: GltfFile, binding: GltfBinding, node: int, weights: Weights) -> None:
    """Replace the weights of the node's mesh by ours."""
    # Two nodes may show one mesh, each with weights of its own: a copy of the mesh shares all other accessors.
    mesh, primitives = file.json["meshes"][file.json["nodes"][node]["mesh"]], []
    for index, primitive in enumerate(mesh["primitives"]):
        old = primitive["attributes"]
        attributes = {key: old[key] for key in old if not key.startswith(("JOINTS_", "WEIGHTS_"))}
        primitives.append({**primitive, "attributes": attributes})
        rows = np.flatnonzero((binding.vertex_node == node) & (binding.vertex_primitive == index))
        if len(rows):
            dense = np.zeros((file.json["accessors"][attributes["POSITION"]]["count"], weights.shape[1]))
            # Vertices that no triangle uses may be missing from ours; the root carries them.
            dense[:, 0] = 1
            dense[binding.vertex_index[rows]] = weights[rows]
            set_weights(file, [attributes], dense)
    file.json["nodes"][node]["mesh"] = file.add("meshes", {**mesh, "primitives": primitives})


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
    texture_of = face_textures(mesh)
    primitives = []
    for texture in np.unique(texture_of).tolist():
        faces = mesh.faces[texture_of == texture].astype(np.uint32).reshape(-1)
        indices, image = file.add_accessor(faces, target=INDEX_DATA), mesh.textures[texture] if texture >= 0 else None
        material = _add_material(file, f"{character.name}_{max(texture, 0)}", image)
        primitives.append({"attributes": dict(attributes), "indices": indices, "material": material})
    return file.add("meshes", {"name": character.name, "primitives": primitives})


def _add_material(file: GltfFile, name: str, image: UInt8[np.ndarray, "h w 4"] | None) -> int:
    surface: dict[str, Any] = {"metallicFactor": 0.0, "roughnessFactor": 0.9}
    material: dict[str, Any] = {"name": name, "pbrMetallicRoughness": surface}
    if image is not None:
        png = {"name": name, "mimeType": "image/png", "bufferView": file.add_view(encode_png(image))}
        surface["baseColorTexture"] = {"index": file.add("textures", {"source": file.add("images", png)})}
        if (image[..., 3] < 255).any():
            material["alphaMode"] = "MASK"
    return file.add("materials", material)
