"""Ablations in the paper's mode: what each part of AKD is there for, and whether its figure gets worse without it.

python benchmarks/ablations.py [--seeds 2] [--iterations 400] [--physics-iterations 200] [--only fox --variants full]

Every run is `--preset paper` (free and equal joints, Eq. 9, Eq. 10 on cuboids, no fit, no planting, no drift), cut to
`--iterations`. Parts of the distillation are judged on the motion as distilled, physics by the motion before and after
it. A run that is killed goes on where it was, a finished one leaves a JSON file and is not repeated; the table is made
of all that is there and put into docs/results/akd.md with `--write`. The rendered ground makes no difference here: the
embedded prior sees the body's point maps and no ground, so that only a video model can show what it is worth. Its row
shows just that.
"""

import argparse
import functools
import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kinema.distill.config import Animate, resolve
from kinema.distill.field import Field, deform
from kinema.distill.loop import Distiller
from kinema.distill.prompt import read_prompt, told
from kinema.distill.tempo import read_tempo
from kinema.evaluate.metrics import measure
from kinema.files import make_folder, replacing
from kinema.job.animate import DISTILLED, TRACKED, make_stage
from kinema.job.feet import follow_physics
from kinema.motion.source import find_character
from kinema.prior.nano.prior import NanoPrior
from kinema.prior.protocol import Context
from kinema.render.stage import Stage
from kinema.rig.anatomy import Anatomy

PAGE = Path(__file__).parents[1] / "docs" / "results" / "akd.md"
BEGIN, END = "<!-- ablations: made by benchmarks/ablations.py -->", "<!-- end of ablations -->"
CHARACTERS = ("fox", "horse", "ostrich", "human")
FULL = "full"
VARIANTS: dict[str, tuple[dict[str, Any], str, str]] = {
    FULL: ({}, "", "more"),
    "no rendered ground": ({"render_ground": False}, "slide", "more"),
    "no L_ground": ({"ground_weight": 0.0}, "penetration", "more"),
    "no L_smooth": ({"smooth_weight": 0.0}, "jerk", "more"),
    "random prior": ({}, "gait_right", "less"),
    "class-blind prior": ({}, "slide", "more"),
    "field": ({"parameters": "field"}, "bone_change", "more"),
}
"""What is changed, the figure that it is there for, and whether that figure should be more or less without it. That of
the words was the gait at first: told phase, pace and speed of a walk, a prior that hears none walks too."""
PHYSICS = "full, after physics"
ALL = [FULL, PHYSICS, *(name for name in VARIANTS if name != FULL)]
NO_PHYSICS = (PHYSICS, "slide", "more")
"""The row that the motion as distilled is compared with, and the figure that was chosen for physics beforehand."""
FLOATING = "hover"
"""What the paper shows of physics: bodies that no longer float over the ground or sink into it."""
ENOUGH = 7 / 8
"""Share of the pairs in which a figure has to be worse."""
KEYS = ("gait", "slide", "penetration", "hover", "jerk", "bone_change", "motion")
Row = dict[str, Any]


class Blind(NanoPrior):
    """Nano that hears no words."""

    def condition(self, prompt: str, context: Context) -> Any:
        return super().condition("", context)


@functools.cache
def priors(weights: Path | None) -> dict[str, NanoPrior]:
    """The prior of each variant that has one of its own, and the trained one as ""."""
    trained, random, blind = (NanoPrior.load(weights) for _ in range(3))
    generator = torch.Generator().manual_seed(0)
    for parameter in random.model.parameters():
        parameter.data.normal_(std=0.05, generator=generator)
    blind.__class__ = Blind
    return {"": trained, "random prior": random, "class-blind prior": blind}


@functools.cache
def body(asset: str) -> tuple[Any, Anatomy]:
    character = find_character(asset)
    return character, Anatomy.of(character)


@functools.cache
def staged(asset: str, weights: Path | None) -> Stage:
    """Refined splats, which all variants and seeds share: they take as long as a run."""
    return make_stage(resolve(Animate(asset, preset="paper")), *body(asset), priors(weights)[""])


def on_ground(stage: Stage, *, drawn: bool) -> Stage:
    """The stage with its ground drawn or not, which a prior notices that is shown pictures."""
    return stage if drawn else replace(stage, scene=replace(stage.scene, ground=None))


def measured(name: str, asset: str, seed: int, options: argparse.Namespace, out: Path) -> Row:
    """Figures of one run: of the motion as distilled, or of what physics makes of that of the full method."""
    character, anatomy = body(asset)
    changed = VARIANTS.get(name, ({},))[0] | {
        "iterations": options.iterations,
        "physics_iterations": options.physics_iterations,
    }
    config = resolve(replace(Animate(asset, f"the {asset} is walking", preset="paper", seed=seed), **changed))
    begun, kept, states = time.process_time(), out / f"{asset}-{seed}.pt", make_folder(out / f"{name}.{asset}-{seed}")
    if name == PHYSICS:
        motion = torch.load(kept, weights_only=False)
        tracked = follow_physics(config, anatomy, motion, None, lambda _: None, states / TRACKED)
        assert tracked is not None
        found = measure(character, tracked.motion, rig=anatomy.rig, limbs=anatomy.limbs)
    else:
        prior = priors(options.weights).get(name) or priors(options.weights)[""]
        reading = read_prompt(config, prior, anatomy.limbs.body)
        tempo = read_tempo(config, prior, anatomy, reading)
        stage = on_ground(staged(asset, options.weights), drawn=config.render_ground)
        run = Distiller(told(config, prior, reading), prior, stage, anatomy, tempo, checkpoint=states / DISTILLED)
        motion = run.run().motion
        if isinstance(run.parameters, Field):
            at, fps = run.clip_times()
            found = deform(run.parameters, character, anatomy, at, fps=fps).metrics
        else:
            found = measure(character, motion, rig=anatomy.rig, limbs=anatomy.limbs)
        if name == FULL:
            torch.save(motion, kept)
    shutil.rmtree(states)
    # A gait's jerk is per period³; here clips with and without a gait are compared, so all are per s³.
    jerk = found.jerk / (found.period or 1.0) ** 3
    return found.as_dict() | {"jerk": jerk, "cpu_seconds": round(time.process_time() - begun, 1)}


def compare(rows: dict[str, dict[str, Row]], name: str) -> tuple[str, int, int] | None:
    """The figure that what a row lacks is there for, and in how many pairs of how many it is worse without it."""
    base, figure, way = NO_PHYSICS if name == FULL else (FULL, *VARIANTS.get(name, ({}, "", ""))[1:])
    if not figure or base not in rows:
        return None
    return figure, *_worse(rows, base, name, figure, way)


def _worse(rows: dict[str, dict[str, Row]], base: str, name: str, figure: str, way: str) -> tuple[int, int]:
    """In how many pairs of how many a figure is more, or less, than in the row `base`."""
    pairs = [(rows[base][pair][figure], row[figure]) for pair, row in rows[name].items() if pair in rows[base]]
    return sum(value > full if way == "more" else value < full for full, value in pairs), len(pairs)


def verdict(rows: dict[str, dict[str, Row]]) -> str:
    """In words, which parts do what they are there for."""
    lacks = {name: "no physics" if name == FULL else name for name in rows}
    found = {lacks[name]: told for name in (FULL, *VARIANTS) if name in rows and (told := compare(rows, name))}
    worse = [name for name, (_, count, pairs) in found.items() if count >= ENOUGH * pairs]
    rest = [f"{name} ({figure}: {k} of {n})" for name, (figure, k, n) in found.items() if name not in worse]
    said = f"Worse in its figure in at least seven eighths of the pairs that were run: {', '.join(worse) or 'none'}."
    said = f"{said} **Not worse** in so many: {', '.join(rest) or 'none'}."
    if FULL not in rows or PHYSICS not in rows:
        return said
    count, pairs = _worse(rows, PHYSICS, FULL, FLOATING, "more")
    return f"{said} Without physics {FLOATING} is worse in {count} of {pairs}."


def table(rows: dict[str, dict[str, Row]]) -> str:
    """Means, and in how many pairs the figure is worse than that of the full method."""
    lines = [
        "| | runs | gait right | slide | penetration | hover | jerk | bones change | motion | worse in its figure |"
    ]
    lines.append("|" + "---|" * 10)
    for name in (PHYSICS, *VARIANTS):
        found = rows.get(name)
        if not found:
            continue
        told = "{}: {}/{}".format(*compared) if (compared := compare(rows, name)) else ""
        mean = {key: sum(row[key] for row in found.values()) / len(found) for key in KEYS if key != "gait"}
        right = sum(int(row["gait_right"]) for row in found.values())
        lines.append(
            f"| {name if name != FULL else 'full, as distilled'} | {len(found)} | {right} | {mean['slide']:.0%}"
            f" | {mean['penetration']:.2%} | {mean['hover']:.1%} | {mean['jerk']:.0f} | {mean['bone_change']:.1%}"
            f" | {mean['motion']:.2f} | {told} |"
        )
    return "\n".join(lines)


def snap(angles: np.ndarray) -> float:
    """Change of the pose from the last frame but one to the last, relative to the median: a snap to rest is many."""
    steps = np.abs(np.diff(angles, axis=0)).mean((1, 2))
    return float(steps[-1] / np.median(steps))


def pairs_table(rows: dict[str, dict[str, Row]], out: Path) -> str:
    """The full method pair by pair, as distilled and after physics."""
    lines = [
        "| pair | gait | slide | hover | last step over median | gait after physics | slide | hover |",
        "|" + " --- |" * 8,
    ]
    for pair, row in rows.get(FULL, {}).items():
        after = rows.get(PHYSICS, {}).get(pair)
        if after is not None:
            last = snap(torch.load(out / f"{pair}.pt", weights_only=False).angles.numpy())
            told = (f"{found['gait']} | {found['slide']:.0%} | {found['hover']:.1%}" for found in (row, after))
            lines.append(f"| {pair} | {next(told)} | {last:.1f} | {next(told)} |")
    return "\n".join(lines)


def finished(out: Path) -> dict[str, dict[str, Row]]:
    """All runs that are there, by variant and pair."""
    rows: dict[str, dict[str, Row]] = {}
    for path in sorted(out.glob("*.json")):
        name, pair = path.stem.split(".")
        row = json.loads(path.read_text())
        # The judge of gaits looks at phases; feet that slide faster than the body goes do not walk, whatever they do.
        rows.setdefault(name, {})[pair] = row | {"gait_right": float(row["gait"] == "walk" and row["slide"] < 1)}
    return rows


def write(text: str, options: argparse.Namespace) -> None:
    cut = f"`--iterations {options.iterations} --physics-iterations {options.physics_iterations}`"
    said = f"{cut}; the paper has 10,000 and 200. Pairs are characters and seeds."
    before, _, rest = PAGE.read_text().partition(BEGIN)
    with replacing(PAGE) as partial:
        partial.write_text(f"{before}{BEGIN}\n{text}\n\n{said}\n{END}{rest.partition(END)[2]}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/ablations"))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=400)
    parser.add_argument("--physics-iterations", type=int, default=200)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--only", nargs="*", default=CHARACTERS)
    parser.add_argument("--variants", nargs="*", default=ALL, choices=ALL)
    parser.add_argument("--write", action="store_true", help="put the table into docs/results/akd.md")
    options = parser.parse_args(arguments)
    # Runs of another size are other runs.
    out = make_folder(options.out / f"{options.iterations}-{options.physics_iterations}")
    # Seed by seed: a table of half of the runs then has all characters.
    for asset, seed in [(asset, seed) for seed in range(options.seeds) for asset in options.only]:
        for name in options.variants:
            path = out / f"{name}.{asset}-{seed}.json"
            if path.exists():
                continue
            found = measured(name, asset, seed, options, out)
            with replacing(path) as partial:
                partial.write_text(json.dumps(found))
            print(asset, seed, name, found, flush=True)
    rows = finished(out)
    text = f"{table(rows)}\n\n{verdict(rows)}\n\n{pairs_table(rows, out)}"
    print(text)
    if options.write:
        write(text, options)


if __name__ == "__main__":
    main()
