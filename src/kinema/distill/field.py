"""The baseline that has no skeleton: a network moves every point of space in time, along a rigid path (TC4D's kind).

Same prior, same losses but for the limits of joints, which it has none of, same cameras, and the same basis in time as
the skeleton's coefficients: the network gives each point its coefficients. Covariances deform by the field's Jacobian,
as AKD's Eq. 2 does it for skinning. What it lacks is what the comparison is about: nothing keeps a bone as long as it
is, and what it makes is a cache of vertices that no engine can retarget. (The clip that `animate --parameters field`
exports beside that cache is read out of it, joint by joint.) TC4D has a hash grid; here a wide network over Fourier
features is in its place.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import jacfwd, vmap

from kinema.asset.character import Character
from kinema.distill.energies import sole_points
from kinema.distill.parameters import Filmed
from kinema.distill.skeleton import Basis, film_soles, matched_drift
from kinema.distill.tempo import Tempo
from kinema.evaluate.metrics import Metrics, measure_pose, shape_change
from kinema.geometry.camera import Cameras
from kinema.learn.transformer import draw_weights
from kinema.motion.foot_skin import vertex_contacts
from kinema.motion.motion import Motion
from kinema.render.points import PointCameras
from kinema.render.scene import render_video
from kinema.render.stage import Stage
from kinema.rig.anatomy import Anatomy
from kinema.rig.kinematics import angles_from_rotations, forward_kinematics
from kinema.rig.limbs import Limbs
from kinema.splat.pose import PosedSplats

OCTAVES = 4
WIDTH = 256
REACH = 0.3
"""Displacement that one unit of the network's output means [leg lengths]."""

Times = Float[Tensor, "frames"]
Vertices = Float[np.ndarray, "frames vertices 3"]
Places = Float[np.ndarray, "_ 3"]


class Field(nn.Module):
    """Displacement of a point at rest, at a time, by a small network (see `MotionParameters`)."""

    learning_rate = 0.3
    """The network's weights are no angles."""

    drift: Float[Tensor, "3"]
    """Velocity beside that of the tempo, relative to its speed."""

    def __init__(self, stage: Stage, limbs: Limbs, tempo: Tempo, basis: Basis, *, generator: torch.Generator) -> None:
        super().__init__()
        self.stage, self.limbs, self.tempo, self.basis, self.frames = stage, limbs, tempo, basis, basis.frames
        self.register_buffer("drift", torch.zeros(3))
        last = nn.Linear(WIDTH, 3 * basis.terms)
        inner = (nn.Linear(3 + 6 * OCTAVES, WIDTH), nn.SiLU(), nn.Linear(WIDTH, WIDTH), nn.SiLU())
        self.layers = nn.Sequential(*inner, last)
        draw_weights(self, {last}, generator)  # the last layer is zero: the field starts at rest
        self.to(stage.rig.heads.device)

    def ways(self, points: Float[Tensor, "n 3"]) -> Float[Tensor, "n terms 3"]:
        """Coefficients in time of each point's way [m], from Fourier features of its place."""
        x = (points - torch.from_numpy(self.stage.box[0]).to(points)) / self.stage.size
        angles = torch.pi * 2.0 ** torch.arange(OCTAVES).to(x)[:, None] * x[:, None]
        features = torch.cat((x[:, None], torch.stack((angles.sin(), angles.cos()), 2).flatten(1, 2)), 1)
        return REACH * self.tempo.leg_length * self.layers(features.flatten(1)).unflatten(-1, (-1, 3))

    def forward(self, points: Float[Tensor, "n 3"], at: Times) -> Float[Tensor, "frames n 3"]:
        """Where the points are in the world [m]."""
        way = torch.einsum("fk,nkd->fnd", self.basis.table(at), self.ways(points))
        return points + way + self.travel(at)[:, None]

    def travel(self, at: Times) -> Float[Tensor, "frames 3"]:
        """The rigid path on which the field moves: straight ahead, as the skeleton's root starts [m]."""
        return at[:, None] * (self.tempo.velocity.to(at) + self.drift * abs(self.tempo.speed))

    def soles(self, at: Times) -> Float[Tensor, "frames ends 3"]:
        """Ends of the feet's soles [m]: the field moves those of the body at rest."""
        rig = self.stage.rig
        rest = forward_kinematics(rig, rig.heads[:1], torch.zeros_like(rig.heads)[None])
        return self(sole_points(rest, self.limbs)[0], at)

    def bend(self, points: Float[Tensor, "n 3"], at: Times) -> tuple[Float[Tensor, "frames n 3"], Tensor]:
        """Places of points, and ∇φ: their derivative by the places at rest."""
        slopes = vmap(jacfwd(lambda point: self.ways(point[None])[0]))(points)
        return self(points, at), torch.eye(3).to(points) + torch.einsum("fk,nkdx->fndx", self.basis.table(at), slopes)

    def start(self, share: float, frames: int) -> float:
        return self.basis.start(share, frames)

    @torch.no_grad()
    def centers(self, at: Times) -> Float[Tensor, "frames n 3"]:
        return self(self.stage.splats.centers, at)

    def film(self, at: Times, cameras: Cameras | PointCameras) -> Filmed:
        splats = self.stage.splats
        if isinstance(cameras, PointCameras):
            centers = self(splats.centers, at)
            video = cameras.view.film_points(centers, cameras.base)
        else:
            centers, slope = self.bend(splats.centers, at)
            posed = PosedSplats(centers, slope @ splats.covariances @ slope.mT)
            video = render_video(posed, splats.opacities, self.stage.colors, cameras, scene=self.stage.scene)
        return Filmed(video, points=centers, **film_soles(self.basis, self.limbs, self.soles, at))

    @torch.no_grad()
    def amount_of_motion(self, frames: int) -> float:
        """Travel of the joints' places per frame, in leg lengths: comparable to radians of a leg."""
        at = self.stage.frame_numbers(frames)
        places = self(self.stage.rig.heads, at) - self.travel(at)[:, None]
        return float(places.diff(dim=0).norm(dim=-1).mean() / self.tempo.leg_length)

    @torch.no_grad()
    def motion(self, at: Float[Tensor, "times"], *, fps: float) -> Motion:
        """The field read out onto the skeleton: every joint turns as the Gaussians that it carries turn."""
        rig, skin, rest = self.stage.rig, self.stage.skin, self.stage.splats.centers
        moved = self(rest, at)
        weights = rest.new_zeros(len(rest), len(rig.parents)).scatter_add_(1, skin.joints, skin.weights)
        pose = fitted_joints(*(x.double().cpu().numpy() for x in (moved, rest, weights, rig.heads)))
        rotation = torch.from_numpy(pose[..., :3])
        local = rotation[:, [max(p, 0) for p in rig.parents]].mT @ rotation
        local[:, 0] = rotation[:, 0]
        angles = angles_from_rotations(rig.to(torch.float64, "cpu"), local).to(rest)
        return Motion(torch.from_numpy(pose[:, 0, :, 3]).to(rest), angles, fps)

    @torch.no_grad()
    def match_speed(self) -> None:
        """Make the path as fast as standing feet go back."""
        self.drift[2] = matched_drift(self.drift[2], self.soles, self.stage, self.limbs, self.tempo)


@dataclass(frozen=True)
class Deformation:
    """A finished field on a character's mesh."""

    vertices: Vertices
    metrics: Metrics
    """Metrics of the joints that follow best from the vertices which they carry."""
    shape_change: float
    """Mean relative change of edge lengths; skinning has some too, where it bends."""


@torch.no_grad()
def deform(field: Field, character: Character, anatomy: Anatomy, at: Times, *, fps: float) -> Deformation:
    """Play the field on the mesh at given times, and read a pose out of it to measure it like any other motion."""
    rest = torch.from_numpy(np.ascontiguousarray(character.mesh.vertices)).to(at)
    vertices = torch.stack([field(rest, moment[None])[0] for moment in at]).double().cpu().numpy()
    assert character.weights is not None
    rig = anatomy.rig
    pose = fitted_joints(vertices, rest.double().cpu().numpy(), character.weights, rig.heads.double().numpy())
    contacts = vertex_contacts(character, rig, anatomy.limbs, torch.from_numpy(vertices), fps=fps)
    metrics = measure_pose(pose, anatomy.limbs, contacts, rig.parents, fps=fps)
    return Deformation(vertices, metrics, float(shape_change(vertices, character.mesh.faces).mean()))


def fitted_joints(
    vertices: Vertices, rest: Places, weights: Float[np.ndarray, "vertices joints"], heads: Places
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
