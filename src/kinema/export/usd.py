"""USD with UsdSkel: mesh, colours, textures, skeleton and clip, in the character's own units (extra `usd`).

The stage says which axis is up and how many metres a unit is, so the file's numbers stay as they were.
"""

# pxr fills its modules when it is loaded, which a type checker cannot see.
# pyright: reportAttributeAccessIssue=false

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Character, Clip, Mesh, Skeleton, unused_name
from kinema.asset.images import linear_from_srgb
from kinema.asset.rigs.orientation import to_file
from kinema.errors import KinemaError
from kinema.export import common
from kinema.export.timing import in_file_frame, world_transforms
from kinema.geometry import rotations
from kinema.geometry.surface import vertex_normals

Transforms = Float[np.ndarray, "*f joints 4 4"]


@contextmanager
def usd_folder(path: Path) -> Iterator[Path]:
    """A folder beside `path` to write in: USD takes the format from the suffix, so a folder is the ".part"."""
    try:
        from pxr import Tf
    except ImportError:
        raise KinemaError(f"{path}: writing USD needs the extra `usd`: pip install 'kinema[usd]'") from None
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=path.stem, suffix=".part") as folder:
        try:
            yield Path(folder)
        except Tf.ErrorException as error:
            # The last thing that USD quotes; the rest of its report is about its own source files.
            quoted = re.findall(r": '([^'\n]*)'", str(error))
            reason = quoted[0] if quoted else type(error).__name__
            raise KinemaError(f"{path}: cannot be written ({reason})") from None


def write_usd(path: Path, character: Character, clips: Sequence[Clip] = ()) -> None:
    """Write .usda, .usdc, .usd or .usdz; the first clip is the one that plays, the others lie beside it.

    Textures go into the .usdz, or into the folder NAME_textures beside the other kinds.
    """
    with usd_folder(path) as folder:
        from pxr import Sdf, UsdUtils

        packed = path.suffix.lower() == ".usdz"
        layer = folder / (path.stem + ".usdc" if packed else path.name)
        images = folder / f"{path.stem}_textures"
        _write_stage(layer, images, character, clips)
        if packed and not UsdUtils.CreateNewUsdzPackage(Sdf.AssetPath(str(layer)), str(folder / path.name)):
            raise KinemaError(f"{path}: cannot be packed as USDZ")
        if images.is_dir() and not packed:
            target = path.parent / images.name
            target.mkdir(exist_ok=True)
            for image in images.iterdir():
                image.replace(target / image.name)
        (folder / path.name).replace(path)


def _write_stage(layer: Path, images: Path, character: Character, clips: Sequence[Clip]) -> None:
    from pxr import Tf, Usd, UsdGeom, UsdSkel

    stage, up = Usd.Stage.CreateNew(str(layer)), character.frame.rotation[1]
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z if abs(up[2]) > abs(up[1]) else UsdGeom.Tokens.y)
    UsdGeom.SetStageMetersPerUnit(stage, float(character.frame.scale))
    root = UsdSkel.Root.Define(stage, "/" + Tf.MakeValidIdentifier(character.name))
    stage.SetDefaultPrim(root.GetPrim())
    base = str(root.GetPath())
    drawn = _add_mesh(stage, f"{base}/mesh", character)
    _add_materials(stage, base, drawn, character.mesh, images)
    if character.skeleton is not None:
        joints = _joint_tokens(character.skeleton)
        skeleton = _add_skeleton(stage, f"{base}/skeleton", character, joints, drawn)
        added = [_add_clip(stage, f"{base}/skeleton", character, clip, joints) for clip in clips]
        for clip, animation in zip(clips[:1], added):
            UsdSkel.BindingAPI.Apply(skeleton.GetPrim()).CreateAnimationSourceRel().SetTargets([animation.GetPath()])
            stage.SetTimeCodesPerSecond(clip.fps)
            stage.SetFramesPerSecond(clip.fps)
            stage.SetStartTimeCode(0)
            stage.SetEndTimeCode(len(clip.root_position) - 1)
    stage.Save()


def _joint_tokens(skeleton: Skeleton) -> list[str]:
    """Joints as USD names them: paths of identifiers, so `Ear4.L` becomes `Ear4_L`; no two are the same."""
    from pxr import Tf

    names, tokens = [], []
    for name, parent in zip(skeleton.names, skeleton.parents):
        names.append(unused_name(Tf.MakeValidIdentifier(name), names, separator="_"))
        tokens.append(names[-1] if parent < 0 else f"{tokens[parent]}/{names[-1]}")
    return tokens


def _add_mesh(stage: Any, place: str, character: Character) -> Any:
    from pxr import Sdf, UsdGeom, Vt

    mesh = character.mesh
    points = to_file(character.frame, mesh.vertices)
    drawn = UsdGeom.Mesh.Define(stage, place)
    drawn.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(points.astype(np.float32)))
    drawn.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(mesh.faces), 3, dtype=np.int32)))
    drawn.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(mesh.faces.astype(np.int32).reshape(-1)))
    drawn.CreateNormalsAttr(Vt.Vec3fArray.FromNumpy(vertex_normals(points, mesh.faces).astype(np.float32)))
    drawn.SetNormalsInterpolation(UsdGeom.Tokens.vertex)
    drawn.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    corners = np.stack((points.min(0), points.max(0))) if len(points) else np.zeros((2, 3))
    drawn.CreateExtentAttr(Vt.Vec3fArray.FromNumpy(corners.astype(np.float32)))
    colors = drawn.CreateDisplayColorPrimvar(UsdGeom.Tokens.vertex)
    colors.Set(Vt.Vec3fArray.FromNumpy(linear_from_srgb(mesh.colors).astype(np.float32)))
    if mesh.uv is not None:
        st = UsdGeom.PrimvarsAPI(drawn).CreatePrimvar("st", Sdf.ValueTypeNames.TexCoord2fArray, UsdGeom.Tokens.vertex)
        # USD's texture origin is the bottom left, glTF's the top left.
        st.Set(Vt.Vec2fArray.FromNumpy((mesh.uv * [1, -1] + [0, 1]).astype(np.float32)))
    return drawn


def _add_materials(stage: Any, base: str, drawn: Any, mesh: Mesh, images: Path) -> None:
    """One material per texture, and one that shows the vertex colours."""
    from pxr import Sdf, UsdGeom, UsdShade, Vt

    kind, texture_of = Sdf.ValueTypeNames, common.face_textures(mesh)

    def shader(place: str, name: str, **inputs: tuple[Any, Any]) -> Any:
        """A shader with the type and value of each of its inputs."""
        result = UsdShade.Shader.Define(stage, place)
        result.CreateIdAttr(name)
        for key, (of_type, value) in inputs.items():
            result.CreateInput(key, of_type).Set(value)
        return result

    textures = np.unique(texture_of).tolist()
    for texture in textures:
        name = "colors" if texture < 0 else f"texture_{texture}"
        place = f"{base}/materials/{name}"
        material = UsdShade.Material.Define(stage, place)
        surface = shader(f"{place}/surface", "UsdPreviewSurface", roughness=(kind.Float, 0.9))
        color = surface.CreateInput("diffuseColor", kind.Color3f)
        if texture < 0:
            reader = shader(f"{place}/reader", "UsdPrimvarReader_float3", varname=(kind.String, "displayColor"))
            color.ConnectToSource(reader.CreateOutput("result", kind.Float3))
        else:
            reader = shader(f"{place}/reader", "UsdPrimvarReader_float2", varname=(kind.String, "st"))
            images.mkdir(exist_ok=True)
            (images / f"{texture}.png").write_bytes(common.encode_png(mesh.textures[texture]))
            file, repeat = Sdf.AssetPath(f"./{images.name}/{texture}.png"), (kind.Token, "repeat")
            look = {"sourceColorSpace": (kind.Token, "sRGB"), "wrapS": repeat, "wrapT": repeat}
            sampler = shader(f"{place}/image", "UsdUVTexture", file=(kind.Asset, file), **look)
            sampler.CreateInput("st", kind.Float2).ConnectToSource(reader.CreateOutput("result", kind.Float2))
            color.ConnectToSource(sampler.CreateOutput("rgb", kind.Float3))
        material.CreateSurfaceOutput().ConnectToSource(surface.CreateOutput("surface", kind.Token))
        part = drawn.GetPrim()
        if len(textures) > 1:
            chosen = Vt.IntArray.FromNumpy(np.flatnonzero(texture_of == texture).astype(np.int32))
            subset = (drawn, name, UsdGeom.Tokens.face, chosen, UsdShade.Tokens.materialBind)
            part = UsdGeom.Subset.CreateGeomSubset(*subset).GetPrim()
        UsdShade.MaterialBindingAPI.Apply(part).Bind(material)


def _add_skeleton(stage: Any, place: str, character: Character, joints: list[str], drawn: Any) -> Any:
    """The skeleton at rest, and the weights of the mesh `drawn`."""
    from pxr import Gf, UsdSkel, Vt

    assert character.skeleton is not None
    skeleton = UsdSkel.Skeleton.Define(stage, place)
    bind = np.tile(np.eye(4), (len(joints), 1, 1))
    bind[:, :3, :3] = common.joint_axes_file(character.frame, character.skeleton)
    bind[:, :3, 3] = to_file(character.frame, character.skeleton.heads)
    skeleton.CreateJointsAttr(Vt.TokenArray(joints))
    skeleton.CreateJointNamesAttr(Vt.TokenArray(list(character.skeleton.names)))
    # USD multiplies row vectors: its matrices are ours transposed.
    rest = _local(bind, character.skeleton.parents)
    rows = [[Gf.Matrix4d(*one.T.reshape(-1).tolist()) for one in matrices] for matrices in (bind, rest)]
    skeleton.CreateBindTransformsAttr(Vt.Matrix4dArray(rows[0]))
    skeleton.CreateRestTransformsAttr(Vt.Matrix4dArray(rows[1]))
    if character.weights is not None:
        bones, values = common.influences(character.weights)
        binding, most = UsdSkel.BindingAPI.Apply(drawn.GetPrim()), bones.shape[1]
        binding.CreateSkeletonRel().SetTargets([skeleton.GetPath()])
        binding.CreateJointIndicesPrimvar(False, most).Set(Vt.IntArray.FromNumpy(bones.astype(np.int32).ravel()))
        binding.CreateJointWeightsPrimvar(False, most).Set(Vt.FloatArray.FromNumpy(values.astype(np.float32).ravel()))
    return skeleton


def _local(T_file_joint: Transforms, parents: tuple[int, ...]) -> Transforms:
    above = T_file_joint[..., [max(parent, 0) for parent in parents], :, :].copy()
    above[..., 0, :, :] = np.eye(4)
    return np.linalg.solve(above, T_file_joint)


def _add_clip(stage: Any, place: str, character: Character, clip: Clip, joints: list[str]) -> Any:
    from pxr import Gf, Tf, UsdSkel, Vt

    assert character.skeleton is not None
    taken = [child.GetName() for child in stage.GetPrimAtPath(place).GetChildren()]
    name = unused_name(Tf.MakeValidIdentifier(clip.name), taken, separator="_")
    skeleton, moved = in_file_frame(character.frame, character.skeleton, clip)
    placed = world_transforms(skeleton, moved)
    placed[..., :3, :3] = placed[..., :3, :3] @ common.joint_axes_file(character.frame, character.skeleton)
    local = _local(placed, skeleton.parents)
    wxyz = rotations.continuous(rotations.from_matrix(local[..., :3, :3]))
    animation = UsdSkel.Animation.Define(stage, f"{place}/{name}")
    animation.CreateJointsAttr(Vt.TokenArray(joints))
    path, turns = animation.CreateTranslationsAttr(), animation.CreateRotationsAttr()
    animation.CreateScalesAttr(Vt.Vec3hArray([Gf.Vec3h(1, 1, 1)] * len(joints)))
    for frame in range(len(local)):
        path.Set(Vt.Vec3fArray.FromNumpy(local[frame, :, :3, 3].astype(np.float32)), frame)
        turns.Set(Vt.QuatfArray([Gf.Quatf(*q) for q in wxyz[frame].tolist()]), frame)
    return animation
