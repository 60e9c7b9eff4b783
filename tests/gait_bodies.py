"""Small bodies with known limbs: boxes around bones, every vertex carried by one joint."""

import numpy as np

from kinema.asset.character import Character, Mesh, Skeleton

CUBE = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
CUBE_FACES = np.array(
    [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4],
     [1, 5, 7], [1, 7, 3]]
)  # fmt: skip


def body(name: str, joints: list[tuple[str, str | None, tuple[float, float, float], tuple[float, float, float]]]):
    """A character from (name, parent, head, tail) of each joint."""
    names = tuple(j[0] for j in joints)
    parents = tuple(-1 if j[1] is None else names.index(j[1]) for j in joints)
    heads, tails = np.array([j[2] for j in joints]), np.array([j[3] for j in joints])
    vertices, faces, weights = [], [], []
    for k in range(len(joints)):
        middle, half = (heads[k] + tails[k]) / 2, np.abs(tails[k] - heads[k]) / 2 + 0.02
        box = middle + CUBE * half
        box[:, 1] = np.maximum(box[:, 1], 0.0)
        faces.append(CUBE_FACES + 8 * k)
        vertices.append(box)
        weights.append(np.tile(np.eye(len(joints))[k], (8, 1)))
    points = np.concatenate(vertices)
    mesh = Mesh(points, np.concatenate(faces).astype(np.int64), np.ones_like(points))
    return Character(name, mesh, Skeleton(names, parents, heads, tails), np.concatenate(weights))


def quadruped() -> Character:
    """Digitigrade hind legs of three bones, front legs with an elbow, paws, neck, head and a tail."""
    joints = [
        ("pelvis", None, (0, 0.62, -0.3), (0, 0.62, -0.1)),
        ("spine", "pelvis", (0, 0.62, -0.1), (0, 0.62, 0.2)),
        ("chest", "spine", (0, 0.62, 0.2), (0, 0.64, 0.38)),
        ("neck", "chest", (0, 0.64, 0.38), (0, 0.78, 0.5)),
        ("head", "neck", (0, 0.78, 0.5), (0, 0.76, 0.7)),
        ("tail_1", "pelvis", (0, 0.62, -0.36), (0, 0.58, -0.52)),
        ("tail_2", "tail_1", (0, 0.58, -0.52), (0, 0.5, -0.7)),
    ]
    for side, x in (("left", 0.1), ("right", -0.1)):
        joints += [
            (f"front_{side}_upper", "chest", (x, 0.56, 0.26), (x, 0.36, 0.2)),
            (f"front_{side}_lower", f"front_{side}_upper", (x, 0.36, 0.2), (x, 0.07, 0.24)),
            (f"front_{side}_foot", f"front_{side}_lower", (x, 0.07, 0.24), (x, 0.02, 0.32)),
            (f"hind_{side}_upper", "pelvis", (x, 0.58, -0.28), (x, 0.38, -0.2)),
            (f"hind_{side}_lower", f"hind_{side}_upper", (x, 0.38, -0.2), (x, 0.2, -0.38)),
            (f"hind_{side}_cannon", f"hind_{side}_lower", (x, 0.2, -0.38), (x, 0.05, -0.33)),
            (f"hind_{side}_foot", f"hind_{side}_cannon", (x, 0.05, -0.33), (x, 0.02, -0.25)),
        ]
    return body("quadruped", joints)


def biped() -> Character:
    """A person in T-pose with straight legs."""
    joints = [
        ("hips", None, (0, 0.95, 0), (0, 1.1, 0)),
        ("spine", "hips", (0, 1.1, 0), (0, 1.3, 0)),
        ("chest", "spine", (0, 1.3, 0), (0, 1.5, 0)),
        ("neck", "chest", (0, 1.5, 0), (0, 1.58, 0.01)),
        ("head", "neck", (0, 1.58, 0.01), (0, 1.78, 0.02)),
    ]
    for side, s in (("left", 1), ("right", -1)):
        joints += [
            (f"{side}_upper_arm", "chest", (0.18 * s, 1.45, 0), (0.46 * s, 1.45, 0)),
            (f"{side}_lower_arm", f"{side}_upper_arm", (0.46 * s, 1.45, 0), (0.72 * s, 1.45, 0)),
            (f"{side}_hand", f"{side}_lower_arm", (0.72 * s, 1.45, 0), (0.85 * s, 1.45, 0)),
            (f"{side}_upper_leg", "hips", (0.1 * s, 0.92, 0), (0.1 * s, 0.5, 0.0)),
            (f"{side}_lower_leg", f"{side}_upper_leg", (0.1 * s, 0.5, 0.0), (0.1 * s, 0.08, 0)),
            (f"{side}_foot", f"{side}_lower_leg", (0.1 * s, 0.08, 0), (0.1 * s, 0.03, 0.14)),
            (f"{side}_toes", f"{side}_foot", (0.1 * s, 0.03, 0.14), (0.1 * s, 0.02, 0.2)),
        ]
    return body("biped", joints)


def hexapod() -> Character:
    """An insect: six spread legs of two bones that end in tips."""
    joints = [
        ("thorax", None, (0, 0.3, 0), (0, 0.3, 0.2)),
        ("head", "thorax", (0, 0.3, 0.25), (0, 0.3, 0.4)),
        ("abdomen", "thorax", (0, 0.3, -0.2), (0, 0.3, -0.6)),
    ]
    for pair, z in (("front", 0.2), ("middle", 0.0), ("hind", -0.2)):
        for side, s in (("left", 1), ("right", -1)):
            joints += [
                (f"{pair}_{side}_femur", "thorax", (0.1 * s, 0.28, z), (0.35 * s, 0.42, 1.5 * z)),
                (f"{pair}_{side}_tibia", f"{pair}_{side}_femur", (0.35 * s, 0.42, 1.5 * z), (0.6 * s, 0.02, 2 * z)),
            ]
    return body("hexapod", joints)


BODIES = {"quadruped": quadruped, "biped": biped, "hexapod": hexapod}
