import numpy as np
import torch

from kinema.create.creatures import creature
from kinema.gait.make import make_motion
from kinema.motion.lie import lie_down
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs


def test_a_snake_whose_bones_point_up_and_down_lies_flat_and_keeps_its_bends():
    character = creature("snake", detail="low")
    assert character.skeleton is not None
    rig, limbs = Rig.from_skeleton(character.skeleton, dtype=torch.float64), find_limbs(character)
    made, _ = make_motion(rig, limbs, "slither", frames=25, fps=24.0, period=1.0)
    same = lie_down(rig, limbs, made)
    torch.testing.assert_close(same.pose(rig), made.pose(rig), atol=1e-6, rtol=0)
    # Nod every other bone up and the others down, and lift the whole.
    nods = made.angles.clone()
    nods[:, limbs.line(rig.parents)[1::2], 0] += 0.3
    nods[:, limbs.line(rig.parents)[2::2], 0] -= 0.3
    raised = Motion(made.root_position + torch.tensor([0.0, 0.2, 0.0]), nods, made.fps)
    flat = lie_down(rig, limbs, raised)
    line, joints = limbs.line(rig.parents), flat.pose(rig)[..., 3].numpy()
    np.testing.assert_allclose(joints[:, line, 1], np.tile(rig.heads[line, 1].numpy(), (25, 1)), atol=1e-9)
    assert np.ptp(raised.pose(rig)[:, line, 1, 3].numpy(), axis=1).max() > 0.05
    moved = np.linalg.norm(joints[..., [0, 2]] - made.pose(rig)[..., [0, 2], 3].numpy(), axis=-1)
    assert moved.max() < 0.15 * np.ptp(rig.heads[:, 2].numpy())
