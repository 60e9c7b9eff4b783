"""How well can joints be fitted to films of an artist's own clip? What the distiller could reach with a perfect prior.

python benchmarks/fit.py [--shared ../shared/data]

Prints the mean distance of the joints from the artist's, relative to that of a body that stands still.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from kinema.distill.config import Animate, resolve
from kinema.distill.loop import Distiller
from kinema.distill.targets import Target
from kinema.distill.tempo import choose_tempo
from kinema.gait.recording import Recording
from kinema.gait.takes import gait_body, load_character, read_takes, record, usual_heading
from kinema.job.animate import make_stage
from kinema.motion.motion import Motion
from kinema.prior.nano.prior import NanoPrior
from kinema.rig.anatomy import Anatomy

CLIPS = (
    ("rocketbox_man", "m_wave_01"), ("ual1_mannequin", "Death01"), ("ual1_mannequin", "Sitting_Enter"),
    ("fox", "Death"), ("fox", "Attack"), ("m2m_dog", "Bite"),
)  # fmt: skip
FPS = 8.0


def played(recording: Recording, distiller: Distiller, start: float, frames: int) -> Motion:
    """The clip in the distiller's own time, from a frame of the prior on."""
    tempo = distiller.tempo
    begin = 0.5 * (distiller.parameters.frames - 1 - tempo.period)
    at = recording.begin + (start - begin) / tempo.period * recording.period
    return recording.play(frames=frames, fps=FPS, start=at, tempo=recording.period * FPS / tempo.period)


def fit(stem: str, clip: str, prior: NanoPrior, shared: Path) -> float:
    takes = [take for take in read_takes(shared, leave_out=()) if take.file.stem == stem]
    take = next(take for take in takes if take.clip.split("|")[-1] == clip)
    character = load_character(take.file)
    anatomy, body = Anatomy.of(character), gait_body(character)
    heading = usual_heading(takes, character, body)
    recording = record(take, {c.name: c for c in character.clips}, body, heading=heading)
    assert recording is not None
    config = resolve(Animate(asset=stem, prompt=take.name, engine="fit"))
    stage = make_stage(config, character, anatomy, prior)
    frames = float(np.clip(recording.period * FPS, 12, 36))
    tempo = choose_tempo(take.name, take.name, anatomy.limbs, prior)
    tempo = replace(tempo, repeats=False, period=frames, fps=frames / recording.period, speed=0.0)
    distiller = Distiller(config, prior, stage, anatomy, tempo)
    windows, distiller.targets = distiller.windows, []
    for number in range(config.views):
        window = windows.draw(np.random.default_rng((7, number)))
        pose = played(recording, distiller, window.start, prior.frames).pose(body.rig).float()
        with torch.no_grad():
            latents = prior.encode(stage.film(pose, windows.cameras(window)), windows.context(window))
        distiller.targets.append(Target(window, windows.context(window), latents))
    distiller.run()
    count = distiller.parameters.frames
    with torch.no_grad():
        found = distiller.parameters.motion(stage.frame_numbers(count), fps=tempo.fps).pose(stage.rig)[..., 3]
    true = played(recording, distiller, 0.0, count).pose(body.rig)[..., 3].float()
    return float((found - true).norm(dim=-1).mean() / (stage.standing[..., 3] - true).norm(dim=-1).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    given, prior = parser.parse_args(), NanoPrior.load()
    for stem, clip in CLIPS:
        print(f"{stem} {clip} {fit(stem, clip, prior, given.shared):.2f}", flush=True)


if __name__ == "__main__":
    main()
