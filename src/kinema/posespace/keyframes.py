"""Feet of a clip between keyframes: planted, with the keys as they were given."""

import torch

from kinema.motion.motion import Motion
from kinema.motion.plant import plant
from kinema.rig.anatomy import Anatomy


def planted(anatomy: Anatomy, motion: Motion, keys: list[int]) -> Motion:
    """The motion with its stance feet planted. What that changes at the keys is taken back there, and in between by
    interpolation, so that the keys stay exact."""
    if not anatomy.limbs.legs or not anatomy.limbs.ground or len(motion) < 3:
        return motion
    firm = plant(anatomy.rig, anatomy.cuboids, anatomy.limbs, motion)
    root, angles = motion.root_position.double(), motion.angles.double()
    frames = torch.arange(len(motion), dtype=torch.float64)
    index = torch.tensor(keys)
    place = torch.searchsorted(index, torch.arange(len(motion)), right=True).clamp(1, len(keys) - 1)
    low, high = index[place - 1], index[place]
    share = ((frames - low) / (high - low)).clamp(0, 1)

    def kept(new: torch.Tensor, old: torch.Tensor) -> torch.Tensor:
        lost = old - new
        s = share.view(-1, *(1,) * (new.ndim - 1))
        return new + (1 - s) * lost[low] + s * lost[high]

    return Motion(
        kept(firm.root_position, root).to(motion.angles), kept(firm.angles, angles).to(motion.angles), motion.fps
    )
