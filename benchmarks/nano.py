"""Score the embedded prior as a classifier of clips of characters that it never saw; draw samples and losses.

python benchmarks/nano.py score [--weights FILE] [--shared ../shared/data] [--most 3]   artists' clips, 20 classes
python benchmarks/nano.py creatures [--weights FILE] [--count 40]                       our gaits on random creatures
python benchmarks/nano.py denoise FOLDER [--weights FILE] [--count 192]                 clips of a training's data
python benchmarks/nano.py losses LOG.jsonl OUT.png                                      a training's log as a plot

A clip is read as the motion whose words help most to denoise it (`evaluate/classify.py`). "Told": phase and pace are
known, the same for all motions, as in distillation; "untold": the prior has to see them. `denoise` measures what a
clean estimate misses with everything told, relative to a body that stands still (1 is that nothing was learnt).
"""

import argparse
import json
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from kinema.evaluate.classify import relative_errors
from kinema.gait.takes import HELD_OUT, read_takes
from kinema.gait.vocabulary import vocabulary
from kinema.prior.nano.actor import Actor, Shot
from kinema.prior.nano.cast import Cast
from kinema.prior.nano.data import conditions
from kinema.prior.nano.missed import missed
from kinema.prior.nano.prior import NanoPrior
from kinema.prior.nano.shards import SHARD, read_shard, told_batch
from kinema.prior.protocol import Context

CLASSES = 20
"""Motions that a clip is compared with: its own and others of its kind of body."""
FILMS = 4
"""Windows of a clip, each from a side of its own, that are looked at before it is named."""
LEVELS = (0.6, 0.9, 0.98)
GAITS = {
    "quadruped": ("walk", "trot", "pace", "canter", "gallop", "hop", "stand"),
    "biped": ("walk", "run", "hop", "stand"),
}


def errors(prior: NanoPrior, shot: Shot, motions: list[str], *, told: bool, rng: np.random.Generator) -> np.ndarray:
    """How well the words of each motion fit the clip; less is better."""
    video, reference, (yaw, elevation) = shot.film(rng)
    repeats, phase, period, speed = conditions(shot.label)
    pace = (phase, period, speed, bool(repeats)) if told else (None,)
    context = Context(reference, float(np.rad2deg(yaw)), float(np.rad2deg(elevation)), *pace)
    clean = prior.encode(video, context)
    words = [prior.condition(name, replace(context, motion=name)) for name in motions]
    generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
    return relative_errors(prior, clean, words, prior.condition("", context), generator=generator).numpy()


def report(rows: list[tuple[str, str, int]], title: str) -> None:
    """Shares of clips whose motion comes first and among the first three, by group."""
    groups = defaultdict(list)
    for group, _, rank in rows:
        groups[group].append(rank)
        groups["all"].append(rank)
    for group, ranks in groups.items():
        first, three = (sum(rank < top for rank in ranks) for top in (1, 3))
        print(f"{title}, {group}: {first} of {len(ranks)} right ({first / len(ranks):.0%}), {three} in the first three")
    wrong = Counter(name for _, name, rank in rows if rank >= 3)
    print(f"{title}, most often missed: {', '.join(f'{name} {n}' for name, n in wrong.most_common(8))}")


@torch.no_grad()
def score(prior: NanoPrior, shared: Path, most: int) -> None:
    """Artists' clips of held-out characters, on their own bodies."""
    rng, cast = np.random.default_rng(0), Cast(shared)
    cast.takes = tuple(take for take in read_takes(shared, leave_out=()) if take.file.stem in HELD_OUT)
    chosen = defaultdict(list)
    for take in rng.permutation(np.array(cast.takes, dtype=object)):
        if take.clip and len(chosen[take.kind, take.name]) < most:
            chosen[take.kind, take.name].append(take)
    rows = {True: [], False: []}
    for (kind, name), takes in chosen.items():
        others = [m.name for m in prior.motions if name != m.name and kind in vocabulary()[m.name].bodies]
        others = sorted(set(others))
        for take in takes:
            shots = [shot for _ in range(FILMS) if (shot := cast.own_shot(rng, {name: [take]})) is not None]
            if not shots:
                continue
            motions = [name, *rng.permutation(others)[: CLASSES - 1]]
            for told, found in rows.items():
                errs = np.mean([errors(prior, shot, motions, told=told, rng=rng) for shot in shots], axis=0)
                found.append((kind, name, int((errs < errs[0]).sum())))
            print(take.file.stem, take.clip, name, *(f"rank {found[-1][2]}" for found in rows.values()), flush=True)
    for told, found in rows.items():
        report(found, f"clips of unseen rigs, {CLASSES} classes, {'told' if told else 'untold'}")


@torch.no_grad()
def creatures(prior: NanoPrior, count: int) -> None:
    """Our gaits on random creatures."""
    rng, rows = np.random.default_rng(1), {True: [], False: []}
    for index in range(count):
        actor = Actor.random(rng, family="quadruped" if index % 2 else "biped")
        motions = list(GAITS.get(actor.limbs.body, GAITS["biped"]))
        name = motions[int(rng.integers(len(motions)))]
        shot = actor.perform(rng, name)
        for told, found in rows.items():
            errs = errors(prior, shot, motions, told=told, rng=rng)
            found.append((actor.limbs.body, name, int((errs < errs[motions.index(name)]).sum())))
    for told, found in rows.items():
        report(found, f"our gaits on random creatures, {'told' if told else 'untold'}")


@torch.no_grad()
def denoise(prior: NanoPrior, data: Path, count: int) -> None:
    """What clean estimates of training clips miss at three noise levels, in all and by kind of body and motion."""
    rng, shards = np.random.default_rng(5), len(list(data.glob("shard_*")))
    rows = np.unique(rng.integers(0, shards * SHARD, count))
    labels = [read_shard(data, int(row) // SHARD).label[int(row) % SHARD] for row in rows]
    clean, given = told_batch(data, rows)
    for level in LEVELS:
        off, moved = missed(prior.model, clean, given, level, seed=1)
        groups = defaultdict(list)
        for index, label in enumerate(labels):
            kind = "gait" if label.repeats else "action" if label.period else "state"
            for group in ("all", label.body, f"{'recorded' if label.variant else 'procedural'} {kind}"):
                groups[group].append(index)
        shares = {name: float(off[of].sum() / moved[of].sum()) for name, of in groups.items()}
        print(f"t {level}:", ", ".join(f"{name} ({len(groups[name])}) {value:.3f}" for name, value in shares.items()))


def losses(log: Path, out: Path) -> None:
    """The loss of a training over its steps, smoothed."""
    from PIL import Image, ImageDraw

    entries = [json.loads(line) for line in log.read_text().splitlines()]
    steps, values = (np.array([entry[key] for entry in entries]) for key in ("step", "loss"))
    smooth = np.convolve(np.pad(values, 4, mode="edge"), np.ones(9) / 9, mode="valid")
    image = Image.new("RGB", (640, 240), "white")
    draw = ImageDraw.Draw(image)
    x, low, high = 40 + 580 * steps / steps.max(), smooth.min(), smooth.max()
    points = list(zip(x.tolist(), (210 - 190 * (smooth - low) / (high - low)).tolist()))
    draw.line(points, fill="black", width=2)
    draw.text((40, 220), f"steps 0 to {steps.max()}; loss {high:.3f} to {low:.3f}", fill="black")
    image.save(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("score", "creatures", "denoise", "losses"))
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--shared", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--most", type=int, default=3, help="clips per motion and kind of body")
    parser.add_argument("--count", type=int, default=40)
    given = parser.parse_args()
    if given.what == "losses":
        return losses(*given.files)
    prior = NanoPrior.load(given.weights)
    if given.what == "denoise":
        return denoise(prior, *given.files, given.count)
    return score(prior, given.shared, given.most) if given.what == "score" else creatures(prior, given.count)


if __name__ == "__main__":
    main()
