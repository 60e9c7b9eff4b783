"""Ray-cast images of the mesh, without light: the target of the fit of splats, and its measure."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.asset.character import Mesh
from kinema.errors import KinemaError
from kinema.geometry.camera import Cameras
from kinema.geometry.rays import RayCaster
from kinema.geometry.surface import SurfacePoints
from kinema.splat.colors import surface_colors

DEEPEST = 8
"""Layers of cut-out texture that a ray looks through."""


def raycast(
    mesh: Mesh, cameras: Cameras, *, vertices: Float[np.ndarray, "frames vertices 3"] | None = None, samples: int = 3
) -> Float[Tensor, "frames 4 h w"]:
    """Premultiplied colour and coverage per pixel, the mean of samples × samples rays; faces have two sides.

    `vertices` are those of every frame [m]; None: the mesh at rest in all frames.
    """
    if len(mesh.faces) == 0:
        raise KinemaError("the mesh has no faces to cast rays at")
    if vertices is not None and len(vertices) != len(cameras):
        raise KinemaError(f"{len(vertices)} poses do not fit {len(cameras)} cameras")
    tracer = None
    images = []
    for frame in range(len(cameras)):
        points = mesh.vertices if vertices is None else vertices[frame]
        if tracer is None or vertices is not None:
            tracer = RayCaster(points, mesh.faces)
        images.append(_one(mesh, tracer, points, cameras[frame : frame + 1], samples))
    return torch.from_numpy(np.stack(images))


def _one(mesh: Mesh, tracer: RayCaster, points: np.ndarray, camera: Cameras, samples: int) -> np.ndarray:
    T = camera.T_camera_world[0].double().numpy()
    fx, fy, cx, cy = camera.focal_center_px[0].double().numpy()
    height, width = camera.height, camera.width
    eye = camera.position_world[0].double().numpy()
    # Only rays through the rectangle that the vertices project to can hit anything.
    seen = points @ T[:, :3].T + T[:, 3]
    x0, x1, y0, y1 = 0, width, 0, height
    if (seen[:, 2] > 1e-6).all():
        px, py = fx * seen[:, 0] / seen[:, 2] + cx, fy * seen[:, 1] / seen[:, 2] + cy
        x0, x1 = np.clip([int(np.floor(px.min())), int(np.ceil(px.max()))], 0, width)
        y0, y1 = np.clip([int(np.floor(py.min())), int(np.ceil(py.max()))], 0, height)
    image = np.zeros((4, height, width), dtype=np.float32)
    if x0 >= x1 or y0 >= y1:
        return image
    u = (np.arange(x0 * samples, x1 * samples) + 0.5) / samples
    v = (np.arange(y0 * samples, y1 * samples) + 0.5) / samples
    across, down = np.meshgrid((u - cx) / fx, (v - cy) / fy)
    directions = (np.stack((across, down, np.ones_like(across)), -1) @ T[:, :3]).reshape(-1, 3)
    rgba = _shade(mesh, tracer, eye, directions).reshape(y1 - y0, samples, x1 - x0, samples, 4)
    image[:, y0:y1, x0:x1] = rgba.mean((1, 3)).transpose(2, 0, 1)
    return image


def _shade(mesh: Mesh, tracer: RayCaster, eye: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Premultiplied colour of each ray: the first surface that its texture does not cut away."""
    rgba = np.zeros((len(directions), 4))
    open_, origins = np.arange(len(directions)), np.broadcast_to(eye, directions.shape)
    for _ in range(DEEPEST):
        face, barycentric, distance = tracer.hits(np.ascontiguousarray(origins), directions[open_])
        hit = np.flatnonzero(face >= 0)
        if len(hit) == 0:
            break
        colors = surface_colors(mesh, SurfacePoints(face[hit], barycentric[hit]))
        solid = colors[:, 3] >= 0.5
        rgba[open_[hit[solid]], :3] = colors[solid, :3]
        rgba[open_[hit[solid]], 3] = 1
        through = hit[~solid]
        if len(through) == 0:
            break
        step = distance[through, None] * (1 + 1e-5) + 1e-6
        origins = origins[through] + step * directions[open_[through]]
        open_ = open_[through]
    return rgba
