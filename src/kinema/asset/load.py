"""One door for all character files: `load`."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from kinema.asset.blender import convert_with_blender
from kinema.asset.bvh import read_bvh
from kinema.asset.character import Character, Clip, Mesh, Skeleton
from kinema.asset.gltf.character import character_from_document, load_gltf
from kinema.asset.gltf.document import Document, read_document
from kinema.asset.gltf.skeleton import skeleton_from_document
from kinema.asset.rigs.orientation import find_frame, place, place_skeleton
from kinema.asset.skeleton_json import read_skeleton_json
from kinema.asset.trimesh_formats import read_trimesh
from kinema.errors import KinemaError

GLTF_SUFFIXES = (".glb", ".gltf", ".vrm")
TRIMESH_SUFFIXES = (".obj", ".ply", ".stl", ".off")
BLENDER_SUFFIXES = (".fbx", ".blend", ".usd", ".usda", ".usdc", ".usdz")
USUAL_UP = {".stl": "+z"}
"""Where a format's habit is not Y up."""
HUMAN_UNITS = {"metres": 1.0, "centimetres": 0.01, "inches": 0.0254, "CMU's units": 0.0254 / 0.45}
"""What a motion capture file may count in."""


def load(
    path: Path | str,
    *,
    skeleton: Path | str | None = None,
    up: str | None = None,
    facing: str | None = None,
    scale: float | None = None,
    ground: float | None = None,
) -> Character:
    """A character from any file that we read.

    Args:
        path: .glb .gltf, .obj .ply .stl .off, .bvh, and through Blender .fbx .blend .usd
        skeleton: another file whose joints the mesh shall have (.glb .gltf .bvh .fbx .blend or our .json); its own
            joints, weights and clips are then left out, and weights are for the rig stage to find.
        up: the file's axis that points up ("+y", "-z" ...) instead of the one found.
        facing: the file's axis that the character looks along.
        scale: metres per unit of the file.
        ground: height of the ground along the file's up axis [file units].
    """
    path = existing_file(path)
    suffix = path.suffix.lower()
    if suffix not in LOADERS:
        raise KinemaError(f"{path}: {suffix or 'a file without suffix'} is not one of {' '.join(LOADERS)}")
    given = {"up": up, "facing": facing, "scale": scale, "ground": ground}
    if skeleton is None:
        return LOADERS[suffix](path, **given)
    return _attach(_mesh_only(path), existing_file(skeleton), usual_up=USUAL_UP.get(suffix, "+y"), **given)


def existing_file(path: Path | str) -> Path:
    """The path, or the one line that says why it cannot be read."""
    path = Path(path)
    if path.is_dir():
        raise KinemaError(f"{path}: is a folder, not a file")
    if not path.exists():
        raise KinemaError(f"{path}: no such file")
    if not path.is_file():
        raise KinemaError(f"{path}: is not a regular file")
    if path.stat().st_size == 0:
        raise KinemaError(f"{path}: is empty")
    return path


def _through_blender(path: Path) -> Document:
    with tempfile.TemporaryDirectory() as folder:
        converted = Path(folder) / f"{path.stem}.glb"
        convert_with_blender(path, converted)
        return replace(read_document(converted), path=path)


def _load_blender(path: Path, **given: Any) -> Character:
    character = character_from_document(_through_blender(path), **given)
    return replace(character, changes=("read through Blender", *character.changes))


def _load_trimesh(path: Path, **given: Any) -> Character:
    character = read_trimesh(path)
    usual_up = USUAL_UP.get(path.suffix.lower(), "+y")
    frame, lines = find_frame(character.mesh.vertices, None, usual_up=usual_up, **given)
    return replace(place(character, frame), changes=(*character.changes, *lines))


def load_skeleton(path: Path | str) -> Skeleton:
    """The joints of a file, in that file's own coordinates."""
    path = existing_file(path)
    suffix = path.suffix.lower()
    if suffix == ".json":
        return read_skeleton_json(path)
    if suffix == ".bvh":
        return read_bvh(path)[0]
    if suffix in GLTF_SUFFIXES:
        return skeleton_from_document(read_document(path))
    if suffix in BLENDER_SUFFIXES:
        return skeleton_from_document(_through_blender(path))
    raise KinemaError(f"{path}: a skeleton is read from .glb .gltf .bvh .json .fbx or .blend, not {suffix!r}")


def _mesh_only(path: Path) -> Character:
    """The mesh in its file's coordinates, without any rig."""
    suffix = path.suffix.lower()
    as_it_is = {"up": "+y", "facing": "+z", "scale": 1.0, "ground": 0.0}
    if suffix in TRIMESH_SUFFIXES:
        return read_trimesh(path)
    if suffix in GLTF_SUFFIXES:
        return character_from_document(read_document(path), rigged=False, **as_it_is)
    if suffix in BLENDER_SUFFIXES:
        return character_from_document(_through_blender(path), rigged=False, **as_it_is)
    raise KinemaError(f"{path}: {suffix!r} holds no mesh that a skeleton could be given to")


def _attach(
    character: Character,
    path: Path,
    *,
    usual_up: str,
    up: str | None,
    facing: str | None,
    scale: float | None,
    ground: float | None,
) -> Character:
    """Give a mesh the joints of another file. Both count in the same coordinates, or else each in its own."""
    skeleton = load_skeleton(path)
    vertices = character.mesh.vertices
    given = {"up": up, "facing": facing, "scale": scale, "ground": ground}
    frame, lines = find_frame(vertices, skeleton, usual_up=usual_up, **given)
    placed = place(replace(character, skeleton=skeleton), frame)
    if _fit(skeleton.heads, vertices) < 0.6:
        frame, lines = find_frame(vertices, None, usual_up=usual_up, **given)
        joints = np.concatenate((skeleton.heads, skeleton.tails))
        turn, _ = find_frame(joints, skeleton, ground=0.0)
        low, tall = (joints @ turn.rotation[1]).min(), np.ptp(joints @ turn.rotation[1])
        # Joints lie above the soles: a skeleton that begins a little above zero already stands on it.
        own, own_lines = find_frame(joints, skeleton, ground=0.0 if 0 <= low < 0.15 * tall else None)
        apart = replace(place(character, frame), skeleton=place_skeleton(skeleton, own))
        assert apart.skeleton is not None
        assert placed.skeleton is not None
        if _fit(apart.skeleton.heads, apart.mesh.vertices) > _fit(placed.skeleton.heads, placed.mesh.vertices):
            placed, lines = apart, (*lines, *(f"{path.name}: {line}" for line in own_lines))
    assert placed.skeleton is not None
    share = _inside(placed.skeleton.heads, placed.mesh.vertices)
    count = round(share * len(skeleton.names))
    if share < 0.3:
        raise KinemaError(f"{path}: only {count} of its {len(skeleton.names)} joints lie within {character.name}")
    if share < 0.9:
        lines = (*lines, f"only {count} of {path.name}'s {len(skeleton.names)} joints lie within the mesh")
    taken = f"took {len(skeleton.names)} joints from {path.name}; its weights are still to be found"
    return replace(placed, weights=None, clips=(), changes=(*character.changes, taken, *lines))


def _fit(heads: Float[np.ndarray, "n 3"], vertices: Float[np.ndarray, "m 3"]) -> float:
    """1 for joints that fill the mesh from within, less for those outside or of another size."""
    size = np.linalg.norm(np.ptp(heads, axis=0)) / max(float(np.linalg.norm(np.ptp(vertices, axis=0))), 1e-30)
    return _inside(heads, vertices) - 0.5 * abs(float(np.log(max(size, 1e-9) / 0.8)))


def _inside(points: Float[np.ndarray, "n 3"], vertices: Float[np.ndarray, "m 3"]) -> float:
    """Share of points within the bounding box, widened by a tenth of its diagonal."""
    low, high = vertices.min(0), vertices.max(0)
    room = 0.1 * np.linalg.norm(high - low)
    return float(((points >= low - room) & (points <= high + room)).all(1).mean())


def _load_bvh(
    path: Path, *, up: str | None, facing: str | None, scale: float | None, ground: float | None
) -> Character:
    """Skeleton and motion, with every bone drawn as a slim octahedron."""
    skeleton, clip = read_bvh(path)
    heights = _joint_positions(skeleton, clip)[:: max(1, len(clip.root_position) // 400)]
    if scale is None:
        # Motion capture is of people: of the usual units the one that makes them nearest to 1.6 m from toe to head.
        tall = max(float(np.ptp(np.concatenate((skeleton.heads, skeleton.tails)), axis=0).max()), 1e-9)
        unit = min(HUMAN_UNITS, key=lambda name: abs(np.log(HUMAN_UNITS[name] * tall / 1.6)))
        scale = HUMAN_UNITS[unit]
    axis_frame, _ = find_frame(skeleton.heads, skeleton, up=up, facing=facing, scale=1.0, ground=0.0)
    if ground is None:
        # The rest pose floats about the origin; only the motion knows the ground.
        ground = float(np.quantile((heights @ axis_frame.rotation[1]).min(1), 0.02))
    rest_low = float((np.concatenate((skeleton.heads, skeleton.tails)) @ axis_frame.rotation[1]).min())
    lift = (ground - rest_low) * axis_frame.rotation[1]
    skeleton = replace(skeleton, heads=skeleton.heads + lift, tails=skeleton.tails + lift)
    try:
        mesh, weights = bone_mesh(skeleton)
    except KinemaError as error:
        raise KinemaError(f"{path}: {error}") from None
    frame, lines = find_frame(mesh.vertices, skeleton, up=up, facing=facing, scale=scale, ground=ground)
    drawn = "a BVH has no mesh: every bone is drawn as an octahedron"
    return replace(
        place(Character(path.stem, mesh, skeleton, weights, (clip,)), frame),
        changes=(drawn, *lines),
    )


def _joint_positions(skeleton: Skeleton, clip: Clip) -> Float[np.ndarray, "frames joints 3"]:
    from scipy.spatial.transform import Rotation

    wxyz = clip.wxyz_parent_joint
    local = Rotation.from_quat(wxyz[..., [1, 2, 3, 0]].reshape(-1, 4)).as_matrix().reshape(*wxyz.shape[:2], 3, 3)
    position = np.empty((*wxyz.shape[:2], 3))
    position[:, 0] = clip.root_position
    for j, p in enumerate(skeleton.parents):
        if p >= 0:
            offset = skeleton.heads[j] - skeleton.heads[p] + (0 if clip.translation is None else clip.translation[:, j])
            position[:, j] = (
                position[:, p] + (local[:, p] @ np.broadcast_to(offset, position[:, j].shape)[..., None])[..., 0]
            )
            local[:, j] = local[:, p] @ local[:, j]
    return position


def bone_mesh(skeleton: Skeleton) -> tuple[Mesh, Float[np.ndarray, "vertices joints"]]:
    """A closed octahedron from each joint's head to each of its children's, or to its tail where it has none."""
    vertices, faces, owner = [], [], []
    size = max(float(np.linalg.norm(np.ptp(skeleton.heads, axis=0))), 1e-6)
    for j in range(len(skeleton.names)):
        ends = [skeleton.heads[c] for c, p in enumerate(skeleton.parents) if p == j] or [skeleton.tails[j]]
        for end in ends:
            along = end - skeleton.heads[j]
            length = float(np.linalg.norm(along))
            if length < 1e-6 * size:
                continue
            side = np.cross(along, np.eye(3)[int(np.abs(along).argmin())])
            side *= min(0.12 * length, 0.02 * size) / np.linalg.norm(side)
            other = np.cross(along / length, side)
            ring = skeleton.heads[j] + 0.2 * along
            start = len(vertices)
            vertices += [skeleton.heads[j], ring + side, ring + other, ring - side, ring - other, end]
            owner += [j] * 6
            for k in range(4):
                a, b = start + 1 + k, start + 1 + (k + 1) % 4
                faces += [(start, b, a), (start + 5, a, b)]
    if not faces:
        raise KinemaError("all joints lie in one point, so there is no bone to draw")
    weights = np.zeros((len(vertices), len(skeleton.names)))
    weights[np.arange(len(vertices)), owner] = 1
    return Mesh(np.array(vertices), np.array(faces), np.full((len(vertices), 3), 0.75)), weights


LOADERS = {
    **dict.fromkeys(GLTF_SUFFIXES, load_gltf),
    **dict.fromkeys(TRIMESH_SUFFIXES, _load_trimesh),
    ".bvh": _load_bvh,
    **dict.fromkeys(BLENDER_SUFFIXES, _load_blender),
}
