"""Time bone heat on a fox and a horse of about 1k, 10k and 100k vertices, beside Blender's in the same run.

Metrics are seconds: `ours_cpu` and `blender_cpu` count the processor's time in one process, which other work on the
machine does not change much; `_wall` is the clock. Each is the least of several rounds. Blender's time is that of
"parent with automatic weights"; neither side reads or writes files meanwhile. Without Blender only ours are printed.

Where the reference weights of the original Pinocchio lie beside the checkout, `same_top` is the share of vertices with
the same top bone as there and `half_l1` the mean over vertices of half the L1 distance, for both kinds of visibility.
`artists` compares with the weights in the rigged files beside the checkout instead, as the mean over the files.
"""

import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import numpy as np

from kinema.asset.blender import blender_command, run_blender
from kinema.asset.character import Mesh
from kinema.asset.load import load
from kinema.create.creatures import creature
from kinema.create.creatures.surface import triangulate
from kinema.create.creatures.table import SPECIES
from kinema.errors import KinemaError
from kinema.rig.weights.bone_heat import Bones, Visibility, bone_heat, rig_character

CASES = {"fox_1k": ("fox", 1_000), "horse_10k": ("horse", 10_000), "fox_100k": ("fox", 100_000)}
SCRIPT = Path(__file__).with_name("bone_heat_in_blender.py")


def body_mesh(name: str, count: int) -> Mesh:
    """The closed skin of a built-in creature with about `count` vertices."""
    surface = triangulate(SPECIES[name].build(), count=count, relax=1)
    return Mesh(surface.vertices, surface.faces, np.ones_like(surface.vertices))


def run() -> Iterator[tuple[str, float]]:
    yield from against_pinocchio()
    yield from against_artists()
    for case, (name, count) in CASES.items():
        mesh = body_mesh(name, count)
        skeleton = creature(name).skeleton
        assert skeleton is not None
        bones = Bones.from_skeleton(skeleton)
        yield f"{case}.vertices", len(mesh.vertices)
        yield f"{case}.bones", len(bones.joints)
        rounds = 3 if count > 50_000 else 10
        times = []
        for _ in range(rounds):
            wall, cpu = time.perf_counter(), time.process_time()
            bone_heat(mesh, bones.starts, bones.ends)
            times.append((time.process_time() - cpu, time.perf_counter() - wall))
        yield f"{case}.ours_cpu", min(cpu for cpu, _ in times)
        yield f"{case}.ours_wall", min(wall for _, wall in times)
        if blender_command() is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            case_file = Path(folder) / "case.npz"
            np.savez(case_file, vertices=mesh.vertices, faces=mesh.faces, starts=bones.starts, ends=bones.ends)
            out = case_file.with_suffix(".json")
            run_blender(SCRIPT, [str(case_file), str(out), str(min(rounds, 5))], about=case_file, timeout=1200)
            told = json.loads(out.read_text())
        yield f"{case}.blender_cpu", told["cpu"]
        yield f"{case}.blender_wall", told["wall"]
        yield f"{case}.blender_weighted", told["weighted"]


def beside() -> Path:
    return Path(os.environ.get("KINEMA_SHARED", Path(__file__).parents[2] / "shared" / "data"))


def agreement(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    """Share of vertices with the same top bone, and the mean over vertices of half the L1 distance."""
    same = float((ours.argmax(axis=1) == theirs.argmax(axis=1)).mean())
    return same, float(np.abs(ours - theirs).sum(axis=1).mean() / 2)


def against_pinocchio() -> Iterator[tuple[str, float]]:
    import trimesh

    folder = beside() / "reference" / "pinocchio"
    if not folder.is_dir():
        return
    for name in ("human", "fox", "trex"):
        human = name == "human"
        solid = trimesh.load(folder / ("pinocchio_test_human.obj" if human else f"{name}_welded.obj"), process=False)
        vertices = np.asarray(solid.vertices, dtype=np.float64)
        table = np.loadtxt(folder / ("pinocchio_test_human_fit_skeleton.txt" if human else f"{name}_skeleton.txt"))
        heads, parents = table[:, 1:4], table[1:, 4].astype(int)
        if human:
            theirs = np.loadtxt(folder / "pinocchio_test_human_fit_weights.txt")
        else:
            theirs = np.load(folder / f"{name}_weights.npz")["pinocchio"]
        mesh = Mesh(vertices, np.asarray(solid.faces), np.ones_like(vertices))
        for visibility in get_args(Visibility):
            same, half_l1 = agreement(bone_heat(mesh, heads[1:], heads[parents], visibility=visibility), theirs)
            yield f"{name}.{visibility}_same_top", same
            yield f"{name}.{visibility}_half_l1", half_l1


def against_artists() -> Iterator[tuple[str, float]]:
    rows = []
    for file in sorted((beside() / "assets").glob("*.glb")):
        try:
            character = load(file)
        except KinemaError:
            continue  # one of them is broken on purpose
        if character.skeleton is not None and character.weights is not None:
            rows.append(
                [
                    agreement(rig_character(character, character.skeleton, visibility=kind).weights, character.weights)
                    for kind in get_args(Visibility)
                ]
            )
    if rows:
        yield "artists.files", len(rows)
        for kind, (same, half_l1) in zip(get_args(Visibility), np.mean(rows, axis=0)):
            yield f"artists.{kind}_same_top", float(same)
            yield f"artists.{kind}_half_l1", float(half_l1)
