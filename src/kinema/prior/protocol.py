"""The face that every video model shows to the distiller: a denoiser with an encoder."""

import itertools
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Shot:
    """What the distiller knows about a video before it exists. A prior takes what it can use and ignores the rest."""

    reference: Float[Tensor, "frames 3 height width"]
    """The character at rest, moved along the base path and seen by the same cameras, in [0, 1]."""
    yaw_deg: float = 45.0
    elevation_deg: float = 10.0
    phase: float | None = None
    """Position in the gait cycle at frame 0 [cycles]; an action's event time as a share of the window. None: nobody
    knows phase, period and speed, and the prior has to see them for itself."""
    period: float = 0.0
    """Length of a gait cycle [frames]; 0 for what does not repeat."""
    speed: float = 0.0
    """Travel of the base path [leg lengths per frame]."""


@runtime_checkable
class VideoPrior(Protocol):
    """A text-to-video model. `t` in (0, 1) is the share of its noise schedule: 0 clean, 1 pure noise.

    Latents and conditions are the prior's own business; only tensors' gradients cross this line.
    """

    frames: int
    height: int
    width: int

    def condition(self, prompt: str, shot: Shot) -> Any:
        """What `denoise` needs beside the noisy latents; the empty prompt is the unconditional model."""
        ...

    def encode(self, video: Float[Tensor, "frames 3 height width"], shot: Shot) -> Tensor:
        """Latents of a video in [0, 1], differentiable."""
        ...

    def decode(self, latents: Tensor, shot: Shot) -> Float[Tensor, "frames 3 height width"]:
        """The video of clean latents."""
        ...

    def add_noise(self, clean: Tensor, noise: Tensor, t: float) -> Tensor:
        """The forward process at t."""
        ...

    def denoise(self, noisy: Tensor, t: float, conditions: list[Any]) -> list[Tensor]:
        """Clean estimates ẑ, one per condition, in one batch where that is faster."""
        ...


def guide(cond: Tensor, uncond: Tensor, scale: float) -> Tensor:
    """uncond + scale (cond - uncond); scale 1 is the conditional model."""
    return uncond + scale * (cond - uncond)


@torch.no_grad()
def guided_estimate(prior: VideoPrior, noisy: Tensor, t: float, cond: Any, uncond: Any, *, guidance: float) -> Tensor:
    """The clean estimate under classifier-free guidance."""
    if guidance == 1:
        return prior.denoise(noisy, t, [cond])[0]
    with_text, without = prior.denoise(noisy, t, [cond, uncond])
    return guide(with_text, without, guidance)


@torch.no_grad()
def sample(
    prior: VideoPrior,
    like: Tensor,
    cond: Any,
    uncond: Any,
    *,
    guidance: float,
    steps: int,
    generator: torch.Generator,
) -> Tensor:
    """Deterministic DDIM: at each level keep the implied noise and move on to the next level."""
    noise = torch.randn(like.shape, generator=generator, dtype=like.dtype, device=like.device)
    levels = torch.linspace(0.98, 0.0, steps + 1).tolist()
    noisy = prior.add_noise(torch.zeros_like(like), noise, levels[0])
    clean = noisy
    for t, t_next in itertools.pairwise(levels):
        clean = guided_estimate(prior, noisy, t, cond, uncond, guidance=guidance)
        if t_next == 0.0:
            break
        # z = add_noise(clean, noise, t) is linear in the noise; solve it for the noise this z implies.
        unit = prior.add_noise(torch.zeros_like(clean), torch.ones_like(clean), t)
        noise = (noisy - prior.add_noise(clean, torch.zeros_like(clean), t)) / unit
        noisy = prior.add_noise(clean, noise, t_next)
    return clean
