"""Processor time and memory of a clip against frames, joints, splats and vertices.

python benchmarks/scaling.py [frames joints splats vertices] [--out runs/scaling] [--points 4] [--write FILE.md]

Each point is one `kinema.animate` in a process of its own with one thread: everything from the character's file to the
film, with few steps (SHORT). All times are those of the processor, which a busy machine changes little. The cost of a
step is the median of the steps of its stage (fit, sds, physics); `fixed` is all that is no step: reading, splats, one
sampled video, planting, measuring, export, films. A clip of the default preset would take fixed + 250 fit + 60 sds
+ 200 physics steps, and 17 more videos, whose cost none of this changes. A point leaves a JSON file and is not measured
again. An exponent of 1 is linear growth; it is that of the whole range, and of the last two points. (Workers:
`benchmarks/batch.py throughput`.)
"""

import argparse
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

AXES = {
    "frames": (24, 120, 480),
    "joints": (0, 70, 200),
    "splats": (1000, 4000, 16000),
    "vertices": (1_000, 24_000, 500_000),
}
"""Values that are asked for; joints and vertices come out near them (0 joints: the fox's own)."""
SHORT = {"views": 1, "fit_iterations": 6, "iterations": 4, "physics_iterations": 6, "seed": 0, "loop": False}
STEPS = {"fit": 250, "sds": 60, "physics": 200}
"""Steps of each stage in the default preset."""
JOB = ("a fox is walking",)


def with_joints(character: Any, count: int) -> Any:
    """The character with more joints, as rigs have them for fingers, ears and faces: short ones under the skin."""
    import numpy as np

    skeleton, weights = character.skeleton, character.weights.copy()
    extra = count - len(skeleton.names)
    if extra <= 0:
        return character
    rng, vertices = np.random.default_rng(0), np.asarray(character.mesh.vertices, dtype=np.float64)
    size = float(np.ptp(vertices, axis=0).max())
    names, parents = list(skeleton.names), list(skeleton.parents)
    heads, tails = list(skeleton.heads), list(skeleton.tails)
    columns = [weights]
    # Not on the feet, which are measured.
    high = np.flatnonzero(vertices[:, 1] > np.median(vertices[:, 1]))
    for number, vertex in enumerate(rng.choice(high, extra, replace=extra > len(high))):
        parent = int(weights[vertex, : len(skeleton.names)].argmax())
        near = np.linalg.norm(vertices - vertices[vertex], axis=-1) < 0.02 * size
        taken = np.where(near, 0.5 * weights[:, parent], 0.0)
        weights[:, parent] -= taken
        columns.append(taken[:, None])
        inwards = skeleton.heads[parent] - vertices[vertex]
        names.append(f"extra_{number}")
        parents.append(parent)
        heads.append(vertices[vertex] + 0.2 * inwards)
        tails.append(vertices[vertex])
    grown = replace(
        skeleton, names=tuple(names), parents=tuple(parents), heads=np.array(heads), tails=np.array(tails),
        wxyz_world_file=None,
    )  # fmt: skip
    return replace(character, skeleton=grown, weights=np.concatenate(columns, 1), source=None)


def with_vertices(character: Any, count: int) -> Any:
    """The character with every triangle cut into four until it has as many vertices."""
    import numpy as np

    while 2 * len(character.mesh.vertices) < count:
        mesh, weights = character.mesh, character.weights
        edges = np.sort(mesh.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
        unique, which = np.unique(edges, axis=0, return_inverse=True)
        middle = len(mesh.vertices) + which.reshape(-1, 3)
        (a, b, c), (ab, bc, ca) = mesh.faces.T, middle.T
        corners = ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))
        faces = np.concatenate([np.stack(corner, 1) for corner in corners])

        def grown(values: Any, ends: Any = unique) -> Any:
            return np.concatenate((values, values[ends].mean(1)))

        mesh = type(mesh)(grown(mesh.vertices), faces, grown(mesh.colors))
        character = replace(character, mesh=mesh, weights=grown(weights), source=None)
    return character


def measure(axis: str, value: int) -> dict[str, Any]:
    """One clip in this process."""
    from kinema import creature
    from kinema.job.folder import run

    character = creature("fox", detail="low")
    options: dict[str, Any] = dict(SHORT)
    if axis in ("frames", "splats"):
        options[axis] = value
    elif axis == "joints":
        character = with_joints(character, value)
    else:
        character = with_vertices(character, value)
    begun, seen = time.process_time(), []
    with tempfile.TemporaryDirectory() as folder:
        found = run(
            character, *JOB, out=Path(folder) / "run", **options,
            progress=lambda at: seen.append((at.stage, time.process_time())),
        )  # fmt: skip
    whole = time.process_time() - begun
    assert found.character.skeleton is not None
    sizes = {"frames": len(found.motion), "splats": options.get("splats", 2000)}
    sizes |= {"joints": len(found.character.skeleton.names), "vertices": len(found.character.mesh.vertices)}
    costs: dict[str, list[float]] = {stage: [] for stage in STEPS}
    for (before, start), (stage, end) in itertools.pairwise(seen):
        if before == stage in STEPS:
            costs[stage].append(end - start)
    each = {stage: statistics.median(values) for stage, values in costs.items() if values}
    stepping = sum(each.get(stage, 0.0) for stage, _ in seen)
    clip = whole - stepping + sum(STEPS[stage] * cost for stage, cost in each.items())
    kept = {"cpu_seconds": whole, "fixed": whole - stepping, "clip": clip, **each}
    kept["peak_memory_gb"] = found.report["peak_memory_gb"]
    return {"axis": axis, "value": sizes[axis], **sizes, **kept}


def exponent(points: Sequence[dict[str, Any]], key: str) -> float:
    """Slope of the logarithms between the first and the last."""
    first, last = points[0], points[-1]
    return math.log(last[key] / first[key]) / math.log(last["value"] / first["value"])


def table(found: dict[str, list[dict[str, Any]]]) -> str:
    steps = list(STEPS)
    heads = ["", "", "whole clip, default [s]", "fixed [s]", *(f"{s} step [ms]" for s in steps), "memory [GB]"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for axis, points in found.items():
        for point in points:
            each = [f"{1000 * point[s]:.0f}" if s in point else "–" for s in steps]
            cells = [f"{point['clip']:.1f}", f"{point['fixed']:.1f}", *each, f"{point['peak_memory_gb']:.2f}"]
            lines.append(f"| {axis} | {point['value']:,} | {' | '.join(cells)} |")
    lines += ["", "Exponents over the whole range, and from the last but one to the last point:", ""]
    keys = ["clip", "fixed", *steps, "peak_memory_gb"]
    lines += [f"| | {' | '.join(heads[2:])} |", "|---" * (1 + len(keys)) + "|"]
    for axis, points in found.items():
        if len(points) > 1:
            known = [all(key in point for point in points) for key in keys]
            cells = [
                f"{exponent(points, key):.2f}, {exponent(points[-2:], key):.2f}" if there else "–"
                for key, there in zip(keys, known)
            ]
            lines.append(f"| {axis} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("axes", nargs="*", default=list(AXES), help=" ".join(AXES))
    parser.add_argument("--out", type=Path, default=Path("runs/scaling"))
    parser.add_argument("--points", type=int, default=99, help="only the first so many of each axis")
    parser.add_argument("--one", nargs=2, metavar=("AXIS", "VALUE"), help="measure one point in this process")
    parser.add_argument("--write", type=Path, help="write the table there")
    options = parser.parse_args(arguments)
    if options.one:
        print(json.dumps(measure(options.one[0], int(options.one[1]))))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[dict[str, Any]]] = {}
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for axis in options.axes:
        for value in AXES[axis][: options.points]:
            path = options.out / f"{axis}-{value}.json"
            if not path.is_file():
                call = [sys.executable, __file__, "--one", axis, str(value)]
                done = subprocess.run(call, capture_output=True, text=True, env=environment)
                if done.returncode:
                    raise SystemExit(f"{axis} {value}: {done.stderr.strip().splitlines()[-1]}")
                path.write_text(done.stdout.splitlines()[-1])
            point = json.loads(path.read_text())
            found.setdefault(axis, []).append(point)
            for key in ("cpu_seconds", "clip", "fixed", *STEPS):
                print(f"scaling.{axis}.{point['value']}.{key} {point.get(key, 0.0):.3f}", flush=True)
            print(f"scaling.{axis}.{point['value']}.memory_gb {point['peak_memory_gb']}", flush=True)
    print(table(found))
    if options.write:
        options.write.write_text(table(found))


if __name__ == "__main__":
    main()
