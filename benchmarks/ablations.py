"""Ablations in the paper's mode: what each part of AKD is there for, and whether its figure gets worse without it.

python benchmarks/ablations.py [--out runs/ablations] [--seeds 2] [--iterations 400] [--only fox --variants full]

Every run is `--preset paper` (free and equal joints, Eq. 9, Eq. 10 on cuboids, no fit, no planting, no drift), cut to
`--iterations`. A run leaves a JSON file and is not repeated when it is there, so a killed table goes on.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from kinema.distill.config import Animate
from kinema.files import make_folder, replacing
from kinema.job.animate import animate
from kinema.motion.source import find_character
from kinema.prior.nano.prior import NanoPrior
from kinema.prior.protocol import Context

CHARACTERS = ("fox", "horse", "ostrich", "human")
VARIANTS: dict[str, tuple[dict[str, Any], str, str]] = {
    "full": ({}, "", "more"),
    "no rendered ground": ({"render_ground": False}, "slide", "more"),
    "no L_ground": ({"ground_weight": 0.0}, "penetration", "more"),
    "no L_smooth": ({"smooth_weight": 0.0}, "jerk", "more"),
    "no physics": ({"physics": False}, "slide", "more"),
    "random prior": ({}, "motion", "less"),
    "class-blind prior": ({}, "gait_right", "less"),
    "field": ({"parameters": "field", "physics": False}, "bone_change", "more"),
}
"""What is changed, the figure that it is there for, and whether that figure should be more or less without it."""


class Blind(NanoPrior):
    """Nano that hears no words."""

    def condition(self, prompt: str, context: Context) -> Any:
        return super().condition("", context)


def priors(weights: Path | None) -> dict[str, NanoPrior]:
    """The prior of each variant that has one of its own, and the trained one as ""."""
    trained, random, blind = (NanoPrior.load(weights) for _ in range(3))
    generator = torch.Generator().manual_seed(0)
    for parameter in random.model.parameters():
        parameter.data.normal_(std=0.05, generator=generator)
    blind.__class__ = Blind
    return {"": trained, "random prior": random, "class-blind prior": blind}


def measured(asset: str, seed: int, changed: dict[str, Any], prior: NanoPrior, iterations: int) -> dict[str, Any]:
    config = Animate(asset, f"the {asset} is walking", preset="paper", seed=seed, iterations=iterations)
    begun = time.monotonic()
    outcome = animate(replace(config, **changed), find_character(asset), prior)
    stage = "field" if "field" in outcome.metrics else list(outcome.metrics)[-1]
    found = outcome.metrics[stage].as_dict()
    keys = ("gait", "slide", "penetration", "jerk", "bone_change", "motion")
    row = {key: found[key] for key in keys}
    return row | {"gait_right": float(found["gait"] == "walk"), "seconds": round(time.monotonic() - begun, 1)}


def table(rows: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Means, and in how many pairs the figure is worse than that of the full method."""
    lines = ["| | gait right | slide | penetration | jerk | bones change | motion | worse in its figure |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    for name, found in rows.items():
        _, figure, way = VARIANTS[name]

        def mean(key: str, found: dict[str, dict[str, Any]] = found) -> float:
            return sum(row[key] for row in found.values()) / len(found)

        pairs = [(rows["full"][pair], row) for pair, row in found.items() if figure and pair in rows.get("full", {})]
        worse = sum(row[figure] > full[figure] if way == "more" else row[figure] < full[figure] for full, row in pairs)
        told = f"{figure}: {worse}/{len(pairs)}" if pairs else ""
        right = sum(int(row["gait_right"]) for row in found.values())
        lines.append(
            f"| {name} | {right}/{len(found)} | {mean('slide'):.0%} | {mean('penetration'):.4f} | {mean('jerk'):.0f}"
            f" | {mean('bone_change'):.1%} | {mean('motion'):.2f} | {told} |"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/ablations"))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=400)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--only", nargs="*", default=CHARACTERS)
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS), choices=list(VARIANTS))
    options = parser.parse_args(arguments)
    make_folder(options.out)
    known = priors(options.weights)
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    for name in options.variants:
        for pair in [(asset, seed) for asset in options.only for seed in range(options.seeds)]:
            path = options.out / f"{name.replace(' ', '_')}-{pair[0]}-{pair[1]}.json"
            if not path.exists():
                found = measured(*pair, VARIANTS[name][0], known.get(name, known[""]), options.iterations)
                with replacing(path) as partial:
                    partial.write_text(json.dumps(found))
            rows.setdefault(name, {})["-".join(map(str, pair))] = json.loads(path.read_text())
            print(name, *pair, rows[name]["-".join(map(str, pair))], flush=True)
    print(table(rows))


if __name__ == "__main__":
    main()
