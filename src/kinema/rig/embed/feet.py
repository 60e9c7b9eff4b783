"""Feet of a mesh: what of its inside touches the ground, and how far each rises before it joins the body."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

GROUND = 0.04
"""Height of the slab on the ground whose parts are feet, in heights of the body."""
SPECK = 0.1
"""Least area of a foot in areas of the largest."""
WIDER = 2.5
"""Growth of a slice from which on it is no longer of the leg alone, in mean areas of the slices below."""


@dataclass(frozen=True)
class Feet:
    """The feet that a body stands on, and the legs above them up to where they join the body or each other."""

    tops: Float[np.ndarray, "feet 3"]
    """Middle of the highest slice of each leg [m]."""
    lengths: Float[np.ndarray, "feet"]
    """Height of that slice above the ground [m]."""
    radii: Float[np.ndarray, "feet"]
    """Of a disk of a slice's area, the median over the leg [m]."""
    squareness: Float[np.ndarray, "feet"]
    """Share that a slice has of its bounding rectangle, the median over the leg: 1 for a block, 0.79 for a cylinder."""


def find_feet(inside: Bool[np.ndarray, "x y z"], low: Float[np.ndarray, "3"], step: float) -> Feet:
    """Cut a body of cells (those inside are true, `low` is the corner of the first) into slices from the ground up."""
    levels = np.flatnonzero(inside.any(axis=(0, 2)))
    first, tall = int(levels[0]), len(levels)
    slab = max(2, int(np.ceil(GROUND * tall)))
    parts = _parts(np.asarray(inside[:, first : first + slab].any(axis=1)))
    areas = np.bincount(parts.ravel())[1:]
    legs = [[parts == k + 1] for k in range(len(areas)) if areas[k] >= SPECK * areas.max()]
    rising = set(range(len(legs)))
    for level in range(first + slab, first + tall):
        slices = _parts(inside[:, level])
        under = {k: set(np.unique(slices[legs[k][-1]]).tolist()) - {0} for k in rising}
        for k in sorted(rising):
            above = np.isin(slices, sorted(under[k]))
            wide = np.mean([leg.sum() for leg in legs[k]])
            others = set().union(*(under[j] for j in under if j != k))
            if not under[k] or under[k] & others or above.sum() > WIDER * wide:
                rising.discard(k)
            else:
                legs[k].append(above)
    places = [np.argwhere(leg[-1]).mean(axis=0) for leg in legs]
    heights = [slab + len(leg) - 1 for leg in legs]
    tops = [(x, first + height - 1, z) for (x, z), height in zip(places, heights)]
    radii = [np.sqrt(np.median([cut.sum() for cut in leg]) / np.pi) for leg in legs]
    square = [np.median([_share_of_box(cut) for cut in leg]) for leg in legs]
    sizes = (step * np.array(heights, dtype=np.float64), step * np.array(radii))
    return Feet(low + step * (np.array(tops) + 0.5), *sizes, np.array(square))


def _parts(cells: Bool[np.ndarray, "x z"]) -> Int[np.ndarray, "x z"]:
    """Numbers of the connected parts, from 1 on; cells that touch at a corner are connected."""
    from scipy.ndimage import label

    numbers = np.zeros(cells.shape, dtype=np.int32)
    label(cells, np.ones((3, 3)), output=numbers)
    return numbers


def _share_of_box(slice_: Bool[np.ndarray, "x z"]) -> float:
    return float(slice_.sum() / np.prod(np.ptp(np.argwhere(slice_), axis=0) + 1))
