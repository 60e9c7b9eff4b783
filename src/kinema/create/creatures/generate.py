"""From a row of proportions to a character: body, mesh, weights, colours."""

from itertools import pairwise
from typing import Literal

import numpy as np

from kinema.asset.character import Character, Mesh
from kinema.create.creatures.body import Body, Eye, Shell
from kinema.create.creatures.field import body_distance
from kinema.create.creatures.paint import paint
from kinema.create.creatures.proportions import Proportions
from kinema.create.creatures.surface import triangulate
from kinema.create.creatures.weights import skin_weights

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
