"""How a body stands before it moves."""

import pytest
import torch

from kinema.create.creatures import creature
from kinema.gait.hang import hanging_arms
from kinema.rig.anatomy import Anatomy


@pytest.mark.parametrize("species", ["human", "crow", "dragon"])
def test_limits_allow_the_pose_in_which_a_body_stands(species: str) -> None:
    """Limits held the wings of walking birds half open, and physics burst open those that were folded."""
    anatomy = Anatomy.of(creature(species))
    standing = hanging_arms(anatomy.rig, anatomy.limbs).double()
    assert standing.abs().max() > 0.5
    assert (standing <= torch.from_numpy(anatomy.limits.upper) + 1e-6).all()
    assert (standing >= torch.from_numpy(anatomy.limits.lower) - 1e-6).all()
