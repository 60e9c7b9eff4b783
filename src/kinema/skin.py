"""Linear blend skinning of points and of Gaussians."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.rig.kinematics import Rig, Transforms

Dense = Float[np.ndarray, "points joints"]
Blended = Float[Tensor, "*b points 3 4"]
"""An affine map per point, from rest to pose."""


@dataclass(frozen=True)
class Skin:
    """Skin weights of points, as indices and weights of the few joints that carry each."""

    joints: Int[Tensor, "points influences"]
    weights: Float[Tensor, "points influences"]
    """Rows sum to one; unused places have weight 0."""
    rest_offsets: Float[Tensor, "points influences 3"] | None = None
    """Rest position that each joint moves, relative to the point itself [m]; their weighted sum is zero. With them a
    point inside a face moves exactly as the face's skinned corners do (`splat.transfer`); None: all zero."""

    @staticmethod
    def from_dense(weights: Dense, *, dtype: torch.dtype = torch.float32, most: int | None = None) -> "Skin":
        """Keep the non-zero influences of each row (at most `most`, the largest), normalised again."""
        dense = torch.from_numpy(np.ascontiguousarray(weights)).to(dtype)
        count = max(1, int((dense > 0).sum(-1).max())) if len(dense) else 1
        values, joints = dense.topk(min(count, most or count), dim=-1)
        return Skin(joints, values / values.sum(-1, keepdim=True))

    @staticmethod
    def from_character(character: Character, *, dtype: torch.dtype = torch.float32) -> "Skin":
        if character.weights is None:
            raise KinemaError(f"{character.name}: has no skin weights; rig it first")
        return Skin.from_dense(character.weights, dtype=dtype)


def blend(skin: Skin, rig: Rig, T_world_joint: Transforms) -> Blended:
    """The affine map ∇φ, φ of each point from rest to pose: sum of w_i T_i over its joints."""
    picked = from_rest(rig, T_world_joint).flatten(-2)[..., skin.joints, :]
    return (skin.weights[..., None] * picked).sum(-2).unflatten(-1, (3, 4))


def from_rest(rig: Rig, T_world_joint: Transforms) -> Transforms:
    """The motion of each joint from the rest pose, as a map of world coordinates."""
    moved = T_world_joint[..., 3] - (T_world_joint[..., :3] @ rig.heads[..., None]).squeeze(-1)
    return torch.cat((T_world_joint[..., :3], moved[..., None]), -1)


def skin_points(blended: Blended, points: Float[Tensor, "points 3"]) -> Float[Tensor, "*b points 3"]:
    """Posed points [m]."""
    return (blended[..., :3] @ points[..., None]).squeeze(-1) + blended[..., 3]


def skin_covariances(blended: Blended, covariances: Float[Tensor, "points 3 3"]) -> Float[Tensor, "*b points 3 3"]:
    """Σ' = ∇φ Σ ∇φᵀ (AKD Eq. 2)."""
    return blended[..., :3] @ covariances @ blended[..., :3].mT
