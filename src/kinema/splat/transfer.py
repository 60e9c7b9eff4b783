"""Skin weights of a cloud of Gaussians, from the mesh that it belongs to."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.geometry.nearest import SurfaceTree
from kinema.geometry.surface import SurfacePoints
from kinema.skin import Skin
from kinema.splat.splats import Splats


def transfer_weights(
    character: Character, places: SurfacePoints | Float[Tensor, "points 3"], *, most: int | None = None
) -> Skin:
    """Each point takes the weights of its nearest surface point, interpolated in the face.

    Blending them bends a large face that skinned corners would leave flat: the mesh moves the point p = Σ β_b v_b to
    Σ_b β_b Σ_i w_bi T_i v_b = Σ_i w_i T_i x_i with w_i = Σ_b β_b w_bi and x_i = Σ_b β_b w_bi v_b / w_i, so the offsets
    x_i - p are kept beside the weights. `places` are points on the surface (from `Splats.from_mesh`) or anywhere at
    rest [m]; of each point's joints at most `most` are kept.
    """
    mesh, weights = character.mesh, character.weights
    if weights is None:
        raise KinemaError(f"{character.name}: has no skin weights; rig it first")
    if isinstance(places, Tensor):
        points = places.detach().double().cpu().numpy()
        places = SurfaceTree.from_triangles(mesh.vertices, mesh.faces).nearest(points)
    skin = Skin.from_dense(places.interpolate(mesh.faces, weights.astype(np.float64)), most=most)
    corners = mesh.faces[places.face]
    share = places.barycentric[:, :, None] * weights[corners[:, :, None], skin.joints.numpy()[:, None, :]]
    total = share.sum(1)[..., None]
    seen = np.einsum("nbk,nbd->nkd", share, mesh.vertices[corners]) / np.maximum(total, 1e-12)
    point = places.interpolate(mesh.faces, mesh.vertices.astype(np.float64))
    offsets = np.where(total > 1e-12, seen - point[:, None], 0.0)
    # Where `most` has cut influences off, the rest pose must still be the rest pose.
    offsets -= (skin.weights.double().numpy()[..., None] * offsets).sum(1, keepdims=True)
    return Skin(skin.joints, skin.weights, torch.from_numpy(offsets).to(skin.weights))


def splat_character(character: Character, count: int = 10_000, *, rng: np.random.Generator) -> tuple[Splats, Skin]:
    """Gaussians on the character's surface, and their skin."""
    splats, places = Splats.from_mesh(character.mesh, count, rng=rng)
    return splats, transfer_weights(character, places)
