"""`load` reads a character from any file, `load_skeleton` only its joints."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from kinema.asset.blender import convert_with_blender
from kinema.asset.bvh import read_bvh
from kinema.asset.character import Character, Mesh, Skeleton
from kinema.asset.gltf.character import character_from_document
from kinema.asset.gltf.document import Document, read_document
from kinema.asset.gltf.skeleton import skeleton_from_document
from kinema.asset.options import Ground
from kinema.asset.rigs.orientation import AS_IN_FILE, FrameOptions, find_frame, place, place_skeleton
from kinema.asset.skeleton_json import read_roles_json, read_skeleton_json
from kinema.asset.trimesh_formats import read_trimesh
from kinema.errors import KinemaError
from kinema.geometry.rotations import bone_offsets, children, place_joints, to_matrix

GLTF_SUFFIXES = (".glb", ".gltf", ".vrm")
TRIMESH_SUFFIXES = (".obj", ".ply", ".stl", ".off")
BLENDER_SUFFIXES = (".fbx", ".blend", ".usd", ".usda", ".usdc", ".usdz")
USUAL_UP = {".stl": "+z"}
"""Formats whose files are not mostly Y up."""
OCTAHEDRON = np.array([(0, 2, 1), (5, 1, 2), (0, 3, 2), (5, 2, 3), (0, 4, 3), (5, 3, 4), (0, 1, 4), (5, 4, 1)])
"""Faces of a tip 0, a ring 1 to 4 and a tip 5."""
HUMAN_UNITS = {"metres": 1.0, "centimetres": 0.01, "inches": 0.0254, "CMU's units": 0.0254 / 0.45}
"""Units of motion capture files [m]."""


def load(
    path: Path | str,
    *,
    skeleton: Path | str | None = None,
    up: str | None = None,
    facing: str | None = None,
    scale: float | None = None,
    ground: float | Ground | None = None,
    legs: str | None = None,
) -> Character:
    """Read a character.

    Args:
        path: .glb .gltf .vrm, .obj .ply .stl .off, .bvh, and through Blender .fbx .blend .usd
        skeleton: another file whose joints the mesh shall have (.glb .gltf .bvh .fbx .blend or our .json); its own
            joints, weights and clips are then left out, and the rig stage computes weights.
        up, facing, scale, ground: replace what would be found, see `FrameOptions`; ground "none" and "flat" say only
            whether there is one.
        legs: a joint of each leg, separated by commas, or "none".
    """
    path = existing_file(path)
    suffix = path.suffix.lower()
    if suffix not in LOADERS:
        raise KinemaError(f"{path}: {suffix or 'a file without suffix'} is not one of {' '.join(LOADERS)}")
    given = FrameOptions(up, facing, scale, None if isinstance(ground, str) else ground)
    return as_told(_read(path, suffix, skeleton, given), ground=ground, legs=legs)


def as_told(character: Character, *, ground: float | Ground | None = None, legs: str | None = None) -> Character:
    """The character with the ground and the legs that someone gives it, as `load` takes them."""
    if isinstance(ground, str):
        character = replace(character, ground=ground == "flat")
    if legs is None:
        return character
    names = () if legs.strip() == "none" else tuple(name.strip() for name in legs.split(",") if name.strip())
    return replace(character, roles={**character.roles, "legs": names})


def _read(path: Path, suffix: str, skeleton: Path | str | None, given: FrameOptions) -> Character:
    if skeleton is None:
        return LOADERS[suffix](path, given)
    if suffix == ".bvh":
        raise KinemaError(f"{path}: {suffix!r} holds no mesh that a skeleton could be given to")
    if suffix in TRIMESH_SUFFIXES:
        mesh = read_trimesh(path)
    else:
        mesh = character_from_document(_document(path), AS_IN_FILE, rigged=False)
    return _attach(mesh, existing_file(skeleton), given, USUAL_UP.get(suffix, "+y"))


def existing_file(path: Path | str) -> Path:
    """The path of a file that can be read, or a KinemaError that says why not."""
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


def load_skeleton(path: Path | str) -> Skeleton:
    """The joints of a file, in that file's own coordinates."""
    path = existing_file(path)
    suffix = path.suffix.lower()
    if suffix == ".json":
        return read_skeleton_json(path)
    if suffix == ".bvh":
        return read_bvh(path)[0]
    if suffix in GLTF_SUFFIXES + BLENDER_SUFFIXES:
        return skeleton_from_document(_document(path))
    raise KinemaError(f"{path}: a skeleton is read from .glb .gltf .bvh .json .fbx or .blend, not {suffix!r}")


def _document(path: Path) -> Document:
    """The glTF document of a file, which Blender converts if it has another format."""
    if path.suffix.lower() in GLTF_SUFFIXES:
        return read_document(path)
    with tempfile.TemporaryDirectory() as folder:
        converted = Path(folder) / f"{path.stem}.glb"
        convert_with_blender(path, converted)
        return replace(read_document(converted), path=path)


def _load_gltf(path: Path, given: FrameOptions) -> Character:
    character = character_from_document(_document(path), given)
    through = ("read through Blender",) if path.suffix.lower() in BLENDER_SUFFIXES else ()
    return replace(character, changes=(*through, *character.changes))


def _load_trimesh(path: Path, given: FrameOptions) -> Character:
    character, usual_up = read_trimesh(path), USUAL_UP.get(path.suffix.lower(), "+y")
    frame, lines = find_frame(character.mesh.vertices, None, given, usual_up=usual_up)
    return replace(place(character, frame), changes=(*character.changes, *lines))


def _attach(character: Character, path: Path, given: FrameOptions, usual_up: str) -> Character:
    """Give a mesh the joints of another file, which has the mesh's coordinates or, if that fits better, its own."""
    skeleton, vertices = load_skeleton(path), character.mesh.vertices
    frame, lines = find_frame(vertices, skeleton, given, usual_up=usual_up)
    mesh, bones = place(character, frame), place_skeleton(skeleton, frame)
    if _fit(skeleton.heads, vertices) < 0.6:
        frame, own_mesh_lines = find_frame(vertices, None, given, usual_up=usual_up)
        joints = np.concatenate((skeleton.heads, skeleton.tails))
        turn, _ = find_frame(joints, skeleton, FrameOptions(ground=0.0))
        low, tall = (joints @ turn.rotation[1]).min(), np.ptp(joints @ turn.rotation[1])
        # Joints lie above the soles: a skeleton that begins a little above zero already stands on it.
        ground = 0.0 if 0 <= low < 0.15 * tall else None
        own_frame, own_lines = find_frame(joints, skeleton, FrameOptions(ground=ground))
        own_mesh, own_bones = place(character, frame), place_skeleton(skeleton, own_frame)
        if _fit(own_bones.heads, own_mesh.mesh.vertices) > _fit(bones.heads, mesh.mesh.vertices):
            mesh, bones = own_mesh, own_bones
            lines = (*own_mesh_lines, *(f"{path.name}: {line}" for line in own_lines))
    share = _inside(bones.heads, mesh.mesh.vertices)
    count = round(share * len(skeleton.names))
    if share < 0.3:
        raise KinemaError(f"{path}: only {count} of its {len(skeleton.names)} joints lie within {character.name}")
    if share < 0.9:
        lines = (*lines, f"only {count} of {path.name}'s {len(skeleton.names)} joints lie within the mesh")
    taken = f"took {len(skeleton.names)} joints from {path.name}; skin weights are computed when it is rigged"
    roles = read_roles_json(path, skeleton.names) if path.suffix.lower() == ".json" else {}
    return replace(
        mesh, skeleton=bones, weights=None, clips=(), roles=roles, changes=(*character.changes, taken, *lines)
    )


def _fit(heads: Float[np.ndarray, "n 3"], vertices: Float[np.ndarray, "m 3"]) -> float:
    """Score of joints for a mesh: 1 if they fill it from within, less if outside or of another size."""
    size = np.linalg.norm(np.ptp(heads, axis=0)) / max(float(np.linalg.norm(np.ptp(vertices, axis=0))), 1e-30)
    return _inside(heads, vertices) - 0.5 * abs(float(np.log(max(size, 1e-9) / 0.8)))


def _inside(points: Float[np.ndarray, "n 3"], vertices: Float[np.ndarray, "m 3"]) -> float:
    """Share of points within the bounding box, widened by a tenth of its diagonal."""
    low, high = vertices.min(0), vertices.max(0)
    room = 0.1 * np.linalg.norm(high - low)
    return float(((points >= low - room) & (points <= high + room)).all(1).mean())


def _load_bvh(path: Path, given: FrameOptions) -> Character:
    """Skeleton and motion, with every bone drawn as a slim octahedron."""
    skeleton, clip = read_bvh(path)
    ends = np.concatenate((skeleton.heads, skeleton.tails))
    scale, ground = given.scale, given.ground
    if scale is None:
        # Motion capture records people: the unit is the one that makes them nearest to 1.6 m from toe to head.
        tall = max(float(np.ptp(ends, axis=0).max()), 1e-9)
        scale = min(HUMAN_UNITS.values(), key=lambda unit: abs(np.log(unit * tall / 1.6)))
    up = find_frame(skeleton.heads, skeleton, replace(given, scale=1.0, ground=0.0))[0].rotation[1]
    if ground is None:
        # The rest pose floats about the origin; only the motion knows the ground.
        some = slice(None, None, max(1, len(clip.root_position) // 400))
        offsets = bone_offsets(skeleton.parents, skeleton.heads)
        if clip.translation is not None:
            offsets = offsets + clip.translation[some]
        rotations = to_matrix(clip.wxyz_parent_joint[some])
        joints, _ = place_joints(skeleton.parents, offsets, rotations, clip.root_position[some])
        ground = float(np.quantile((joints @ up).min(1), 0.02))
    lift = (ground - float((ends @ up).min())) * up
    skeleton = replace(skeleton, heads=skeleton.heads + lift, tails=skeleton.tails + lift)
    mesh, weights = _bone_mesh(path, skeleton)
    frame, lines = find_frame(mesh.vertices, skeleton, replace(given, scale=scale, ground=ground))
    drawn = "a BVH has no mesh: every bone is drawn as an octahedron"
    return replace(place(Character(path.stem, mesh, skeleton, weights, (clip,)), frame), changes=(drawn, *lines))


def _bone_mesh(path: Path, skeleton: Skeleton) -> tuple[Mesh, Float[np.ndarray, "vertices joints"]]:
    """A closed octahedron from each joint's head to each of its children's, or to its tail where it has none."""
    vertices, faces, owner = [], [], []
    size = max(float(np.linalg.norm(np.ptp(skeleton.heads, axis=0))), 1e-6)
    for j, below in enumerate(children(skeleton.parents)):
        for end in skeleton.heads[below] if below else skeleton.tails[j : j + 1]:
            along = end - skeleton.heads[j]
            length = float(np.linalg.norm(along))
            if length < 1e-6 * size:
                continue
            side = np.cross(along, np.eye(3)[int(np.abs(along).argmin())])
            side *= min(0.12 * length, 0.02 * size) / np.linalg.norm(side)
            other, ring = np.cross(along / length, side), skeleton.heads[j] + 0.2 * along
            faces.append(len(vertices) + OCTAHEDRON)
            vertices += [skeleton.heads[j], ring + side, ring + other, ring - side, ring - other, end]
            owner += [j] * 6
    if not faces:
        raise KinemaError(f"{path}: all joints lie in one point, so there is no bone to draw")
    mesh = Mesh(np.array(vertices), np.concatenate(faces), np.full((len(vertices), 3), 0.75))
    return mesh, np.eye(len(skeleton.names))[owner]


LOADERS = {
    **dict.fromkeys(GLTF_SUFFIXES, _load_gltf),
    **dict.fromkeys(TRIMESH_SUFFIXES, _load_trimesh),
    ".bvh": _load_bvh,
    **dict.fromkeys(BLENDER_SUFFIXES, _load_gltf),
}
