"""Measure how far embedded joints are from known ones, in percent of the longest side of the body.

Each built-in creature is rigged anew from its mesh alone, with a template made without its species; tails, whose
number of joints differs, and ears are left out. `cpu` is the processor's time per creature in seconds, without weights.

Where the reference meshes lie beside the checkout: hips, legs and arms of Pinocchio's test human against the joints
that the original program embeds, and head and legs of a modelled fox against its artist's.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from kinema.asset.character import Mesh
from kinema.create.creatures import creature
from kinema.rig.embed.embed import embed_skeleton
from kinema.rig.embed.fit import fit
from kinema.rig.embed.medial import pack_balls
from kinema.rig.embed.plans import FORMS
from kinema.rig.embed.templates import templates


def run() -> Iterator[tuple[str, float]]:
    yield from against_references()
    times = []
    for form in (form for form in FORMS if form.name in ("biped", "quadruped")):
        means = []
        for name in form.species:
            animal = creature(name)
            assert animal.skeleton is not None
            points = templates(form, without=name)
            start = time.process_time()
            found = fit(points, pack_balls(animal.mesh, symmetric=True))
            times.append(time.process_time() - start)
            known = dict(zip(animal.skeleton.names, animal.skeleton.heads))
            off = [
                float(np.linalg.norm(head - known[joint]))
                for joint, head in zip(found.template.names, found.places)
                if joint in known and not joint.startswith("tail")
            ]
            means.append(100 * float(np.mean(off)) / float(np.ptp(animal.mesh.vertices, axis=0).max()))
            yield f"{name}_percent", means[-1]
        yield f"{form.name}_percent", float(np.mean(means))
    yield "cpu", float(np.mean(times))


def against_references() -> Iterator[tuple[str, float]]:
    import trimesh

    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("KINEMA_SHARED", beside)) / "reference" / "pinocchio"
    if not folder.is_dir():
        return
    z_up = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])
    human, fox = {"hips": 2}, {"head": 6}
    for side, leg, arm in (("right", 4, 12), ("left", 8, 15)):
        human |= {f"{side}_leg_{part}": leg + k for k, part in enumerate(("upper", "lower", "foot"))}
        human |= {f"{side}_{part}": arm + k for k, part in enumerate(("arm_upper", "arm_lower", "hand"))}
    for side, front, hind in (("left", (17, 18, 40), (23, 24, 25)), ("right", (20, 21, 44), (27, 28, 29))):
        for part, f, h in zip(("upper", "lower", "foot"), front, hind):
            fox |= {f"front_{side}_{part}": f, f"hind_{side}_{part}": h}
    files = ("pinocchio_test_human.obj", "pinocchio_test_human_fit_skeleton.txt", np.eye(3), human, "biped")
    for mesh_file, joint_file, turn, numbers, plan in (
        files,
        ("fox_welded.obj", "fox_skeleton.txt", z_up, fox, "quadruped"),
    ):
        solid = trimesh.load(folder / mesh_file, process=False)
        vertices = np.asarray(solid.vertices) @ turn.T
        joints = np.loadtxt(folder / joint_file)[:, 1:4] @ turn.T
        lift = np.array([0.0, -vertices[:, 1].min(), 0.0])
        skeleton = embed_skeleton(Mesh(vertices + lift, np.asarray(solid.faces), np.ones_like(vertices)), plan)
        off = [
            float(np.linalg.norm(skeleton.heads[skeleton.names.index(name)] - joints[k] - lift))
            for name, k in numbers.items()
        ]
        yield f"{mesh_file.split('.')[0]}_percent", 100 * float(np.mean(off)) / float(np.ptp(vertices, axis=0).max())
