"""A glTF document as a Character: rest pose, one tree of rotations, clips in our parameters."""

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from kinema.asset.character import Character, Mesh, Skeleton
from kinema.asset.gltf.animation import (
    Track,
    animated_locals,
    global_matrices,
    local_matrices,
    read_tracks,
    skin_parts,
)
from kinema.asset.gltf.clips import make_clips
from kinema.asset.gltf.document import Document, GltfBinding, node_parents, read_document
from kinema.asset.gltf.geometry import Part, read_parts
from kinema.asset.gltf.material import base_color_linear, base_image, decode_image, srgb_from_linear
from kinema.asset.gltf.rest import rest_pose
from kinema.asset.rigs.cleanup import CleanRig, RawRig, clean_rig, sample_frames
from kinema.asset.rigs.cleanup_fit import nearest_rotation
from kinema.asset.rigs.orientation import apply_frame, find_frame, place_skeleton
from kinema.errors import KinemaError

LARGEST_WEIGHTS = 60_000_000
"""Vertices times joints; 480 MB."""
LARGEST_CLIPS = 3_000_000
"""Frames of all clips times nodes; 384 MB while one is read."""


def load_gltf(
    path: Path,
    *,
    up: str | None = None,
    facing: str | None = None,
    scale: float | None = None,
    ground: float | None = None,
) -> Character:
    """Read .glb or .gltf; the options replace what `asset.orientation` would find."""
    return character_from_document(read_document(path), up=up, facing=facing, scale=scale, ground=ground)


def character_from_document(
    document: Document,
    *,
    up: str | None = None,
    facing: str | None = None,
    scale: float | None = None,
    ground: float | None = None,
    rigged: bool = True,
) -> Character:
    """The Character of a parsed file, with a GltfBinding in `source`; `rigged=False` leaves out all but the mesh."""
    try:
        return _character(document, rigged, {"up": up, "facing": facing, "scale": scale, "ground": ground})
    except (np.linalg.LinAlgError, OverflowError, FloatingPointError) as error:
        reason = str(error).splitlines()[0]
        raise KinemaError(f"{document.path}: its numbers cannot be worked with ({reason})") from None


def _character(document: Document, rigged: bool, given: dict[str, Any]) -> Character:
    parts, changes = read_parts(document)
    if not sum(len(part.faces) for part in parts):
        raise KinemaError(f"{document.path}: has no triangles")
    changes += [
        f"images[{image}] {document.json['images'][image].get('uri', '')} is missing: its surfaces stay untextured"
        for image in sorted({base_image(document, part.material) for part in parts})
        if image >= 0 and not document.images[image]
    ]
    animations = [read_tracks(document, i) for i in range(len(document.json.get("animations", ())))]
    joints = _joint_nodes(document, parts, animations) if rigged else []
    rest = rest_pose(document, parts)
    with np.errstate(over="raise", invalid="raise"):
        vertices = skin_parts(document, parts, rest)
    if not np.isfinite(vertices).all():
        raise KinemaError(f"{document.path}: vertex {np.argmax(~np.isfinite(vertices).all(1))} is not finite at rest")
    if not joints:
        frame, lines = find_frame(vertices, None, **given)
        binding = _binding(document, parts, (), rest)
        mesh = _mesh(document, parts, apply_frame(frame, vertices))
        return Character(document.path.stem, mesh, frame=frame, source=binding, changes=(*changes, *lines))

    if len(vertices) * len(joints) > LARGEST_WEIGHTS:
        raise KinemaError(
            f"{document.path}: {len(vertices)} vertices on {len(joints)} joints are more than can be read"
        )
    raw_weights, line = _raw_weights(document, parts, joints, vertices, rest)
    changes += line + _scale_lines(document, joints)
    raw = _raw_rig(document, joints, raw_weights, vertices, rest)
    frames = sum(len(frame_times(tracks)[0]) for tracks in animations if tracks)
    if frames * len(document.nodes) > LARGEST_CLIPS:
        raise KinemaError(f"{document.path}: clips of {frames} frames on {len(document.nodes)} nodes are too long")
    motions = [_motion(document, tracks, joints, rest) for tracks in animations]
    samples = [motion for motion, _, _ in motions if len(motion)]
    together = np.concatenate(samples) if samples else np.zeros((0, len(joints), 3, 4))
    clean = clean_rig(raw, together[sample_frames(len(together))])
    changes += clean.changes

    weights = np.zeros((len(vertices), len(clean.joints)))
    for k, j in enumerate(clean.carrier):
        weights[:, j] += raw_weights[:, k]
    skeleton = skeleton_of(raw, clean, [rest[joints[j]] for j in clean.joints])
    frame, lines = find_frame(vertices, skeleton, **given)
    changes += lines

    used = [i for i, (motion, _, _) in enumerate(motions) if len(motion)]
    names = _unique(tuple(document.json["animations"][i].get("name", f"animation{i}") for i in used))
    clips, lines = make_clips(names, [motions[i][2] for i in used], samples, raw, clean, frame)
    changes += lines
    nodes = tuple(joints[j] for j in clean.joints)
    carried = tuple((joints[k], j) for k, j in enumerate(clean.carrier) if k not in clean.joints)
    return Character(
        document.path.stem,
        _mesh(document, parts, apply_frame(frame, vertices)),
        place_skeleton(skeleton, frame),
        weights / weights.sum(1, keepdims=True),
        clips,
        frame,
        _binding(document, parts, nodes, rest, tuple(motions[i][1] for i in used), tuple(used), carried),
        tuple(changes),
    )


def _joint_nodes(document: Document, parts: list[Part], animations: list[list[Track]]) -> list[int]:
    """Joints of all skins in use, and nodes that an animation moves together with a rigid mesh below them."""
    nodes = {node for part in parts if part.skin >= 0 for node in document.json["skins"][part.skin]["joints"]}
    parents = node_parents(document)
    above: set[int] = set()
    for part in parts:
        node = part.node if part.skin < 0 else -1
        while node >= 0:
            above.add(node)
            node = parents[node]
    still = {"translation": (0.0, 0.0, 0.0), "rotation": (0.0, 0.0, 0.0, 1.0), "scale": (1.0, 1.0, 1.0)}
    moved = {
        track.node
        for tracks in animations
        for track in tracks
        if np.abs(track.values - document.nodes[track.node].get(track.path, still[track.path])).max() > 1e-6
    }
    return sorted(nodes | (above & moved))


def _raw_weights(
    document: Document,
    parts: list[Part],
    joints: list[int],
    vertices: Float[np.ndarray, "vertices 3"],
    rest: Float[np.ndarray, "nodes 4 4"],
) -> tuple[Float[np.ndarray, "vertices joints"], list[str]]:
    """Dense weights over the file's joints; a rigid mesh hangs on the nearest joint above it."""
    place = np.full(len(document.nodes), -1)
    place[joints] = np.arange(len(joints))
    parents = node_parents(document)
    weights = np.zeros((len(vertices), len(joints)))
    loose: list[str] = []
    start = 0
    for part in parts:
        rows = np.arange(start, start + len(part.vertices))
        start += len(part.vertices)
        if part.joints is not None and part.weights is not None:
            np.add.at(weights, (rows[:, None], place[part.joints]), part.weights)
            continue
        node = part.node
        while node >= 0 and place[node] < 0:
            node = parents[node]
        if node < 0:
            centre = vertices[rows].mean(0) if len(rows) else np.zeros(3)
            node = joints[int(np.linalg.norm(rest[joints][:, :3, 3] - centre, axis=-1).argmin())]
            name = document.nodes[part.node].get("name", f"nodes[{part.node}]")
            loose.append(f"{name} hangs on no joint: follows the nearest, {_node_name(document, node)}")
        weights[rows, place[node]] = 1
    return weights, list(dict.fromkeys(loose))


def _node_name(document: Document, node: int) -> str:
    return document.nodes[node].get("name") or f"node{node}"


def _scale_lines(document: Document, joints: list[int]) -> list[str]:
    """A line if joints carry scale, which a tree of rotations has no place for."""
    scales = np.stack([np.linalg.norm(local[:3, :3], axis=0) for local in local_matrices(document)[joints]])
    mirrored = [j for j in joints if np.linalg.det(local_matrices(document)[j][:3, :3]) < 0]
    lines = []
    uneven = [j for j, s in zip(joints, scales) if np.ptp(s) > 1e-3 * s.max()]
    if uneven:
        lines.append(
            f"{len(uneven)} joints have non-uniform scale, now part of the rest pose: {_few(document, uneven)}"
        )
    if mirrored:
        lines.append(f"{len(mirrored)} joints are mirrored, now part of the rest pose: {_few(document, mirrored)}")
    return lines


def _few(document: Document, nodes: list[int]) -> str:
    return ", ".join(_node_name(document, node) for node in nodes[:4]) + (" ..." if len(nodes) > 4 else "")


def _raw_rig(
    document: Document,
    joints: list[int],
    weights: Float[np.ndarray, "vertices joints"],
    vertices: Float[np.ndarray, "vertices 3"],
    rest: Float[np.ndarray, "nodes 4 4"],
) -> RawRig:
    parents = node_parents(document)
    place = {node: i for i, node in enumerate(joints)}
    above = []
    for node in joints:
        node = parents[node]
        while node >= 0 and node not in place:
            node = parents[node]
        above.append(place[node] if node >= 0 else -1)
    heads = rest[joints, :3, 3]
    moments = np.empty((len(joints), 4, 4))
    homogeneous = np.concatenate((vertices, np.ones((len(vertices), 1))), -1)
    for j in range(len(joints)):
        used = np.flatnonzero(weights[:, j])
        moments[j] = (homogeneous[used] * weights[used, j, None]).T @ homogeneous[used]
    size = float(np.linalg.norm(np.ptp(vertices, axis=0)))
    if size <= 0:
        raise KinemaError(f"{document.path}: all vertices lie in one point")
    tips = np.empty_like(heads)
    for i, node in enumerate(joints):
        ends = [c for c in document.nodes[node].get("children", ()) if "mesh" not in document.nodes[c]]
        reach = [rest[c, :3, 3] for c in ends if np.linalg.norm(rest[c, :3, 3] - heads[i]) > 1e-4 * size]
        mass = moments[i, 3, 3]
        away = moments[i, :3, 3] / mass - heads[i] if mass > 0 else np.zeros(3)
        # An "_end" node says where a bone ends; otherwise it goes as far beyond its vertices' centre as that is away.
        tips[i] = reach[0] if len(reach) == 1 else heads[i] + 2 * away
    return RawRig(tuple(_node_name(document, n) for n in joints), tuple(above), heads, tips, moments, size)


def _motion(
    document: Document, tracks: list[Track], joints: list[int], rest: Float[np.ndarray, "nodes 4 4"]
) -> tuple[Float[np.ndarray, "frames joints 3 4"], float, float]:
    """F of every joint at every frame, the first frame's time, and frames per second."""
    if not tracks:
        return np.zeros((0, len(joints), 3, 4)), 0.0, 30.0
    times, fps = frame_times(tracks)
    placed = global_matrices(document, animated_locals(document, tracks, times))[:, joints]
    return (placed @ np.linalg.inv(rest[joints]))[..., :3, :], float(times[0]), fps


def frame_times(tracks: list[Track]) -> tuple[Float[np.ndarray, "frames"], float]:
    """Frames from the first to the last key at the rate at which the file has its keys (24 to 60 a second)."""
    start = min(track.times[0] for track in tracks)
    end = max(track.times[-1] for track in tracks)
    steps = np.concatenate([np.diff(track.times) for track in tracks])
    steps = steps[steps > 1e-4]
    rate = 1 / np.median(steps) if len(steps) else 30.0
    fps = float(np.clip(np.round(rate), 24, 60)) if 20 < rate < 70 else 30.0
    count = max(round((end - start) * fps), 0)
    if count and abs(count / (end - start) / fps - 1) > 1e-3:
        fps = float(count / (end - start))  # the last frame is the last key, or loops would not close
    return start + np.arange(count + 1) / fps, fps


def skeleton_of(raw: RawRig, clean: CleanRig, rest: list[Float[np.ndarray, "4 4"]]) -> Skeleton:
    """The clean tree; `rest` are the kept joints' global transforms in the file."""
    from scipy.spatial.transform import Rotation

    heads = raw.heads[list(clean.joints)]
    tails = np.empty_like(heads)
    for j in range(len(heads)):
        children = [c for c, p in enumerate(clean.parents) if p == j]
        apart = [c for c in children if np.linalg.norm(heads[c] - heads[j]) > 1e-4 * raw.size]
        tails[j] = heads[apart].mean(0) if apart else raw.tips[clean.joints[j]]
        if np.linalg.norm(tails[j] - heads[j]) < 1e-3 * raw.size:
            parent = clean.parents[j]
            along = heads[j] - heads[parent] if parent >= 0 else np.array([0.0, raw.size, 0.0])
            along = along if np.linalg.norm(along) > 1e-9 * raw.size else np.array([0.0, raw.size, 0.0])
            tails[j] = heads[j] + 0.05 * raw.size * along / np.linalg.norm(along)
    xyzw = Rotation.from_matrix(nearest_rotation(np.stack(rest)[:, :3, :3])).as_quat()
    names = _unique(tuple(raw.names[j] for j in clean.joints))
    return Skeleton(names, clean.parents, heads, tails, xyzw[:, [3, 0, 1, 2]])


def _unique(names: tuple[str, ...]) -> tuple[str, ...]:
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name}.{seen[name]}")
    return tuple(result)


def _mesh(document: Document, parts: list[Part], vertices: Float[np.ndarray, "vertices 3"]) -> Mesh:
    colors, faces, face_image = [], [], []
    start = 0
    for part in parts:
        linear = part.colors_linear * base_color_linear(document, part.material)
        colors.append(srgb_from_linear(linear))
        faces.append(part.faces + start)
        image = base_image(document, part.material) if part.uv is not None else -1
        image = image if image >= 0 and document.images[image] else -1
        face_image.append(np.full(len(part.faces), image))
        start += len(part.vertices)
    images = np.concatenate(face_image)
    used = sorted({int(i) for i in images if i >= 0})
    uv = np.concatenate([part.uv if part.uv is not None else np.zeros((len(part.vertices), 2)) for part in parts])
    face_texture: Int[np.ndarray, "faces"] = np.searchsorted(used, images) if used else images
    return Mesh(
        vertices,
        np.concatenate(faces),
        np.concatenate(colors),
        uv if used else None,
        tuple(decode_image(document, i) for i in used),
        np.where(images >= 0, face_texture, -1) if used else None,
    )


def _binding(
    document: Document,
    parts: list[Part],
    joint_nodes: tuple[int, ...],
    rest: Float[np.ndarray, "nodes 4 4"],
    clip_start_s: tuple[float, ...] = (),
    clip_animation: tuple[int, ...] = (),
    carried_nodes: tuple[tuple[int, int], ...] = (),
) -> GltfBinding:
    counts = [len(part.vertices) for part in parts]
    return GltfBinding(
        document,
        joint_nodes,
        rest,
        np.repeat([part.node for part in parts], counts),
        np.repeat([part.primitive for part in parts], counts),
        np.concatenate([np.arange(count) for count in counts]),
        clip_start_s,
        clip_animation,
        carried_nodes,
    )
