"""Skin weights and looks for a cloud of Gaussians, from the mesh that it belongs to."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.asset.character import Character, Mesh
from kinema.errors import KinemaError
from kinema.skin import Skin
from kinema.splat.splats import Splats
from kinema.splat.surface import SurfacePoints, face_areas_normals, nearest_surface

CANONICAL_GAIN = 1.4
"""How far the canonical colours are stretched: 1 maps the bulk of the body to [0, 1], more saturates its ends."""


def transfer_weights(
    character: Character, places: SurfacePoints | Float[Tensor, "points 3"], *, most: int | None = None
) -> Skin:
    """Each point takes the weights of its nearest surface point, barycentrically.

    Blending them bends a large face that skinned corners would leave flat: the mesh moves the point p = Σ β_b v_b to
    Σ_b β_b Σ_i w_bi T_i v_b = Σ_i w_i T_i x_i with w_i = Σ_b β_b w_bi and x_i = Σ_b β_b w_bi v_b / w_i, so the offsets
    x_i - p are kept beside the weights.

    Args:
        character: A rigged character.
        places: Where on the surface the points sit (as `Splats.from_mesh` says), or just the points at rest [m].
        most: Keep at most this many joints per point.
    """
    if character.weights is None:
        raise KinemaError(f"{character.name}: has no skin weights; rig it first")
    if isinstance(places, Tensor):
        places = nearest_surface(character.mesh, places.detach().double().cpu().numpy())
    dense = places.interpolate(character.mesh.faces, character.weights.astype(np.float64))
    skin = Skin.from_dense(dense, most=most)
    return Skin(skin.joints, skin.weights, _rest_offsets(character, places, skin))


def _rest_offsets(character: Character, places: SurfacePoints, skin: Skin) -> Float[Tensor, "points influences 3"]:
    assert character.weights is not None
    corners = character.mesh.faces[places.face]
    share = places.barycentric[:, :, None] * character.weights[corners[:, :, None], skin.joints.numpy()[:, None, :]]
    total = share.sum(1)
    seen = np.einsum("nbk,nbd->nkd", share, character.mesh.vertices[corners]) / np.maximum(total, 1e-12)[..., None]
    point = places.interpolate(character.mesh.faces, character.mesh.vertices.astype(np.float64))
    offsets = np.where(total[..., None] > 1e-12, seen - point[:, None], 0.0)
    # Where `most` has cut influences off, the rest pose must still be the rest pose.
    weights = skin.weights.double().numpy()[..., None]
    return torch.from_numpy(offsets - (weights * offsets).sum(1, keepdims=True)).to(skin.weights)


def splat_character(character: Character, count: int = 10_000, *, rng: np.random.Generator) -> tuple[Splats, Skin]:
    """Gaussians on the character's surface and what moves them."""
    splats, places = Splats.from_mesh(character.mesh, count, rng=rng)
    return splats, transfer_weights(character, places)


def canonical_colors(mesh: Mesh, points: Float[Tensor, "points 3"]) -> Float[Tensor, "points 3"]:
    """Where on the body a rest-pose point is, as a colour: red right to left, green upwards, blue back to front.

    Left and right limbs, exchangeable in natural colours, differ: a quadruped's feet are magenta and blue in front,
    red and black behind, on any animal.
    """
    area, _ = face_areas_normals(mesh.vertices, mesh.faces)
    middles = mesh.vertices[mesh.faces].mean(1)
    low, high = np.empty(3), np.empty(3)
    for axis in range(3):
        # The box of the bulk: 2 % of the area beyond either end, so that a horn or a tail does not squeeze the rest.
        order = np.argsort(middles[:, axis])
        share = np.cumsum(area[order]) / area.sum()
        low[axis], high[axis] = np.interp([0.02, 0.98], share, middles[order, axis])
    extent = np.maximum(high - low, 1e-9)
    middle = torch.from_numpy((low + high) / 2).to(points)
    gain = torch.from_numpy(CANONICAL_GAIN / extent).to(points)
    return (0.5 + (points - middle) * gain).clamp(0, 1)
