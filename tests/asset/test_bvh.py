from pathlib import Path

import numpy as np
import pytest
import torch

from kinema.asset.bvh import read_bvh, write_bvh
from kinema.asset.character import Clip, Skeleton
from kinema.errors import KinemaError
from kinema.geometry.transforms import quaternion_to_matrix
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig, place_joints

SMALL = """HIERARCHY
ROOT Hips
{
	OFFSET 1 2 3
	CHANNELS 6 Yposition Xposition Zposition Yrotation Xrotation Zrotation
	JOINT upper arm {
		OFFSET 0 4 0
		CHANNELS 2 Xrotation Zrotation
		End Site
		{
			OFFSET 0 5 0
		}
	}
}
MOTION
Frames: 2
Frame Time: .0083333
20 10 30 0 0 0 0 0
20 10 30 90 0 90 -90 0
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "small.bvh"
    path.write_text(text)
    return path


def positions(skeleton: Skeleton, clip: Clip) -> np.ndarray:
    rig = Rig.from_skeleton(skeleton, dtype=torch.float64)
    rotations = quaternion_to_matrix(torch.from_numpy(clip.wxyz_parent_joint))
    return place_joints(rig, torch.from_numpy(clip.root_position), rotations)[..., 3].numpy()


def test_channels_apply_in_file_order(tmp_path: Path) -> None:
    skeleton, clip = read_bvh(write(tmp_path, SMALL), scale=0.1)
    assert skeleton.names == ("Hips", "upper arm")
    assert skeleton.parents == (-1, 0)
    assert clip.fps == 120
    np.testing.assert_allclose(skeleton.heads, [[0.1, 0.2, 0.3], [0.1, 0.6, 0.3]])
    np.testing.assert_allclose(skeleton.tails[1], [0.1, 1.1, 0.3])
    np.testing.assert_allclose(clip.root_position, [[1.0, 2.0, 3.0]] * 2)
    np.testing.assert_allclose(clip.wxyz_parent_joint[0], [[1, 0, 0, 0]] * 2)
    # Ry(90) Rz(90) takes the arm (0, .4, 0) to -x, then -x to +z.
    np.testing.assert_allclose(positions(skeleton, clip)[1, 1], [1.0, 2.0, 3.4], atol=1e-12)


def test_constant_position_channels_are_the_bone_and_others_a_translation(tmp_path: Path) -> None:
    text = SMALL.replace("CHANNELS 2 Xrotation", "CHANNELS 3 Zposition Xrotation")
    text = text.replace("20 10 30 0 0 0 0 0", "20 10 30 0 0 0 7 0 0").replace(" 90 -90 0", " 90 @ -90 0")
    skeleton, _ = read_bvh(write(tmp_path, text.replace("@", "7")))
    np.testing.assert_allclose(skeleton.heads[1] - skeleton.heads[0], [0, 4, 7])
    assert read_bvh(write(tmp_path, text.replace("@", "7")))[1].translation is None
    skeleton, clip = read_bvh(write(tmp_path, text.replace("@", "9")), scale=0.1)
    np.testing.assert_allclose(skeleton.heads[1] - skeleton.heads[0], [0, 0.4, 0])
    assert clip.translation is not None
    np.testing.assert_allclose(clip.translation[:, 1], [[0, 0, 0.7], [0, 0, 0.9]])
    # Beside an OFFSET of zero the mean is the bone.
    skeleton, clip = read_bvh(write(tmp_path, text.replace("@", "9").replace("OFFSET 0 4 0", "OFFSET 0 0 0")))
    np.testing.assert_allclose(skeleton.heads[1] - skeleton.heads[0], [0, 0, 8])
    assert clip.translation is not None
    np.testing.assert_allclose(clip.translation[:, 1], [[0, 0, -1], [0, 0, 1]])


def test_round_trip_of_any_rotation(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    parents = (-1, 0, 1, 1, 0, 4)
    heads = rng.normal(size=(6, 3))
    skeleton = Skeleton(tuple(f"joint {i}" for i in range(6)), parents, heads, heads + rng.normal(size=(6, 3)))
    wxyz = rng.normal(size=(40, 6, 4))
    wxyz /= np.linalg.norm(wxyz, axis=-1, keepdims=True)
    wxyz[3, 2] = [np.sqrt(0.5), np.sqrt(0.5), 0, 0]
    wxyz[4, 2] = [0.5, -0.5, 0.5, 0.5]
    clip = Clip("any", 30.0, rng.normal(size=(40, 3)), wxyz)
    path = tmp_path / "any.bvh"
    write_bvh(path, skeleton, clip, scale=100.0)
    again, back = read_bvh(path, scale=0.01)
    assert again.names == tuple(f"joint_{i}" for i in (0, 1, 2, 3, 4, 5))
    assert back.fps == 30
    np.testing.assert_allclose(again.heads, heads, atol=1e-8)
    np.testing.assert_allclose(again.tails[[2, 3, 5]], skeleton.tails[[2, 3, 5]], atol=1e-8)
    np.testing.assert_allclose(np.abs((back.wxyz_parent_joint * wxyz).sum(-1)), 1, atol=1e-12)
    np.testing.assert_allclose(positions(again, back), positions(skeleton, clip), atol=1e-7)
    assert not list(tmp_path.glob("*.part"))


def test_angles_written_are_continuous(tmp_path: Path) -> None:
    # A joint that goes round four times: no jump of 360 degrees between the rows.
    turn = np.linspace(0, 8 * np.pi, 200)
    wxyz = np.zeros((200, 1, 4))
    wxyz[:, 0, 0], wxyz[:, 0, 3] = np.cos(turn / 2), np.sin(turn / 2)
    skeleton = Skeleton(("root",), (-1,), np.zeros((1, 3)), np.ones((1, 3)))
    write_bvh(tmp_path / "turn.bvh", skeleton, Clip("turn", 24.0, np.zeros((200, 3)), wxyz))
    rows = (tmp_path / "turn.bvh").read_text().split("Frame Time")[1].splitlines()[1:]
    z = np.array([float(row.split()[3]) for row in rows])
    np.testing.assert_allclose(z, np.rad2deg(turn), atol=1e-5)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("HIERARCHY", "{", "line 1: not a BVH file"),
        ("OFFSET 0 4 0", "OFFSET 0 4", "line 7: OFFSET needs three numbers, not '0 4'"),
        ("OFFSET 0 4 0", "OFFSET 0 nan 0", "line 7: OFFSET 0 nan 0 is not a length"),
        ("CHANNELS 2 Xrotation", "CHANNELS 3 Xrotation", "line 8: CHANNELS 3 Xrotation Zrotation is not"),
        ("CHANNELS 2 Xrotation", "CHANNELS 2 Wrotation", "line 8: CHANNELS 2 Wrotation"),
        ("CHANNELS 6 Yposition", "CHANNELS 6 Xposition", "line 5: .* names a channel twice"),
        ("Frames: 2", "Frames: 3", "line 19: 16 values where 3 frames of 8 channels need 24"),
        ("Frames: 2", "Frames: 999999999999", "would take .* MB of memory"),
        ("Frames: 2", "Frames: nan", "'Frames: nan' is not a count"),
        ("Frames: 2", "Frames: inf", "'Frames: inf' is not a count"),
        (".0083333", "0", "'Frame Time: 0' is not a time"),
        ("90 0 90 -90 0", "90 0 nan -90 0", "line 19: 'nan' is not a channel value"),
        ("90 0 90 -90 0", "90 0 9x0 -90 0", "line 19: '9x0' is not a channel value"),
        ("90 0 90 -90 0", "90 0 1e300 -90 0", "line 19: '1e300' is not a channel value"),
        ("MOTION", "}", "line 15: '}' is out of place"),
        ("MOTION", "ROOT b", "line 15: ROOT out of place"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(KinemaError, match=message) as raised:
        read_bvh(write(tmp_path, SMALL.replace(old, new, 1)))
    assert "\n" not in str(raised.value)


def test_every_truncation_and_many_mutations_read_or_tell(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    data = SMALL.encode()
    variants = [data[:size] for size in range(len(data))]
    for _ in range(400):
        damaged = bytearray(data)
        for place in rng.integers(len(data), size=rng.integers(1, 6)):
            damaged[place] = rng.integers(256)
        variants.append(bytes(damaged))
    path = tmp_path / "damaged.bvh"
    told = []
    for variant in variants:
        path.write_bytes(variant)
        try:
            skeleton, clip = read_bvh(path)
        except KinemaError as error:
            told.append(str(error))
            continue
        assert np.isfinite(skeleton.heads).all()
        assert np.isfinite(clip.wxyz_parent_joint).all()
    assert len(told) > 400
    assert not any("\n" in line for line in told)


def test_cmu_is_read_and_survives_our_parameters(shared_data: Path, tmp_path: Path) -> None:
    files = sorted((shared_data / "motion" / "cmu").glob("*.bvh"))
    assert files
    for file in files[::6]:
        skeleton, clip = read_bvh(file)
        assert len(skeleton.names) == 31
        assert clip.fps == 120
        clip = Clip(clip.name, clip.fps, clip.root_position[:300], clip.wxyz_parent_joint[:300])
        size = float(np.ptp(skeleton.heads, axis=0).max())
        write_bvh(tmp_path / "again.bvh", skeleton, clip)
        np.testing.assert_allclose(
            positions(*read_bvh(tmp_path / "again.bvh")), positions(skeleton, clip), atol=1e-6 * size
        )
        rig = Rig.from_skeleton(skeleton, dtype=torch.float64)
        pose = Motion.from_clip(rig, clip).pose(rig)[..., 3].numpy()
        np.testing.assert_allclose(pose, positions(skeleton, clip), atol=1e-9 * size)
