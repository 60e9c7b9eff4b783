"""Gaussians that bend with the skeleton (AKD Eq. 2)."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from kinema.rig.kinematics import Rig
from kinema.skin import Skin, blend, skin_covariances, skin_points
from kinema.splat.splats import Splats


@dataclass(frozen=True)
class PosedSplats:
    """What changes from frame to frame."""

    centers: Float[Tensor, "frames n 3"]
    covariances: Float[Tensor, "frames n 3 3"]

    def __len__(self) -> int:
        return self.centers.shape[0]


def pose_splats(splats: Splats, skin: Skin, rig: Rig, T_world_joint: Float[Tensor, "frames joints 3 4"]) -> PosedSplats:
    """Centres φ(x) and covariances ∇φ Σ ∇φᵀ in every frame."""
    blended = blend(skin, rig, T_world_joint)
    return PosedSplats(skin_points(blended, splats.centers), skin_covariances(blended, splats.covariances))


def rest_splats(splats: Splats, *, frames: int = 1) -> PosedSplats:
    """The rest pose, held."""
    return PosedSplats(splats.centers.expand(frames, -1, -1), splats.covariances.expand(frames, -1, -1, -1))
