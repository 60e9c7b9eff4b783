import contextlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from kinema.asset.character import Skeleton
from kinema.errors import KinemaError
from kinema.motion.motion import Motion, load_motion, save_motion, smoothness
from kinema.rig.kinematics import Rig


def rig(joints: int = 4, *, dtype: torch.dtype = torch.float64) -> Rig:
    heads = np.cumsum(np.full((joints, 3), 0.1), axis=0)
    names = tuple(f"joint{j}" for j in range(joints))
    return Rig.from_skeleton(Skeleton(names, tuple(range(-1, joints - 1)), heads, heads + 0.1), dtype=dtype)


def waving(frames: int = 25, joints: int = 4, *, fps: float = 24.0, dtype: torch.dtype = torch.float64) -> Motion:
    t = torch.arange(frames, dtype=dtype)[:, None, None] / fps
    phase = torch.arange(joints, dtype=dtype)[None, :, None] + torch.arange(3, dtype=dtype)
    return Motion(torch.cat((t, 0 * t, 2 * t), -1)[:, 0], 0.5 * torch.sin(3 * t + phase), fps)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_saving_and_loading_returns_the_motion(tmp_path: Path, dtype: torch.dtype) -> None:
    motion = waving(dtype=dtype)
    save_motion(tmp_path / "wave.npz", motion, rig(dtype=dtype))
    assert [p.name for p in tmp_path.iterdir()] == ["wave.npz"]  # the partial file was renamed
    back = load_motion(tmp_path / "wave.npz", rig(dtype=dtype))
    torch.testing.assert_close(back.angles, motion.angles, atol=0, rtol=0)
    torch.testing.assert_close(back.root_position, motion.root_position, atol=0, rtol=0)
    assert back.fps == motion.fps


def taken_apart(frames: int = 25) -> Motion:
    translation = torch.linspace(0, 1, frames, dtype=torch.float64)[:, None, None] * torch.tensor([0.0, 0.2, 0.0])
    return replace(waving(frames), translation=translation.double().expand(frames, 4, 3).clone())


def test_translations_are_saved_only_where_there_are_any(tmp_path: Path) -> None:
    save_motion(tmp_path / "wave.npz", waving(), rig())
    with np.load(tmp_path / "wave.npz") as file:
        assert "translation" not in file.files
    assert load_motion(tmp_path / "wave.npz", rig()).translation is None
    motion = taken_apart()
    assert motion.translation is not None
    save_motion(tmp_path / "apart.npz", motion, rig())
    back = load_motion(tmp_path / "apart.npz", rig())
    assert back.translation is not None
    torch.testing.assert_close(back.translation, motion.translation, atol=0, rtol=0)
    torch.testing.assert_close(back.pose(rig()), motion.pose(rig()))
    parts = {
        "root_position": np.zeros((5, 3)),
        "angles": np.zeros((5, 4, 3)),
        "fps": 24.0,
        "names": np.array(rig().names),
    }
    np.savez(tmp_path / "odd.npz", translation=np.zeros((3, 4, 3)), **parts)
    with pytest.raises(KinemaError, match=r"odd\.npz: not .* \(translation has the shape \(3, 4, 3\), not \(5, 4, 3\)"):
        load_motion(tmp_path / "odd.npz", rig())
    save_motion(tmp_path / "nan.npz", replace(motion, translation=motion.translation * torch.nan), rig())
    with pytest.raises(KinemaError, match=r"nan\.npz: not .* \(translation holds values that are not finite"):
        load_motion(tmp_path / "nan.npz", rig())


def test_translations_are_cut_resampled_and_turned_into_clips() -> None:
    motion = taken_apart()
    assert motion.translation is not None
    part = motion[4:9]
    assert part.translation is not None
    torch.testing.assert_close(part.translation, motion.translation[4:9])
    fine = motion.resample(72.0)
    assert fine.translation is not None
    torch.testing.assert_close(fine.translation[:, 2, 1], torch.linspace(0, 0.2, 73, dtype=torch.float64))
    back = Motion.from_clip(rig(), motion.to_clip(rig()))
    torch.testing.assert_close(back.pose(rig()), motion.pose(rig()), atol=1e-6, rtol=0)


def test_a_motion_of_other_joints_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wave.npz"
    save_motion(path, waving(), rig())
    with pytest.raises(KinemaError, match=r"wave\.npz: its 4 joints are not those of the rig \(5\)"):
        load_motion(path, rig(5))
    with pytest.raises(KinemaError, match=r"wave\.npz: its 4 joints"):
        load_motion(path, replace(rig(), names=("a", "b", "c", "d")))


def test_values_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    motion = waving()
    motion.angles[3, 1, 2] = torch.nan
    save_motion(tmp_path / "broken.npz", motion, rig())
    with pytest.raises(KinemaError, match=r"broken\.npz: not .* \(angles holds values that are not finite"):
        load_motion(tmp_path / "broken.npz", rig())


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 cut off"])
def test_other_files_are_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.npz"
    path.write_bytes(content)
    with pytest.raises(KinemaError, match=r"other\.npz: not a Kinema motion") as error:
        load_motion(path, rig())
    assert "\n" not in str(error.value)
    with pytest.raises(KinemaError, match=r"missing\.npz: cannot be read"):
        load_motion(tmp_path / "missing.npz", rig())


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wave.npz"
    save_motion(path, waving(), rig())
    whole = path.read_bytes()
    for at in range(40, len(whole), 97):
        damaged = bytearray(whole)
        damaged[at] ^= 0xFF
        path.write_bytes(bytes(damaged))
        with contextlib.suppress(KinemaError):  # a flipped bit in an unused field does no harm
            load_motion(path, rig())


def test_shapes_and_rates_are_checked(tmp_path: Path) -> None:
    names = np.array(rig().names)
    path = tmp_path / "odd.npz"
    np.savez(path, root_position=np.zeros((5, 3)), angles=np.zeros((5, 3)), fps=24.0, names=names)
    with pytest.raises(KinemaError, match=r"odd\.npz: not .* \(angles has the shape \(5, 3\), not \(frames, 4, 3\)"):
        load_motion(path, rig())
    np.savez(path, root_position=np.zeros((5, 3)), angles=np.zeros((5, 4, 3)), fps=0.0, names=names)
    with pytest.raises(KinemaError, match=r"odd\.npz: 5 frames at 0 frames per second"):
        load_motion(path, rig())
    np.save(tmp_path / "array.npz.npy", np.zeros(3))
    with pytest.raises(KinemaError, match="not a Kinema motion"):
        load_motion(tmp_path / "array.npz.npy", rig())


def test_an_archive_without_angles_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "half.npz", fps=24.0)
    with pytest.raises(KinemaError, match=r"half\.npz: not a Kinema motion"):
        load_motion(tmp_path / "half.npz", rig())


@pytest.mark.parametrize("fps", [12.0, 30.0, 60.0])
def test_resampling_keeps_the_ends_and_the_duration(fps: float) -> None:
    motion = waving()
    again = motion.resample(fps)
    assert again.fps == fps
    assert len(again) == round((len(motion) - 1) * fps / motion.fps) + 1
    torch.testing.assert_close(again.angles[0], motion.angles[0])
    torch.testing.assert_close(again.angles[-1], motion.angles[-1])
    # The root runs at constant velocity, so linear interpolation is exact: x(k) = k / fps.
    expected = torch.linspace(0, (len(motion) - 1) / motion.fps, len(again), dtype=torch.float64)
    torch.testing.assert_close(again.root_position[:, 0], expected)


def test_resampling_to_the_same_rate_changes_nothing_and_one_frame_stays_one() -> None:
    motion = waving()
    torch.testing.assert_close(motion.resample(24.0).angles, motion.angles)
    one = motion[:1].resample(60.0)
    torch.testing.assert_close(one.angles, motion.angles[:1])


def test_smoothness_is_zero_for_constant_velocity_and_the_acceleration_otherwise() -> None:
    steady = Motion(torch.arange(9.0)[:, None].expand(9, 3), torch.arange(9.0)[:, None, None].expand(9, 4, 3), 24.0)
    assert float(smoothness(steady)) == pytest.approx(0, abs=1e-6)
    # x = k² has the second difference 2 everywhere.
    square = Motion(steady.root_position**2, steady.angles**2, 24.0)
    assert float(smoothness(square)) == pytest.approx(2)


def test_rest_is_the_skeleton() -> None:
    still = Motion.rest(rig(), frames=3, fps=8.0)
    pose = still.pose(rig())
    torch.testing.assert_close(pose[..., 3], rig().heads.expand(3, 4, 3))
    torch.testing.assert_close(pose[..., :3], torch.eye(3, dtype=torch.float64).expand(3, 4, 3, 3))


def test_a_clip_has_quaternions_of_one_hemisphere() -> None:
    turn = torch.linspace(0, 12, 200, dtype=torch.float64)[:, None, None].expand(200, 4, 3)
    clip = Motion(torch.zeros(200, 3, dtype=torch.float64), turn.contiguous(), 24.0).to_clip(rig(), name="turn")
    assert clip.name == "turn"
    assert ((clip.wxyz_parent_joint[1:] * clip.wxyz_parent_joint[:-1]).sum(-1) > 0).all()
    back = Motion.from_clip(rig(), clip)
    torch.testing.assert_close(back.angles, turn, atol=1e-6, rtol=0)
