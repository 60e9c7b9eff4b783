"""The exported body in MuJoCo: its keyframe is the first frame, and its servos and root force follow the motion."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from kinema.create.creatures import creature
from kinema.export.write import write
from kinema.gait.make import make_motion
from kinema.geometry.rotations import depth_first
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs

mujoco = pytest.importorskip("mujoco")


@pytest.fixture(scope="module", params=[("a red fox", "trot"), ("a human", "walk")], ids=lambda row: row[0])
def exported(request, tmp_path_factory: pytest.TempPathFactory) -> tuple[Rig, Motion, Path]:
    words, gait = request.param
    character = creature(words)
    assert character.skeleton is not None
    rig = Rig.from_skeleton(character.skeleton)
    motion, _ = make_motion(rig, find_limbs(character), gait, frames=48, fps=24.0)
    path = tmp_path_factory.mktemp("mjcf") / "walk.xml"
    write(path, character, motion)
    return rig, motion, path


def test_keyframe_is_the_first_frame(exported: tuple[Rig, Motion, Path]) -> None:
    """Heads and orientations of all bodies are those of the motion, with Y up turned to Z up; so are the speeds."""
    rig, motion, path = exported
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("start").id)
    mujoco.mj_forward(model, data)
    order, turn = depth_first(rig.parents), np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
    pose = motion.pose(rig)[0].numpy()[order]
    bodies = slice(1, 1 + len(order))
    np.testing.assert_allclose(data.xpos[bodies], pose[..., 3] @ turn.T, atol=1e-5)
    np.testing.assert_allclose(data.xmat[bodies].reshape(-1, 3, 3), turn @ pose[..., :3], atol=1e-5)
    # The root force has little to do: its target leads the root by what its damping takes, and no more.
    apart = np.linalg.norm(data.mocap_pos[0] - data.xpos[1])
    assert apart < 0.03 * float(torch.linalg.norm(motion.root_position[1] - motion.root_position[0])) * motion.fps
    with np.load(path.with_name("walk_trajectory.npz")) as moves:
        for k in (10, 20):
            speed = np.zeros(model.nv)
            mujoco.mj_differentiatePos(model, speed, 2 / motion.fps, moves["qpos"][k - 1], moves["qpos"][k + 1])
            # Central differences of a smooth motion against the derivative of its spline
            assert np.abs(speed - moves["qvel"][k]).max() < 0.25 * np.abs(moves["qvel"]).max()


def test_replay_follows_the_motion(exported: tuple[Rig, Motion, Path]) -> None:
    """With the root force the root stays within 2 cm and every hinge within 12 degrees; without it the body, whose
    servos know nothing of balance, is elsewhere."""
    from kinema.export.mjcf_play import replay

    _, _, path = exported
    model = mujoco.MjModel.from_xml_path(str(path))
    with np.load(path.with_name("walk_trajectory.npz")) as file:
        moves = dict(file)
    apart, turned = replay(model, moves)
    assert apart < 0.02
    assert np.degrees(turned) < 12
    assert replay(model, moves, root_force=False)[0] > 0.5


def test_script_plays_where_kinema_is_not(exported: tuple[Rig, Motion, Path], tmp_path: Path) -> None:
    _, _, path = exported
    for name in ("walk.xml", "walk_trajectory.npz", "walk_play.py"):
        shutil.copy(path.with_name(name), tmp_path / name)
    blocked = "import sys; sys.modules['kinema'] = sys.modules['torch'] = None; sys.argv = ['play', '--headless']"
    run = f"{blocked}; import runpy; runpy.run_path('walk_play.py', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", run], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("root within")
