"""How far the embedded prior's actions are from what it was told: another body's clip, carried over to this one.

python benchmarks/actions.py [--most N] [--weights FILE] [--shared FOLDER]

Bodies of its training do actions in the way of somebody else, so that what a perfect prior would show is known. Errors
are squared distances to the true film relative to the standing body's (1: as far as standing still), the median over
three windows, then the mean and the median over actions: of sampled videos, by guidance, and of the distilled motion.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from motions import Body, recorded
from torch import Tensor

from kinema.distill.config import Animate, resolve, usual_guidance
from kinema.distill.loop import Distiller
from kinema.distill.prompt import told
from kinema.distill.targets import SAMPLING_STEPS, conditions
from kinema.distill.tempo import choose_tempo
from kinema.distill.window import Window
from kinema.gait.recording import Recording
from kinema.gait.retarget import retarget
from kinema.gait.takes import gait_body, read_takes
from kinema.job.animate import make_stage
from kinema.prior.nano.prior import NanoPrior
from kinema.prior.protocol import PromptReading, sample

BODIES = (
    "quat_man", "ual1_mannequin", "kaykit_mannequin", "man_farmer", "zk_zombie", "m2m_human", "cute_yeti", "m2m_dog",
    "quat_cow",
)  # fmt: skip
GUIDANCES = (1.0, 1.3, 1.6, 2.0)
WINDOWS = 3
USELESS = 3.0
"""Error from which on a clip is left out: what is carried over hardly moves."""
MOST_MISSED = 0.3
"""Ways of which the prior misses more of their own bodies' films say nothing of other bodies."""


def ways(prior: NanoPrior, body: Body, takes, rng: np.random.Generator) -> Iterator[tuple[str, Recording]]:
    """Actions of a body that follow another's clip."""
    limbs = body.anatomy.limbs
    known = [m for m in prior.motions if m.body == limbs.body and not m.repeats and m.name != "stand"]
    for index in rng.permutation(len(known)):
        motion, way = known[index], known[index].way(limbs.build)
        if way is None or not way.variant or way.missed > MOST_MISSED or way.seconds <= 0:
            continue
        of = (t for t in takes if (t.name, t.variant) == (motion.name, way.variant) and t.clip and not t.captured)
        take = next((t for t in of if t.file.stem != body.name), None)
        recording = recorded(take) if take is not None else None
        if recording is None or recording.period <= 0 or len(recording.body.limbs.legs) != len(limbs.legs):
            continue
        yield motion.name, recording


def true_latents(run: Distiller, body: Body, recording: Recording, window: Window) -> Tensor:
    """What a window would show of the recording on this body."""
    tempo = run.tempo
    phase = (window.start - 0.5 * (run.parameters.frames - 1 - tempo.period)) / tempo.period
    mirror = tempo.side * recording.side < 0
    begin = recording.begin_mirrored if mirror else recording.begin
    motion = retarget(
        recording, gait_body(body.character), frames=run.prior.frames, fps=tempo.fps, mirror=mirror,
        start=begin + phase * recording.period, tempo=recording.period * tempo.fps / tempo.period,
    )  # fmt: skip
    pose = motion.pose(body.anatomy.rig.to(dtype=motion.angles.dtype)).float()
    return run.prior.encode(run.windows.stage.film(pose, run.windows.cameras(window)), run.windows.context(window))


def errors(prior: NanoPrior, body: Body, name: str, recording: Recording) -> list[float]:
    """Of sampled videos by guidance, and of the distilled motion."""
    config = resolve(
        Animate(asset=body.name, prompt=name, as_motion=name, guidance=usual_guidance("nano", repeats=False))
    )
    tempo = choose_tempo(name, name, body.anatomy.limbs, prior)
    stage = make_stage(config, body.character, body.anatomy, prior)
    run = Distiller(told(config, prior, PromptReading(name, 1.0, phrase=name)), prior, stage, body.anatomy, tempo)
    run.run()
    found = []
    for number in range(WINDOWS):
        window = run.windows.draw(np.random.default_rng(number))
        context = run.windows.context(window)
        true = true_latents(run, body, recording, window)
        words, none = conditions(prior, run.config.told, context)
        with torch.no_grad():
            seen = [prior.encode(run.windows.film(window).video, context)]
            for scale in GUIDANCES:
                generator = torch.Generator().manual_seed(number)
                how = {"guidance": scale, "steps": SAMPLING_STEPS, "generator": generator}
                seen.insert(-1, sample(prior, true, words, none, **how))
        found.append([float((one - true).square().sum() / true.square().sum()) for one in seen])
    return np.median(found, axis=0).tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=4, help="actions of each body")
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--shared", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    given = parser.parse_args()
    prior, takes, rows = NanoPrior.load(given.weights), read_takes(given.shared), []
    titles = [*(f"guidance {scale:g}" for scale in GUIDANCES), "distilled"]
    for name in BODIES:
        body, count = Body.of(name, given.shared), 0
        for motion, recording in ways(prior, body, takes, np.random.default_rng(5)):
            row = errors(prior, body, motion, recording)
            if min(row) < USELESS and (count := count + 1):
                rows.append(row)
                print(f"{name} {motion}: " + ", ".join(f"{t} {e:.2f}" for t, e in zip(titles, row)), flush=True)
            if count == given.most:
                break
    for title, column in zip(titles, np.array(rows).T):
        print(f"{title}: mean {column.mean():.3f}, median {np.median(column):.3f} of {len(column)} actions")


if __name__ == "__main__":
    main()
