"""How well medial spheres tell poses whose meshes intersect from those that do not: `python benchmarks/validators.py`.

Truth is the native triangle test (more than 0.3 % of the faces in new contacts). Poses are procedural and random ones
(angles within the rig's limits, scaled by 0.2 to 1) of built-in creatures and, with third-party data, of held-out rigs.
Prints the area under the ROC curve and milliseconds of one processor per pose.
"""

import os
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch

from kinema.asset.character import Character
from kinema.create.creatures import creature
from kinema.motion.motion import Motion
from kinema.posespace.pose import Poses
from kinema.posespace.skinned import TOUCHING, Skinned
from kinema.posespace.validate import Validator
from kinema.rig.anatomy import Anatomy

BUILT_IN = ("fox", "horse", "person", "spider", "crow", "crocodile")
HELD_OUT = ("clips/husky.npz", "clips/velociraptor.npz", "library/assets/sketchbook_boxman.glb")
POSES = 60
SHARED = Path(os.environ.get("KINEMA_SHARED", Path(__file__).parents[2] / "shared" / "data"))


def random_poses(character: Character, count: int, rng: np.random.Generator) -> Poses:
    """Angles within the limits of the rig, from small to full."""
    anatomy = Anatomy.of(character)
    limits = np.stack((anatomy.limits.lower, anatomy.limits.upper))
    limits[:, 0] = 0.0
    share = rng.uniform(0.2, 1.0, (count, 1, 1)) * rng.random((count, *limits.shape[1:]))
    angles = np.where(rng.random((count, len(limits[0]), 1)) < 0.5, limits[0], limits[1]) * share
    rig = anatomy.rig
    return Poses.of_motion(rig, Motion(rig.heads[:1].expand(count, 3), torch.from_numpy(angles).float(), 1.0))


def auc(truth: np.ndarray, score: np.ndarray) -> float:
    """Probability that a true one has the higher score; ties count half."""
    yes, no = score[truth], score[~truth]
    return float((yes[:, None] > no).mean() + 0.5 * (yes[:, None] == no).mean())


def measure(name: str, character: Character) -> Iterable[tuple[str, float]]:
    poses = random_poses(character, POSES, np.random.default_rng(0))
    body, validator = Skinned.of(character), Validator.of(character)
    assert body.contacts is not None
    vertices = body.posed(poses.place(body.rig)).double().numpy()
    body.contacts.share(vertices[:1])  # the tree is built once
    start = time.process_time()
    truth = body.contacts.share(vertices) > TOUCHING
    yield f"{name}.truth_ms", 1e3 * (time.process_time() - start) / POSES
    placed = poses.place(body.rig).requires_grad_(True)
    validator.intersection(placed[:1]).sum().backward()
    start = time.process_time()
    energy = validator.intersection(placed)
    energy.sum().backward()
    yield f"{name}.spheres_batch_ms", 1e3 * (time.process_time() - start) / POSES
    start = time.process_time()
    for _ in range(10):
        validator.intersection(placed[:1]).sum().backward()
    yield f"{name}.spheres_single_ms", 1e3 * (time.process_time() - start) / 10
    yield f"{name}.intersecting", float(truth.mean())
    if truth.any() and not truth.all():
        yield f"{name}.auc", auc(truth, energy.detach().numpy())


def run() -> Iterable[tuple[str, float]]:
    from kinema.gait.takes import load_character

    torch.set_num_threads(1)
    found = []
    characters = [(name, lambda name=name: creature(name)) for name in BUILT_IN]
    for file in HELD_OUT:
        if (SHARED / file).is_file():
            characters.append((Path(file).stem, lambda file=file: load_character(SHARED / file)))
    for name, make in characters:
        for metric, value in measure(name, make()):
            found += [value] if metric.endswith(".auc") else []
            yield metric, value
    yield "mean.auc", float(np.mean(found))


if __name__ == "__main__":
    for metric, value in run():
        print(f"validators.{metric} {value:.4g}", flush=True)
