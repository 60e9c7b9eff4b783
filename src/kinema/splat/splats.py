"""A character's surface as a cloud of 3D Gaussians."""

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.asset.character import Mesh
from kinema.geometry.surface import SurfacePoints
from kinema.geometry.transforms import quaternion_to_matrix

SH_DC = 0.28209479177387814
"""Y₀₀: a coefficient c of degree 0 is the colour 0.5 + SH_DC c."""


@dataclass(frozen=True)
class Splats:
    """Gaussians at rest, with the unactivated values that are optimised and stored in .ply files."""

    centers: Float[Tensor, "n 3"]
    scales_log: Float[Tensor, "n 3"]
    """Natural logarithm of the standard deviations [m]."""
    wxyz: Float[Tensor, "n 4"]
    """Axes of the scales; of any length but zero."""
    opacity_logit: Float[Tensor, "n"]
    sh: Float[Tensor, "n k 3"]
    """Spherical harmonics of degree 0–3 (k = 1, 4, 9 or 16) in the 3DGS order and scale."""

    def __len__(self) -> int:
        return self.centers.shape[0]

    @property
    def axes(self) -> Float[Tensor, "n 3 3"]:
        """R diag(s): columns are the axes, as long as the deviations [m]."""
        return quaternion_to_matrix(self.wxyz) * self.scales_log.exp()[:, None, :]

    @property
    def covariances(self) -> Float[Tensor, "n 3 3"]:
        """R diag(s²) Rᵀ [m²]."""
        return self.axes @ self.axes.mT

    @property
    def opacities(self) -> Float[Tensor, "n"]:
        """In (0, 1)."""
        return self.opacity_logit.sigmoid()

    @property
    def colors(self) -> Float[Tensor, "n 3"]:
        """sRGB of degree 0, that is without dependence on the view, clamped to what a screen shows."""
        return (0.5 + SH_DC * self.sh[:, 0]).clamp(0, 1)

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> "Splats":
        return self._each(lambda values: values.to(device, dtype))

    def __getitem__(self, index: Tensor | slice) -> "Splats":
        return self._each(lambda values: values[index])

    def _each(self, change: Callable[[Tensor], Tensor]) -> "Splats":
        return Splats(*(change(getattr(self, field.name)) for field in fields(self)))

    @staticmethod
    def from_mesh(
        mesh: Mesh, count: int = 10_000, *, rng: np.random.Generator, relax: int = 3
    ) -> tuple["Splats", SurfacePoints]:
        """Flat Gaussians on the surface, and the surface point of each one (for its skin weights).

        The surface is cut into `count` patches of similar size, colour and direction (splat/cover.py), fewer only
        where a texture cuts all of a patch away; each becomes the Gaussian with the patch's mean, spread and colour.
        `relax` counts the rounds of Lloyd's relaxation; 0 is the fastest and roughest.
        """
        from kinema.splat.cover import cover

        return cover(mesh, count, rng=rng, relax=relax)
