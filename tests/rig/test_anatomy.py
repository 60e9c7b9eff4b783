from dataclasses import replace

import pytest
import torch
from gait_bodies import quadruped

from kinema.errors import KinemaError
from kinema.rig.anatomy import Anatomy


def test_all_parts_speak_of_the_same_joints() -> None:
    character = quadruped()
    anatomy = Anatomy.of(character, dtype=torch.float64)
    assert character.skeleton is not None
    count = len(character.skeleton.names)
    assert anatomy.rig.heads.dtype == torch.float64
    assert len(anatomy.rig.parents) == len(anatomy.cuboids.centers) == len(anatomy.limits.lower) == count
    # Every knee that has limits of a hinge is a joint of a leg or an arm that was found.
    limb_joints = {j for limb in (*anatomy.limbs.legs, *anatomy.limbs.arms) for j in limb.joints}
    assert set(anatomy.limits.hinges) <= limb_joints
    # Soles lie on the ground, and so does the lowest corner of the boxes of the joints that carry them.
    for leg in anatomy.limbs.legs:
        corners = anatomy.cuboids.corners[leg.joints[-1]] + anatomy.rig.heads[leg.joints[-1]].numpy()
        assert abs(float(corners[:, 1].min())) < 0.02 * anatomy.limbs.height


def test_a_character_without_weights_is_refused() -> None:
    with pytest.raises(KinemaError, match="rig it first"):
        Anatomy.of(replace(quadruped(), weights=None))
