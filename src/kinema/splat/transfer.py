"""Skin weights and looks for a cloud of Gaussians, from the mesh that it belongs to."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.asset.character import Character, Mesh
from kinema.errors import KinemaError
from kinema.rig.limbs import find_limbs
from kinema.skin import Skin
from kinema.splat.splats import Splats
from kinema.splat.surface import SurfacePoints, face_areas_normals, nearest_surface

CANONICAL_GAIN = 1.4
"""How far the canonical colours are stretched: 1 maps the bulk of the body to [0, 1], more saturates its ends."""
LEG_CONTRAST = 0.42
"""How far the red of a leg is from the middle's."""


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


def canonical_colors(
    mesh: Mesh, points: Float[Tensor, "points 3"], legs: Float[np.ndarray, "joints 3"] | None = None
) -> Float[Tensor, "points 3"]:
    """Where on the body a rest-pose point is, as a colour: red right to left, green upwards, blue back to front.

    Left and right limbs, exchangeable in natural colours, differ: a quadruped's feet are magenta and blue in front,
    red and black behind, on any animal.

    Args:
        mesh: At rest.
        points: What to colour [m].
        legs: Knees and feet. Red then tells left legs from right ones however wide the body is: between the stretched
            arms of a figure they would look alike.
    """
    area, _ = face_areas_normals(mesh.vertices, mesh.faces)
    middles = mesh.vertices[mesh.faces].mean(1)
    low, high = np.empty(3), np.empty(3)
    for axis in range(3):
        # The box of the bulk: 2 % of the area beyond either end, so that a horn or a tail does not squeeze the rest.
        order = np.argsort(middles[:, axis])
        share = np.cumsum(area[order]) / area.sum()
        low[axis], high[axis] = np.interp([0.02, 0.98], share, middles[order, axis])
    middle, gain = (low + high) / 2, CANONICAL_GAIN / np.maximum(high - low, 1e-9)
    if legs is not None and len(legs) > 1:
        middle[0] = legs[:, 0].mean()
        gain[0] = LEG_CONTRAST / max(float(np.abs(legs[:, 0] - middle[0]).mean()), 1e-3 * float(high[1] - low[1]))
    return (0.5 + (points - torch.from_numpy(middle).to(points)) * torch.from_numpy(gain).to(points)).clamp(0, 1)


def canonical_look(character: Character, points: Float[Tensor, "points 3"]) -> Float[Tensor, "points 3"]:
    """`canonical_colors` with the legs of a rigged character."""
    legs = None
    if character.skeleton is not None and character.weights is not None:
        joints = [joint for leg in find_limbs(character).legs for joint in leg.joints[1:]]
        legs = np.asarray(character.skeleton.heads)[joints]
    return canonical_colors(character.mesh, points, legs)
