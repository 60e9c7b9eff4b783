"""Textures: images (PNG, JPEG, WebP ...) as pixels, within the budget of the file that they belong to; and sRGB."""

import contextlib
import io
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, UInt8

from kinema.errors import KinemaError, first_line
from kinema.files import Budget

if TYPE_CHECKING:
    from PIL.Image import Image

BYTES_PER_PIXEL, WHILE_DECODED = 4, 12
"""Memory of a pixel: as RGBA, and while Pillow's image, the converted one and ours exist together."""
FORMATS = ("PNG", "JPEG", "MPO", "WEBP", "BMP", "TGA", "TIFF", "GIF", "DDS")
"""Textures, as Pillow names them. It knows many more, and runs Ghostscript, a program, on one of them."""


def decode(data: bytes, what: str, budget: Budget, *, opaque: bool = False) -> UInt8[np.ndarray, "h w 4"]:
    """Pixels of an encoded image: sRGB with alpha, which is 255 everywhere on a surface that is `opaque`."""
    from PIL import Image

    with _decoding(what, budget), Image.open(io.BytesIO(data)) as image:
        rgba = pixels(image, what, budget)
    if opaque:
        rgba = rgba.copy()
        rgba[..., 3] = 255
    return rgba


def pixels(image: "Image", what: str, budget: Budget) -> UInt8[np.ndarray, "h w 4"]:
    """Pixels of an image of which only the header has been read: sRGB with alpha."""
    if image.format not in (*FORMATS, None):  # None: trimesh made it
        raise KinemaError(f"{budget.path}: {what} cannot be read ({image.format} is no format of textures)")
    count, shown = image.width * image.height, f"{what} of {image.width} x {image.height} pixels"
    budget.check(count * WHILE_DECODED, shown)
    budget.take(count * BYTES_PER_PIXEL, shown)
    with _decoding(what, budget):
        return np.asarray(image.convert("RGBA"))


@contextlib.contextmanager
def _decoding(what: str, budget: Budget) -> Iterator[None]:
    """Whatever Pillow says about a broken image, as one line."""
    try:
        with warnings.catch_warnings():
            # Pillow warns about sizes that the budget decides on.
            warnings.simplefilter("ignore")
            yield
    except KinemaError:
        raise
    except Exception as error:  # Pillow's decoders raise anything on a broken file
        # Pillow's text names the memory address of the stream.
        reason = "unknown image format" if "identify" in str(error) else first_line(error, 80)
        raise KinemaError(f"{budget.path}: {what} cannot be read ({reason})") from None


def srgb_from_linear(linear: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
    """sRGB of linear light (IEC 61966-2-1)."""
    linear = np.clip(linear, 0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.power(linear, 1 / 2.4) - 0.055)


def linear_from_srgb(srgb: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
    """Inverse of `srgb_from_linear`."""
    srgb = np.clip(srgb, 0, 1)
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
