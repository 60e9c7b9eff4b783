"""Gaussians that bend with the skeleton (AKD Eq. 2), or stay on the triangles of a mesh whose vertices move."""

import functools
import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from kinema.geometry.surface import SurfacePoints
from kinema.rig.kinematics import Rig, Transforms
from kinema.skin import Skin, blend, from_rest, skin_covariances, skin_points
from kinema.splat.splats import Splats


@dataclass(frozen=True)
class PosedSplats:
    """Centres and covariances of Gaussians in every frame."""

    centers: Float[Tensor, "frames n 3"]
    covariances: Float[Tensor, "frames n 3 3"]

    def __len__(self) -> int:
        return self.centers.shape[0]

    def __getitem__(self, frames: slice) -> "PosedSplats":
        return PosedSplats(self.centers[frames], self.covariances[frames])


def pose_splats(splats: Splats, skin: Skin, rig: Rig, T_world_joint: Transforms) -> PosedSplats:
    """Centres φ(x) and covariances ∇φ Σ ∇φᵀ in every frame.

    With `Skin.rest_offsets`, centres move as the mesh's faces do. Differentiable in everything; where only the joints
    are differentiated, in float32 on the CPU, a native kernel does it (`pose_splats_torch` is its twin).
    """
    constant = (splats.centers, splats.scales_log, splats.wxyz, skin.weights)
    native = all(x.dtype == torch.float32 and x.device.type == "cpu" for x in (*constant, T_world_joint))
    if native_scene() is None or not native or any(x.requires_grad for x in constant):
        return pose_splats_torch(splats, skin, rig, T_world_joint)
    rest = torch.cat((splats.axes, splats.centers[..., None]), -1)
    offsets = None if skin.rest_offsets is None else torch.nn.functional.pad(skin.rest_offsets, (0, 1))
    T_pose_rest = from_rest(rig, T_world_joint).contiguous()
    return PosedSplats(*_Pose.apply(T_pose_rest, rest, skin.joints.int(), skin.weights.contiguous(), offsets))


def pose_splats_torch(splats: Splats, skin: Skin, rig: Rig, T_world_joint: Transforms) -> PosedSplats:
    """`pose_splats` in torch alone."""
    blended = blend(skin, rig, T_world_joint)
    centers = skin_points(blended, splats.centers)
    if skin.rest_offsets is not None:
        turned = T_world_joint[:, skin.joints, :, :3] @ skin.rest_offsets[..., None]
        centers = centers + (skin.weights[..., None] * turned.squeeze(-1)).sum(-2)
    return PosedSplats(centers, skin_covariances(blended, splats.covariances))


def rest_splats(splats: Splats, *, frames: int = 1) -> PosedSplats:
    """The rest pose in every frame."""
    return PosedSplats(splats.centers.expand(frames, -1, -1), splats.covariances.expand(frames, -1, -1, -1))


@functools.cache
def native_scene() -> Any:
    """The kernels of native/scene, or None where they were not built."""
    try:
        # By name: for an import statement the linter sees only the whole package, which is above this layer.
        return importlib.import_module("kinema._scene")
    except ImportError:
        return None


class _Pose(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, T_pose_rest: Tensor, rest: Tensor, joints: Tensor, weights: Tensor, offsets: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        shape = (len(T_pose_rest), len(rest), 3)
        centers, covariances = T_pose_rest.new_empty(shape), T_pose_rest.new_empty(*shape, 3)
        operands = (T_pose_rest.detach(), rest, joints, weights, offsets)
        native_scene().pose_forward(*operands, centers, covariances, torch.get_num_threads())
        ctx.save_for_backward(*operands)
        return centers, covariances

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None, None]:
        operands = ctx.saved_tensors
        grad = torch.empty_like(operands[0])
        native_scene().pose_backward(*operands, *(g.contiguous() for g in grads), grad, torch.get_num_threads())
        return grad, None, None, None, None


def pose_on_surface(
    splats: Splats, at: SurfacePoints, faces: Int[np.ndarray, "faces 3"], rest: Float[np.ndarray, "vertices 3"],
    vertices: Float[np.ndarray, "frames vertices 3"],
) -> PosedSplats:  # fmt: skip
    """Move each Gaussian with its triangle: Σ' = F Σ Fᵀ, F takes its edges and unit normal at rest to the moved ones.

    Args:
        at: The surface point of each Gaussian; it may lie a little off it and keeps that distance.
    """
    corners = torch.from_numpy(faces[at.face].astype(np.int64))
    share = torch.from_numpy(at.barycentric).to(splats.centers)
    frame, point = _frames(torch.from_numpy(rest).to(splats.centers)[None, corners], share)
    inverse, offset = torch.linalg.pinv(frame), splats.centers - point[0]
    centers, covariances = [], []
    for moved in torch.from_numpy(vertices).to(splats.centers):
        there, point = _frames(moved[None, corners], share)
        F = (there @ inverse)[0]
        centers.append(point[0] + (F @ offset[..., None])[..., 0])
        covariances.append(F @ splats.covariances @ F.mT)
    return PosedSplats(torch.stack(centers), torch.stack(covariances))


def _frames(
    triangles: Float[Tensor, "frames n 3 3"], share: Float[Tensor, "n 3"]
) -> tuple[Float[Tensor, "frames n 3 3"], Float[Tensor, "frames n 3"]]:
    """Edges and unit normal as columns, and the point with the given barycentric coordinates."""
    a, b, c = triangles.unbind(2)
    normal = torch.nn.functional.normalize(torch.linalg.cross(b - a, c - a), dim=-1)
    return torch.stack((b - a, c - a, normal), -1), (share[..., None] * triangles).sum(2)
