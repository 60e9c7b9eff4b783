"""Does the embedded prior do what the words say? Distilled motions (before planting and physics), judged without it.

python benchmarks/motions.py gaits     12 creatures and 6 rigs from files: are the feet in their textbook phases?
python benchmarks/motions.py swap      8 bodies x 6 pairs: the pace of A with the words of B must give B
python benchmarks/motions.py actions   unseen rigs: nearest of at least 20 classes of artists' clips, by time warping
python benchmarks/motions.py judge     the judge of `actions` judged: other artists' clips, carried over to those rigs
python benchmarks/motions.py two-legs  the judge of `gaits` and `swap` judged: artists' and captured walks and runs
python benchmarks/motions.py chibi     the whole job on two big-headed figures: the gait and the slide after physics
python benchmarks/motions.py ranges    6 rigs: ranges of joint groups in walk and run against the artist's clips
python benchmarks/motions.py suite     actions of `kinema eval suite -o SUITE`, joints and field, judged as in `actions`

Options: --out FOLDER (each run leaves a JSON file and is not repeated), --only TEXT, --weights FILE, --seeds N,
--most N (actions per character), --shared FOLDER, --preset NAME, --suite FOLDER. Characters from files are never among
those that the prior was trained on (gait/held_out.txt).
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from likeness import Landmarks, distance, features

from kinema.asset.character import Character
from kinema.batch.engine import MANIFEST
from kinema.batch.suite import case_named
from kinema.create.creatures import creature
from kinema.distill.config import Animate, resolve, usual_guidance
from kinema.distill.loop import Distiller
from kinema.distill.prompt import told
from kinema.distill.tempo import choose_tempo
from kinema.evaluate.metrics import measure
from kinema.evaluate.suite import MOTIONS as ASKED
from kinema.evaluate.suite import Case
from kinema.evaluate.verdict import FITS
from kinema.files import make_folder
from kinema.gait.motions import MOTIONS
from kinema.gait.recording import Recording
from kinema.gait.retarget import retarget
from kinema.gait.takes import HELD_OUT, Take, gait_body, load_character, read_takes, record, usual_heading
from kinema.gait.vocabulary import body_kind, vocabulary
from kinema.job.animate import make_stage
from kinema.job.folder import run
from kinema.motion.motion import Motion, load_motion
from kinema.prior.nano.prior import NanoPrior
from kinema.prior.protocol import PromptReading
from kinema.rig.anatomy import Anatomy
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs

CREATURES = ("fox", "wolf", "horse", "cat", "cow", "bear", "deer", "human", "robot", "ostrich", "raptor", "chicken")
RIGS = ("husky", "khronos_fox", "quat_wolf", "quat_cat", "velociraptor", "rocketbox_woman")
GAITS = {4: ("walk", "trot", "pace", "canter", "gallop"), 2: ("walk", "run")}
RIGHT = {"run": ("run", "gallop")}
PAIRS = {
    4: tuple(
        (pace, words) for pace in ("walk", "trot", "gallop") for words in ("walk", "trot", "gallop") if pace != words
    ),
    2: tuple((pace, words) for pace in ("walk", "run", "hop") for words in ("walk", "run", "hop") if pace != words),
}
"""Pace and words. A body that stands has no pace, so standing is in no pair."""
SWAPPED = ("fox", "horse", "cat", "bear", "human", "robot", "ostrich", "raptor")
ACTORS = ("kaykit_knight", "rocketbox_woman", "uac_viking_female", "quat_alien", "husky", "quat_wolf", "quat_cat")
CLASSES = 20
BORROWED = 3
"""Clips of a motion, drawn at random, by which bodies without clips of their own are judged."""
LENGTH_S = 2.0
"""How much of a cycle or state is compared."""


@dataclass(frozen=True)
class Body:
    """A character and what is found on it once."""

    name: str
    character: Character
    anatomy: Anatomy

    @staticmethod
    def of(name: str, shared: Path) -> "Body":
        files = [
            *shared.glob(f"clips/{name}.npz"),
            *shared.glob(f"*/{name}.glb"),
            *shared.glob(f"library/*/{name}.glb"),
        ]
        character = load_character(files[0]) if files else creature(name)
        return Body(name, character, Anatomy.of(character))


def distil(body: Body, prior: NanoPrior, words: str, pace: str, *, seed: int, preset: str) -> Motion:
    """The motion that the words name, told the pace of another."""
    config = resolve(Animate(asset=body.name, prompt=words, seed=seed, preset=preset, as_motion=words))
    stage = make_stage(config, body.character, body.anatomy, prior)
    limbs = body.anatomy.limbs
    tempo = choose_tempo(words, words, limbs, prior)
    if pace != words:
        other = choose_tempo(pace, pace, limbs, prior)
        tempo = replace(other, motion=words, variant=tempo.variant, side=tempo.side)
    config = replace(config, guidance=usual_guidance(config.prior, repeats=tempo.repeats))
    reading = PromptReading(words, 1.0, phrase=words)
    return Distiller(told(config, prior, reading), prior, stage, body.anatomy, tempo).run().motion


def gait_of(body: Body, motion: Motion) -> dict[str, Any]:
    found = measure(body.character, motion, rig=body.anatomy.rig, limbs=body.anatomy.limbs)
    return {"gait": found.gait, "slide": found.slide, "phases": list(found.phases)}


def off_by(body: Body, name: str, phases: list[float]) -> float:
    """Largest distance of a foot from its textbook phase [cycles]."""
    gait = MOTIONS[name].gait
    if not phases or gait is None:
        return 0.5
    book = np.array(gait.footfalls.touchdowns(body.anatomy.limbs.legs))  # type: ignore[union-attr]
    away = (np.array(phases) - (book - book[0]) + 0.5) % 1.0 - 0.5
    return float(np.abs(away - np.median(away)).max())


def gaits(given: argparse.Namespace, prior: NanoPrior) -> Iterator[tuple[str, Any]]:
    for name in (*CREATURES, *RIGS):
        names = GAITS[4]
        for gait in (*names, "run"):
            for seed in range(given.seeds):
                yield f"{name}-{gait}-{seed}", lambda n=name, g=gait, s=seed: one_gait(given, prior, n, g, s)


def one_gait(given: argparse.Namespace, prior: NanoPrior, name: str, gait: str, seed: int) -> dict[str, Any] | None:
    body = cached_body(name, given.shared)
    if gait not in GAITS.get(len(body.anatomy.limbs.legs), ()):
        return None
    row = gait_of(body, distil(body, prior, gait, gait, seed=seed, preset=given.preset))
    return row | {
        "wanted": gait,
        "right": row["gait"] in RIGHT.get(gait, (gait,)),
        "off": off_by(body, gait, row["phases"]),
    }


def swap(given: argparse.Namespace, prior: NanoPrior) -> Iterator[tuple[str, Any]]:
    for name in SWAPPED:
        body = cached_body(name, given.shared)
        for pace, words in PAIRS[len(body.anatomy.limbs.legs)]:
            yield f"{name}-{words}-at-{pace}", lambda n=name, w=words, p=pace: one_swap(given, prior, n, w, p)


def one_swap(given: argparse.Namespace, prior: NanoPrior, name: str, words: str, pace: str) -> dict[str, Any]:
    body = cached_body(name, given.shared)
    row = gait_of(body, distil(body, prior, words, pace, seed=0, preset=given.preset))
    return row | {"wanted": words, "pace": pace, "right": row["gait"] in RIGHT.get(words, (words,))}


def actions(given: argparse.Namespace, prior: NanoPrior) -> Iterator[tuple[str, Any]]:
    takes = read_takes(given.shared, leave_out=())
    for name in ACTORS:
        own = sorted({t.name for t in takes if t.file.stem == name and t.clip and vocabulary()[t.name]})
        known = {m.name for m in prior.motions if m.body == cached_body(name, given.shared).anatomy.limbs.body}
        for motion in [m for m in own if m in known and m not in ("stand",)][: given.most]:
            yield f"{name}-{motion}", lambda n=name, m=motion: one_action(given, prior, n, m)


def one_action(given: argparse.Namespace, prior: NanoPrior, name: str, motion: str) -> dict[str, Any] | None:
    body = cached_body(name, given.shared)
    return ranked(given, name, motion, distil(body, prior, motion, motion, seed=0, preset=given.preset))


def judge(given: argparse.Namespace, prior: NanoPrior) -> Iterator[tuple[str, Any]]:
    for key, _ in actions(given, prior):
        name, _, motion = key.partition("-")
        yield key, lambda n=name, m=motion: one_judged(given, n, m)


def one_judged(given: argparse.Namespace, name: str, motion: str) -> dict[str, Any] | None:
    """How a clip of the same motion by another author is judged on this rig: no prior can be expected to do better."""
    body, takes = cached_body(name, given.shared), read_takes(given.shared, leave_out=())
    kind, author = next((t.kind, t.file.stem.split("_")[0]) for t in takes if t.file.stem == name)
    others = [t for t in takes if (t.kind, t.name) == (kind, motion) and t.clip]
    others = [t for t in others if t.file.stem.split("_")[0] != author]
    for take in others[:4]:
        if (moved := carried_over(take, body)) is not None:
            return ranked(given, name, motion, moved[0])
    return None


def carried_over(take: Take, body: Body) -> tuple[Motion, bool] | None:
    """Another character's clip on this body, and whether it repeats; None if it cannot be carried over."""
    recording = recorded(take)
    if recording is None or len(recording.body.limbs.legs) != len(body.anatomy.limbs.legs):
        return None
    frames = max(8, round(min((len(recording.motion) - 1) / recording.motion.fps, 4.0) * 12))
    moved = retarget(recording, gait_body(body.character), frames=frames, fps=12.0)
    return moved, recording.repeats or recording.period == 0


@cache
def recorded(take: Take) -> Recording | None:
    other = load_character(take.file)
    return record(take, {c.name: c for c in other.clips}, gait_body(other), heading=None)


def ranked(given: argparse.Namespace, name: str, motion: str, shown: Motion) -> dict[str, Any] | None:
    """Where the motion comes among the classes of artists' clips on the same rig, by their nearest clip."""
    body, clips = cached_body(name, given.shared), exemplars(name, given.shared)
    if motion not in {label for label, *_ in clips}:
        return None  # no clip of it can be carried over: a gorilla on four legs does not punch as people do
    marks, limbs = Landmarks.of(body.anatomy.limbs), body.anatomy.limbs
    seen = features(shown, body.anatomy.rig, marks, height=limbs.height)
    stands = [clip for label, clip, _ in clips if label == "stand"]
    standing = np.mean([clip.mean(0, keepdims=True) for clip in stands or [clip for _, clip, _ in clips]], 0)
    apart: dict[str, float] = {}
    for label, clip, repeats in clips:
        away = distance(seen, clip, marks, standing=standing, repeats=repeats)
        apart[label] = min(apart.get(label, np.inf), away)
    order = sorted(apart, key=apart.__getitem__)
    kind = "four legs" if len(limbs.legs) == 4 else "upright"
    row = {"wanted": motion, "kind": kind, "rank": order.index(motion), "nearest": order[:3], "classes": len(order)}
    return row | {"right": order[0] == motion}


_EXEMPLARS: dict[str, list[tuple[str, np.ndarray, bool]]] = {}


def exemplars(name: str, shared: Path) -> list[tuple[str, np.ndarray, bool]]:
    """Artists' clips of a rig with their motions, and whether they repeat; where they are fewer than 20, others are
    carried over to it: one of each motion, or where it has none of its own `BORROWED`, those of the suite first."""
    if name in _EXEMPLARS:
        return _EXEMPLARS[name]
    body, found = cached_body(name, shared), []
    takes = read_takes(shared, leave_out=())
    target, marks, limbs = gait_body(body.character), Landmarks.of(body.anatomy.limbs), body.anatomy.limbs
    clips = {clip.name: clip for clip in body.character.clips}
    own = [take for take in takes if take.file.stem == name and take.clip]
    heading = usual_heading(own, body.character, target)
    for take in own:
        recording = record(take, clips, target, heading=heading)
        if recording is not None:
            found.append((take.name, recording.motion, recording.repeats or recording.period == 0))
    have, tried = Counter(label for label, *_ in found), Counter[str]()
    kind, each = (own[0].kind, 1) if own else (body_kind(limbs.body), BORROWED)
    if not own:
        takes = sorted(np.random.default_rng(0).permutation(np.array(takes, dtype=object)), key=asked_last)
    for take in takes:
        full = have[take.name] >= each or (take.name not in have and len(have) >= CLASSES + 4)
        if full or tried[take.name] > each or take.file.stem == name or not take.clip or take.kind != kind:
            continue
        tried[take.name] += 1
        if (moved := carried_over(take, body)) is None:
            continue
        found.append((take.name, *moved))
        have[take.name] += 1
    _EXEMPLARS[name] = [(n, features(m, body.anatomy.rig, marks, height=limbs.height), r) for n, m, r in found]
    return _EXEMPLARS[name]


def asked_last(take: Take) -> bool:
    return take.name not in ASKED


def suite(given: argparse.Namespace, prior: NanoPrior) -> Iterator[tuple[str, Any]]:
    for line in (given.suite / MANIFEST).read_text().splitlines():
        job = json.loads(line)
        case = case_named(job["title"])
        if case.motion not in FITS and job["state"] == "done":
            yield f"{case.method}-{case.name}", lambda c=case, f=given.suite / job["key"]: one_of_suite(given, c, f)


def one_of_suite(given: argparse.Namespace, case: Case, folder: Path) -> dict[str, Any] | None:
    """An action of a built-in body as distilled; a field is read off the vertices as joints."""
    motion = "distilled.npz" if case.method == "skeleton" else "motion.npz"
    found = load_motion(folder / motion, cached_body(case.character, given.shared).anatomy.rig)
    row = ranked(given, case.character, case.motion, found)
    return row and row | {"kind": case.method}


def chibi(given: argparse.Namespace, prior: NanoPrior) -> Iterator[tuple[str, Any]]:
    knight = str(next(given.shared.glob("*/kaykit_knight.glb"), "kaykit_knight"))
    for name, asset in (("knight", knight), ("chibi", "a chibi person")):
        for gait, doing in (("walk", "walking"), ("run", "running")):
            yield f"{name}-{gait}", lambda a=asset, g=gait, d=doing: one_chibi(given, prior, a, g, d)


def one_chibi(given: argparse.Namespace, prior: NanoPrior, asset: str, gait: str, doing: str) -> dict[str, Any]:
    folder = given.out / f"chibi-{Path(asset).stem}-{gait}".replace(" ", "-")
    found = run(Animate(asset, f"a person is {doing}", out=folder, overwrite=True), prior=prior)
    row = {key: found.report["stages"]["physics"][key] for key in ("gait", "slide")}
    return row | {"wanted": gait, "right": row["gait"] == gait and row["slide"] <= 0.1}


def two_legs(given: argparse.Namespace, prior: NanoPrior) -> Iterator[tuple[str, Any]]:
    for take in read_takes(given.shared, leave_out=()):
        if take.kind in ("upright", "bird") and take.name in ("walk", "run") and take.clip:
            yield f"{take.file.stem}-{take.clip}".replace("/", " "), lambda t=take: one_artists(given, t)


def one_artists(given: argparse.Namespace, take: Take) -> dict[str, Any] | None:
    character = load_character(take.file)
    clip = next((clip for clip in character.clips if take.captured or clip.name == take.clip), None)
    if clip is None or character.skeleton is None or len(find_limbs(character).legs) != 2:
        return None
    motion = Motion.from_clip(Rig.from_skeleton(character.skeleton, dtype=torch.float64), clip)
    gait = measure(character, motion, mesh=False).gait
    return {"gait": gait, "wanted": take.name, "right": gait == take.name}


def ranges(given: argparse.Namespace, prior: NanoPrior) -> Iterator[tuple[str, Any]]:
    for name in ("husky", "quat_wolf", "quat_cat", "velociraptor", "rocketbox_woman", "kaykit_knight"):
        for gait in ("walk", "run"):
            yield f"{name}-{gait}", lambda n=name, g=gait: one_range(given, prior, n, g)


def one_range(given: argparse.Namespace, prior: NanoPrior, name: str, gait: str) -> dict[str, Any] | None:
    """Ranges of joint groups [deg], distilled and the artist's, of the same rig and gait."""
    body, takes = cached_body(name, given.shared), read_takes(given.shared, leave_out=())
    names = (gait,) if len(body.anatomy.limbs.legs) == 2 or gait == "walk" else ("gallop", "run", "canter")
    wanted = next((t for t in takes if t.file.stem == name and t.name in names), None)
    clip = next((c for c in body.character.clips if wanted and c.name == wanted.clip), None)
    if wanted is None or clip is None:
        return None
    ours = group_ranges(body, distil(body, prior, wanted.name, wanted.name, seed=0, preset=given.preset))
    theirs = group_ranges(body, Motion.from_clip(body.anatomy.rig, clip))
    ratio = {group: ours[group] / max(theirs[group], 1e-6) for group in ours if theirs[group] > 1.0}
    inside = {group: 0.4 <= value <= 2.5 for group, value in ratio.items()}
    return {"wanted": wanted.name, "ours": ours, "artist": theirs, "ratio": ratio, "right": all(inside.values())}


def group_ranges(body: Body, motion: Motion) -> dict[str, float]:
    """Mean over the joints of a group of the angle between the two most different orientations to the parent [deg]."""
    limbs, rig = body.anatomy.limbs, body.anatomy.rig
    turn = motion.pose(rig).detach().double()[..., :3]
    parents = torch.tensor([max(parent, 0) for parent in rig.parents])
    local = turn[:, parents].mT @ turn
    # tr(Aᵀ B) of all pairs of frames, joint by joint.
    trace = torch.einsum("fjab,gjab->fgj", local, local)
    spread = torch.rad2deg(torch.acos(((trace - 1) / 2).clamp(-1, 1))).amax((0, 1))
    chains = {"arms": [arm.joints[:4] for arm in limbs.arms], "legs": [leg.joints[:3] for leg in limbs.legs]}
    chains |= {"spine": [limbs.spine], "neck": [limbs.neck, limbs.heads], "tail": list(limbs.tails)}
    groups = {name: [joint for chain in parts for joint in chain] for name, parts in chains.items()}
    return {name: float(spread[joints].mean()) for name, joints in groups.items() if joints}


_BODIES: dict[str, Body] = {}


def cached_body(name: str, shared: Path) -> Body:
    if name not in _BODIES:
        _BODIES[name] = Body.of(name, shared)
    return _BODIES[name]


def summary(what: str, rows: dict[str, dict[str, Any]]) -> None:
    """Shares of what came out right, by group."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows.values():
        groups[row.get("kind", row["wanted"])].append(row)
        groups["all"].append(row)
    for group, members in sorted(groups.items()):
        line = f"{what}, {group}: {sum(row['right'] for row in members)} of {len(members)} right"
        if what in ("actions", "judge", "suite"):
            line += f", {sum(row['rank'] < 3 for row in members)} among the first three"
        if what == "gaits":
            slides = [row["slide"] for row in members]
            near = sum(row["off"] < 0.1 for row in members)
            line += f", {near} within 0.1 cycle, slide median {np.median(slides):.3f}, worst {max(slides):.3f}"
        print(line)


RUNS = {
    "gaits": gaits,
    "swap": swap,
    "actions": actions,
    "judge": judge,
    "chibi": chibi,
    "two-legs": two_legs,
    "ranges": ranges,
    "suite": suite,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=tuple(RUNS))
    parser.add_argument("--out", type=Path, default=Path("runs/motions"))
    parser.add_argument("--only", default="")
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--most", type=int, default=40)
    parser.add_argument("--preset", default="default")
    parser.add_argument("--suite", type=Path, default=Path("runs/suite"))
    parser.add_argument("--shared", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    given = parser.parse_args()
    prior, rows = NanoPrior.load(given.weights), {}
    make_folder(given.out)
    for key, measured in RUNS[given.what](given, prior):
        path = given.out / f"{given.what}-{key}.json"
        if given.only not in key:
            continue
        if not path.is_file():
            row = measured()
            path.write_text(json.dumps(row))
            print(key, json.dumps(row), flush=True)
        if (row := json.loads(path.read_text())) is not None:
            rows[key] = row
    summary(given.what, rows)


if __name__ == "__main__":
    assert set(RIGS) <= set(HELD_OUT)
    main()
