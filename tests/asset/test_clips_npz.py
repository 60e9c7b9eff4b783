import numpy as np
import pytest
import torch
from mutated_files import KINDS

from kinema.asset.clips_npz import load_clips_npz
from kinema.errors import KinemaError
from kinema.geometry.transforms import quaternion_to_matrix
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.skin import Skin, blend, skin_points


@pytest.mark.parametrize(("name", "clip"), [("fox", "Walk"), ("khronos_fox", "Run"), ("deer", "Gallop")])
def test_skinning_agrees_with_the_files_own_matrices(shared_data, name, clip):
    path = shared_data / "clips" / f"{name}.npz"
    character = load_clips_npz(path)
    rig = Rig.from_skeleton(character.skeleton, dtype=torch.float64)
    motion = Motion.from_clip(rig, next(c for c in character.clips if c.name == clip))
    frame = len(motion) // 2
    points = torch.from_numpy(character.mesh.vertices)
    skin = Skin.from_character(character, dtype=torch.float64)
    ours = skin_points(blend(skin, rig, motion.pose(rig)[frame]), points).numpy()

    data = np.load(path)
    local = quaternion_to_matrix(torch.from_numpy(data[f"clip/{clip}/local_quat_wxyz"][frame]).double()).numpy()
    world = np.tile(np.eye(4), (len(local), 1, 1))
    for j, p in enumerate(data["parents"]):
        here = np.eye(4)
        here[:3, :3] = local[j]
        here[:3, 3] = data["offsets"][j] if p >= 0 else data[f"clip/{clip}/root_pos"][frame]
        world[j] = world[p] @ here if p >= 0 else here
    # v = Σ w_j T_j S_j B_j⁻¹ v_bind
    scaled = world.copy()
    scaled[:, :3, :3] *= data["joint_scale"][:, None, None]
    bind = np.concatenate((data["vertices"], np.ones((len(data["vertices"]), 1))), 1)
    theirs = np.einsum("vj,jab,vb->va", data["weights"], scaled @ data["inverse_bind"], bind, optimize=True)[:, :3]
    size = np.ptp(theirs[:, 1])
    height = np.ptp(ours[:, 1])
    np.testing.assert_allclose(ours, theirs * (height / size), atol=0.01 * height)


def test_other_and_damaged_files_are_refused(tmp_path):
    path = tmp_path / "other.npz"
    np.savez_compressed(path, values=np.zeros(3), names=np.array(["root"]))
    with pytest.raises(KinemaError, match=r"other\.npz: not a rig in \.npz form \(has no parents\)"):
        load_clips_npz(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for keep in (0, 1, 40, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:keep])
        with pytest.raises(KinemaError, match=r"other\.npz"):
            load_clips_npz(path)
    for _ in range(20):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 255
        path.write_bytes(damaged)
        with pytest.raises(KinemaError, match=r"other\.npz"):
            load_clips_npz(path)


def test_a_mesh_without_height_is_refused(tmp_path):
    path = tmp_path / "flat.npz"
    path.write_bytes(KINDS["clips npz"].files()["clips.npz"])
    with np.load(path) as file:
        arrays = dict(file)
    lying = {"vertices": arrays["vertices"] * [1.0, 0.0, 0.0]}
    np.savez(path, **arrays | lying)
    with pytest.raises(KinemaError, match=r"flat\.npz: its transforms overflow or cannot be inverted"):
        load_clips_npz(path)
