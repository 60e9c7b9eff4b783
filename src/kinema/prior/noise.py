"""Noise schedules of the video models, and what their networks say about noisy latents."""

import math
from typing import Any

import torch
from torch import Tensor

from kinema.prior.text_cache import Embedding


def predictions(prior: Any, noisy: Tensor, level: int | float, conditions: list[Embedding]) -> list[Tensor]:
    """What a network says about noisy latents under each condition (`prior.predict`), in one batch.

    With weights on the host one by one: memory is what counts then, and a block's copy costs little beside its work.
    """
    z, found = noisy.to(prior.placement.device, prior.placement.dtype), []
    for group in [[condition] for condition in conditions] if prior.placement.offload else [conditions]:
        given = {name: torch.stack([condition[name] for condition in group]) for name in group[0]}
        found += [row.to(noisy) for row in prior.predict(torch.stack([z] * len(group)), level, given)]
    return found


def noise_level(alphas: list[float], t: float) -> tuple[int, float, float]:
    """The training step at a share t of a discrete schedule (its ᾱ), and its √ᾱ and √(1-ᾱ)."""
    last = len(alphas) - 1
    step = min(max(round(t * last), 0), last)
    return step, math.sqrt(alphas[step]), math.sqrt(1 - alphas[step])


def add_diffusion_noise(prior: Any, clean: Tensor, noise: Tensor, t: float) -> Tensor:
    """√ᾱ z + √(1-ᾱ) ε, as a method of a prior with `alphas`."""
    _, signal, sigma = noise_level(prior.alphas, t)
    return signal * clean + sigma * noise


def flow_level(prior: Any, t: float) -> float:
    """The noise level of a flow at a share t of its schedule: shifted towards noise, σ = s t / (1 + (s - 1) t)."""
    return prior.shift * t / (1 + (prior.shift - 1) * t)


def add_flow_noise(prior: Any, clean: Tensor, noise: Tensor, t: float) -> Tensor:
    """(1-σ) z + σ ε, as a method of a prior with a `shift`."""
    sigma = flow_level(prior, t)
    return (1 - sigma) * clean + sigma * noise


@torch.no_grad()
def flow_estimates(prior: Any, noisy: Tensor, t: float, conditions: list[Embedding]) -> list[Tensor]:
    """ẑ = z_t - σ v, where v = ε - z, as a method of a prior with a `shift`."""
    sigma = flow_level(prior, t)
    return [noisy - sigma * v for v in predictions(prior, noisy, sigma, conditions)]
