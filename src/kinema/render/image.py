"""Types of a rasterizer's operands and result, the same for all back ends."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

Centers = Float[Tensor, "frames points 3"]
"""World positions [m]."""
Covariances = Float[Tensor, "frames points 3 3"]
"""World covariances [m²]."""
Opacities = Float[Tensor, "points"] | Float[Tensor, "frames points"]
"""In [0, 1], shared by the frames or per frame."""
Features = Float[Tensor, "points channels"] | Float[Tensor, "frames points channels"]
"""Colours or anything else that is blended, shared by the frames or per frame."""
Pixels = Float[Tensor, "frames height width"]
Video = Float[Tensor, "frames 3 height width"]
"""Colours in [0, 1]."""


@dataclass(frozen=True)
class Image:
    """One image per frame, without a background."""

    features: Float[Tensor, "frames channels height width"]
    """Premultiplied: sum of weight times feature over the Gaussians of a pixel."""
    alpha: Pixels
    """Sum of the weights, in [0, 1)."""
    depth: Pixels | None = None
    """Sum of weight times depth along the optical axis [m]; divided by alpha it is the mean depth of what is there."""

    def over(self, background: Tensor) -> Float[Tensor, "frames channels height width"]:
        """Composite over a background of any shape that broadcasts to the features."""
        return self.features + (1 - self.alpha)[:, None] * background
