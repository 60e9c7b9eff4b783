"""Rigs and clips from cleaned .npz files: rotation-only joints, quaternions in each joint's own file axes.

Keys: names, parents, offsets (in the parent's axes), inverse_bind, rest_world, vertices, faces, weights, base_color,
fps, clip_names, clip/NAME/{root_pos, local_quat_wxyz}. The bind pose is the rest pose; the file's up axis is found from
where the clips put the bind pose's axes, so that the character stands on y = 0 and faces +Z.
"""

from pathlib import Path

import numpy as np

from kinema.array_files import Array, read_arrays
from kinema.asset.character import Character, Clip, Frame, Mesh, Skeleton, bone_tails
from kinema.errors import KinemaError
from kinema.geometry.rotations import bone_offsets, continuous, from_matrix, to_matrix

WHAT = "a rig in .npz form"
ARRAYS = {
    "names": Array("joints", kind="text"),
    "parents": Array("joints", kind="integer"),
    "offsets": Array("joints 3"),
    "inverse_bind": Array("joints 4 4"),
    "rest_world": Array("joints 4 4"),
    "vertices": Array("vertices 3"),
    "faces": Array("faces 3", kind="integer"),
    "weights": Array("vertices joints"),
    "base_color": Array("vertices 3"),
    "fps": Array(),
    "clip_names": Array("clips", kind="text"),
}
"""What the file holds beside its clips."""
Z_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
"""Bind poses that were modelled with Z up, facing -Y."""


def load_clips_npz(path: Path, *, clips: bool = True) -> Character:
    """Read a rig; it is scaled to a height of one metre at rest."""
    data = read_arrays(path, ARRAYS, what=WHAT)
    tree = [int(parent) < joint for joint, parent in enumerate(data["parents"])]
    if not tree or not all(tree) or (data["parents"][1:] < 0).any() or data["parents"][0] != -1:
        raise KinemaError(f"{path}: not {WHAT}: parents are no tree with joint 0 as its root")
    if not len(data["vertices"]) or ((data["faces"] < 0) | (data["faces"] >= len(data["vertices"]))).any():
        raise KinemaError(f"{path}: not {WHAT}: faces use vertices that are not there")
    if (data["weights"].sum(1) <= 0).any() or not data["fps"] > 0:
        raise KinemaError(f"{path}: not {WHAT}: vertices without weights, or {float(data['fps']):g} frames per second")
    frames, names = {}, list(map(str, data["clip_names"] if clips else ()))
    for i, name in enumerate(names):
        frames[f"clip/{name}/root_pos"] = Array(f"frames{i} 3")
        frames[f"clip/{name}/local_quat_wxyz"] = Array(f"frames{i} joints 4")
    data |= read_arrays(path, frames, what=WHAT, sizes={"joints": len(tree)})
    if any((np.linalg.norm(values, axis=-1) < 1e-6).any() for key, values in data.items() if "local_quat" in key):
        raise KinemaError(f"{path}: not {WHAT}: rotations of length zero")
    try:
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            return _character(path.stem, data, names)
    except (FloatingPointError, np.linalg.LinAlgError) as error:
        raise KinemaError(f"{path}: its transforms overflow or cannot be inverted ({error})") from None


def _character(stem: str, data: dict[str, np.ndarray], clips: list[str]) -> Character:
    names = tuple(str(name) for name in data["names"])
    parents = tuple(int(p) for p in data["parents"])
    bind = np.linalg.inv(data["inverse_bind"].astype(np.float64))
    offsets = data["offsets"].astype(np.float64)
    # The mesh as the file's scene shows it, in the file's world.
    skinning = data["rest_world"].astype(np.float64) @ data["inverse_bind"].astype(np.float64)
    points = np.concatenate((data["vertices"], np.ones((len(data["vertices"]), 1))), 1)
    posed = np.einsum("vj,jab,vb->va", data["weights"], skinning, points, optimize=True)[:, :3]
    # The bind pose is Y up if the best affine map to the posed mesh leaves its y axis upwards.
    centred = data["vertices"] - data["vertices"].mean(0)
    linear = np.linalg.lstsq(centred, posed - posed.mean(0), rcond=None)[0].T
    turn = np.eye(3) if abs(linear[1, 1]) > abs(linear[1, 2]) else Z_UP
    # World units per bind unit: the clips' offsets are in the file's world, the bind pose may be 100 times smaller.
    bones = np.linalg.norm(bone_offsets(parents, bind[:, :3, 3])[1:], axis=-1)
    unit = float(np.median(np.linalg.norm(offsets[1:], axis=-1)[bones > 0] / bones[bones > 0]))
    R_world_file = turn @ (bind[:, :3, :3] / np.linalg.norm(bind[:, :3, :3], axis=1, keepdims=True))
    heads = unit * bind[:, :3, 3] @ turn.T
    vertices = unit * data["vertices"].astype(np.float64) @ turn.T
    scale = 1 / np.ptp(vertices[:, 1])  # numpy's own division is refused where the mesh is flat
    shift = -np.array([0.0, vertices[:, 1].min(), 0.0])
    heads, vertices = (heads + shift) * scale, (vertices + shift) * scale
    weights = data["weights"].astype(np.float64)
    weights = weights / weights.sum(-1, keepdims=True)
    # A leaf ends as far beyond the centre of its vertices as that is from its head.
    tips, heaviest = heads + 0.5 * bone_offsets(parents, heads), weights.argmax(-1)
    for j in np.unique(heaviest):
        tips[j] = 2 * vertices[heaviest == j].mean(0) - heads[j]
    skeleton = Skeleton(names, parents, heads, bone_tails(heads, parents, tips), from_matrix(R_world_file))
    mesh = Mesh(vertices, data["faces"].astype(np.int64), data["base_color"].astype(np.float64))
    # Walkers stand on y = 0 in their clips already; swimmers hang around y = 0 and are lifted with their mesh.
    lift = shift * scale if posed[:, 1].min() < -0.1 * np.ptp(posed[:, 1]) else np.zeros(3)
    # With the world's axes at rest, a rotation is B_parent q B_jointᵀ, where B are the file's axes at rest.
    above = np.stack([R_world_file[p] if p >= 0 else np.eye(3) for p in parents])
    motions = []
    for name in clips:
        turns = to_matrix(data[f"clip/{name}/local_quat_wxyz"].astype(np.float64))
        wxyz = continuous(from_matrix(above @ turns @ R_world_file.transpose(0, 2, 1)))
        root = data[f"clip/{name}/root_pos"].astype(np.float64) * scale + lift
        motions.append(Clip(name, float(data["fps"]), root, wxyz))
    return Character(stem, mesh, skeleton, weights, tuple(motions), Frame(turn, scale * unit, shift * scale))
