"""Animated glTF: the character's own file with one more animation, or a new file where there was none.

Our joints are rigid, the file's nodes are whatever the artist built: other axes, scaled parents, feet that hang on no
leg. So the file's nodes are placed globally, each by the motion of its joint, and their channels follow from that:

    G_node(t) = F_joint(t) G_node(rest),  F = frame⁻¹ T_world_joint(t) T_world_joint(rest)⁻¹ frame
    local(t)  = G_parent(t)⁻¹ G_node(t)

Only what differs from the node's own translation, rotation and scale becomes a channel.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Character, Clip, Frame, Skeleton
from kinema.asset.gltf.animation import local_matrices, matrices
from kinema.asset.gltf.document import GltfBinding, node_parents
from kinema.export.gltf.file import GltfFile, drop_animations
from kinema.export.gltf.rig import fresh_file, matrix_to_xyzw, rig_file
from kinema.export.gltf.weights import normalize_weights
from kinema.export.timing import world_transforms
from kinema.geometry.rotations import depth_first


def write_glb(path: Path, character: Character, clips: tuple[Clip, ...] = (), *, keep_clips: bool = True) -> None:
    """Write .glb (or .gltf) with `clips` added in front of the animations that the file already had.

    Args:
        path: .glb, or .gltf with everything inside.
        character: Its meshes, materials, textures, names and extras are kept where it came from a glTF.
        clips: In our world; they are written in the file's units and axes.
        keep_clips: False leaves the file's own animations (and their bytes) out.
    """
    file, binding, frame = _bound_file(character)
    if not keep_clips:
        drop_animations(file)
    _sign(file)
    if character.skeleton is not None and clips:
        taken = {animation.get("name") for animation in file.json.get("animations", ())}
        fresh = []
        for clip in clips:
            name = _unused(clip.name, taken)
            taken.add(name)
            fresh.append(_animation(file, binding, frame, character.skeleton, clip, name))
        # Viewers play the first one.
        file.json["animations"] = fresh + file.json.get("animations", [])
    file.write(Path(path))


def _bound_file(character: Character) -> tuple[GltfFile, GltfBinding, Frame]:
    source = character.source
    if not isinstance(source, GltfBinding):
        return fresh_file(character)
    if character.skeleton is not None and len(source.joint_nodes) != len(character.skeleton.names):
        return *rig_file(character, source), character.frame
    file = GltfFile.from_document(source.document)
    normalize_weights(file, source.document)
    return file, source, character.frame


def _sign(file: GltfFile) -> None:
    from kinema import __version__

    before = file.json["asset"].get("generator", "")
    if not before.startswith("Kinema"):
        file.json["asset"]["generator"] = f"Kinema {__version__}" + (f" (from: {before})" if before else "")


def _unused(name: str, taken: set[Any]) -> str:
    copy, result = 1, name
    while result in taken:
        copy += 1
        result = f"{name}.{copy}"
    return result


def _animation(
    file: GltfFile, binding: GltfBinding, frame: Frame, skeleton: Skeleton, clip: Clip, name: str
) -> dict[str, Any]:
    times = np.arange(len(clip.root_position), dtype=np.float64) / clip.fps
    still = local_matrices(binding.document)
    times_accessor = file.add_accessor(times.astype(np.float32), bounds=True)
    samplers: list[dict[str, Any]] = []
    channels: list[dict[str, Any]] = []
    for node, paths in sorted(node_channels(binding, frame, skeleton, clip).items()):
        # An animated node must not have a matrix: it gets the equal translation, rotation and scale.
        if file.json["nodes"][node].pop("matrix", None) is not None:
            for path, values in decompose(still[node][None]).items():
                file.json["nodes"][node][path] = [float(value) for value in values[0]]
        for path, values in paths.items():
            samplers.append({"input": times_accessor, "output": file.add_accessor(values.astype(np.float32))})
            channels.append({"sampler": len(samplers) - 1, "target": {"node": node, "path": path}})
    return {"name": name, "samplers": samplers, "channels": channels}


def node_channels(
    binding: GltfBinding, frame: Frame, skeleton: Skeleton, clip: Clip
) -> dict[int, dict[str, Float[np.ndarray, "frames _"]]]:
    """Translation, rotation and scale in time of every node of the file, where they differ from the node as it stands.

    What a channel cannot say exactly (a shear, a difference too small to write) is made good by the node's children.
    """
    target = node_targets(binding, frame, skeleton, clip)
    size = float(np.ptp(skeleton.heads, axis=0).max()) / frame.scale
    still, rest, parents = local_matrices(binding.document), binding.T_file_node_rest, node_parents(binding.document)
    placed = np.empty((len(clip.root_position), len(parents), 4, 4))
    channels: dict[int, dict[str, Float[np.ndarray, "frames _"]]] = {}
    sheared = []
    for node in depth_first(parents):
        parent = parents[node]
        above = np.eye(4)[None] if parent < 0 else placed[:, parent]
        joint = node in target
        if joint:
            local = _relative(above, target[node])
        else:
            local = _relative(rest[parent] if parent >= 0 else np.eye(4), rest[node])
        standing = _standing(binding.document.nodes[node], still[node])
        parts = decompose(np.broadcast_to(local, placed[:, node].shape), signs=np.sign(standing["scale"][0]))
        # Rotations of joints are always written. Units of a translation are those of the parent's scale.
        unit = float(np.abs(np.linalg.det(above[0, :3, :3])) ** (1 / 3)) or 1.0
        tolerance = {"translation": 1e-6 * size / unit, "rotation": 0.0 if joint else 1e-6, "scale": 3e-6}
        tolerance["scale"] *= float(np.abs(standing["scale"]).max())
        if (parts["rotation"][0] * standing["rotation"][0]).sum() < 0:
            parts["rotation"] = -parts["rotation"]
        written = {
            path: values for path, values in parts.items() if np.abs(values - standing[path]).max() > tolerance[path]
        }
        if joint and "rotation" not in written:
            written["rotation"] = parts["rotation"]
        if written:
            channels[node] = written
        own = recompose({path: written.get(path, np.repeat(standing[path], len(placed), 0)) for path in parts})
        placed[:, node] = above @ (own if written else still[node])
        if joint and np.abs(placed[:, node] - target[node])[..., :3].max() > 1e-3 * np.abs(target[node][..., :3]).max():
            sheared.append(binding.document.nodes[node].get("name", str(node)))
    if sheared:
        warnings.warn(
            f"{binding.document.path}: {len(sheared)} joints ({', '.join(sheared[:3])}) have unevenly scaled parents"
            " and turn into a shear that glTF cannot hold; the nearest rotation and scale is written",
            stacklevel=5,
        )
    return channels


def node_targets(
    binding: GltfBinding, frame: Frame, skeleton: Skeleton, clip: Clip
) -> dict[int, Float[np.ndarray, "frames 4 4"]]:
    """Where the nodes of our joints, and those that they carry, have to be in the file's world."""
    to_world = np.eye(4)
    to_world[:3, :3], to_world[:3, 3] = frame.scale * frame.rotation, frame.translation
    moved = world_transforms(skeleton, clip)
    # T_world_joint(rest)⁻¹ is a translation, since all joints have the world's axes at rest.
    moved[..., :3, 3] -= (moved[..., :3, :3] @ skeleton.heads[..., None])[..., 0]
    from_rest = np.linalg.inv(to_world) @ moved @ to_world
    joint_of = {**dict(binding.carried_nodes), **{node: joint for joint, node in enumerate(binding.joint_nodes)}}
    return {node: from_rest[:, joint] @ binding.T_file_node_rest[node] for node, joint in joint_of.items()}


def _relative(
    T_world_parent: Float[np.ndarray, "*f 4 4"], T_world_node: Float[np.ndarray, "*g 4 4"]
) -> Float[np.ndarray, "*h 4 4"]:
    try:
        return np.linalg.solve(T_world_parent, T_world_node)
    except np.linalg.LinAlgError:
        # Below a node that is scaled to nothing every place is as good.
        return np.linalg.pinv(T_world_parent) @ T_world_node


def _standing(node: dict[str, Any], still: Float[np.ndarray, "4 4"]) -> dict[str, Float[np.ndarray, "1 _"]]:
    """The node without animation, as translation, rotation and scale."""
    if "matrix" in node:
        return decompose(still[None])
    default = {"translation": (0, 0, 0), "rotation": (0, 0, 0, 1), "scale": (1, 1, 1)}
    return {path: np.array([node.get(path, value)], dtype=np.float64) for path, value in default.items()}


def decompose(
    matrix: Float[np.ndarray, "frames 4 4"], *, signs: Float[np.ndarray, "3"] | None = None
) -> dict[str, Float[np.ndarray, "frames _"]]:
    """Translation, rotation (xyzw, neighbours in one hemisphere) and scale; the product is T R S up to shear.

    `signs` says which axes are mirrored, as the file has it, so that a rotation fits the file's own scale.
    """
    linear = matrix[:, :3, :3]
    scale = np.linalg.norm(linear, axis=-2)
    mirrored = np.linalg.det(linear) < 0
    signs = np.ones(3) if signs is None else np.where(signs < 0, -1.0, 1.0)
    scale = scale * signs
    scale[:, 0] *= np.where(mirrored == (signs.prod() < 0), 1, -1)
    columns = linear / np.where(np.abs(scale) > 1e-20, scale, 1)[:, None, :]
    u, _, vt = np.linalg.svd(columns)
    proper = np.ones((len(matrix), 3))
    proper[:, 2] = np.where(np.linalg.det(u @ vt) < 0, -1, 1)
    xyzw = matrix_to_xyzw(u @ (proper[:, :, None] * vt))
    flip = np.cumprod(np.where((xyzw[1:] * xyzw[:-1]).sum(-1) < 0, -1.0, 1.0))
    xyzw[1:] *= flip[:, None]
    return {"translation": matrix[:, :3, 3], "rotation": xyzw, "scale": scale}


def recompose(parts: dict[str, Float[np.ndarray, "frames _"]]) -> Float[np.ndarray, "frames 4 4"]:
    """T R S."""
    return matrices(parts["translation"], parts["rotation"], parts["scale"])
