"""A glTF document as a Character: mesh, one joint tree at rest, weights, and clips in our parameters."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Character, Mesh, unique_names
from kinema.asset.gltf.animation import frame_times, read_tracks, skin_parts
from kinema.asset.gltf.clips import make_clips
from kinema.asset.gltf.document import Document, GltfBinding
from kinema.asset.gltf.geometry import Part, read_parts
from kinema.asset.gltf.material import base_color_linear, base_image, decode_image, srgb_from_linear
from kinema.asset.gltf.rest import rest_pose
from kinema.asset.gltf.rig import clean_skeleton, joint_motion, joint_nodes, raw_rig, raw_weights, scale_lines
from kinema.asset.rigs.cleanup import clean_rig, sample_frames
from kinema.asset.rigs.orientation import FOUND, FrameOptions, apply_frame, find_frame, place_skeleton
from kinema.errors import KinemaError

LARGEST_WEIGHTS = 60_000_000
"""Vertices times joints; 480 MB."""
LARGEST_CLIPS = 3_000_000
"""Frames of all clips times nodes; 384 MB while one is read."""


def character_from_document(document: Document, given: FrameOptions = FOUND, *, rigged: bool = True) -> Character:
    """The Character of a parsed file, with a GltfBinding in `source`; `rigged=False` leaves out all but the mesh."""
    try:
        return _character(document, given, rigged)
    except (np.linalg.LinAlgError, OverflowError, FloatingPointError) as error:
        reason = str(error).splitlines()[0]
        raise KinemaError(f"{document.path}: its transforms overflow or cannot be inverted ({reason})") from None


def _character(document: Document, given: FrameOptions, rigged: bool) -> Character:
    parts, changes = read_parts(document)
    if not sum(len(part.faces) for part in parts):
        raise KinemaError(f"{document.path}: has no triangles")
    changes += [
        f"images[{image}] {document.json['images'][image].get('uri', '')} is missing: its surfaces stay untextured"
        for image in sorted({base_image(document, part.material) for part in parts})
        if image >= 0 and not document.images[image]
    ]
    animations = [read_tracks(document, i) for i in range(len(document.json.get("animations", ())))]
    joints = joint_nodes(document, parts, animations) if rigged else []
    rest = rest_pose(document, parts)
    with np.errstate(over="raise", invalid="raise"):
        vertices = skin_parts(document, parts, rest)
    if not np.isfinite(vertices).all():
        raise KinemaError(f"{document.path}: vertex {np.argmax(~np.isfinite(vertices).all(1))} is not finite at rest")
    counts = [len(part.vertices) for part in parts]
    of_vertex = (
        np.repeat([part.node for part in parts], counts),
        np.repeat([part.primitive for part in parts], counts),
    )
    binding = GltfBinding(document, (), rest, *of_vertex, np.concatenate([np.arange(count) for count in counts]))
    if not joints:
        frame, lines = find_frame(vertices, None, given)
        mesh = _mesh(document, parts, apply_frame(frame, vertices))
        return Character(document.path.stem, mesh, frame=frame, source=binding, changes=(*changes, *lines))

    if len(vertices) * len(joints) > LARGEST_WEIGHTS:
        raise KinemaError(
            f"{document.path}: {len(vertices)} vertices on {len(joints)} joints are more than can be read"
        )
    file_weights, lines = raw_weights(document, parts, joints, vertices, rest)
    changes += lines + scale_lines(document, joints)
    raw = raw_rig(document, joints, file_weights, vertices, rest)
    frames = sum(len(frame_times(tracks)[0]) for tracks in animations if tracks)
    if frames * len(document.nodes) > LARGEST_CLIPS:
        raise KinemaError(f"{document.path}: clips of {frames} frames on {len(document.nodes)} nodes are too long")
    used = [i for i, tracks in enumerate(animations) if tracks]
    moved = [joint_motion(document, animations[i], joints, rest) for i in used]
    motions, rates = [motion for motion, _, _ in moved], [fps for _, _, fps in moved]
    together = np.concatenate([np.zeros((0, len(joints), 3, 4)), *motions])
    clean = clean_rig(raw, together[sample_frames(len(together))])
    changes += clean.changes

    weights = np.zeros((len(vertices), len(clean.joints)))
    for k, j in enumerate(clean.carrier):
        weights[:, j] += file_weights[:, k]
    skeleton = clean_skeleton(raw, clean, rest[joints])
    frame, lines = find_frame(vertices, skeleton, given)
    changes += lines
    names = unique_names(document.json["animations"][i].get("name", f"animation{i}") for i in used)
    clips, lines = make_clips(names, rates, motions, raw, clean, frame)
    changes += lines
    binding = replace(
        binding,
        joint_nodes=tuple(joints[j] for j in clean.joints),
        clip_start_s=tuple(start for _, start, _ in moved),
        clip_animation=tuple(used),
        carried_nodes=tuple((joints[k], j) for k, j in enumerate(clean.carrier) if k not in clean.joints),
    )
    return Character(
        document.path.stem,
        _mesh(document, parts, apply_frame(frame, vertices)),
        place_skeleton(skeleton, frame),
        weights / weights.sum(1, keepdims=True),
        clips,
        frame,
        binding,
        tuple(changes),
    )


def _mesh(document: Document, parts: list[Part], vertices: Float[np.ndarray, "vertices 3"]) -> Mesh:
    starts = np.cumsum([0, *(len(part.vertices) for part in parts)])
    colors = [srgb_from_linear(part.colors_linear * base_color_linear(document, part.material)) for part in parts]
    images = [base_image(document, part.material) if part.uv is not None else -1 for part in parts]
    used = sorted({image for image in images if image >= 0 and document.images[image]})
    texture = [used.index(image) if image in used else -1 for image in images]
    uv = np.concatenate([part.uv if part.uv is not None else np.zeros((len(part.vertices), 2)) for part in parts])
    return Mesh(
        vertices,
        np.concatenate([part.faces + start for part, start in zip(parts, starts)]),
        np.concatenate(colors),
        uv if used else None,
        tuple(decode_image(document, image) for image in used),
        np.repeat(texture, [len(part.faces) for part in parts]) if used else None,
    )
