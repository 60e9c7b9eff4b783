"""`load` reads a character from any file, `load_skeleton` only its joints."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from kinema.asset.blender import convert_with_blender
from kinema.asset.bvh import read_bvh
from kinema.asset.character import Character, Mesh, Skeleton
from kinema.asset.gltf.character import character_from_document, skeleton_from_document
from kinema.asset.gltf.document import Document, read_document
from kinema.asset.options import Ground
from kinema.asset.rignet import read_rignet
from kinema.asset.rigs.foreign import ForeignRig, attach
from kinema.asset.rigs.orientation import AS_IN_FILE, FrameOptions, find_frame, place
from kinema.asset.skeleton_json import read_skeleton_json
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
    weights: bool = False,
) -> Character:
    """Read a character.

    Args:
        path: .glb .gltf .vrm, .obj .ply .stl .off, .bvh, and through Blender .fbx .blend .usd
        skeleton: another file whose joints the mesh shall have (.glb .gltf .bvh .fbx .blend, our .json or RigNet's
            .txt); its own joints, weights and clips are then left out, and the rig stage computes weights.
        up, facing, scale, ground: replace what would be found, see `FrameOptions`; ground "none" and "flat" say only
            whether there is one.
        legs: a joint of each leg, separated by commas, or "none".
        weights: take the skin weights of the `skeleton` file too, where its mesh is this one.
    """
    path = existing_file(path)
    suffix = path.suffix.lower()
    if suffix not in LOADERS:
        raise KinemaError(f"{path}: {suffix or 'a file without suffix'} is not one of {' '.join(LOADERS)}")
    given = FrameOptions(up, facing, scale, None if isinstance(ground, str) else ground)
    return as_told(_read(path, suffix, skeleton, weights, given), ground=ground, legs=legs)


def as_told(character: Character, *, ground: float | Ground | None = None, legs: str | None = None) -> Character:
    """The character with the ground and the legs that someone gives it, as `load` takes them."""
    if isinstance(ground, str):
        character = replace(character, ground=ground == "flat")
    if legs is None:
        return character
    names = () if legs.strip() == "none" else tuple(name.strip() for name in legs.split(",") if name.strip())
    return replace(character, roles={**character.roles, "legs": names})


def _read(path: Path, suffix: str, skeleton: Path | str | None, weights: bool, given: FrameOptions) -> Character:
    if skeleton is None:
        return LOADERS[suffix](path, given)
    if suffix == ".bvh":
        raise KinemaError(f"{path}: {suffix!r} holds no mesh that a skeleton could be given to")
    if suffix in TRIMESH_SUFFIXES:
        mesh = read_trimesh(path)
    else:
        mesh = character_from_document(_document(path), AS_IN_FILE, rigged=False)
    own = _read_rig(existing_file(skeleton), weights=weights)
    return attach(mesh, own, given, USUAL_UP.get(suffix, "+y"))


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


def _read_rig(path: Path, *, weights: bool) -> ForeignRig:
    """The rig of a file, with its mesh and weights if they are asked for and there."""
    suffix = path.suffix.lower()
    if suffix == ".txt":
        rig = read_rignet(path)
        return rig if weights else replace(rig, weights=None)
    if weights and suffix in GLTF_SUFFIXES + BLENDER_SUFFIXES:
        character = character_from_document(_document(path), AS_IN_FILE)
        if character.skeleton is None:
            raise KinemaError(f"{path}: has no joints to take")
        return ForeignRig(path, character.skeleton, mesh=character.mesh, weights=character.weights)
    return ForeignRig(path, load_skeleton(path))


def load_skeleton(path: Path | str) -> Skeleton:
    """The joints of a file, in that file's own coordinates."""
    path = existing_file(path)
    suffix = path.suffix.lower()
    if suffix == ".json":
        return read_skeleton_json(path)
    if suffix == ".bvh":
        return read_bvh(path)[0]
    if suffix == ".txt":
        return read_rignet(path).skeleton
    if suffix in GLTF_SUFFIXES + BLENDER_SUFFIXES:
        return skeleton_from_document(_document(path))
    raise KinemaError(f"{path}: a skeleton is read from .glb .gltf .bvh .json .txt .fbx or .blend, not {suffix!r}")


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
