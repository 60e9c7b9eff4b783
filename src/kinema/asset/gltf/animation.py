"""glTF animation and skinning exactly as the specification has it, in the file's own coordinates.

This is the reference that Kinema's rotation-only motions are measured against; nothing here simplifies a rig.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from kinema.asset.gltf.document import Document, node_order, node_parents, read_accessor
from kinema.asset.gltf.geometry import Part
from kinema.errors import KinemaError

WIDTHS = {"translation": 3, "rotation": 4, "scale": 3}
LONGEST_CLIP_S = 3600.0


@dataclass(frozen=True)
class Track:
    """One channel: what a node's translation, rotation or scale does in time."""

    node: int
    path: str
    interpolation: str
    times: Float[np.ndarray, "keys"]
    values: Float[np.ndarray, "keys width"]
    tangents: Float[np.ndarray, "2 keys width"] | None
    """In- and out-tangents of CUBICSPLINE."""


def read_tracks(document: Document, animation: int) -> list[Track]:
    """Channels that move nodes; morph weights are not modelled."""
    content = document.json["animations"][animation]
    tracks = []
    for i, channel in enumerate(content["channels"]):
        where = f"{document.path}: animations[{animation}].channels[{i}]"
        node, path = channel["target"].get("node", -1), channel["target"]["path"]
        if node < 0 or path not in WIDTHS:
            continue
        if channel["sampler"] >= len(content["samplers"]):
            raise KinemaError(f"{where} uses sampler {channel['sampler']} of {len(content['samplers'])}")
        sampler = content["samplers"][channel["sampler"]]
        times = read_accessor(document, sampler["input"], kind="SCALAR")[:, 0].astype(np.float64)
        values = read_accessor(document, sampler["output"], kind=f"VEC{WIDTHS[path]}").astype(np.float64)
        interpolation = sampler.get("interpolation", "LINEAR")
        needed = len(times) * (3 if interpolation == "CUBICSPLINE" else 1)
        if len(times) == 0 or len(values) < needed:
            raise KinemaError(f"{where} has {len(values)} values for {len(times)} keys ({interpolation})")
        if (np.diff(times) < 0).any() or times[0] < 0 or times[-1] > LONGEST_CLIP_S:
            raise KinemaError(f"{where} has key times that do not rise from 0 to at most {LONGEST_CLIP_S:.0f} s")
        tangents = None
        values = values[:needed]
        if interpolation == "CUBICSPLINE":
            tangents, values = np.stack((values[0::3], values[2::3])), values[1::3]
        tracks.append(Track(node, path, interpolation, times, values, tangents))
    return tracks


def sample_track(track: Track, times: Float[np.ndarray, "t"]) -> Float[np.ndarray, "t width"]:
    """Values at `times`, held before the first and after the last key."""
    if len(track.times) == 1:
        values = np.repeat(track.values, len(times), 0)
    else:
        low = np.clip(np.searchsorted(track.times, times, side="right") - 1, 0, len(track.times) - 2)
        span = track.times[low + 1] - track.times[low]
        u = np.clip((times - track.times[low]) / np.where(span > 0, span, 1), 0, 1)[:, None]
        a, b = track.values[low], track.values[low + 1]
        if track.interpolation == "STEP":
            values = np.where(u >= 1, b, a)
        elif track.interpolation == "CUBICSPLINE" and track.tangents is not None:
            arriving, leaving = span[:, None] * track.tangents[0][low + 1], span[:, None] * track.tangents[1][low]
            values = (
                (2 * u**3 - 3 * u**2 + 1) * a + (u**3 - 2 * u**2 + u) * leaving
                + (3 * u**2 - 2 * u**3) * b + (u**3 - u**2) * arriving
            )  # fmt: skip
        elif track.path == "rotation":
            values = _slerp(_unit(a), _unit(b), u)
        else:
            values = a + u * (b - a)
    return _unit(values) if track.path == "rotation" else values


def _unit(xyzw: Float[np.ndarray, "*b 4"]) -> Float[np.ndarray, "*b 4"]:
    length = np.linalg.norm(xyzw, axis=-1, keepdims=True)
    return np.where(length > 1e-12, xyzw / np.maximum(length, 1e-12), [0.0, 0.0, 0.0, 1.0])


def _slerp(
    a: Float[np.ndarray, "t 4"], b: Float[np.ndarray, "t 4"], u: Float[np.ndarray, "t 1"]
) -> Float[np.ndarray, "t 4"]:
    dot = (a * b).sum(-1, keepdims=True)
    b = np.where(dot < 0, -b, b)
    angle = np.arccos(np.clip(np.abs(dot), 0, 1))
    sine = np.sin(angle)
    near = sine < 1e-6  # there the chord is the arc
    safe = np.where(near, 1, sine)
    return np.where(near, a + u * (b - a), (np.sin((1 - u) * angle) * a + np.sin(u * angle) * b) / safe)


def matrices(
    translation: Float[np.ndarray, "*b 3"], xyzw: Float[np.ndarray, "*b 4"], scale: Float[np.ndarray, "*b 3"]
) -> Float[np.ndarray, "*b 4 4"]:
    """T R S."""
    x, y, z, w = np.moveaxis(_unit(xyzw), -1, 0)
    result = np.zeros((*x.shape, 4, 4))
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            result[..., i, j] = value * scale[..., j]
    result[..., :3, 3] = translation
    result[..., 3, 3] = 1
    return result


def local_matrices(document: Document) -> Float[np.ndarray, "nodes 4 4"]:
    """Each node relative to its parent, as the file stands without animation."""
    result = np.zeros((len(document.nodes), 4, 4))
    for i, node in enumerate(document.nodes):
        if "matrix" in node:
            result[i] = np.asarray(node["matrix"], dtype=np.float64).reshape(4, 4).T
            result[i, 3] = (0, 0, 0, 1)
        else:
            result[i] = matrices(
                np.asarray(node.get("translation", (0, 0, 0)), dtype=np.float64),
                np.asarray(node.get("rotation", (0, 0, 0, 1)), dtype=np.float64),
                np.asarray(node.get("scale", (1, 1, 1)), dtype=np.float64),
            )
    return result


def animated_locals(
    document: Document, tracks: list[Track], times: Float[np.ndarray, "t"]
) -> Float[np.ndarray, "t nodes 4 4"]:
    """Each node relative to its parent at the given times."""
    still = local_matrices(document)
    result = np.repeat(still[None], len(times), 0)
    by_node: dict[int, dict[str, Track]] = {}
    for track in tracks:
        by_node.setdefault(track.node, {})[track.path] = track
    for node, paths in by_node.items():
        content = document.nodes[node]
        rest = {"translation": (0, 0, 0), "rotation": (0, 0, 0, 1), "scale": (1, 1, 1)}
        values = {
            path: sample_track(paths[path], times)
            if path in paths
            else np.tile(np.asarray(content.get(path, rest[path]), dtype=np.float64), (len(times), 1))
            for path in WIDTHS
        }
        result[:, node] = matrices(values["translation"], values["rotation"], values["scale"])
    return result


def global_matrices(document: Document, local: Float[np.ndarray, "*t nodes 4 4"]) -> Float[np.ndarray, "*t nodes 4 4"]:
    """Each node in the file's world."""
    parents = node_parents(document)
    result = local.copy()
    for node in node_order(parents):
        if parents[node] >= 0:
            result[..., node, :, :] = result[..., parents[node], :, :] @ local[..., node, :, :]
    return result


def inverse_bind_matrices(document: Document, skin: int) -> Float[np.ndarray, "joints 4 4"] | None:
    """None where the file leaves them out (they are then identities)."""
    content = document.json["skins"][skin]
    if "inverseBindMatrices" not in content:
        return None
    values = read_accessor(document, content["inverseBindMatrices"], kind="MAT4").astype(np.float64)
    if len(values) < len(content["joints"]):
        joints = len(content["joints"])
        raise KinemaError(f"{document.path}: skins[{skin}] has {len(values)} inverse bind matrices for {joints} joints")
    result = values[: len(content["joints"])].reshape(-1, 4, 4).transpose(0, 2, 1).copy()
    result[:, 3] = (0, 0, 0, 1)
    return result


def skin_parts(
    document: Document, parts: list[Part], globals_: Float[np.ndarray, "*t nodes 4 4"]
) -> Float[np.ndarray, "*t vertices 3"]:
    """All parts' vertices, one after another, in the file's world: Σ w G_joint IBM_joint v, or G_node v if rigid."""
    result = []
    for part in parts:
        points = np.concatenate((part.vertices, np.ones((len(part.vertices), 1))), -1)
        if part.joints is None or part.weights is None:
            result.append(points @ np.swapaxes(globals_[..., part.node, :3, :], -1, -2))
            continue
        nodes = document.json["skins"][part.skin]["joints"]
        inverse = inverse_bind_matrices(document, part.skin)
        moved = np.zeros((*globals_.shape[:-3], len(points), 3))
        for place, node in enumerate(nodes):
            weight = (part.weights * (part.joints == node)).sum(-1)
            used = np.flatnonzero(weight)
            if len(used):
                T = globals_[..., node, :3, :]
                T = T @ inverse[place] if inverse is not None else T
                moved[..., used, :] += weight[used, None] * (points[used] @ np.swapaxes(T, -1, -2))
        result.append(moved)
    return np.concatenate(result, -2) if result else np.zeros((*globals_.shape[:-3], 0, 3))


def original_vertices(
    document: Document, parts: list[Part], animation: int | None, times: Float[np.ndarray, "t"]
) -> Float[np.ndarray, "t vertices 3"]:
    """What the file itself shows at `times` of an animation (None: no animation), in the file's coordinates.

    The vertices are in the order of `asset.gltf_character.load_gltf`. `parts` come from `read_parts`.
    """
    tracks = [] if animation is None else read_tracks(document, animation)
    return skin_parts(document, parts, global_matrices(document, animated_locals(document, tracks, times)))
