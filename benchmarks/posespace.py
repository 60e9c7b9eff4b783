"""The pose space on rigs that it was not trained on: `python benchmarks/posespace.py [--seeds N] [RIG ...]`.

Needs third-party data. Two groups: rigs of authors whose other rigs were trained on, and rigs of other authors.
Distances are root mean squares over joints, root over its place and without heading, in per cent of the longest side
of the body. Prints a table row per rig and the mean of each group, and `name.metric value` lines.
"""

import argparse
import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from kinema.collect.clips import different, poses_of_clip
from kinema.gait.takes import load_character
from kinema.motion.motion import Motion
from kinema.posespace.pose import Poses
from kinema.posespace.reach import Target
from kinema.posespace.skinned import Skinned
from kinema.posespace.space import PoseSpace
from kinema.posespace.walk import between, speeds

SHARED = Path(os.environ.get("KINEMA_SHARED", Path(__file__).parents[2] / "shared" / "data"))
SAME_AUTHORS = {
    "husky": "clips/husky.npz", "velociraptor": "clips/velociraptor.npz", "frog": "clips/frog.npz",
    "quat_cat": "library/assets/quat_cat.glb", "rocketbox_woman": "library/assets/rocketbox_woman.glb",
}  # fmt: skip
OTHER_AUTHORS = {
    "khronos_fox": "assets/khronos_fox.glb", "sketchbook_boxman": "library/assets/sketchbook_boxman.glb",
    "godot_player": "library/assets/godot_player.glb", "gdquest_beetle_bot": "library/assets/gdquest_beetle_bot.glb",
}  # fmt: skip
COUNT = 96
"""Poses of each side of a comparison, at most."""
IK_POSES, WALKS = 6, 4


@dataclass(frozen=True)
class Real:
    """Poses of an artist's clips, and the clip of each."""

    poses: Poses
    clip: np.ndarray


def real_poses(character, body: Skinned) -> Real:
    parts = [different(poses_of_clip(body, Motion.from_clip(body.rig, clip), most=24)) for clip in character.clips]
    return Real(Poses.cat(parts), np.repeat(np.arange(len(parts)), [len(p) for p in parts]))


def joints(space: PoseSpace, poses: Poses) -> torch.Tensor:
    return poses.place(space.rig)[..., 3]


def distances(space: PoseSpace, a: Poses, b: Poses, size: float) -> np.ndarray:
    x, y = (joints(space, p).flatten(1).double() for p in (a, b))
    return (torch.cdist(x, y) / len(space.rig.parents) ** 0.5 * (100 / size)).numpy()


def nearest_neighbour_accuracy(aa: np.ndarray, ab: np.ndarray, bb: np.ndarray) -> float:
    """Share of poses whose nearest other pose is of their own set: 50 % where the sets cannot be told apart."""
    whole = np.block([[aa, ab], [ab.T, bb]])
    np.fill_diagonal(whole, np.inf)
    label = np.repeat([0, 1], [len(aa), len(bb)])
    return float(100 * (label[whole.argmin(1)] == label).mean())


def covered(within: np.ndarray, across: np.ndarray, k: int = 3) -> float:
    """Share of the columns that lie within the k-th neighbour's distance of one of the rows."""
    order = np.sort(within + np.diag(np.full(len(within), np.inf)), axis=1)
    radius = order[:, min(k, len(order) - 1) - 1]
    return float((across <= radius[:, None]).any(0).mean())


def effectors(space: PoseSpace) -> list[int]:
    """Three ends of the body, as far from each other as possible."""
    leaves = [j for j in range(len(space.rig.parents)) if space.body.counts[j] == 0]
    heads = space.body.heads
    chosen = [max(leaves, key=lambda j: space.body.ways[j])]
    while len(chosen) < min(3, len(leaves)):
        chosen.append(max(leaves, key=lambda j: min(np.linalg.norm(heads[j] - heads[c]) for c in chosen)))
    return chosen


def inverse_kinematics(space: PoseSpace, real: Poses, size: float, *, plausible: float | None) -> tuple[float, float]:
    """Median miss of three targets, and distance of the other joints to the pose that the targets are from."""
    ends, misses, others = effectors(space), [], []
    away = (joints(space, real) - joints(space, Poses.rest(space.rig))).norm(dim=-1).mean(-1)
    hard = away.argsort(descending=True)[: len(real) // 2 + 1]
    for number, k in enumerate(hard[:: max(1, len(hard) // IK_POSES)][:IK_POSES].tolist()):
        truth = joints(space, real[[k]])[0]
        targets = [Target(j, tuple(truth[j].tolist())) for j in ends]
        found = space.solve(targets, plausible=plausible, seed=number)
        misses.append(max(found.misses))
        rest = [j for j in range(len(truth)) if j not in ends]
        others.append(float((joints(space, found.poses)[0] - truth)[rest].norm(dim=-1).mean()))
    return 100 * float(np.median(misses)) / size, 100 * float(np.mean(others)) / size


def seconds(work, repeat: int) -> float:
    work()
    start = time.process_time()
    for _ in range(repeat):
        work()
    return (time.process_time() - start) / repeat


def measure(name: str, file: str, *, weights: Path | None, seeds: int) -> dict[str, float]:
    character = load_character(SHARED / file)
    body, space = Skinned.of(character), PoseSpace.of(character, weights=weights)
    size = float(np.ptp(character.mesh.vertices, axis=0).max())
    real = real_poses(character, body)
    rows: list[dict[str, float]] = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        index = rng.permutation(len(real.poses))[:COUNT]
        artists, made = real.poses[index.tolist()], space.sample(len(index), seed=seed)
        aa, ab, bb = (distances(space, *p, size) for p in ((artists, artists), (artists, made), (made, made)))
        # Half of the clips against the other half: what another animator's clips of this rig would score at best.
        halves = np.isin(real.clip, rng.permutation(np.unique(real.clip))[: len(np.unique(real.clip)) // 2])
        one, two = (np.flatnonzero(h) for h in (halves, ~halves))
        count = min(len(one), len(two), COUNT)
        one, two = (real.poses[rng.permutation(h)[:count].tolist()] for h in (one, two))
        ones, cross, twos = (distances(space, *p, size) for p in ((one, one), (one, two), (two, two)))
        row = {"1nna": nearest_neighbour_accuracy(aa, ab, bb)}
        row["1nna_clips"] = nearest_neighbour_accuracy(ones, cross, twos) if count > 1 else np.nan
        row["spread"] = float(bb.mean() / aa.mean())
        row["precision"], row["recall"] = covered(aa, ab), covered(bb, ab.T)
        row["real_precision"] = covered(ones, cross) if count > 3 else np.nan
        row["real_recall"] = covered(twos, cross.T) if count > 3 else np.nan
        row["intersecting"] = 100 * float(body.intersecting(made).mean())
        row["intersecting_artists"] = 100 * float(body.intersecting(artists).mean())
        back = space.decode(space.invert(artists[:16]))
        row["inversion"] = 100 * float((joints(space, back) - joints(space, artists[:16])).norm(dim=-1).mean()) / size
        for label, level in (("ik", None), ("plain", 0.0)):
            row[f"{label}_miss"], row[f"{label}_others"] = inverse_kinematics(space, artists, size, plausible=level)
        row |= walks(space, artists, size, rng)
        rows.append(row)
    result = {key: float(np.nanmean([row[key] for row in rows])) for key in rows[0]}
    result["strangeness"] = space.strangeness
    result["seconds_64"] = seconds(lambda: space.sample(64), 1)
    target = [Target(j, tuple(joints(space, real.poses[[0]])[0, j].tolist())) for j in effectors(space)]
    result["ik_ms"] = 1e3 * seconds(lambda: space.solve(target), 3)
    result["drag_ms"] = 1e3 * seconds(lambda: space.solve(target, quick=True), 5)
    print(f"# {name}: {len(real.poses)} poses of {len(character.clips)} clips, {len(space.rig.parents)} joints")
    return result


def walks(space: PoseSpace, artists: Poses, size: float, rng: np.random.Generator) -> dict[str, float]:
    """Distance of the middle of a walk to the artist's nearest pose, through the space and by rotations alone; and that
    of the rest pose, since a walk that takes a rest on its way is near to many poses too."""
    through, straight, speed = [], [], []
    for _ in range(WALKS):
        a, b = (artists[[int(k)]] for k in rng.permutation(len(artists))[:2])
        way = space.walk(a, b, 11)
        plain = between(Poses.cat((a, b)), torch.tensor([0.5]))
        through.append(distances(space, way[[5]], artists, size).min())
        straight.append(distances(space, plain, artists, size).min())
        moved = speeds(space.rig, way)
        speed.append(float(moved.max() / moved.mean()))
    rest = float(distances(space, Poses.rest(space.rig), artists, size).min())
    return {"walk": float(np.mean(through)), "slerp": float(np.mean(straight)), "rest": rest,
            "speed": float(np.mean(speed))}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("rigs", nargs="*")
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    for group, files in (("same authors", SAME_AUTHORS), ("other authors", OTHER_AUTHORS)):
        rows = {}
        for name, file in files.items():
            if (asked.rigs and name not in asked.rigs) or not (SHARED / file).is_file():
                continue
            rows[name] = measure(name, file, weights=asked.weights, seeds=asked.seeds)
            for metric, value in rows[name].items():
                print(f"posespace.{name}.{metric} {value:.4g}", flush=True)
        if rows:
            print(f"\n| {group} | " + " | ".join(next(iter(rows.values()))) + " |")
            mean = {key: float(np.nanmean([row[key] for row in rows.values()])) for key in next(iter(rows.values()))}
            for name, row in (*rows.items(), ("mean", mean)):
                print(f"| {name} | " + " | ".join(f"{value:.3g}" for value in row.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
