"""Guided videos of the embedded prior: a motion's own videos are noised part of the way and denoised to the words,
and joints are fitted to what came out."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.distill.config import Resolved
from kinema.distill.loop import Distiller
from kinema.distill.parameters import Filmed, fitting_start
from kinema.distill.targets import Target, conditions
from kinema.distill.tempo import Tempo
from kinema.distill.window import Windows
from kinema.geometry.camera import Cameras
from kinema.motion.loop import closes, repeat
from kinema.motion.motion import Motion
from kinema.prior.protocol import Context, VideoPrior, ddim, guided_estimate
from kinema.progress import Progress, Report
from kinema.render.points import PointCameras
from kinema.render.stage import Stage
from kinema.rig.anatomy import Anatomy

STEPS = 6
"""Steps of denoising."""
PHASES, PHASE_LEVEL = 8, 0.5
"""Phases of a cycle that are tried, and the noise level at which the likeliest is told."""


class Played:
    """A motion that is there already, to be filmed (`Filmable`)."""

    def __init__(self, stage: Stage, motion: Motion, fps: float, least: int) -> None:
        """The motion at the prior's frame rate; a loop is played as often as it takes, another one holds its end."""
        times = math.ceil(least / max((len(motion) - 1) * fps / motion.fps, 1e-6))
        clip = (repeat(motion, times) if times > 1 and closes(motion) else motion).resample(fps)
        lack = max(0, least - len(clip))
        root, angles = (torch.cat((x, x[-1:].expand(lack, *x.shape[1:]))) for x in (clip.root_position, clip.angles))
        self.stage, self.clip, self.frames = stage, Motion(root, angles, fps), len(root)

    def start(self, share: float, frames: int) -> float:
        return fitting_start(share, self.frames, frames)

    def film(self, at: Float[Tensor, "frames"], cameras: Cameras | PointCameras) -> Filmed:
        placed = self.clip.at(at).pose(self.stage.rig)
        return Filmed(self.stage.film(placed, cameras), motion=self.clip.at(at), T_world_joint=placed)

    def centers(self, at: Float[Tensor, "frames"]) -> Float[Tensor, "frames points 3"]:
        return self.stage.posed(self.clip.at(at).pose(self.stage.rig)).centers


def guide_and_refit(
    config: Resolved, prior: VideoPrior, stage: Stage, anatomy: Anatomy, tempo: Tempo, motion: Motion, *,
    strength: float, progress: Report = lambda _: None,
) -> Motion:  # fmt: skip
    """The motion as the words would have it: joints fitted to its videos after part of them was noise.

    Args:
        config: views, steps of the fit, guidance, seed, and `told`, the words.
        strength: noise level that the videos are taken to: 0 keeps them, 0.98 keeps nothing.
    """
    config = replace(config, frames=len(motion), fps=motion.fps, loop=False, engine="fit")
    distiller = Distiller(config, prior, stage, anatomy, tempo)
    played = Played(stage, motion, tempo.fps, distiller.parameters.frames)
    windows = Windows(prior, stage, tempo, played)
    rng, targets, shift = np.random.default_rng(config.seed), [], None
    for number in range(config.views):
        window = windows.draw(rng)
        context = windows.context(window)
        with torch.no_grad():
            latents = prior.encode(windows.film(window).video, context)
        generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
        if shift is None:
            shift = _phase_shift(prior, config.told, context, latents, generator)
        if strength > 0:
            told = _shifted(context, shift)
            latents = denoised(prior, latents, told, config, strength=strength, generator=generator)
        targets.append(Target(window, distiller.windows.context(window), latents))
        progress(Progress(number + 1, config.views, "guide", 0.0))
    distiller.targets = targets
    return distiller.run(report=progress).motion


@torch.no_grad()
def denoised(
    prior: VideoPrior, clean: Tensor, context: Context, config: Resolved, *, strength: float, generator: torch.Generator
) -> Tensor:
    """Latents noised to a level and taken back by DDIM under the words."""
    words, none = conditions(prior, config.told, context)
    noise = torch.randn(clean.shape, generator=generator).to(clean)
    estimate = partial(guided_estimate, prior, cond=words, uncond=none, guidance=config.guidance)
    return ddim(prior, clean, noise, estimate, start=strength, steps=STEPS)


@torch.no_grad()
def _phase_shift(prior: VideoPrior, told: str, context: Context, clean: Tensor, generator: torch.Generator) -> float:
    """What has to be added to the phase of a cycle: where the prior counts from is not where this motion begins."""
    if context.phase is None or not context.repeats:
        return 0.0
    noise = torch.randn(clean.shape, generator=generator).to(clean)
    noisy = prior.add_noise(clean, noise, PHASE_LEVEL)
    shifts = [k / PHASES for k in range(PHASES)]
    errors = []
    for shift in shifts:
        words, _ = conditions(prior, told, _shifted(context, shift))
        errors.append(float((prior.denoise(noisy, PHASE_LEVEL, [words])[0] - clean).square().mean()))
    return shifts[int(np.argmin(errors))]


def _shifted(context: Context, shift: float) -> Context:
    if context.phase is None or not context.repeats:
        return context
    return replace(context, phase=(context.phase + shift) % 1.0)
