"""The prior as a judge: the prompt under which it denoises a video best is the one that fits (diffusion classifier)."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from kinema.prior.protocol import Context, VideoPrior

LEVELS = (0.35, 0.5, 0.65, 0.8)


def prompt_errors(
    prior: VideoPrior, video: Float[Tensor, "frames 3 height width"], context: Context, prompts: list[str], *,
    generator: torch.Generator,
) -> Float[Tensor, "prompts"]:  # fmt: skip
    """How well each prompt fits a video (`relative_errors`)."""
    with torch.no_grad():
        clean = prior.encode(video, context)
    conditions = [prior.condition(prompt, context) for prompt in prompts]
    return relative_errors(prior, clean, conditions, prior.condition("", context), generator=generator)


@torch.no_grad()
def relative_errors(
    prior: VideoPrior, clean: Tensor, conditions: list[Any], uncond: Any, *, generator: torch.Generator,
    levels: tuple[float, ...] = LEVELS,
) -> Float[Tensor, "conditions"]:  # fmt: skip
    """Squared error of the clean estimate under each condition, relative to that without any prompt.

    Below 1 the words help. The same noise is used for all of them, so their differences are far less noisy than the
    errors. An absolute error would not do: a statue is easier to denoise than a walk, whatever the words.
    """
    errors = torch.zeros(len(conditions))
    for t in levels:
        noise = torch.randn(clean.shape, generator=generator, dtype=clean.dtype).to(clean.device)
        estimates = prior.denoise(prior.add_noise(clean, noise, t), t, [uncond, *conditions])
        without, *others = (float((estimate - clean).square().sum()) for estimate in estimates)
        # Each level counts alike, though high noise leaves larger errors.
        errors += torch.tensor(others) / max(without, 1e-12)
    return errors / len(levels)
