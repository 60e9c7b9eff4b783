"""glTF animation and skinning exactly as the specification has it, in the file's own coordinates.

Kinema's clips are compared with this reference; nothing here simplifies a rig.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from kinema.asset.gltf.accessors import accessor_size, read_accessor
from kinema.asset.gltf.document import Document, node_parents
from kinema.asset.gltf.geometry import Part
from kinema.errors import KinemaError
from kinema.files import Budget
from kinema.geometry.rotations import depth_first, normalize, slerp, to_matrix

NODE_DEFAULTS = {"translation": (0.0, 0.0, 0.0), "rotation": (0.0, 0.0, 0.0, 1.0), "scale": (1.0, 1.0, 1.0)}
"""What a node has without these fields; rotations are xyzw."""
LONGEST_CLIP_S = 3600.0

Times = Float[np.ndarray, "t"]
Vectors = Float[np.ndarray, "*b 3"]
Quaternions = Float[np.ndarray, "*b 4"]
Nodes = Float[np.ndarray, "*t nodes 4 4"]


@dataclass(frozen=True)
class Track:
    """One animation channel: a node's translation, rotation (xyzw) or scale in time."""

    node: int
    path: str
    interpolation: str
    times: Float[np.ndarray, "keys"]
    values: Float[np.ndarray, "keys width"]
    tangents: Float[np.ndarray, "2 keys width"] | None
    """In- and out-tangents of CUBICSPLINE."""


def read_tracks(document: Document, animation: int, budget: Budget | None = None) -> list[Track]:
    """Channels that move nodes; morph weights are not modelled. The `budget` is taken from for each."""
    content, budget = document.json["animations"][animation], budget or document.budget()
    tracks = []
    for i, channel in enumerate(content["channels"]):
        where = f"{document.path}: animations[{animation}].channels[{i}]"
        node, path = channel["target"].get("node", -1), channel["target"]["path"]
        if node < 0 or path not in NODE_DEFAULTS:
            continue
        if channel["sampler"] >= len(content["samplers"]):
            raise KinemaError(f"{where} uses sampler {channel['sampler']} of {len(content['samplers'])}")
        sampler = content["samplers"][channel["sampler"]]
        size = accessor_size(document, sampler["input"]) + accessor_size(document, sampler["output"])
        budget.take(size, f"animations[{animation}].channels[{i}]")
        times = read_accessor(document, sampler["input"], kind="SCALAR")[:, 0].astype(np.float64)
        values = read_accessor(document, sampler["output"], kind=f"VEC{len(NODE_DEFAULTS[path])}").astype(np.float64)
        interpolation = sampler.get("interpolation", "LINEAR")
        needed = len(times) * (3 if interpolation == "CUBICSPLINE" else 1)
        if len(times) == 0 or len(values) < needed:
            raise KinemaError(f"{where} has {len(values)} values for {len(times)} keys ({interpolation})")
        if (np.diff(times) < 0).any() or times[0] < 0 or times[-1] > LONGEST_CLIP_S:
            raise KinemaError(f"{where} has key times that do not rise from 0 to at most {LONGEST_CLIP_S:.0f} s")
        values, tangents = values[:needed], None
        if interpolation == "CUBICSPLINE":
            tangents, values = np.stack((values[0::3], values[2::3])), values[1::3]
        tracks.append(Track(node, path, interpolation, times, values, tangents))
    return tracks


def frame_times(tracks: list[Track]) -> tuple[Times, float]:
    """Times from the first to the last key [s], and frames per second: those of the keys if 24 to 60, else 30."""
    start, end = min(track.times[0] for track in tracks), max(track.times[-1] for track in tracks)
    steps = np.concatenate([np.diff(track.times) for track in tracks])
    steps = steps[steps > 1e-4]
    rate = 1 / np.median(steps) if len(steps) else 30.0
    fps = float(np.clip(np.round(rate), 24, 60)) if 20 < rate < 70 else 30.0
    count = max(round((end - start) * fps), 0)
    if count and abs(count / (end - start) / fps - 1) > 1e-3:
        fps = float(count / (end - start))  # the last frame is the last key, or loops would not close
    return start + np.arange(count + 1) / fps, fps


def sample_track(track: Track, times: Times) -> Float[np.ndarray, "t width"]:
    """Values at `times`, held before the first and after the last key."""
    low = np.clip(np.searchsorted(track.times, times, side="right") - 1, 0, max(len(track.times) - 2, 0))
    high = np.minimum(low + 1, len(track.times) - 1)
    span = track.times[high] - track.times[low]
    u = np.clip((times - track.times[low]) / np.where(span > 0, span, 1), 0, 1)[:, None]
    a, b = track.values[low], track.values[high]
    if track.interpolation == "STEP":
        values = np.where(u >= 1, b, a)
    elif track.interpolation == "CUBICSPLINE" and track.tangents is not None:
        arriving, leaving = span[:, None] * track.tangents[0][high], span[:, None] * track.tangents[1][low]
        values = (
            (2 * u**3 - 3 * u**2 + 1) * a + (u**3 - 2 * u**2 + u) * leaving
            + (3 * u**2 - 2 * u**3) * b + (u**3 - u**2) * arriving
        )  # fmt: skip
    elif track.path == "rotation":
        return np.roll(slerp(_wxyz(a), _wxyz(b), u[:, 0]), -1, -1)
    else:
        values = a + u * (b - a)
    return np.roll(_wxyz(values), -1, -1) if track.path == "rotation" else values


def _wxyz(xyzw: Quaternions) -> Quaternions:
    return normalize(np.roll(xyzw, 1, -1))


def matrices(translation: Vectors, xyzw: Quaternions, scale: Vectors) -> Float[np.ndarray, "*b 4 4"]:
    """Affine transforms T R S."""
    result = np.zeros((*xyzw.shape[:-1], 4, 4))
    result[..., :3, :3] = to_matrix(_wxyz(xyzw)) * scale[..., None, :]
    result[..., :3, 3] = translation
    result[..., 3, 3] = 1
    return result


def local_matrices(document: Document) -> Float[np.ndarray, "nodes 4 4"]:
    """Each node relative to its parent, as the file stands without animation."""
    fields = (
        np.array([node.get(path, default) for node in document.nodes], np.float64).reshape(-1, len(default))
        for path, default in NODE_DEFAULTS.items()
    )
    result = matrices(*fields)
    for i, node in enumerate(document.nodes):
        if "matrix" in node:
            result[i, :3] = np.array(node["matrix"], np.float64).reshape(4, 4).T[:3]
    return result


def animated_locals(document: Document, tracks: list[Track], times: Times) -> Float[np.ndarray, "t nodes 4 4"]:
    """Each node relative to its parent at the given times."""
    result = np.repeat(local_matrices(document)[None], len(times), 0)
    moved = {(track.node, track.path): track for track in tracks}
    for node in {track.node for track in tracks}:
        values = []
        for path, default in NODE_DEFAULTS.items():
            still, track = np.array(document.nodes[node].get(path, default), np.float64), moved.get((node, path))
            values.append(sample_track(track, times) if track else np.tile(still, (len(times), 1)))
        result[:, node] = matrices(*values)
    return result


def global_matrices(document: Document, local: Nodes) -> Nodes:
    """Each node in the file's world."""
    parents = node_parents(document)
    result = local.copy()
    for node in depth_first(parents):
        if parents[node] >= 0:
            result[..., node, :, :] = result[..., parents[node], :, :] @ local[..., node, :, :]
    return result


def inverse_bind_matrices(document: Document, skin: int) -> Float[np.ndarray, "joints 4 4"] | None:
    """Inverse bind matrices of a skin's joints; None, meaning identities, where the file leaves them out."""
    content = document.json["skins"][skin]
    if "inverseBindMatrices" not in content:
        return None
    values, joints = read_accessor(document, content["inverseBindMatrices"], kind="MAT4"), len(content["joints"])
    if len(values) < joints:
        raise KinemaError(f"{document.path}: skins[{skin}] has {len(values)} inverse bind matrices for {joints} joints")
    result = values[:joints].astype(np.float64).reshape(-1, 4, 4).transpose(0, 2, 1).copy()
    result[:, 3] = (0, 0, 0, 1)
    return result


def skin_parts(document: Document, parts: list[Part], globals_: Nodes) -> Float[np.ndarray, "*t vertices 3"]:
    """All parts' vertices, one after another, in the file's world: Σ w G_joint IBM_joint v, or G_node v if rigid."""
    result = []
    for part in parts:
        points = np.concatenate((part.vertices, np.ones((len(part.vertices), 1))), -1)
        if part.joints is None or part.weights is None:
            result.append(points @ np.swapaxes(globals_[..., part.node, :3, :], -1, -2))
            continue
        inverse = inverse_bind_matrices(document, part.skin)
        moved = np.zeros((*globals_.shape[:-3], len(points), 3))
        for place, node in enumerate(document.json["skins"][part.skin]["joints"]):
            weight = (part.weights * (part.joints == node)).sum(-1)
            used = np.flatnonzero(weight)
            if len(used):
                T = globals_[..., node, :3, :]
                T = T @ inverse[place] if inverse is not None else T
                moved[..., used, :] += weight[used, None] * (points[used] @ np.swapaxes(T, -1, -2))
        result.append(moved)
    return np.concatenate(result, -2) if result else np.zeros((*globals_.shape[:-3], 0, 3))


def original_vertices(
    document: Document, parts: list[Part], animation: int | None, times: Times
) -> Float[np.ndarray, "t vertices 3"]:
    """Vertices as the file itself shows them at `times` of an animation (None: no animation), in its coordinates.

    `parts` come from `read_parts`; the vertices have the order of the loaded Character's.
    """
    tracks = [] if animation is None else read_tracks(document, animation)
    return skin_parts(document, parts, global_matrices(document, animated_locals(document, tracks, times)))
