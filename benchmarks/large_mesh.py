"""Time and memory of a mesh of half a million faces: rigged, turned into Gaussians, and animated.

    python benchmarks/large_mesh.py [--faces 500000] [rig] [splat] [animate]

Each command runs in a process of its own; the figures are its processor time and the most memory that it held.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import trimesh

from kinema.create.creatures import creature


def large_mesh(path: Path, faces: int) -> int:
    """A fox without a rig, cut into at least so many faces; returns their number."""
    mesh = creature("fox").mesh
    vertices, triangles = mesh.vertices, mesh.faces
    while len(triangles) < faces:
        vertices, triangles = trimesh.remesh.subdivide(vertices, triangles)[:2]
    trimesh.Trimesh(vertices, triangles, process=False).export(path)
    return len(triangles)


def spent(command: list[str]) -> tuple[float, float]:
    """Processor time [s] and peak memory [GB] of a command of Kinema's."""
    process = subprocess.Popen([sys.executable, "-m", "kinema", *command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"kinema {' '.join(command)} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e6


def run(faces: int, names: list[str]) -> Iterator[tuple[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        mesh = Path(folder) / "fox.ply"
        yield "faces", large_mesh(mesh, faces)
        commands = {
            "rig": ["rig", str(mesh), "-o", str(Path(folder) / "fox.glb")],
            "splat": ["splat", str(mesh), "-o", str(Path(folder) / "splats.ply"), "--no-refine"],
            "animate": ["animate", str(mesh), "a fox is walking", "--preset", "fast", "-o", str(Path(folder) / "run")],
        }
        for name in names:
            cpu, memory = spent(commands[name])
            yield f"{name}_cpu_seconds", cpu
            yield f"{name}_gigabytes", memory


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["rig", "splat", "animate"])
    parser.add_argument("--faces", type=int, default=500_000)
    arguments = parser.parse_args()
    for name, value in run(arguments.faces, arguments.names):
        print(f"large_mesh.{name} {value:.4g}", flush=True)
