"""What the loop optimises: parameters of a motion in time, of a skeleton (`skeleton.py`) or of a field (`field.py`)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor, nn

from kinema.geometry.camera import Cameras
from kinema.motion.motion import Motion
from kinema.render.image import Centers
from kinema.render.points import PointCameras


@dataclass(frozen=True)
class Filmed:
    """A window of the motion as it is now: its video and what energies are computed from, all differentiable."""

    video: Float[Tensor, "frames 3 height width"]
    points: Float[Tensor, "frames points 3"] | None = None
    """Centres of the Gaussians [m], where there is no skeleton."""
    motion: Motion | None = None
    T_world_joint: Float[Tensor, "frames joints 3 4"] | None = None
    soles: Float[Tensor, "times ends 3"] | None = None
    """Ends of the feet's soles [m], at `soles_per_frame` times per frame."""
    soles_per_frame: int = 1


def fitting_start(share: float, clip: int, window: int) -> float:
    """When a window begins in a clip that ends, both in frames, for a share in [0, 1).

    Windows that begin evenly over where they fit hardly ever see the ends: at either end the shares of half a window
    go to the first and to the last that fits.
    """
    last = float(max(clip - window, 0))
    over = min(window / 2, last)
    return min(max(share * (last + 2 * over) - over, 0.0), last)


@runtime_checkable
class Filmable(Protocol):
    """A motion in time that can be looked at. Times `at` are in frames of the prior and may be fractions."""

    frames: int
    """Length of the stretch of time that is described."""

    def start(self, share: float, frames: int) -> float:
        """When a window of so many frames begins, for a share in [0, 1): a cycle goes on, a clip ends."""
        ...

    def film(self, at: Float[Tensor, "frames"], cameras: Cameras | PointCameras) -> Filmed:
        """Render the motion at given times."""
        ...

    def centers(self, at: Float[Tensor, "frames"]) -> Centers:
        """Centres of the Gaussians at given times [m]; no gradient passes."""
        ...


@runtime_checkable
class MotionParameters(Filmable, Protocol):
    """A motion with values to optimise."""

    learning_rate: float
    """Factor on the learning rate of the run."""

    def parameters(self) -> Iterator[nn.Parameter]: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state_dict: Mapping[str, Any]) -> Any: ...

    def motion(self, at: Float[Tensor, "times"], *, fps: float) -> Motion:
        """Joint angles and root path at given times."""
        ...

    def amount_of_motion(self, frames: int) -> float:
        """Mean travel per frame of what moves [rad, or leg lengths of a field] in the first frames."""
        ...

    def match_speed(self) -> None:
        """Make the root as fast as its standing feet go back, where there are such."""
        ...
