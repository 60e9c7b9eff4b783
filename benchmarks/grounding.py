"""Track motions that float 3 cm and slide (root 1.5 times too fast), and measure them before and after.

    python benchmarks/grounding.py [--only NAME[,NAME]] [--out docs/results/physics.md]

With --out the table replaces what stands between the two `grounding` marks of that file; with --only, the rows of these
motions in it. Procedural gaits need nothing; the hand-made clips are read from KINEMA_SHARED (or ../shared/data) where
it exists.
"""

import argparse
import os
import platform
import re
import time
from pathlib import Path

import torch

from kinema.asset.character import Character
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig

GAITS = (
    ("fox", "trot"),
    ("fox", "turn_left"),
    ("human", "walk"),
    ("human", "run"),
    ("horse", "trot"),
    ("horse", "gallop"),
    ("ostrich", "walk"),
    ("bear", "walk"),
)
LOCOMOTION = re.compile(r"(^|_)(Walk|Gallop|Run)$")
"""Every such clip of every rig with legs is tried."""
MARK = "<!-- grounding -->"
HEADER = (
    "| motion | joint error | stance-foot speed | of body speed | depth | stances without touch | airborne | "
    "loaded slip | power | CPU |"
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    shared = Path(os.environ.get("KINEMA_SHARED", Path(__file__).parents[2] / "shared" / "data"))
    cases = [(name, gait, "") for name, gait in GAITS]
    cases += [(name, clip, "clip") for name, clip in find_clips(shared / "clips")]
    rows: dict[str, str] = {}
    for name, motion_name, kind in cases:
        title = f"{name} {label(motion_name)}{' (clip)' if kind else ''}"
        rows[title] = ""
        if not any(part in f"{name} {motion_name}" for part in arguments.only.split(",")):
            continue
        character, rig, motion = clip_case(shared, name, motion_name) if kind else gait_case(name, motion_name)
        rows[title] = measure(title, character, rig, faulty(motion))
        print(rows[title], flush=True)
    if arguments.out:
        write_table(arguments.out, rows)


def write_table(path: Path, rows: dict[str, str]) -> None:
    """Rows that were not measured stay as they are in the file."""
    before, old, after = path.read_text(encoding="utf-8").split(MARK)
    kept = {line.split("|")[1].strip().removeprefix("✗ "): line for line in old.splitlines() if line.startswith("|")}
    lines = [line for title, row in rows.items() if (line := row or kept.get(title, ""))]
    passed = sum("✗" not in line for line in lines)
    table = [HEADER, "| --- |" + " ---: |" * 9, *lines, ""]
    table.append(f"{passed} of {len(lines)} within every bar. {processor()}, one core.")
    partial = path.with_name(path.name + ".part")
    partial.write_text(MARK.join((before, "\n" + "\n".join(table) + "\n", after)), encoding="utf-8")
    partial.replace(path)


def faulty(motion: Motion) -> Motion:
    """Float 3 cm and slide: the root 1.5 times too fast."""
    start = motion.root_position[:1]
    faults = torch.tensor([1.5, 1.0, 1.5], dtype=start.dtype), torch.tensor([0.0, 0.03, 0.0], dtype=start.dtype)
    return Motion(start + faults[0] * (motion.root_position - start) + faults[1], motion.angles, motion.fps)


def label(name: str) -> str:
    return name.split("_")[-1].lower() if name[0].isupper() else name.replace("_", " ")


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def gait_case(name: str, gait: str) -> tuple[Character, Rig, Motion]:
    from kinema.create.creatures import creature
    from kinema.gait.make import make_motion
    from kinema.rig.limbs import find_limbs

    character = creature(name)
    assert character.skeleton is not None
    rig = Rig.from_skeleton(character.skeleton, dtype=torch.float64)
    return character, rig, make_motion(rig, find_limbs(character), gait, frames=49, fps=24.0)[0]


def find_clips(folder: Path) -> list[tuple[str, str]]:
    """Name of the rig and of the clip; without the folder, none."""
    from kinema.asset.clips_npz import load_clips_npz
    from kinema.rig.limbs import find_limbs

    result = []
    for path in sorted(folder.glob("*.npz")):
        character = load_clips_npz(path)
        if find_limbs(character).legs:
            result += [(path.stem, clip.name) for clip in character.clips if LOCOMOTION.search(clip.name)]
    return result


def clip_case(shared: Path, name: str, clip_name: str) -> tuple[Character, Rig, Motion]:
    """A hand-made loop that runs in place, played for 49 frames and given the travel that its stance feet ask for."""
    from kinema.asset.clips_npz import load_clips_npz
    from kinema.motion.loop import without_stills
    from kinema.motion.plant import travel
    from kinema.rig.cuboids import bone_cuboids
    from kinema.rig.limbs import find_limbs

    character = load_clips_npz(shared / "clips" / f"{name}.npz")
    assert character.skeleton is not None
    rig = Rig.from_skeleton(character.skeleton, dtype=torch.float64)
    # Some loops hold their last pose for a while, which is no walk.
    loop = without_stills(Motion.from_clip(rig, next(clip for clip in character.clips if clip.name == clip_name)))
    at = torch.arange(49) % (len(loop) - 1)
    motion = Motion(loop.root_position[at], loop.angles[at], loop.fps)
    return character, rig, travel(rig, bone_cuboids(character), find_limbs(character), motion)


def measure(name: str, character: Character, rig: Rig, motion: Motion) -> str:
    from kinema.physics.track import track

    begun = time.process_time()
    result = track(character, rig, motion)
    seconds = time.process_time() - begun
    b, a = result.before, result.after
    share = a.stance_speed / max(a.body_speed, 1e-9)
    good = (
        result.joint_error_deg <= 2
        and a.depth <= 0.02
        and a.missed == 0
        and a.stance_speed <= b.stance_speed / 3
        and share < 0.1
    )
    cells = (
        f"{'' if good else '✗ '}{name}",
        f"{result.joint_error_deg:.2f}°",
        f"{b.stance_speed:.2f} → {a.stance_speed:.3f} m/s",
        f"{100 * b.stance_speed / max(b.body_speed, 1e-9):.0f} → {100 * share:.0f} %",
        f"{1e3 * b.depth:.0f} → {1e3 * a.depth:.1f} mm",
        f"{b.missed} → {a.missed} of {a.stances}",
        f"{100 * b.airborne:.0f} → {100 * a.airborne:.0f} %",
        f"{b.loaded_slip:.2f} → {a.loaded_slip:.3f} m/s",
        f"{b.power:.1f} → {a.power:.1f} W/kg",
        f"{seconds:.0f} s",
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
