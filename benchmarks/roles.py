"""Legs, arms, wings, fins, tails and heads that `find_limbs` finds on the rigs of the shared data, against the truth.

The truth (`tests/rig/true_roles.tsv`) counts what the rig can move, by eye: a wing without joints is no wing, a trunk
that carries the face itself has no head. `--anonymous` wipes the joints' names out first, so that only geometry,
weights and symmetry are left.

    python benchmarks/roles.py [--anonymous] [--out docs/results/rigs.md]

With --out the table replaces what stands between the two `roles` marks of that file. The data is read from
KINEMA_SHARED (or ../shared/data).
"""

import argparse
import csv
import os
from dataclasses import dataclass, replace
from pathlib import Path

from kinema.asset.character import Character
from kinema.asset.load import load
from kinema.rig.limbs import find_limbs

TRUTH = Path(__file__).parent.parent / "tests" / "rig" / "true_roles.tsv"
FOLDERS = ("assets", "library/assets", "library/broken")
MARK = "<!-- roles -->"
Counts = tuple[int, ...]


@dataclass(frozen=True)
class Verdict:
    """Roles of one file."""

    name: str
    true: Counts
    found: Counts
    body: str
    confidence: float

    @property
    def right(self) -> bool:
        return self.found == self.true


def truth() -> dict[str, Counts]:
    """The true numbers by the name of the file."""
    with TRUTH.open() as file:
        next(rows := csv.reader(file, delimiter="\t"))
        return {name: tuple(int(x) for x in numbers) for name, *numbers in rows}


def files(shared: Path) -> dict[str, Path]:
    """The files of the table that are at hand."""
    paths = {path.stem: path for folder in FOLDERS for path in sorted((shared / folder).glob("*.glb"))}
    return {name: paths[name] for name in truth() if name in paths}


def judge(character: Character, true: Counts, *, anonymous: bool = False) -> Verdict:
    """Find the roles of one character."""
    skeleton = character.skeleton
    assert skeleton is not None
    name = character.name
    if anonymous:
        blank = tuple(f"joint{k}" for k in range(len(skeleton.names)))
        character = replace(character, skeleton=replace(skeleton, names=blank))
    limbs = find_limbs(character)
    return Verdict(name, true, tuple(limbs.counts.values()), limbs.body, limbs.certainty)


def table(verdicts: list[Verdict]) -> str:
    """Markdown: a line per file, and the totals."""
    lines = ["| file | true | found | body | confidence | |", "| --- | --- | --- | --- | --- | --- |"]
    for v in verdicts:
        numbers = " | ".join(" ".join(map(str, counts)) for counts in (v.true, v.found))
        lines.append(f"| {v.name} | {numbers} | {v.body} | {v.confidence:.2f} | {'' if v.right else 'wrong'} |")
    right, sure = [v for v in verdicts if v.right], [v for v in verdicts if v.confidence >= 0.7]
    share = len(right) / max(len(verdicts), 1)
    wrong = sum(not v.right for v in sure)
    lines += ["", f"Right: {len(right)} of {len(verdicts)} ({share:.1%}). Confidence at least 0.7: {len(sure)}, "]
    return "\n".join(lines) + f"of them wrong: {wrong}.\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--anonymous", action="store_true", help="wipe the names of the joints out")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    shared = Path(os.environ.get("KINEMA_SHARED", Path(__file__).parents[2] / "shared" / "data"))
    true = truth()
    verdicts = [
        judge(replace(load(path), name=name), true[name], anonymous=arguments.anonymous)
        for name, path in files(shared).items()
    ]
    print(table(verdicts))
    if arguments.out:
        before, _, after = arguments.out.read_text().split(MARK)
        arguments.out.write_text(f"{before}{MARK}\n{table(verdicts)}{MARK}{after}")


if __name__ == "__main__":
    main()
