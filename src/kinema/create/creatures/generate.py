"""Proportions in, character out."""

from typing import Literal

import numpy as np

from kinema.asset.character import Character, Mesh, Skeleton
from kinema.create.creatures.arthropod import arthropod
from kinema.create.creatures.field import Body, Eye, Shell, body_distance
from kinema.create.creatures.paint import paint
from kinema.create.creatures.proportions import Proportions, Vertebrate
from kinema.create.creatures.surface import triangulate
from kinema.create.creatures.vertebrate import vertebrate
from kinema.create.creatures.weights import skin_weights

Detail = Literal["low", "full"]


def generate(name: str, proportions: Proportions, *, seed: int = 0, detail: Detail = "full") -> Character:
    """Build the body, mesh it, bind it and paint it; `seed` places spots and patches."""
    body = vertebrate(proportions) if isinstance(proportions, Vertebrate) else arthropod(proportions)
    surface = triangulate(body, count=5200 if detail == "full" else 1100, relax=3 if detail == "full" else 1)
    vertices, faces = [surface.vertices], [surface.faces]
    weights = [skin_weights(body, surface.vertices)]
    colors = [paint(body, proportions.coat, surface.vertices, surface.normals, seed=seed)]
    sides = 12 if detail == "full" else 6
    offset = len(surface.vertices)
    shells = body.shells + tuple(shell for eye in body.eyes for shell in _eyeball(body, eye, 9 if sides == 12 else 5))
    for shell in shells:
        points, triangles, ring = _tube(shell, sides)
        vertices.append(points)
        faces.append(triangles + offset)
        offset += len(points)
        weights.append(np.eye(len(body.names))[np.full(len(points), shell.joint)])
        tip = shell.color if shell.tip_color is None else shell.tip_color
        colors.append(shell.color + ring[:, None] * (tip - shell.color))
    mesh = Mesh(np.concatenate(vertices), np.concatenate(faces), np.clip(np.concatenate(colors), 0, 1))
    skeleton = Skeleton(body.names, body.parents, body.heads, body.tails)
    return Character(name, mesh, skeleton, np.concatenate(weights))


def _eyeball(body: Body, eye: Eye, rings: int) -> list[Shell]:
    """The ball on the surface, found by marching along the ray from inside the head."""
    along = np.linspace(0, 1, 120) * 12 * eye.radius + 1e-3
    ray = eye.start + along[:, None] * eye.direction
    inside = body_distance(body, ray, thicken=0.0, sole=1e-3) < 0
    reach = along[inside].max() if inside.any() else eye.radius
    center = eye.start + (reach - eye.depth * eye.radius) * eye.direction
    angle = np.linspace(0, np.pi, rings)
    path = center - np.cos(angle)[:, None] * eye.radius * eye.direction
    white = eye.white
    ball = Shell(path, eye.radius * np.sin(angle), eye.color, eye.joint)
    if white is None:
        return [ball]
    bulge = center + (0.45 - 0.66 * np.cos(angle)[:, None]) * eye.radius * eye.look
    pupil = Shell(bulge, 0.66 * eye.radius * np.sin(angle), eye.color, eye.joint)
    return [Shell(path, eye.radius * np.sin(angle), white, eye.joint), pupil]


def _tube(shell: Shell, sides: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Closed triangles around a path; first and last ring collapse to a point. Also how far along each point is."""
    path, radii = shell.path, shell.radii
    tangent = np.gradient(path, axis=0)
    tangent /= np.maximum(np.linalg.norm(tangent, axis=-1, keepdims=True), 1e-12)
    helper = np.eye(3)[np.abs(tangent.mean(0)).argmin()]
    u = np.cross(tangent, helper)
    u /= np.linalg.norm(u, axis=-1, keepdims=True)
    v = np.cross(tangent, u)
    angle = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    ring = np.cos(angle)[None, :, None] * u[:, None] + np.sin(angle)[None, :, None] * v[:, None]
    rings = path[1:-1, None] + radii[1:-1, None, None] * ring[1:-1]
    count = len(rings)
    points = np.concatenate((path[:1], rings.reshape(-1, 3), path[-1:]))
    k = np.arange(sides)
    n = (k + 1) % sides
    triangles = [np.stack((np.zeros_like(k), 1 + n, 1 + k), -1)]
    for i in range(count - 1):
        a, b = 1 + i * sides, 1 + (i + 1) * sides
        triangles += [np.stack((a + k, a + n, b + k), -1), np.stack((a + n, b + n, b + k), -1)]
    a = 1 + (count - 1) * sides
    triangles.append(np.stack((a + k, a + n, np.full_like(k, len(points) - 1)), -1))
    along = np.concatenate(([0.0], np.repeat(np.linspace(0, 1, count), sides), [1.0]))
    return points, np.concatenate(triangles), along
