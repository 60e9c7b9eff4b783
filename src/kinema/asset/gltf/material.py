"""Base colour of glTF materials: factors, texture mapping and decoded textures."""

from typing import Any

import numpy as np
from jaxtyping import Float

from kinema.asset.gltf.document import Document
from kinema.errors import KinemaError


def base_color_linear(document: Document, material: int) -> Float[np.ndarray, "3"]:
    """Factor of the base colour; white for glTF's default material."""
    values = document.json["materials"][material] if material >= 0 else {}
    old = values.get("extensions", {}).get("KHR_materials_pbrSpecularGlossiness", {})
    factor = values.get("pbrMetallicRoughness", {}).get("baseColorFactor")
    if factor is None and isinstance(old, dict) and isinstance(old.get("diffuseFactor"), list):
        factor = old["diffuseFactor"]
    try:
        return np.ones(3) if factor is None else np.clip(np.asarray(factor[:3], dtype=np.float64).reshape(3), 0, 1)
    except (TypeError, ValueError):
        raise KinemaError(f"{document.path}: materials[{material}] has no colour in {factor!r:.40}") from None


def _base_texture(document: Document, material: int) -> dict[str, Any]:
    """The texture info of the base colour; empty if there is none."""
    values = document.json["materials"][material] if material >= 0 else {}
    return values.get("pbrMetallicRoughness", {}).get("baseColorTexture", {})


def base_image(document: Document, material: int) -> int:
    """Image of the base colour's texture, or -1."""
    info = _base_texture(document, material)
    if not info:
        return -1
    texture = document.json["textures"][info["index"]]
    webp = texture.get("extensions", {}).get("EXT_texture_webp", {})
    image = webp.get("source", -1) if isinstance(webp, dict) else -1
    known = isinstance(image, int) and 0 <= image < len(document.images)
    return image if known else texture.get("source", -1)


def texture_mapping(document: Document, material: int) -> tuple[int, Float[np.ndarray, "2 3"]]:
    """Set of texture coordinates of the base colour, and KHR_texture_transform: translation * rotation * scale."""
    info = _base_texture(document, material)
    values = info.get("extensions", {}).get("KHR_texture_transform", {})
    (x, y), angle, (sx, sy) = values.get("offset", (0, 0)), values.get("rotation", 0), values.get("scale", (1, 1))
    c, s = np.cos(angle), np.sin(angle)
    transform = np.array([[c * sx, s * sy, x], [-s * sx, c * sy, y]], dtype=np.float64)
    return values.get("texCoord", info.get("texCoord", 0)), transform


def is_opaque(document: Document, material: int) -> bool:
    """True if the alpha of the material's texture says nothing; glTF's default."""
    return material < 0 or document.json["materials"][material].get("alphaMode", "OPAQUE") == "OPAQUE"


def srgb_from_linear(linear: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
    """sRGB of linear light (IEC 61966-2-1)."""
    linear = np.clip(linear, 0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.power(linear, 1 / 2.4) - 0.055)
