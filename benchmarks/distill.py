"""Times of the distillation, and how a gait slides that is cut to few harmonics.

python benchmarks/distill.py stages      time of each part of a step
python benchmarks/distill.py harmonics   slide of a true gait that is cut to few harmonics

What gaits and feet come to is measured by motions.py gaits, loops.py and hover.py, whole runs by `kinema eval-suite`.
"""

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from kinema.distill.config import Animate, resolve
from kinema.distill.energies import weighted_energies
from kinema.distill.loop import Distiller
from kinema.distill.sds import sds
from kinema.distill.skeleton import Basis
from kinema.distill.targets import conditions
from kinema.distill.tempo import read_tempo
from kinema.evaluate.metrics import measure
from kinema.gait.make import make_motion
from kinema.job.animate import make_stage
from kinema.motion.motion import Motion
from kinema.motion.source import find_character
from kinema.prior.nano.prior import NanoPrior
from kinema.rig.anatomy import Anatomy
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs


def run(weights: Path | None = None) -> Iterator[tuple[str, float]]:
    """Milliseconds of each part of an SDS step, best of many, and its share."""
    config = resolve(Animate(asset="fox", prompt="the fox is walking"))
    prior, character = NanoPrior.load(weights), find_character("fox")
    anatomy = Anatomy.of(character)
    stage, tempo = make_stage(config, character, anatomy, prior), read_tempo(config, prior, anatomy)
    distiller = Distiller(config, prior, stage, anatomy, tempo)
    windows = distiller.windows
    parts: dict[str, list[float]] = {}

    @contextmanager
    def clock(name: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        parts.setdefault(name, []).append(time.perf_counter() - begun)

    for step in range(12):
        window = windows.draw(np.random.default_rng(step))
        with clock("reference"):
            context = windows.context(window)
        with clock("pose and render"):
            filmed = windows.film(window)
        with clock("encode"):
            latents = prior.encode(filmed.video, context)
        words, none = conditions(prior, config.prompt, context)
        with clock("denoise"):
            noise = torch.Generator().manual_seed(step)
            loss = sds(prior, latents, words, none, t=0.6, guidance=2.0, generator=noise) / len(latents)
        with clock("ground and limits"):
            energies = weighted_energies(filmed, config, anatomy, feet=1.0)
        with clock("backward and step"):
            distiller.descend(loss + energies)
    best = {name: 1e3 * min(seconds) for name, seconds in parts.items()}
    for name, value in best.items():
        yield f"{name.replace(' ', '_')}_ms", value
        yield f"{name.replace(' ', '_')}_share", value / sum(best.values())
    yield "step_ms", sum(best.values())


def harmonics() -> None:
    """Procedural gaits, whose feet stand still, projected to the first harmonics of their cycle."""
    frames, fps = 97, 24.0
    for asset in ("fox", "horse", "human", "ostrich"):
        character = find_character(asset)
        assert character.skeleton is not None
        rig, limbs = Rig.from_skeleton(character.skeleton), find_limbs(character)
        motion, label = make_motion(rig, limbs, "walk", frames=frames, fps=fps)
        seconds = torch.arange(frames) / fps
        found = [f"all {measure(character, motion, rig=rig, limbs=limbs).slide:.1%}"]
        for count in (3, 4, 6, 8):
            table = Basis("fourier", frames, label.period, 1 + 2 * count).table(seconds).double()
            moving = torch.cat((table, seconds[:, None].double()), -1)
            angles = table @ torch.linalg.lstsq(table, motion.angles.flatten(1).double()).solution
            root = moving @ torch.linalg.lstsq(moving, motion.root_position.double()).solution
            cut = Motion(root.float(), angles.float().view_as(motion.angles), fps)
            found.append(f"{count} {measure(character, cut, rig=rig, limbs=limbs).slide:.1%}")
        print(f"slide of a {asset}'s walk by harmonics: {', '.join(found)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("stages", "harmonics"))
    parser.add_argument("--weights", type=Path)
    options = parser.parse_args()
    if options.what == "harmonics":
        harmonics()
        return
    for name, value in run(options.weights):
        print(f"distill.{name} {value:.3g}")


if __name__ == "__main__":
    main()
