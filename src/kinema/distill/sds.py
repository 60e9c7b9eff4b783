"""Score distillation: the prior's opinion of a video as a gradient on its latents (AKD Eq. 4–6)."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from kinema.prior.protocol import VideoPrior, guided_estimate


def sds(
    prior: VideoPrior, latents: Tensor, cond: Any, uncond: Any, *, t: float, guidance: float, generator: torch.Generator
) -> Float[Tensor, ""]:
    """Summed loss whose gradient on the latents is w(t) (z - ẑ), with w = 1.

    ẑ is the prior's clean estimate of the noised latents. In terms of the noise residual this is the usual weighting
    w(t) = sigma_t / alpha_t; it treats all noise levels alike in the space where the video lives.
    """
    noise = torch.randn(latents.shape, generator=generator, dtype=latents.dtype)
    noisy = prior.add_noise(latents.detach(), noise.to(latents.device), t)
    clean = guided_estimate(prior, noisy, t, cond, uncond, guidance=guidance)
    return 0.5 * (latents - clean).square().sum()
