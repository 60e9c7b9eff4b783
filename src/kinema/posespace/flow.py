"""Sampling and inversion of the flow by Heun's method, and one-step estimates.

On the path x_t = (1 - t) x + t noise a state moves at dx/dt = noise - x = (x_t - x) / t, with the network's clean pose
for x. From t = 1 to 0 this samples, from 0 to 1 it inverts; the two agree to the order of the method.
"""

import itertools
from collections.abc import Callable

import torch

from kinema.posespace.model import Given, Levels, PoseModel, Values

STEPS = 12
END = 0.02
"""Level at which a pose counts as clean."""
Denoiser = Callable[[Values, float | Levels], Values]
"""The clean poses of noisy ones at a level, or each at its own."""
FAST_BFLOAT16 = torch.backends.mkldnn.is_available() and torch.cpu._is_avx512_bf16_supported()


def denoiser(model: PoseModel, given: Given, *, without: Given | None = None, guidance: float = 1.0,
             fast: bool = False) -> Denoiser:  # fmt: skip
    """The model with its conditions; `without` are those without words, for a guidance above 1."""

    def clean(noisy: Values, t: float | Levels) -> Values:
        level = torch.as_tensor(t).to(noisy).expand(len(noisy))
        with torch.autocast("cpu", torch.bfloat16, enabled=fast and FAST_BFLOAT16):
            found = model(noisy, level, given).float()
            if without is None or guidance == 1:
                return found
            plain = model(noisy, level, without).float()
        return plain + guidance * (found - plain)

    return clean


def levels(steps: int, start: float = 1.0) -> list[float]:
    """From `start` down to `END`, evenly: denser towards the end, inverted poses come back half as exactly."""
    return torch.linspace(start, END, steps + 1, dtype=torch.float64).tolist()


@torch.no_grad()
def integrate(clean: Denoiser, state: Values, path: list[float]) -> Values:
    """Follow the flow along the levels of a path, down or up."""
    for t, t_next in itertools.pairwise(path):
        slope = (state - clean(state, t)) / t
        guess = state + (t_next - t) * slope
        slope_next = (guess - clean(guess, t_next)) / t_next
        state = state + (t_next - t) * (slope + slope_next) / 2
    return state


def sample(clean: Denoiser, noise: Values, *, steps: int = STEPS) -> Values:
    """Poses of pure noise."""
    return clean(integrate(clean, noise, levels(steps)), END)


def invert(clean: Denoiser, values: Values, *, steps: int = STEPS) -> Values:
    """The noise whose flow ends in given poses."""
    return integrate(clean, values, levels(steps)[::-1])


def decode(clean: Denoiser, noise: Values, *, steps: int = STEPS) -> Values:
    """The poses that were inverted."""
    return integrate(clean, noise, levels(steps))


@torch.no_grad()
def rather(clean: Denoiser, values: Values, level: float | Levels) -> Values:
    """What the network would rather have: its clean poses of noisy ones, the mean over a noise, which is always the
    same, and its opposite."""
    noise = torch.randn(1, *values.shape[1:], generator=torch.Generator().manual_seed(0))
    t = torch.as_tensor(level).to(values).expand(len(values))
    noisy = (1 - t[:, None, None]) * values + t[:, None, None] * torch.stack((noise, -noise))
    return clean(noisy.flatten(0, 1), t.repeat(2)).unflatten(0, (2, -1)).mean(0)
