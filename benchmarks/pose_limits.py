"""Samples of the pose space against the joint limits of a dog: `python benchmarks/pose_limits.py [--weights FILE]`.

dm_control's dog has 73 hinges with ranges, a skin and a skeleton that no training saw. A body's rotation in its parent
is told by the angles of its hinges, as well as they can (`left_deg` is what they cannot); a hinge violates its limits
beyond 1°. Uniform angles in ±180° and ±60° stand beside. Needs third-party data.
"""

import argparse
import os
from pathlib import Path

import numpy as np
import torch

from kinema.asset.character import Character, Mesh, Skeleton
from kinema.geometry.rotations import children
from kinema.geometry.transforms import quaternion_to_matrix, rotation_matrix, rotation_vector
from kinema.posespace.space import PoseSpace

SHARED = Path(os.environ.get("KINEMA_SHARED", Path(__file__).parents[2] / "shared" / "data"))
TO_OURS = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
"""MuJoCo has x forward and z up."""
TOLERANCE = np.deg2rad(1.0)
ROUNDS = 12


def load_dog() -> tuple[Character, dict[str, np.ndarray]]:
    """The dog in our axes, and its file."""
    with np.load(SHARED / "reference" / "dog" / "dog.npz") as file:
        dog = {name: file[name] for name in file.files}
    parent, count = dog["body_parent"].astype(int), len(dog["body_names"])
    place, turn = np.zeros((count, 3)), np.tile(np.eye(3), (count, 1, 1))
    own = quaternion_to_matrix(torch.from_numpy(dog["body_quat_wxyz"]).double()).numpy()
    for b in range(1, count):
        place[b] = place[parent[b]] + turn[parent[b]] @ dog["body_pos"][b]
        turn[b] = turn[parent[b]] @ own[b]
    dog["turn"] = TO_OURS @ turn
    heads = place[1:] @ TO_OURS.T
    parents = tuple(int(p) - 1 for p in parent[1:])
    below = children(parents)
    tails = np.stack([heads[c].mean(0) if c else heads[j] for j, c in enumerate(below)])
    for j in (j for j, c in enumerate(below) if not c and j):
        tails[j] = heads[j] + 0.5 * (heads[j] - heads[parents[j]])
    vertices = dog["vertices"] @ TO_OURS.T
    weights = np.zeros((len(vertices), count - 1))
    np.add.at(weights, (dog["w_vert"], dog["bone_body"][dog["w_bone"]] - 1), dog["w_val"])
    floor = np.array([0.0, vertices[:, 1].min(), 0.0])
    skeleton = Skeleton(tuple(dog["body_names"][1:].tolist()), parents, heads - floor, tails - floor)
    mesh = Mesh((vertices - floor).astype(np.float32), dog["faces"].astype(np.int64), np.ones((len(vertices), 3)))
    return Character(
        "dm_control_dog", mesh, skeleton, (weights / weights.sum(1, keepdims=True)).astype(np.float32)
    ), dog


def hinge_angles(rotations: torch.Tensor, axes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Angles [n, hinges] about axes, one after the other, that come nearest to rotations, and what is left [rad]."""
    angles = rotations.new_zeros(len(rotations), len(axes))
    for _ in range(ROUNDS):
        turn, columns = torch.eye(3).to(rotations).expand(len(rotations), 3, 3), []
        for k, axis in enumerate(axes):
            columns.append((turn @ axis)[..., None])
            turn = turn @ rotation_matrix(angles[:, k : k + 1] * axis)
        left = rotation_vector(rotations @ turn.mT)
        angles = angles + torch.linalg.lstsq(torch.cat(columns, -1), left[..., None]).solution.squeeze(-1)
    return angles, left.norm(dim=-1)


def violations(angles: np.ndarray, limits: np.ndarray) -> np.ndarray:
    return (angles < limits[:, 0] - TOLERANCE) | (angles > limits[:, 1] + TOLERANCE)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    character, dog = load_dog()
    space = PoseSpace.of(character, weights=asked.weights)
    ours, left, limits = [], [], []
    poses = [space.sample(64, seed=seed) for seed in range(asked.seeds)]
    turned = torch.cat([p.rotations for p in poses]).double()
    for body in range(2, len(dog["body_names"])):
        hinges = np.flatnonzero((dog["joint_body"] == body) & (dog["joint_type"] == 3))
        if not len(hinges):
            continue
        # R_parent_joint has the world's axes at rest; hinges turn in the body's own.
        rest = torch.from_numpy(dog["turn"][body])
        angles, missing = hinge_angles(
            rest.mT @ turned[:, body - 1] @ rest, torch.from_numpy(dog["joint_axis"][hinges]).double()
        )
        ours.append(angles.numpy())
        left.append(missing.numpy())
        limits.append(dog["joint_range"][hinges])
    angles, ranges = np.concatenate(ours, 1), np.concatenate(limits)
    rng = np.random.default_rng(0)
    print(f"pose_limits.hinges {angles.shape[1]}")
    print(f"pose_limits.samples {100 * violations(angles, ranges).mean():.3g}")
    for reach in (180, 60):
        uniform = np.deg2rad(rng.uniform(-reach, reach, angles.shape))
        print(f"pose_limits.uniform_{reach} {100 * violations(uniform, ranges).mean():.3g}")
    print(f"pose_limits.left_deg {np.rad2deg(np.concatenate(left)).mean():.3g}")
    print(f"pose_limits.mean_angle_deg {np.rad2deg(np.abs(angles)).mean():.3g}")
    print(f"pose_limits.strangeness {space.strangeness:.3g}")


if __name__ == "__main__":
    main()
