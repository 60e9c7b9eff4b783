"""One look at a motion: a window of the prior's length, seen from one side."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.distill.parameters import Coefficients
from kinema.distill.tempo import Tempo
from kinema.motion.motion import Motion
from kinema.prior.protocol import Context, VideoPrior
from kinema.render.follow import View
from kinema.render.stage import Stage

FOVY_DEG = 30.0


@dataclass(frozen=True)
class Take:
    """Where the camera stands and when the window begins."""

    yaw_deg: float
    elevation_deg: float
    start: float
    """Frame number of the first frame."""

    @property
    def view(self) -> View:
        return View(self.yaw_deg, self.elevation_deg, 1.0, FOVY_DEG)


def random_take(rng: np.random.Generator, tempo: Tempo, *, last_start: float) -> Take:
    """Three-quarter and side views from both sides; gaits may begin at any phase, clips at any frame that fits."""
    yaw = float(rng.uniform(25, 100) * rng.choice((-1, 1)))
    start = float(rng.uniform(0, tempo.period)) if tempo.period > 0 else float(rng.uniform(0, max(last_start, 1e-9)))
    return Take(yaw, float(rng.uniform(4, 20)), start)


def prepare(stage: Stage, prior: VideoPrior, coefficients: Coefficients, tempo: Tempo, take: Take) -> Context:
    """What the prior is told before it sees anything."""
    at = window(prior, take)
    reference = stage.reference(coefficients.base_path(at), take.view, width=prior.width, height=prior.height)
    # An action happens in the middle of the clip; its event time is told as a share of this window.
    event = (0.5 * coefficients.basis.frames - take.start) / prior.frames
    phase = (take.start / tempo.period) % 1.0 if tempo.period > 0 else event
    return Context(reference, take.yaw_deg, take.elevation_deg, phase, tempo.period, tempo.speed_legs)


def window(prior: VideoPrior, take: Take) -> Float[Tensor, "frames"]:
    return take.start + torch.arange(prior.frames, dtype=torch.float32)


def shoot(
    stage: Stage, prior: VideoPrior, coefficients: Coefficients, tempo: Tempo, take: Take
) -> tuple[Float[Tensor, "frames 3 height width"], Motion, Float[Tensor, "frames joints 3 4"]]:
    """Film the motion as it is now: video, motion and joint transforms, all differentiable."""
    at = window(prior, take)
    motion = coefficients.motion(at, fps=tempo.fps)
    T_world_joint = motion.pose(stage.rig)
    cameras = stage.cameras(coefficients.base_path(at), take.view, width=prior.width, height=prior.height)
    return stage.film(T_world_joint, cameras), motion, T_world_joint
