"""Colours of surface points: the mesh's own look, and the canonical one in which nano sees every body."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.asset.character import Character, Mesh
from kinema.geometry.surface import SurfacePoints, face_areas_normals
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs, find_limbs
from kinema.skin import Skin

CANONICAL_GAIN = 1.4
"""Stretch of the canonical colours: 1 maps the bulk of the body to [0, 1], more saturates its ends."""
LEG_CONTRAST = 0.42
"""Difference between the red of a leg and 0.5."""
ARM_GREEN = 0.8
"""Green of arms and wings in the canonical look."""


def surface_colors(mesh: Mesh, points: SurfacePoints) -> Float[np.ndarray, "points 4"]:
    """sRGB and coverage in [0, 1]: vertex colour times the bilinearly read texture, without any light."""
    rgba = np.ones((len(points), 4))
    rgba[:, :3] = points.interpolate(mesh.faces, mesh.colors.astype(np.float64))
    if mesh.uv is None or mesh.face_texture is None:
        return rgba
    uv = points.interpolate(mesh.faces, mesh.uv.astype(np.float64))
    texture_of = mesh.face_texture[points.face]
    for number, texture in enumerate(mesh.textures):
        here = np.flatnonzero(texture_of == number)
        if len(here):
            rgba[here] *= _read_texture(texture, uv[here])
    return rgba


def _read_texture(texture: np.ndarray, uv: Float[np.ndarray, "points 2"]) -> Float[np.ndarray, "points 4"]:
    """Bilinear values of a repeating texture; (0, 0) is the top left corner of the top left texel."""
    height, width = texture.shape[:2]
    x, y = uv[:, 0] * width - 0.5, uv[:, 1] * height - 0.5
    x0, y0 = np.floor(x), np.floor(y)
    fx, fy = (x - x0)[:, None], (y - y0)[:, None]
    left, top = x0.astype(np.int64) % width, y0.astype(np.int64) % height
    right, below = (left + 1) % width, (top + 1) % height
    upper = texture[top, left] * (1 - fx) + texture[top, right] * fx
    lower = texture[below, left] * (1 - fx) + texture[below, right] * fx
    return (upper * (1 - fy) + lower * fy) / 255.0


def canonical_colors(
    character: Character, points: Float[Tensor, "points 3"], *, limbs: Limbs | None = None
) -> Float[Tensor, "points 3"]:
    """The place of a rest-pose point on the body as a colour: red right to left, green upwards, blue back to front.

    Left and right limbs, which natural colours do not tell apart, differ: a quadruped's feet are magenta and blue in
    front, red and black behind, on any animal. Knees and feet of a rigged character set the scale of red, or legs
    would look alike between the stretched arms of a figure.
    """
    mesh, skeleton = character.mesh, character.skeleton
    area, _ = face_areas_normals(mesh.vertices, mesh.faces)
    middles = mesh.vertices[mesh.faces].mean(1)
    low, high = np.empty(3), np.empty(3)
    for axis in range(3):
        # The box of the bulk: 2 % of the area beyond either end, so that a horn or a tail does not squeeze the rest.
        order = np.argsort(middles[:, axis])
        share = np.cumsum(area[order]) / area.sum()
        low[axis], high[axis] = np.interp([0.02, 0.98], share, middles[order, axis])
    middle, gain = (low + high) / 2, CANONICAL_GAIN / np.maximum(high - low, 1e-9)
    if skeleton is not None and character.weights is not None:
        joints = [joint for leg in (limbs or find_limbs(character)).legs for joint in leg.joints[1:]]
        legs = np.asarray(skeleton.heads)[joints]
        if len(legs) > 1:
            middle[0] = legs[:, 0].mean()
            gain[0] = LEG_CONTRAST / max(float(np.abs(legs[:, 0] - middle[0]).mean()), 1e-3 * float(high[1] - low[1]))
    return (0.5 + (points - torch.from_numpy(middle).to(points)) * torch.from_numpy(gain).to(points)).clamp(0, 1)


def paint_arms(
    colors: Float[Tensor, "points 3"], points: Float[Tensor, "points 3"], skin: Skin, rig: Rig, limbs: Limbs
) -> Float[Tensor, "points 3"]:
    """Canonical colours whose arms and wings fade from the shoulder (blue 0.5) to the hand (blue 0).

    By their place at rest, all of a stretched arm would have one colour, and a hanging one the colours of the hip:
    nothing would tell a hand from an elbow, or from the same hand of another rig.
    """
    colors = colors.clone()
    for arm in limbs.arms:
        if arm.kind == "fin":
            continue
        inside = torch.zeros(len(rig.parents), dtype=points.dtype, device=points.device)
        for joint, parent in enumerate(rig.parents):
            inside[joint] = float(joint in arm.joints or (parent >= 0 and inside[parent] > 0))
        share = (skin.weights * inside[skin.joints]).sum(-1)
        away = (points - rig.heads[arm.joints[0]].to(points)).norm(dim=-1)
        if not bool((share > 0.5).any()):
            continue
        along = (away / away[share > 0.5].max().clamp(min=1e-9)).clamp(0, 1)
        red = torch.full_like(along, float(arm.side > 0))
        arm_color = torch.stack((red, torch.full_like(along, ARM_GREEN), 0.5 - 0.5 * along), -1)
        colors = torch.lerp(colors, arm_color, share[:, None])
    return colors
