"""Learn where artists put the joints of bipeds beside the middle of the flesh: `CUSTOM` of `rig/embed/shape.py`.

    python benchmarks/auto_rig_shifts.py --cache FOLDER [--steps 40]

Descends the mean logarithm of J2J over the characters for tuning whose plan is found right, by the gradient of the
distances at the joints that a template has. Prints the shifts, and the median J2J x 100 at every tenth step. J2J does
not know which joint is which: of quadrupeds, whose legs have more joints than ours, it draws knees to hocks.
"""

import argparse
from pathlib import Path

import numpy as np
from auto_rig import files, in_file, is_for_tuning, read, true_kind
from scipy.spatial import KDTree

from kinema.asset.character import Mesh
from kinema.asset.rigs.orientation import apply_frame, find_frame
from kinema.rig.embed import embed as embedding
from kinema.rig.embed import shape as shaping
from kinema.rig.embed.branches import Branch, find_branches
from kinema.rig.embed.fit import Fit, fit
from kinema.rig.embed.medial import Balls, pack_balls
from kinema.rig.embed.plans import FORMS
from kinema.rig.embed.templates import BodyFrame, templates

PLAN = "biped"
SHRINK, RATE = 0.02, 0.004
"""Pull of the shifts to zero, and the first step, in units of the form."""
Case = tuple[Fit, Balls, list[Branch], np.ndarray, np.ndarray]
"""What was found, the vertices and the true joints."""


def find_cases(cache: Path | None) -> list[Case]:
    """What was found for the bipeds for tuning, and their true joints."""
    cases = []
    for path in (path for path in files() if is_for_tuning(path.stem) and true_kind(path.stem, "") == PLAN):
        true, _ = read(path, cache)
        assert true.skeleton is not None
        vertices = in_file(true.mesh.vertices, true.frame)
        frame, _ = find_frame(vertices, None)
        mesh = Mesh(apply_frame(frame, vertices), true.mesh.faces, true.mesh.colors)
        balls = pack_balls(mesh, symmetric=embedding.is_symmetric(mesh))
        branches = find_branches(balls)
        fits = [fit(templates(form), balls) for form in FORMS]
        best = min(fits, key=lambda one: embedding.measure(one, balls, branches))
        toy = "spine" not in shaping.shape(best, balls, branches, mesh.vertices).names
        if best.template.form.plan == PLAN and not toy:
            joints = apply_frame(frame, in_file(true.skeleton.heads, true.frame))
            cases.append((best, balls, branches, mesh.vertices, joints))
    return cases


def gradient(case: Case) -> tuple[float, dict[str, np.ndarray]]:
    """J2J of a case [lengths of the longest side] and the gradients of its logarithm by the joints' names."""
    found, balls, branches, vertices, true = case
    skeleton, size = shaping.shape(found, balls, branches, vertices), float((balls.high - balls.low).max())
    (to_true, nearest), (to_found, taken) = KDTree(true).query(skeleton.heads), KDTree(skeleton.heads).query(true)
    least = 0.005 * size  # a distance has no gradient at zero
    away = (skeleton.heads - true[nearest]) / np.maximum(to_true, least)[:, None] / len(to_true)
    np.add.at(away, taken, (skeleton.heads[taken] - true) / np.maximum(to_found, least)[:, None] / len(to_found))
    j2j = (to_true.mean() + to_found.mean()) / 2
    away *= BodyFrame.around(balls.low, balls.high, found.template.form).unit / (2 * j2j)
    sides = [1.0 if "left" in name else -1.0 if "right" in name else 0.0 for name in skeleton.names]
    return j2j / size, {name: row * [side, 1, 1] for name, row, side in zip(skeleton.names, away, sides)}


def stem_of(name: str) -> str:
    return name.replace("left_", "").replace("right_", "")


def learn(cases: list[Case], steps: int) -> None:
    names = {name for case in cases for name in case[0].template.names if not name.endswith("_end")}
    stems = sorted({stem_of(name) for name in names if not name.startswith("tail")})
    shifts, speed = ({stem: np.zeros(3) for stem in stems} for _ in range(2))
    for step in range(steps):
        shaping.CUSTOM[PLAN] = {stem: (x, y, z) for stem, (x, y, z) in shifts.items()}
        results = [gradient(case) for case in cases]
        if step % 10 == 0 or step == steps - 1:
            print(f"step {step}: median {100 * np.median([j2j for j2j, _ in results]):.2f}", flush=True)
        for stem in stems:
            rows = [row for _, by in results for name, row in by.items() if stem_of(name) == stem]
            speed[stem] = 0.7 * speed[stem] + 0.3 * (np.sum(rows, axis=0) / len(cases) + SHRINK * shifts[stem])
            shifts[stem] = shifts[stem] - RATE * (1 - step / steps) * speed[stem] / (np.abs(speed[stem]).max() + 0.02)
    print({stem: tuple(map(float, shift.round(2))) for stem, shift in shifts.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, help="folder in which meshes and rigs of the files are kept")
    parser.add_argument("--steps", type=int, default=40)
    arguments = parser.parse_args()
    cases = find_cases(arguments.cache)
    print(f"{len(cases)} characters")
    learn(cases, arguments.steps)


if __name__ == "__main__":
    main()
