"""Bone heat on a fox and a horse of about 1k, 10k and 100k vertices, against Blender's in the same run.

Metrics are seconds: `ours_cpu` and `blender_cpu` count the processor's time in one process, which other work on the
machine does not change much; `_wall` is the clock. Each is the least of several rounds. Blender's time is that of
"parent with automatic weights"; neither side reads or writes files meanwhile. Without Blender only ours are printed.

Where the reference weights of the original Pinocchio lie beside the checkout, `same_top` is the share of vertices with
the same top bone as there and `half_l1` the mean over vertices of half the L1 distance, for both kinds of visibility.
`artist_half_l1` compares with the weights of the model's artist instead, for ours and for Pinocchio's own.
"""

import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from kinema.asset.blender import blender_command, run_blender
from kinema.asset.character import Mesh
from kinema.asset.creatures import creature
from kinema.asset.creatures.proportions import Vertebrate
from kinema.asset.creatures.surface import triangulate
from kinema.asset.creatures.table import SPECIES
from kinema.asset.creatures.vertebrate import vertebrate
from kinema.rig.bone_heat import Bones, bone_heat

CASES = {"fox_1k": ("fox", 1_000), "horse_10k": ("horse", 10_000), "fox_100k": ("fox", 100_000)}
SCRIPT = Path(__file__).with_name("bone_heat_in_blender.py")


def body_mesh(name: str, count: int) -> Mesh:
    """The closed skin of a built-in creature with about `count` vertices."""
    proportions = SPECIES[name]
    assert isinstance(proportions, Vertebrate)
    surface = triangulate(vertebrate(proportions), count=count, relax=1)
    return Mesh(surface.vertices, surface.faces, np.ones_like(surface.vertices))


def run() -> Iterator[tuple[str, float]]:
    yield from against_pinocchio()
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


def against_pinocchio() -> Iterator[tuple[str, float]]:
    import trimesh

    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("KINEMA_SHARED", beside)) / "reference" / "pinocchio"
    if not folder.is_dir():
        return
    for name in ("human", "fox", "trex"):
        human = name == "human"
        solid = trimesh.load(folder / ("pinocchio_test_human.obj" if human else f"{name}_welded.obj"), process=False)
        vertices = np.asarray(solid.vertices, dtype=np.float64)
        table = np.loadtxt(folder / ("pinocchio_test_human_fit_skeleton.txt" if human else f"{name}_skeleton.txt"))
        heads, parents = table[:, 1:4], table[1:, 4].astype(int)
        stored = None if human else np.load(folder / f"{name}_weights.npz")
        theirs = np.loadtxt(folder / "pinocchio_test_human_fit_weights.txt") if stored is None else stored["pinocchio"]
        mesh = Mesh(vertices, np.asarray(solid.faces), np.ones_like(vertices))
        rows = {"pinocchio": theirs}
        for visibility in ("rays", "field"):
            start = time.process_time()
            ours = bone_heat(mesh, heads[1:], heads[parents], visibility=visibility)
            yield f"{name}.{visibility}_cpu", time.process_time() - start
            yield f"{name}.{visibility}_same_top", float((ours.argmax(axis=1) == theirs.argmax(axis=1)).mean())
            yield f"{name}.{visibility}_half_l1", float(np.abs(ours - theirs).sum(axis=1).mean() / 2)
            rows[visibility] = ours
        if stored is not None:
            artist = stored["artist_per_joint"]
            for source, weights in rows.items():
                per_joint = np.zeros(artist.shape)
                for bone, parent in enumerate(parents):  # the bone of joint i + 1 turns with that joint's parent
                    per_joint[:, parent] += weights[:, bone]
                yield f"{name}.{source}_artist_half_l1", float(np.abs(per_joint - artist).sum(axis=1).mean() / 2)
