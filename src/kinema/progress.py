"""What a long job says after every step."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """One step of a stage."""

    step: int
    steps: int
    stage: str
    loss: float
    motion: float = 0.0
    """Mean angular travel per frame [rad]; 0 where nothing is distilled."""


Report = Callable[[Progress], None]
