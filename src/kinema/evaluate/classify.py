"""The prior as a judge: the prompt under which it denoises a video best is the one that fits (diffusion classifier)."""

import torch
from jaxtyping import Float
from torch import Tensor

from kinema.prior.protocol import Shot, VideoPrior

LEVELS = (0.35, 0.5, 0.65, 0.8)


@torch.no_grad()
def prompt_errors(
    prior: VideoPrior,
    video: Float[Tensor, "frames 3 height width"],
    shot: Shot,
    prompts: list[str],
    *,
    generator: torch.Generator,
    draws: int = 1,
) -> Float[Tensor, "prompts"]:
    """Squared error of the clean estimate under each prompt, relative to that without any prompt.

    Below 1 the words help. The same noise is used for all prompts, so their differences are far less noisy than the
    errors. An absolute error would not do: a statue is easier to denoise than a walk, whatever the words.
    """
    clean = prior.encode(video, shot)
    conditions = [prior.condition(prompt, shot) for prompt in ("", *prompts)]
    errors = torch.zeros(len(conditions))
    for t in LEVELS:
        for _ in range(draws):
            noise = torch.randn(clean.shape, generator=generator)
            noisy = prior.add_noise(clean, noise, t)
            estimates = prior.denoise(noisy, t, conditions)
            here = torch.stack([(estimate - clean).square().sum() for estimate in estimates])
            # Each level counts alike, though high noise leaves larger errors.
            errors += here / here[0]
    return errors[1:] / (len(LEVELS) * draws)
