"""What a step of a run is: its stage, its learning rate, its noise level and the weight of the feet's energies."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from kinema.distill.config import Resolved
from kinema.errors import KinemaError
from kinema.prior.protocol import VideoPrior

REFINE_STEPS, SDS_STEPS = 60, 350
"""Steps of score distillation by default: after the fit of a gait, and alone. A fitted action gets none: a window tells
of a part of it only, and moves the rest (benchmarks/actions.py)."""


@dataclass(frozen=True)
class Schedule:
    """Steps of a run, counted from 0: first the fit to sampled videos, then score distillation."""

    fit: int
    sds: int
    paper: bool = False
    """True: noise levels as AKD states them."""

    @staticmethod
    def of(config: Resolved, prior: VideoPrior, *, repeats: bool = True) -> "Schedule":
        engines = prior.needs.engines if config.engine == "auto" else (config.engine,)
        if config.engine == "fit" and "fit" not in prior.needs.engines:
            raise KinemaError(f"--engine fit: {config.prior} samples videos of other characters; use --engine sds")
        fit = config.fit_iterations if "fit" in engines else 0
        usual = SDS_STEPS if not fit else REFINE_STEPS if repeats else 0
        sds = (config.iterations or usual) if "sds" in engines else 0
        return Schedule(fit, sds, config.preset == "paper")

    @property
    def steps(self) -> int:
        return self.fit + self.sds

    def stage(self, step: int) -> Literal["fit", "sds"]:
        return "fit" if step < self.fit else "sds"

    def progress(self, step: int) -> float:
        """Share of its stage that is done before a step."""
        return step / max(1, self.fit) if step < self.fit else (step - self.fit) / max(1, self.sds)

    def learning_rate(self, step: int) -> float:
        """Factor on the learning rate: small at the end of each stage; after a fit, sds starts at half."""
        start = 0.5 if self.fit and step >= self.fit else 1.0
        return start * (0.1 + 0.9 * 0.5 * (1 + np.cos(np.pi * self.progress(step))))

    def feet_weight(self, step: int) -> float:
        """Factor on the feet's energies: 0 in the first half of a fit, when there are no strides yet, then up to 1.

        At rest all feet are low, and the quickest way not to slide is to drag both legs back at once.
        """
        return min(1.0, max(0.0, 2 * step / self.fit - 1)) if self.fit else 1.0

    def noise_level(self, step: int, u: float) -> float:
        """Noise level t of an sds step for a random u in [0, 1); its range shrinks with the progress.

        Paper: t ~ U[0.02, t_end], t_end 0.98 -> 0.5 over the first half. Otherwise U[0.4, 0.97 -> 0.6]: low levels
        only sharpen what is there, and a short run has no time for that.
        """
        progress = self.progress(step)
        low, high = (0.02, 0.98 - 0.48 * min(1.0, 2 * progress)) if self.paper else (0.4, 0.97 - 0.37 * progress)
        return low + u * (high - low)
