import contextlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from kinema.asset.bvh import read_bvh
from kinema.asset.character import Character, Clip, Frame, Mesh, Skeleton
from kinema.asset.load import load
from kinema.asset.skeleton_json import read_skeleton_json
from kinema.errors import KinemaError
from kinema.export.convert import convert
from kinema.export.targets import SUFFIXES
from kinema.export.timing import as_clip, world_transforms
from kinema.export.write import FORMATS, write
from kinema.motion.motion import Motion, load_motion
from kinema.rig.kinematics import Rig


@pytest.fixture
def character() -> Character:
    """Two cubes on two joints, in a file that counts centimetres."""
    corners = np.array([[x, y, z] for x in (-0.2, 0.2) for y in (0.0, 0.9) for z in (-0.2, 0.2)])
    faces = np.array(
        [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]]
        + [[2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]
    )
    vertices = np.concatenate((corners, corners + [0, 0.9, 0.3]))
    skeleton = Skeleton(
        ("hips", "head"), (-1, 0), np.array([[0, 0.1, 0], [0, 1, 0.3]]), np.array([[0, 1, 0.3], [0, 1.8, 0.3]])
    )
    mesh = Mesh(vertices, np.concatenate((faces, faces + 8)), np.full((16, 3), 0.5))
    return Character("boxes", mesh, skeleton, np.repeat(np.eye(2), 8, 0), frame=Frame(np.eye(3), 0.01, np.zeros(3)))


@pytest.fixture(params=["turning", "sliding"])
def clip(request: pytest.FixtureRequest, character: Character) -> Clip:
    """The head nods; if it slides, it also leaves the neck."""
    assert character.skeleton is not None
    rig = Rig.from_skeleton(character.skeleton, dtype=torch.float64)
    t = torch.linspace(0, 3, 13, dtype=torch.float64)
    angles = torch.stack((0.2 * t.sin(), 0.7 * t.cos()), -1)[..., None].expand(13, 2, 3)
    root = rig.heads[0] + t[:, None] * torch.tensor([0.1, 0.0, 0.3], dtype=torch.float64)
    translation = torch.zeros(13, 2, 3, dtype=torch.float64)
    translation[:, 1] = t[:, None] * torch.tensor([0.02, 0.1, -0.05], dtype=torch.float64)
    return as_clip(character, Motion(root, angles, 24.0, translation if request.param == "sliding" else None))


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
def test_gltf_is_loaded_as_it_was(tmp_path: Path, character: Character, clip: Clip, suffix: str) -> None:
    write(tmp_path / f"boxes{suffix}", character, clip, name="walk")
    back = load(tmp_path / f"boxes{suffix}", scale=1.0, facing="+z", ground=0.0)
    assert back.skeleton is not None
    assert character.skeleton is not None
    assert back.skeleton.names == character.skeleton.names
    assert back.clips[0].name == "walk"
    np.testing.assert_allclose(back.mesh.vertices, character.mesh.vertices, atol=1e-6)
    np.testing.assert_allclose(back.mesh.colors, 0.5, atol=1e-4)
    np.testing.assert_allclose(
        world_transforms(back.skeleton, back.clips[0]), world_transforms(character.skeleton, clip), atol=1e-5
    )
    if clip.translation is None:
        assert back.clips[0].translation is None
    else:
        assert back.clips[0].translation is not None
        np.testing.assert_allclose(back.clips[0].translation, clip.translation, atol=1e-6)


def test_bvh_has_the_units_of_the_file(tmp_path: Path, character: Character, clip: Clip) -> None:
    write(tmp_path / "boxes.bvh", character, clip, fps=48.0)
    skeleton, back = read_bvh(tmp_path / "boxes.bvh", scale=0.01)
    assert character.skeleton is not None
    assert back.fps == 48
    text = (tmp_path / "boxes.bvh").read_text()
    assert text.count("CHANNELS 6") == (1 if clip.translation is None else 2)
    assert (back.translation is None) == (clip.translation is None)
    np.testing.assert_allclose(skeleton.heads, character.skeleton.heads, atol=1e-9)
    np.testing.assert_allclose(
        world_transforms(skeleton, back)[::2], world_transforms(character.skeleton, clip), atol=1e-8
    )


def test_npz_is_a_motion_and_json_a_skeleton(tmp_path: Path, character: Character, clip: Clip) -> None:
    assert character.skeleton is not None
    write(tmp_path / "boxes.npz", character, clip)
    rig = Rig.from_skeleton(character.skeleton, dtype=torch.float64)
    pose = load_motion(tmp_path / "boxes.npz", rig).pose(rig)
    expected = world_transforms(character.skeleton, clip)[..., :3, :]
    np.testing.assert_allclose(pose.numpy(), expected, atol=1e-9)
    with np.load(tmp_path / "boxes.npz") as data:
        np.testing.assert_allclose(data["T_world_joint"], expected, atol=1e-12)
        assert ("translation" in data.files) == (clip.translation is not None)
    write(tmp_path / "boxes.json", character, clip)
    skeleton = read_skeleton_json(tmp_path / "boxes.json")
    assert skeleton.names == character.skeleton.names
    np.testing.assert_allclose(skeleton.heads, character.skeleton.heads * 100, atol=1e-6)
    motion = json.loads((tmp_path / "boxes.json").read_text())["motion"]
    np.testing.assert_allclose(motion["root_position"], clip.root_position * 100, atol=1e-6)
    if clip.translation is None:
        assert "translation" not in motion
    else:
        np.testing.assert_allclose(motion["translation"], clip.translation * 100, atol=1e-6)


def test_usd_poses_like_ours(tmp_path: Path, character: Character, clip: Clip) -> None:
    pxr_usd, skel, geom = (pytest.importorskip(f"pxr.{name}") for name in ("Usd", "UsdSkel", "UsdGeom"))
    write(tmp_path / "boxes.usda", character, clip)
    stage = pxr_usd.Stage.Open(str(tmp_path / "boxes.usda"))
    assert geom.GetStageMetersPerUnit(stage) == 0.01
    assert stage.GetTimeCodesPerSecond() == 24
    root = skel.Root(stage.GetDefaultPrim())
    cache = skel.Cache()
    cache.Populate(root, pxr_usd.PrimDefaultPredicate)
    # USD's own skinning is the judge: it deforms the mesh's points at every frame.
    (binding,) = cache.ComputeSkelBindings(root, pxr_usd.PrimDefaultPredicate)
    query = cache.GetSkelQuery(binding.GetSkeleton())
    target = cache.GetSkinningQuery(binding.GetSkinningTargets()[0].GetPrim())
    assert character.skeleton is not None
    pose = world_transforms(character.skeleton, clip)
    for frame in (0, 5, 12):
        points = geom.Mesh(target.GetPrim()).GetPointsAttr().Get()
        assert target.ComputeSkinnedPoints(query.ComputeSkinningTransforms(frame), points, frame)
        moved = character.mesh.vertices[:, None] - character.skeleton.heads
        ours = np.einsum("jab,vjb->vja", pose[frame, :, :3, :3], moved) + pose[frame, :, :3, 3]
        expected = np.concatenate((ours[:8, 0], ours[8:, 1])) * 100
        np.testing.assert_allclose(np.array(points), expected, atol=1e-4)


def test_mjcf_is_written_with_its_trajectory(tmp_path: Path, character: Character, clip: Clip) -> None:
    mujoco = pytest.importorskip("mujoco")
    told = contextlib.nullcontext() if clip.translation is None else pytest.warns(UserWarning, match="joints only turn")
    with told:
        write(tmp_path / "boxes.xml", character, clip)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "boxes.xml"))
    with np.load(tmp_path / "boxes_trajectory.npz") as trajectory:
        assert trajectory["qpos"].shape == (13, model.nq)
        assert trajectory["qvel"].shape == (13, model.nv)
        assert trajectory["ctrl"].shape == (13, model.nu)
        np.testing.assert_allclose(model.key("start").qpos, trajectory["qpos"][0], atol=1e-7)


def test_convert_goes_through_every_own_format(tmp_path: Path, character: Character, clip: Clip) -> None:
    write(
        tmp_path / "a.glb", character, [clip, Clip("stand", 24.0, clip.root_position[:3], clip.wxyz_parent_joint[:3])]
    )
    convert(tmp_path / "a.glb", tmp_path / "b.glb")
    assert [one.name for one in load(tmp_path / "b.glb").clips] == ["kinema", "stand"]
    convert(tmp_path / "a.glb", tmp_path / "c.glb", clip="stand", fps=60.0)
    (stand,) = load(tmp_path / "c.glb").clips
    assert stand.name == "stand"
    assert (len(stand.root_position), stand.fps) == (6, 60)
    convert(tmp_path / "a.glb", tmp_path / "d.bvh", in_place=True)
    _, walk = read_bvh(tmp_path / "d.bvh")
    assert len(walk.root_position) == 13
    np.testing.assert_allclose(walk.root_position[-1, [0, 2]], walk.root_position[0, [0, 2]], atol=1e-4)
    convert(tmp_path / "d.bvh", tmp_path / "e.glb")
    assert load(tmp_path / "e.glb").skeleton is not None
    with pytest.raises(KinemaError, match=r"a.glb: has no clip 'fly'; it has kinema, stand"):
        convert(tmp_path / "a.glb", tmp_path / "f.glb", clip="fly")
    assert not list(tmp_path.glob("*.part"))


def test_unknown_format_lists_the_known(tmp_path: Path, character: Character) -> None:
    with pytest.raises(KinemaError, match=r"boxes.dae: cannot write .dae; can: .glb .gltf .bvh"):
        write(tmp_path / "boxes.dae", character)
    with pytest.raises(KinemaError, match="there is no folder"):
        write(tmp_path / "nowhere" / "boxes.glb", character)
    with pytest.raises(KinemaError, match="has no skeleton"):
        write(tmp_path / "boxes.bvh", Character("boxes", character.mesh))
    assert set(FORMATS) >= {".glb", ".bvh", ".usdc", ".fbx", ".blend", ".npz", ".json", ".xml"}


def test_mesh_without_rig_is_written(tmp_path: Path, character: Character) -> None:
    bare = Character("boxes", character.mesh, frame=character.frame)
    write(tmp_path / "bare.glb", bare)
    write(tmp_path / "bare.usda", bare)
    assert load(tmp_path / "bare.glb").skeleton is None


def test_every_suffix_that_is_known_before_the_writers_are_imported_has_one() -> None:
    assert tuple(FORMATS) == SUFFIXES
