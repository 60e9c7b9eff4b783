"""From a row of proportions to a character: body, mesh, weights, colours."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Character, Mesh
from kinema.create.creatures.body import ANYWHERE, Body, Eye, Shell
from kinema.create.creatures.field import Points, blob_distance, body_distance, part_distances
from kinema.create.creatures.proportions import Coat, Proportions
from kinema.create.creatures.surface import triangulate

Detail = Literal["low", "full"]


def generate(name: str, proportions: Proportions, *, seed: int = 0, detail: Detail = "full") -> Character:
    """Build the body, mesh it, bind it and paint it; `seed` places spots and patches."""
    count, relax, sides, rings = (5200, 3, 12, 9) if detail == "full" else (1100, 1, 6, 5)
    body = proportions.build()
    surface = triangulate(body, count=count, relax=relax)
    vertices, faces, weights = [surface.vertices], [surface.faces], [skin_weights(body, surface.vertices)]
    colors = [paint(body, proportions.coat, surface.vertices, surface.normals, seed=seed)]
    offset = len(surface.vertices)
    for shell in [*body.shells, *(shell for eye in body.eyes for shell in _eyeball(body, eye, rings))]:
        points, triangles, along = _tube(shell, sides)
        vertices.append(points)
        faces.append(triangles + offset)
        offset += len(points)
        weights.append(np.eye(len(body.names))[np.full(len(points), shell.joint)])
        color, tip = np.array(shell.color), np.array(shell.tip_color or shell.color)
        colors.append(color + along[:, None] * (tip - color))
    mesh = Mesh(np.concatenate(vertices), np.concatenate(faces), np.clip(np.concatenate(colors), 0, 1))
    return Character(name, mesh, body.skeleton, np.concatenate(weights))


def _eyeball(body: Body, eye: Eye, rings: int) -> list[Shell]:
    """The ball on the surface, found by marching along the ray from inside the head, and its pupil if it has one."""
    along = np.linspace(0, 1, 120) * 12 * eye.radius + 1e-3
    ray = eye.start + along[:, None] * eye.direction
    inside = body_distance(body, ray, thicken=0.0, sole=1e-3) < 0
    reach = along[inside].max() if inside.any() else eye.radius
    # About a third of the ball lies below the surface.
    center = eye.start + (reach - 0.35 * eye.radius) * eye.direction
    angle = np.linspace(0, np.pi, rings)
    path, radii = center - np.cos(angle)[:, None] * eye.radius * eye.direction, eye.radius * np.sin(angle)
    if eye.white is None:
        return [Shell(path, radii, eye.color, eye.joint)]
    bulge = center + (0.45 - 0.66 * np.cos(angle)[:, None]) * eye.radius * eye.look
    pupil = Shell(bulge, 0.66 * eye.radius * np.sin(angle), eye.color, eye.joint)
    return [Shell(path, radii, eye.white, eye.joint), pupil]


def _tube(shell: Shell, sides: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, closed triangles around the path, and each point's place along it in [0, 1]; the end rings are points."""
    path, tangent = shell.path, np.gradient(shell.path, axis=0)
    tangent /= np.maximum(np.linalg.norm(tangent, axis=-1, keepdims=True), 1e-12)
    u = np.cross(tangent, np.eye(3)[np.abs(tangent.mean(0)).argmin()])
    u /= np.linalg.norm(u, axis=-1, keepdims=True)
    v = np.cross(tangent, u)
    angle = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    ring = np.cos(angle)[None, :, None] * u[:, None] + np.sin(angle)[None, :, None] * v[:, None]
    rings = path[1:-1, None] + shell.radii[1:-1, None, None] * ring[1:-1]
    points = np.concatenate((path[:1], rings.reshape(-1, 3), path[-1:]))
    k, n = np.arange(sides), np.arange(1, sides + 1) % sides
    triangles = [np.stack((np.zeros_like(k), 1 + n, 1 + k), -1)]
    starts = 1 + sides * np.arange(len(rings))
    for a, b in pairwise(starts):
        triangles += [np.stack((a + k, a + n, b + k), -1), np.stack((a + n, b + n, b + k), -1)]
    triangles.append(np.stack((starts[-1] + k, starts[-1] + n, np.full_like(k, len(points) - 1)), -1))
    along = np.concatenate(([0.0], np.repeat(np.linspace(0, 1, len(rings)), sides), [1.0]))
    return points, np.concatenate(triangles), along


def smoothstep(low: float | np.ndarray, high: float | np.ndarray, x: np.ndarray) -> np.ndarray:
    """0 up to `low`, 1 from `high` on (which may be the smaller one), smooth between."""
    t = np.clip((x - low) / (np.asarray(high) - low), 0.0, 1.0)
    return t * t * (3 - 2 * t)


def skin_weights(body: Body, points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n joints"]:
    """Weights of surface points, rows sum to one.

    A limb owns a point as far as it is nearer than the core, and nearer than every other limb: between two limbs the
    core takes over, so no point is ever moved by two of them.
    """
    parts = part_distances(body, points)
    weights, left = np.zeros((len(points), len(body.names))), np.ones(len(points))
    for index, limb in enumerate(body.limbs):
        d, others, width = parts[1 + index], np.delete(parts[1:], index, axis=0), limb.blend
        own = smoothstep(-width, width, parts[0] - d)
        if len(others):
            own = own * smoothstep(0.0, width, others.min(0) - d)
        weights[:, limb.joints] = own[:, None] * _along(body, limb.joints, points)
        left = left - own
    weights[:, body.core] += np.maximum(left, 0)[:, None] * _along(body, body.core, points)
    weights[weights < 1e-3] = 0
    return weights / weights.sum(1, keepdims=True)


def _along(body: Body, joints: Sequence[int], points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n chain"]:
    """Shares of a chain's joints: each takes over from the one before across the plane that halves their angle."""
    heads, tails = np.array([body.heads[j] for j in joints]), np.array([body.tails[j] for j in joints])
    length = np.linalg.norm(tails - heads, axis=-1)
    direction = (tails - heads) / np.maximum(length, 1e-9)[:, None]
    reached = [np.ones(len(points))]
    for k in range(1, len(joints)):
        normal, band = direction[k - 1] + direction[k], 0.32 * min(length[k - 1], length[k])
        normal = normal / max(np.linalg.norm(normal), 1e-6)
        reached.append(reached[-1] * smoothstep(-band, band, (points - heads[k]) @ normal))
    reached.append(np.zeros(len(points)))
    return -np.diff(reached, axis=0).T


def paint(body: Body, coat: Coat, points: Points, normals: Points, *, seed: int) -> Points:
    """sRGB colours of surface points."""
    x, y, z = points.T
    size = np.ptp(points, axis=0).max()
    d = np.stack([blob_distance(blob, x, y, z) for blob in body.blobs])
    share = np.exp(-(d - d.min(0)) / (0.006 * size))
    colors = np.einsum("bn,bc->nc", share / share.sum(0), np.stack([blob.color for blob in body.blobs]))
    if coat.pattern != "plain":
        # Patterns show on the coat's base colour only: they leave muzzle and socks alone.
        near_base = smoothstep(0.25, 0.05, np.linalg.norm(colors - coat.base, axis=-1))
        amount = _pattern(coat, points / size, seed) * near_base
        colors = colors + amount[:, None] * (np.asarray(coat.accent) - colors)
    owner = part_distances(body, points).argmin(0) - 1
    for mark in body.marks:
        inside = smoothstep(0.0, mark.blend, -blob_distance(mark, x, y, z))
        if mark.limb != ANYWHERE:
            inside = inside * (owner == mark.limb)
        colors = colors + inside[:, None] * (mark.color - colors)
    # Undersides a little darker: forms stay readable under flat light.
    return np.clip(colors * (1 + 0.05 * normals[:, 1:2]), 0, 1)


def _pattern(coat: Coat, points: Points, seed: int) -> Float[np.ndarray, "n"]:
    """How much of the accent colour shows, 0..1; points in body sizes."""
    rng = np.random.default_rng(seed + 7)
    if coat.pattern in ("spots", "net"):
        cells = _scatter(points, 0.062 if coat.pattern == "net" else 0.055, rng)
        near = np.sort(np.linalg.norm(points[:, None] - cells[None], axis=-1), axis=1)[:, :2]
        if coat.pattern == "net":
            # Giraffe: dark plates, light seams where two cells are equally near.
            return smoothstep(0.003, 0.014, near[:, 1] - near[:, 0])
        return smoothstep(0.018, 0.010, near[:, 0])
    # A few random waves: smooth, cheap, about ±1.
    waves = rng.normal(size=(12, 3)) * (5.0 if coat.pattern == "patches" else 3.0) * 2
    noise = np.sin(points @ waves.T + rng.uniform(0, 2 * np.pi, 12)).sum(1) / np.sqrt(6)
    if coat.pattern == "stripes":
        return smoothstep(-0.05, 0.5, np.sin(60 * points[:, 2] + 4 * noise + 6 * np.abs(points[:, 0])))
    return smoothstep(-0.02, 0.14, noise)


def _scatter(points: np.ndarray, spacing: float, rng: np.random.Generator) -> np.ndarray:
    """Some of the points, no two of them nearer than `spacing`."""
    chosen: list[np.ndarray] = []
    for point in points[rng.permutation(len(points))[: 60 * int(1 / spacing)]]:
        if not chosen or np.linalg.norm(np.array(chosen) - point, axis=1).min() > spacing:
            chosen.append(point)
    return np.array(chosen)
