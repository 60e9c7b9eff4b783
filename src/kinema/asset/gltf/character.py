"""A glTF document as a Character: mesh, one joint tree at rest, weights, and clips in our parameters; or its joints."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from kinema.asset.character import MOST_JOINTS, Character, Mesh, Skeleton, unique_names
from kinema.asset.gltf.animation import (
    animated_locals,
    frame_times,
    global_matrices,
    local_matrices,
    read_tracks,
    skin_parts,
)
from kinema.asset.gltf.clips import make_clips
from kinema.asset.gltf.document import Document, GltfBinding, node_parents
from kinema.asset.gltf.geometry import Part, base_color_linear, base_image, is_opaque, read_parts, scene_nodes
from kinema.asset.gltf.rest import rest_pose
from kinema.asset.gltf.rig import clean_skeleton, joint_above, joint_nodes, node_name, raw_rig, raw_weights, scale_lines
from kinema.asset.images import decode, srgb_from_linear
from kinema.asset.rigs.cleanup import RawRig, clean_rig, sample_frames
from kinema.asset.rigs.cleanup_fit import Extremes
from kinema.asset.rigs.orientation import AS_IN_FILE, FOUND, FrameOptions, apply_frame, find_frame, place_skeleton
from kinema.errors import KinemaError, first_line
from kinema.files import Budget

MOST_CLIPS = 2000
BYTES_PER_TRANSFORM, BYTES_PER_POSE = 256, 384
"""Memory of a node in a frame while its clip is read, and of a joint in a frame until all clips are fitted."""


def character_from_document(document: Document, given: FrameOptions = FOUND, *, rigged: bool = True) -> Character:
    """The Character of a parsed file, with a GltfBinding in `source`; `rigged=False` leaves out all but the mesh."""
    try:
        return _character(document, given, rigged)
    except (np.linalg.LinAlgError, OverflowError, FloatingPointError) as error:
        where = f"{document.path}: its transforms overflow or cannot be inverted"
        raise KinemaError(f"{where} ({first_line(error)})") from None


def _character(document: Document, given: FrameOptions, rigged: bool) -> Character:
    budget = document.budget()
    parts, changes = read_parts(document, budget)
    if not any(len(part.faces) for part in parts):
        raise KinemaError(f"{document.path}: has no triangles")
    changes += [
        f"images[{image}] {document.json['images'][image].get('uri', '')} is missing: its surfaces stay untextured"
        for image in sorted({base_image(document, part.material) for part in parts})
        if image >= 0 and not document.images[image]
    ]
    clips = len(document.json.get("animations", ()))
    if clips > MOST_CLIPS:
        raise KinemaError(f"{document.path}: has {clips} animations, more than {MOST_CLIPS}")
    animations = [read_tracks(document, i, budget) for i in range(clips)]
    joints = joint_nodes(document, parts, animations) if rigged else []
    count = sum(len(part.vertices) for part in parts)
    if len(joints) > MOST_JOINTS:
        raise KinemaError(f"{document.path}: has {len(joints)} joints, more than {MOST_JOINTS}")
    budget.take(2 * 8 * count * len(joints), f"weights of {count} vertices on {len(joints)} joints")
    with np.errstate(over="raise", invalid="raise"):
        rest, lines = rest_pose(document, parts, animations)
        vertices = skin_parts(document, parts, rest)
    if not np.isfinite(vertices).all():
        raise KinemaError(f"{document.path}: vertex {np.argmax(~np.isfinite(vertices).all(1))} is not finite at rest")
    changes += lines
    counts = [len(part.vertices) for part in parts]
    node, primitive = (np.repeat(index, counts) for index in zip(*((part.node, part.primitive) for part in parts)))
    binding = GltfBinding(document, (), rest, node, primitive, np.concatenate([np.arange(count) for count in counts]))
    if not joints:
        frame, lines = find_frame(vertices, None, given)
        mesh = _mesh(document, parts, apply_frame(frame, vertices), budget)
        return Character(document.path.stem, mesh, frame=frame, source=binding, changes=(*changes, *lines))
    file_weights, lines = raw_weights(document, parts, joints, vertices, rest)
    changes += lines + scale_lines(document, joints)
    raw = raw_rig(document, joints, file_weights, vertices, rest)
    used = [i for i, tracks in enumerate(animations) if tracks]
    times = [frame_times(animations[i]) for i in used]
    for i, (time, _) in zip(used, times):
        what = f"animations[{i}] of {len(time)} frames"
        budget.check(BYTES_PER_TRANSFORM * len(time) * len(document.nodes), what)
        budget.take(BYTES_PER_POSE * len(time) * len(joints), what)
    motions = []  # every joint's map from rest at every frame of each clip
    for i, (time, _) in zip(used, times):
        placed = global_matrices(document, animated_locals(document, animations[i], time))[:, joints]
        motions.append((placed @ np.linalg.inv(rest[joints]))[..., :3, :])
    together = np.concatenate([np.zeros((0, len(joints), 3, 4)), *motions])
    clean = clean_rig(raw, together[sample_frames(len(together))])
    weights = np.zeros((len(vertices), len(clean.joints)))
    for k, j in enumerate(clean.carrier):
        weights[:, j] += file_weights[:, k]
    skeleton = clean_skeleton(raw, clean, rest[joints])
    names = unique_names(document.json["animations"][i].get("name", f"animation{i}") for i in used)
    homogeneous = np.append(skeleton.heads, np.ones((len(skeleton.heads), 1)), -1)[..., None]
    moves = [(motion[:, list(clean.joints)] @ homogeneous)[..., 0] for motion in motions]
    frame, lines = find_frame(vertices, skeleton, given, moves=list(zip(names, moves)))
    extremes = Extremes.of(vertices, file_weights)
    clips, clip_lines = make_clips(names, [fps for _, fps in times], motions, raw, clean, frame, extremes)
    binding = replace(
        binding,
        joint_nodes=tuple(joints[j] for j in clean.joints),
        clip_start_s=tuple(float(time[0]) for time, _ in times),
        clip_animation=tuple(used),
        carried_nodes=tuple((joints[k], j) for k, j in enumerate(clean.carrier) if k not in clean.joints),
    )
    mesh, skeleton = _mesh(document, parts, apply_frame(frame, vertices), budget), place_skeleton(skeleton, frame)
    weights, changes = weights / weights.sum(1, keepdims=True), (*changes, *clean.changes, *lines, *clip_lines)
    return Character(document.path.stem, mesh, skeleton, weights, clips, frame, binding, changes=changes)


def _mesh(document: Document, parts: list[Part], vertices: Float[np.ndarray, "vertices 3"], budget: Budget) -> Mesh:
    starts = np.cumsum([0, *(len(part.vertices) for part in parts)])
    faces = np.concatenate([part.faces + start for part, start in zip(parts, starts)])
    colors = [srgb_from_linear(part.colors_linear * base_color_linear(document, part.material)) for part in parts]
    images = [base_image(document, part.material) if part.uv is not None else -1 for part in parts]
    images = [(image, is_opaque(document, part.material)) for image, part in zip(images, parts)]
    used = sorted({(image, opaque) for image, opaque in images if image >= 0 and document.images[image]})
    texture = [used.index(image) if image in used else -1 for image in images]
    uv = np.concatenate([part.uv if part.uv is not None else np.zeros((len(part.vertices), 2)) for part in parts])
    if not used:
        return Mesh(vertices, faces, np.concatenate(colors))
    images = tuple(decode(document.images[i], f"images[{i}]", budget, opaque=opaque) for i, opaque in used)
    face_texture = np.repeat(texture, [len(part.faces) for part in parts])
    return Mesh(vertices, faces, np.concatenate(colors), uv, images, face_texture)


def skeleton_from_document(document: Document) -> Skeleton:
    """Joints in the file's coordinates: those of its skinned mesh, or all nodes of an armature exported alone."""
    parts, _ = read_parts(document)
    if any(part.skin >= 0 for part in parts):
        skeleton = character_from_document(document, AS_IN_FILE).skeleton
        assert skeleton is not None
        return skeleton
    nodes = sorted({node for skin in document.json.get("skins", ()) for node in skin["joints"]})
    nodes = nodes or _armature_nodes(document)
    if not nodes:
        raise KinemaError(f"{document.path}: has no joints")
    parents, places = node_parents(document), {node: i for i, node in enumerate(nodes)}
    world = global_matrices(document, local_matrices(document))
    heads = world[nodes, :3, 3]
    size = max(float(np.linalg.norm(np.ptp(heads, axis=0))), 1e-9)
    tips = heads + [0.0, 0.1 * size, 0.0]
    for i, node in enumerate(nodes):
        ends = [child for child in document.nodes[node].get("children", ()) if child not in places]
        tips[i] = world[ends[0], :3, 3] if ends else tips[i]
    # Every joint gets a vertex at its head: without a mesh none can be dropped for carrying nothing.
    points = np.concatenate((heads, np.ones((len(heads), 1))), -1)
    moments = points[:, :, None] * points[:, None]
    names = tuple(node_name(document, node) for node in nodes)
    above = tuple(joint_above(parents, parents[node], places) for node in nodes)
    raw = RawRig(names, above, heads, tips, moments, size)
    return clean_skeleton(raw, clean_rig(raw, np.zeros((0, len(nodes), 3, 4))), world[nodes])


def _armature_nodes(document: Document) -> list[int]:
    """Nodes of a scene without skins that are bones: no meshes, cameras, ends of chains, nor the armature object."""
    scene, parents = {node: document.nodes[node] for node in scene_nodes(document)}, node_parents(document)
    # Blender's exporters close chains with nodes named Tail_end that only say where the last bone stops.
    named_end = {node for node, content in scene.items() if content.get("name", "").lower().endswith("_end")}
    ends = {node for node in named_end if not scene[node].get("children")}
    nodes = [node for node, content in scene.items() if node not in ends and not {"mesh", "camera"} & content.keys()]
    tops = [node for node in nodes if parents[node] not in nodes]
    if len(tops) == 1 and "children" in document.nodes[tops[0]]:
        kids = [child for child in document.nodes[tops[0]]["children"] if child in nodes]
        # The armature object stands at the top and carries all bones, but is none itself.
        if len(kids) == 1 or "armature" in document.nodes[tops[0]].get("name", "").lower():
            nodes.remove(tops[0])
    return nodes
