"""Score distillation: the prior's opinion of a video as a gradient on its latents (AKD Eq. 4–6)."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from kinema.prior.protocol import VideoPrior, guided_estimate


def sds(
    prior: VideoPrior,
    latents: Tensor,
    cond: Any,
    uncond: Any,
    *,
    t: float,
    guidance: float,
    generator: torch.Generator,
) -> Float[Tensor, ""]:
    """Summed loss whose gradient on the latents is w(t) (z - ẑ), with w = 1.

    ẑ is the prior's clean estimate of the noised latents. In terms of the noise residual this is the usual weighting
    w(t) = sigma_t / alpha_t; it treats all noise levels alike in the space where the video lives.
    """
    noise = torch.randn(latents.shape, generator=generator, dtype=latents.dtype)
    noisy = prior.add_noise(latents.detach(), noise.to(latents.device), t)
    clean = guided_estimate(prior, noisy, t, cond, uncond, guidance=guidance)
    return 0.5 * (latents - clean).square().sum()


def noise_level(progress: float, u: float, *, paper: bool) -> float:
    """t for a step: u in [0, 1) is random, progress in [0, 1] anneals.

    Paper: t ~ U[0.02, t_end], t_end 0.98 -> 0.5 over the first half. Otherwise U[0.4, 0.97 -> 0.6]: low levels only
    sharpen what is there, and a short run has no time for that.
    """
    if paper:
        end = 0.98 - 0.48 * min(1.0, 2 * progress)
        return 0.02 + u * (end - 0.02)
    end = 0.97 - 0.37 * progress
    return 0.4 + u * (end - 0.4)
