"""The baseline that has no skeleton: a small network moves every point of space in time (as in TC4D).

Same prior, same losses where they make sense, same cameras. What it lacks is what the comparison is about: nothing
keeps a bone as long as it is, and what it makes is a cache of vertices that no engine can retarget. (The clip that
`animate --parameters field` exports beside that cache is read out of it, joint by joint.)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from kinema.asset.character import Character
from kinema.distill.loop import Distiller
from kinema.distill.take import Take, window
from kinema.evaluate.metrics import Metrics, measure_pose, shape_change
from kinema.motion.motion import Motion
from kinema.render.scene import render_video
from kinema.render.stage import Stage
from kinema.rig.kinematics import Rig, angles_from_rotations
from kinema.rig.limbs import Limbs
from kinema.splat.pose import PosedSplats

OCTAVES = 3
HARMONICS = 4
REACH = 0.3
"""Displacement that one unit of the network's output means [leg lengths]."""


class Field(nn.Module):
    """Displacement of a point at rest, at a time."""

    def __init__(self, stage: Stage, *, period: float, frames: int, leg_length: float, velocity: Tensor) -> None:
        super().__init__()
        self.period, self.frames, self.reach = period, frames, REACH * leg_length
        self.low, self.size = torch.from_numpy(stage.box[0]).float(), stage.size
        self.velocity = velocity
        inputs = 3 + 6 * OCTAVES + 2 * HARMONICS
        last = nn.Linear(64, 3)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.layers = nn.Sequential(nn.Linear(inputs, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), last)

    def forward(self, points: Float[Tensor, "n 3"], at: Float[Tensor, "frames"]) -> Float[Tensor, "frames n 3"]:
        """Where the points are in the world [m]."""
        x = (points - self.low) / self.size
        waves = [f(torch.pi * 2.0**k * x) for k in range(OCTAVES) for f in (torch.sin, torch.cos)]
        # What does not repeat is spelled in half waves over the clip.
        cycle = 2 * torch.pi * at / self.period if self.period > 0 else torch.pi * at / self.frames
        time = [f(k * cycle) for k in range(1, HARMONICS + 1) for f in (torch.sin, torch.cos)]
        space = torch.cat((x, *waves), -1).expand(len(at), -1, -1)
        moments = torch.stack(time, -1)[:, None].expand(-1, len(points), -1)
        way = self.layers(torch.cat((space, moments), -1)) * self.reach
        return points + way + (at[:, None] * self.velocity)[:, None]


class FieldDistiller(Distiller):
    """The same run with a field in place of the skeleton's coefficients."""

    def __init__(self, *operands: Any, **options: Any) -> None:
        super().__init__(*operands, **options)
        stage = self.body.stage
        torch.manual_seed(self.config.seed)
        self.field = Field(
            stage,
            period=self.tempo.period,
            frames=self.coefficients.basis.frames,
            leg_length=self.body.limbs.leg_length,
            velocity=self.coefficients.velocity,
        )
        self.parameters = self.field
        # The network's weights are no angles: they have a rate of their own.
        self.learning_rate = 0.3 * self.config.learning_rate
        self.optimizer = torch.optim.AdamW(self.field.parameters(), lr=self.learning_rate, weight_decay=0.0)

    def amount_of_motion(self) -> float:
        """Travel of the joints' places per frame, in leg lengths: comparable to radians of a leg."""
        with torch.no_grad():
            at = torch.arange(self.prior.frames, dtype=torch.float32)
            places = self.field(self.body.stage.rig.heads, at) - (at[:, None] * self.field.velocity)[:, None]
            return float(places.diff(dim=0).norm(dim=-1).mean() / self.body.limbs.leg_length)

    def motion(self) -> Motion:
        """The field read out onto the skeleton: every joint turns as the Gaussians that it carries turn."""
        stage, config = self.body.stage, self.config
        rest = stage.splats.centers
        at = torch.arange(config.frames, dtype=torch.float32) * (self.tempo.fps / config.fps)
        with torch.no_grad():
            moved = self.field(rest, at).double().numpy()
        weights = torch.zeros(len(rest), len(stage.rig.parents)).scatter_add_(1, stage.skin.joints, stage.skin.weights)
        pose = fitted_joints(moved, rest.double().numpy(), weights.double().numpy(), stage.rig.heads.double().numpy())
        rotation = torch.from_numpy(pose[..., :3])
        parents = torch.tensor([max(p, 0) for p in stage.rig.parents])
        local = rotation[:, parents].mT @ rotation
        local[:, 0] = rotation[:, 0]
        angles = angles_from_rotations(stage.rig.to(torch.float64), local).to(rest)
        return Motion(torch.from_numpy(pose[:, 0, :, 3]).to(rest), angles, config.fps)

    def _look(self, take: Take) -> tuple[Float[Tensor, "frames 3 height width"], Float[Tensor, ""]]:
        stage, config = self.body.stage, self.config
        at = window(self.prior, take)
        centers = self.field(stage.splats.centers, at)
        posed = PosedSplats(centers, stage.splats.covariances.expand(len(at), -1, -1, -1))
        path = self.coefficients.base_path(at)
        cameras = stage.cameras(path, take.view, width=self.prior.width, height=self.prior.height)
        video = render_video(posed, stage.splats.opacities, stage.colors, cameras, scene=stage.scene)
        size = self.body.limbs.leg_length
        depth = (-centers[..., 1] / size).clamp(min=0)
        jerky = centers.diff(n=2, dim=0).abs().mean() / size
        return video, config.smooth * jerky + config.ground * depth.square().sum(-1).mean()


@dataclass(frozen=True)
class Deformation:
    """A finished field on a character's mesh."""

    vertices: Float[np.ndarray, "frames vertices 3"]
    metrics: Metrics
    """Of the joints that follow best from the vertices which they carry."""
    shape_change: float
    """Mean relative change of edge lengths; skinning has some too, where it bends."""


def deform(distiller: FieldDistiller, character: Character, rig: Rig, limbs: Limbs) -> Deformation:
    """Play the field on the mesh, and read a pose out of it to measure it like any other motion."""
    config, tempo = distiller.config, distiller.tempo
    at = torch.arange(config.frames, dtype=torch.float32) * (tempo.fps / config.fps)
    rest = torch.from_numpy(np.ascontiguousarray(character.mesh.vertices)).float()
    with torch.no_grad():
        vertices = torch.stack([distiller.field(rest, moment[None])[0] for moment in at]).double().numpy()
    assert character.weights is not None
    pose = fitted_joints(vertices, rest.double().numpy(), character.weights, rig.heads.double().numpy())
    lowest = vertices[..., 1].min(1)
    metrics = measure_pose(pose, limbs, lowest, rig.parents, fps=config.fps)
    return Deformation(vertices, metrics, float(shape_change(vertices, character.mesh.faces).mean()))


def fitted_joints(
    vertices: Float[np.ndarray, "frames vertices 3"],
    rest: Float[np.ndarray, "vertices 3"],
    weights: Float[np.ndarray, "vertices joints"],
    heads: Float[np.ndarray, "joints 3"],
) -> Float[np.ndarray, "frames joints 3 4"]:
    """For each joint the rigid motion nearest to that of the vertices which it carries (Kabsch)."""
    pose = np.zeros((len(vertices), len(heads), 3, 4))
    pose[..., :3] = np.eye(3)
    for j, head in enumerate(heads):
        w = weights[:, j] if weights[:, j].max() > 1e-3 else 1.0 / (1e-6 + np.square(rest - head).sum(-1))
        w = w / w.sum()
        middle, moved = w @ rest, np.einsum("v,fvk->fk", w, vertices)
        covariance = np.einsum("v,fvk,vl->fkl", w, vertices - moved[:, None], rest - middle)
        u, _, vt = np.linalg.svd(covariance)
        u[..., -1] *= np.linalg.det(u @ vt)[:, None]
        pose[:, j, :, :3] = u @ vt
        pose[:, j, :, 3] = moved + (pose[:, j, :, :3] @ (head - middle))
    return pose
