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
    images = np.zeros((len(cameras), 4, cameras.height, cameras.width), dtype=np.float32)
    pinholes = (cameras.T_camera_world, cameras.focal_center_px, cameras.position_world)
    tracer = None
    for frame, (T, (fx, fy, cx, cy), eye) in enumerate(zip(*(values.double().numpy() for values in pinholes))):
        points = mesh.vertices if vertices is None else vertices[frame]
        if tracer is None or vertices is not None:
            tracer = RayCaster(points, mesh.faces)
        # Only rays through the rectangle that the vertices project to can hit anything.
        seen = points @ T[:, :3].T + T[:, 3]
        x0, x1, y0, y1 = 0, cameras.width, 0, cameras.height
        if (seen[:, 2] > 1e-6).all():
            px, py = fx * seen[:, 0] / seen[:, 2] + cx, fy * seen[:, 1] / seen[:, 2] + cy
            x0, x1 = np.clip([int(np.floor(px.min())), int(np.ceil(px.max()))], 0, cameras.width)
            y0, y1 = np.clip([int(np.floor(py.min())), int(np.ceil(py.max()))], 0, cameras.height)
        if x0 >= x1 or y0 >= y1:
            continue
        u, v = ((np.arange(a * samples, b * samples) + 0.5) / samples for a, b in ((x0, x1), (y0, y1)))
        across, down = np.meshgrid((u - cx) / fx, (v - cy) / fy)
        directions = (np.stack((across, down, np.ones_like(across)), -1) @ T[:, :3]).reshape(-1, 3)
        rgba = _shade(mesh, tracer, eye, directions).reshape(y1 - y0, samples, x1 - x0, samples, 4)
        images[frame, :, y0:y1, x0:x1] = rgba.mean((1, 3)).transpose(2, 0, 1)
    return torch.from_numpy(images)


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
        rgba[open_[hit[solid]]] = np.insert(colors[solid, :3], 3, 1, axis=1)
        through = hit[~solid]
        if len(through) == 0:
            break
        open_ = open_[through]
        origins = origins[through] + (distance[through, None] * (1 + 1e-5) + 1e-6) * directions[open_]
    return rgba
