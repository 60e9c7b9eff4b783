"""What several formats need: axes of written joints, influences of vertices, textures, linear colours."""

import io

import numpy as np
from jaxtyping import Float, Int, UInt8

from kinema.asset.character import Frame, Mesh, Skeleton
from kinema.geometry import rotations
from kinema.rig.kinematics import bone_axes

Weights = Float[np.ndarray, "vertices joints"]


def joint_axes_file(frame: Frame, skeleton: Skeleton) -> Float[np.ndarray, "joints 3 3"]:
    """Axes of the joints we write: the file's own, else y along the bone and x the axis it flexes about.

    Blender draws a bone along its y axis, and a knee that bends about x is what animators expect.
    """
    if skeleton.wxyz_world_file is not None:
        world = rotations.to_matrix(skeleton.wxyz_world_file)
    else:
        axes = bone_axes(skeleton.heads, skeleton.tails)
        # The root turns about the world's axes in our parameters, but its bone still has a direction.
        axes[0] = bone_axes(np.repeat(skeleton.heads[:1], 2, 0), np.repeat(skeleton.tails[:1], 2, 0))[1]
        world = np.stack((axes[..., 0], axes[..., 2], -axes[..., 1]), -1)
    return frame.rotation.T @ world


def influences(weights: Weights) -> tuple[Int[np.ndarray, "vertices most"], Float[np.ndarray, "vertices most"]]:
    """Joints of every vertex, strongest first, and their weights; as many as the busiest vertex needs."""
    most = max(1, int((weights > 0).sum(-1).max(initial=1)))
    joints = np.argsort(-weights, axis=-1, kind="stable")[:, :most]
    values = np.take_along_axis(weights, joints, -1)
    return np.where(values > 0, joints, 0), values / values.sum(-1, keepdims=True)


def face_textures(mesh: Mesh) -> Int[np.ndarray, "faces"]:
    """Index of every face's texture, -1 for vertex colours."""
    return np.full(len(mesh.faces), -1) if mesh.face_texture is None or mesh.uv is None else mesh.face_texture


def encode_png(image: UInt8[np.ndarray, "h w 4"]) -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "PNG")
    return stream.getvalue()
