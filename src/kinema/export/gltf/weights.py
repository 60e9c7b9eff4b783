"""Skin weights of a file that do not sum to one, written as they were read: normalised.

Programs disagree about such weights (some divide by the sum, some clip each to one, some do neither), so a file that
kept them would look different everywhere.
"""

from typing import Any

import numpy as np

from kinema.asset.gltf.accessors import read_accessor
from kinema.asset.gltf.document import Document
from kinema.export.gltf.file import VERTEX_DATA, GltfFile


def normalize_weights(file: GltfFile, document: Document) -> None:
    """Give primitives new accessors where the sum of a vertex's weights is off by more than rounding (2 %)."""
    done: dict[tuple[int, ...], dict[str, int]] = {}
    for mesh in file.json.get("meshes", ()):
        for primitive in mesh["primitives"]:
            attributes: dict[str, Any] = primitive["attributes"]
            sets = [i for i in range(8) if f"WEIGHTS_{i}" in attributes and f"JOINTS_{i}" in attributes]
            key = tuple(attributes[f"{name}_{i}"] for i in sets for name in ("WEIGHTS", "JOINTS"))
            if sets and key not in done:
                done[key] = _normalized(file, document, attributes, sets)
            attributes.update(done.get(key, {}))


def _normalized(file: GltfFile, document: Document, attributes: dict[str, int], sets: list[int]) -> dict[str, int]:
    """New attributes, or none if the weights are good."""
    weights = np.concatenate([read_accessor(document, attributes[f"WEIGHTS_{i}"], kind="VEC4") for i in sets], 1)
    weights = np.maximum(weights.astype(np.float64), 0)
    bare = weights.sum(1) <= 0
    if not bare.any() and np.abs(weights.sum(1) - 1).max(initial=0) <= 0.02:
        return {}
    result = {}
    if bare.any():
        # As on reading: a vertex without weights follows the skin's first joint.
        joints = read_accessor(document, attributes[f"JOINTS_{sets[0]}"], kind="VEC4").astype(np.uint16)
        joints[bare, 0] = 0
        weights[bare, 0] = 1
        result[f"JOINTS_{sets[0]}"] = file.add_accessor(joints, target=VERTEX_DATA)
    weights = (weights / weights.sum(1, keepdims=True)).astype(np.float32)
    for place, i in enumerate(sets):
        result[f"WEIGHTS_{i}"] = file.add_accessor(weights[:, 4 * place : 4 * place + 4], target=VERTEX_DATA)
    return result
