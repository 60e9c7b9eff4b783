"""Feet after AKD's simulation, with the armature of the implicit modes and with the explicit integrator's own.

python benchmarks/paper_friction.py [--only fox] [--write]

Procedural walks whose feet stand still, with a root that is told to go a quarter too fast: what slides then is due to
the simulation and its search. `--write` puts the table into docs/results/akd.md.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import torch

from kinema.create.creatures import creature
from kinema.evaluate.metrics import measure
from kinema.files import replacing
from kinema.gait.make import make_motion
from kinema.physics import explicit
from kinema.physics.track import Tracking, track
from kinema.rig.anatomy import Anatomy

PAGE = Path(__file__).parents[1] / "docs" / "results" / "akd.md"
BEGIN, END = "<!-- friction: made by benchmarks/paper_friction.py -->", "<!-- end of friction -->"
HEAD = "| character | armature | friction is viscous below [m/s] | body [m/s] | slide before | after |"
TOO_FAST = torch.tensor([1.25, 1.0, 1.25])


def rows(asset: str, iterations: int) -> list[str]:
    character = creature(asset)
    anatomy = Anatomy.of(character)
    motion, _ = make_motion(anatomy.rig, anatomy.limbs, "walk", frames=25, fps=24.0)
    start = motion.root_position[:1]
    told = replace(motion, root_position=start + TOO_FAST.to(start) * (motion.root_position - start))
    body = {"rig": anatomy.rig, "limbs": anatomy.limbs}
    before, usual, found = measure(character, told, **body).slide, explicit.ARMATURE, []
    for factor in (1.0, usual):
        explicit.ARMATURE = factor
        options = replace(Tracking.paper(), iterations=iterations)
        result = track(None, anatomy.rig, told, options=options, limbs=anatomy.limbs, cuboids=anatomy.cuboids)
        slide, contact = measure(character, result.motion, **body).slide, result.model.contact
        cells = (asset, f"× {factor:g}", f"{contact.slip_speed:.2f}", f"{result.after.body_speed:.2f}")
        found.append(f"| {' | '.join(cells)} | {before:.0%} | {slide:.0%} |")
    explicit.ARMATURE = usual
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=["fox", "horse", "ostrich", "human"])
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    lines = [HEAD, "|" + " --- |" * 6]
    for asset in options.only:
        lines += rows(asset, options.iterations)
        print(*lines[-2:], sep="\n", flush=True)
    if options.write:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        text = "\n".join(lines)
        with replacing(PAGE) as partial:
            partial.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
