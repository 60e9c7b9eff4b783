import numpy as np
import torch
from kinema.physics.stops import rig_stops

from kinema.create.creatures import creature
from kinema.motion.motion import Motion
from kinema.rig.hinges import hinges
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs


def test_stops_hold_the_motion_and_keep_knees_one_way() -> None:
    fox = creature("fox")
    assert fox.skeleton is not None
    rig = Rig.from_skeleton(fox.skeleton, dtype=torch.float64)
    limbs = find_limbs(fox)
    rest = Motion.rest(rig, frames=2, fps=24.0)
    known = hinges(fox, limbs)
    stops = rig_stops(fox, limbs, rest)
    knee = known.hinges[0]
    assert stops.shape == (len(rig.parents), 3, 2)
    np.testing.assert_allclose(stops[knee, :, 0].numpy(), np.minimum(known.lower[knee], -0.05))
    angles = rest.angles.clone()
    angles[1, knee] = 3.0
    assert bool((rig_stops(fox, limbs, Motion(rest.root_position, angles, 24.0))[knee, :, 1] > 3.0).all())
