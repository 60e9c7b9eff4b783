"""The rasterizer in plain torch: short, differentiable by autograd, any dtype and device. It is the specification."""

import torch
from jaxtyping import Float
from torch import Tensor

from kinema.geometry.camera import Cameras
from kinema.render.image import Centers, Covariances, Features, Image, Opacities

NEAR = 0.01
"""Gaussians whose centre is closer than this along the optical axis [m] are cut."""
BLUR_PX2 = 0.3
"""Added to the diagonal of every projected covariance, so that a Gaussian is never narrower than a pixel."""
ALPHA_MAX, ALPHA_MIN, TRANSMITTANCE_MIN = 0.999, 1 / 255, 1e-4
TILE = 16


def project(
    centers: Float[Tensor, "points 3"],
    covariances: Float[Tensor, "points 3 3"],
    T_camera_world: Float[Tensor, "3 4"],
    focal_center_px: Float[Tensor, "4"],
    width: int,
    height: int,
) -> tuple[Float[Tensor, "points 2"], Float[Tensor, "points 2 2"], Float[Tensor, "points"]]:
    """Image means [px], image covariances [px²] and depths [m] of Gaussians in front of the camera (EWA splatting)."""
    rotation = T_camera_world[:, :3]
    x, y, z = (centers @ rotation.T + T_camera_world[:, 3]).unbind(-1)
    fx, fy, cx, cy = focal_center_px.unbind(-1)
    means = torch.stack((fx * x / z + cx, fy * y / z + cy), -1)
    # The linearisation is taken no further than 15 % of the image size outside it: beyond, it explodes.
    margin_x, margin_y = 0.15 * width / fx, 0.15 * height / fy
    slope_x = torch.minimum(torch.maximum(x / z, -cx / fx - margin_x), (width - cx) / fx + margin_x)
    slope_y = torch.minimum(torch.maximum(y / z, -cy / fy - margin_y), (height - cy) / fy + margin_y)
    zero = torch.zeros_like(z)
    jacobian = torch.stack((fx / z, zero, -fx * slope_x / z, zero, fy / z, -fy * slope_y / z), -1).unflatten(-1, (2, 3))
    linear = jacobian @ rotation
    symmetric = (covariances + covariances.mT) / 2
    blur = BLUR_PX2 * torch.eye(2, dtype=centers.dtype, device=centers.device)
    return means, linear @ symmetric @ linear.mT + blur, z


def composite(
    pixels: Float[Tensor, "pixels 2"],
    means: Float[Tensor, "points 2"],
    image_covariances: Float[Tensor, "points 2 2"],
    opacities: Float[Tensor, "points"],
    features: Float[Tensor, "points channels"],
) -> tuple[Float[Tensor, "pixels channels"], Float[Tensor, "pixels"]]:
    """Premultiplied features and alpha at pixel positions; the points come sorted front to back."""
    dx, dy = (pixels[:, None] - means).unbind(-1)
    a, b, c = image_covariances[:, 0, 0], image_covariances[:, 0, 1], image_covariances[:, 1, 1]
    sigma = (c * dx**2 - 2 * b * dx * dy + a * dy**2) / (2 * (a * c - b * b))
    alpha = (opacities * torch.exp(-sigma)).clamp(max=ALPHA_MAX)
    alpha = torch.where(alpha >= ALPHA_MIN, alpha, 0)
    after = torch.cumprod(1 - alpha, -1)
    before = torch.cat((torch.ones_like(after[:, :1]), after[:, :-1]), -1)
    # `after` never grows, so a pixel that has stopped stays so.
    weights = torch.where(after > TRANSMITTANCE_MIN, before * alpha, 0)
    return weights @ features, weights.sum(-1)


def rasterize_torch(
    centers: Centers, covariances: Covariances, opacities: Opacities, features: Features, cameras: Cameras
) -> Image:
    """Render opacities and features per frame, frame by frame."""
    size = (cameras.width, cameras.height)
    operands = (centers, covariances, opacities, features, cameras.T_camera_world, cameras.focal_center_px)
    frames = [_frame(*one, size=size) for one in zip(*operands, strict=True)]
    stack = torch.stack(frames) if frames else centers.new_zeros(0, *size[::-1], features.shape[-1] + 2)
    return Image(stack[..., :-2].permute(0, 3, 1, 2), stack[..., -1], stack[..., -2])


def _frame(*operands: Tensor, size: tuple[int, int]) -> Float[Tensor, "height width channels_and_2"]:
    """Features, depth and alpha of one frame, tile by tile."""
    centers, covariances, opacities, features, T_camera_world, focal_center_px = operands
    depth = centers.detach() @ T_camera_world[2, :3].detach() + T_camera_world[2, 3].detach()
    keep = ((depth >= NEAR) & (opacities.detach() >= ALPHA_MIN)).nonzero().squeeze(-1)
    keep = keep[torch.sort(depth[keep], stable=True).indices]
    means, spread, z = project(centers[keep], covariances[keep], T_camera_world, focal_center_px, *size)
    opacity, feature = opacities[keep], torch.cat((features[keep], z[:, None]), -1)
    with torch.no_grad():
        # alpha >= 1/255 inside an ellipse; these are the half widths of its bounding box.
        reach = (2 * torch.log(opacity / ALPHA_MIN)[:, None] * spread.diagonal(dim1=-2, dim2=-1)).clamp(min=0).sqrt()
        low, high = means - reach - 1e-3, means + reach + 1e-3
        valid = torch.linalg.det(spread) > 0
    x, y = (torch.arange(pixels, dtype=centers.dtype, device=centers.device) + 0.5 for pixels in size)
    rows = []
    for ys in y.split(TILE):
        row = []
        for xs in x.split(TILE):
            touched = (low[:, 0] <= xs[-1]) & (high[:, 0] >= xs[0]) & (low[:, 1] <= ys[-1]) & (high[:, 1] >= ys[0])
            hit = (touched & valid).nonzero().squeeze(-1)
            pixels = torch.stack(torch.meshgrid(xs, ys, indexing="xy"), -1)
            colour, alpha = composite(pixels.flatten(0, 1), means[hit], spread[hit], opacity[hit], feature[hit])
            row.append(torch.cat((colour, alpha[:, None]), -1).unflatten(0, pixels.shape[:2]))
        rows.append(torch.cat(row, 1))
    return torch.cat(rows, 0)
