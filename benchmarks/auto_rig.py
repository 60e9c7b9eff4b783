"""Rigs that are found for the characters of the shared data stripped of their own, against the artists' rigs.

    python benchmarks/auto_rig.py measure [--part 1/4] --rows rows.jsonl     # J2J, J2B, B2B and kind of each file
    python benchmarks/auto_rig.py table --rows rows.jsonl [--out docs/results/rigging.md]
    python benchmarks/auto_rig.py fit --rows rows.jsonl      # weights of the measure, from rows with --features
    python benchmarks/auto_rig.py facing     # weights of the signs of a body's front
    python benchmarks/auto_rig.py animate [NAME ...] --rows gaits.jsonl    # gaits of stripped files, by a sample

Up axis and facing are found as well, from the mesh alone.
Characters of `gait/held_out.txt` are held out, the others are for tuning. Rows of files that are already in the row
file are not computed again. With --out the table replaces what stands between the two `auto-rig`
marks of that file. The data is read from KINEMA_SHARED (or ../shared/data).
"""

import argparse
import itertools
import json
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from roles import truth

from kinema.asset.character import Character, Frame, Mesh, Skeleton
from kinema.asset.load import load
from kinema.asset.rigs.orientation import apply_frame, find_frame, front_signs, place_skeleton, unplace_skeleton
from kinema.errors import KinemaError
from kinema.evaluate.rig_distance import chamfer, rig_distance
from kinema.gait.takes import HELD_OUT
from kinema.rig.embed import embed as embedding
from kinema.rig.embed.branches import find_branches
from kinema.rig.embed.fit import fit
from kinema.rig.embed.medial import pack_balls
from kinema.rig.embed.plans import FORMS
from kinema.rig.embed.templates import templates
from kinema.rig.limbs import find_limbs

FOLDERS = ("assets", "library/assets")
MARK = "<!-- auto-rig -->"
SMALL = ("finger", "thumb", "index", "middle", "ring", "pinky", "eye", "lid", "brow", "lip", "jaw", "tongue", "cheek")
FEW = 10
"""Rigs of fewer joints move legs as one piece, or have none."""


def shared() -> Path:
    return Path(os.environ.get("KINEMA_SHARED", Path(__file__).parents[2] / "shared" / "data"))


def is_for_tuning(name: str) -> bool:
    return name not in HELD_OUT


def files() -> list[Path]:
    return [path for folder in FOLDERS for path in sorted((shared() / folder).glob("*.glb"))]


def walkers(count: int, seed: int) -> list[str]:
    """Bipeds and quadrupeds drawn by a seed: one of each pack in turn, a pack being what names begin with."""
    rng, packs = np.random.default_rng(seed), dict[str, list[str]]()
    for path in files():
        legs, _, wings, *_ = truth().get(path.stem, (0, 0, 0))
        if legs in (2, 4) and not wings:
            pack = path.stem.split("_")[0] if path.parent.parent.name == "library" else "assets"
            packs.setdefault(pack, []).append(path.stem)
    shuffled = [list(rng.permutation(packs[pack])) for pack in rng.permutation(sorted(packs))]
    turns = itertools.chain.from_iterable(itertools.zip_longest(*shuffled))
    return [str(name) for name in turns if name is not None][:count]


def kinds() -> dict[str, str]:
    """Kinds of the library's characters as its list says."""
    path = shared() / "library" / "characters.json"
    return {row["name"]: row["kind"] for row in json.loads(path.read_text())} if path.is_file() else {}


def true_kind(name: str, body: str) -> str:
    """The body plan of a character: by the number of its legs and wings, or, of a rig without legs, by its list."""
    legs, _, wings, *_ = truth().get(name, (-1, 0, 0, 0, 0, 0))
    listed = {"human": "biped", "quadruped": "quadruped", "fish": "fish", "bird": "bird", "snake": "snake"}
    if legs in (2, 4):
        return {(2, False): "biped", (2, True): "bird", (4, False): "quadruped", (4, True): "winged"}[legs, wings > 0]
    if legs in (6, 8):
        return {6: "hexapod", 8: "octopod"}[legs]
    return listed.get(kinds().get(name, ""), body if body in ("fish", "snake") else "other")


def strip(character: Character) -> Character:
    """The same mesh in the same place without anything that tells its rig."""
    return replace(character, skeleton=None, weights=None, clips=(), source=None, roles={}, ground=None)


def in_file(vertices: np.ndarray, frame: Frame) -> np.ndarray:
    """Vertices in the coordinates of their file."""
    return (vertices - frame.translation) @ frame.rotation / frame.scale


def read(path: Path, cache: Path | None) -> tuple[Character, str]:
    """A character and the kind of body that its rig has; reading all clips of a file takes longer than rigging it."""
    kept = cache / f"{path.stem}.npz" if cache else None
    if kept is None or not kept.is_file():
        character = load(path)
        assert character.skeleton is not None
        assert character.weights is not None
        body = find_limbs(character).body
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            bones = character.skeleton
            np.savez_compressed(
                kept, vertices=character.mesh.vertices, faces=character.mesh.faces, weights=character.weights,
                names=bones.names, parents=bones.parents, heads=bones.heads, tails=bones.tails, body=body,
                rotation=character.frame.rotation, scale=character.frame.scale, shift=character.frame.translation,
            )  # fmt: skip
        return character, body
    data = np.load(kept)
    mesh = Mesh(data["vertices"], data["faces"], np.ones_like(data["vertices"]))
    bones = Skeleton(tuple(data["names"].tolist()), tuple(data["parents"].tolist()), data["heads"], data["tails"])
    frame = Frame(data["rotation"], float(data["scale"]), data["shift"])
    return Character(path.stem, mesh, bones, data["weights"], frame=frame), str(data["body"])


def measure(path: Path, *, cache: Path | None, features: bool) -> dict[str, Any]:
    """One row of the table: the mesh is turned as it is found to stand and to face in its file, without its rig."""
    true, body = read(path, cache)
    assert true.skeleton is not None
    found_frame, _ = find_frame(in_file(true.mesh.vertices, true.frame), None)
    turned = apply_frame(found_frame, in_file(true.mesh.vertices, true.frame))
    mesh = replace(true.mesh, vertices=turned)
    row: dict[str, Any] = {"name": path.stem, "joints": len(true.skeleton.names)}
    row |= {"true": true_kind(path.stem, body), "tuning": is_for_tuning(path.stem)}
    start = time.process_time()
    balls = pack_balls(mesh, symmetric=embedding.is_symmetric(mesh))
    branches = find_branches(balls)
    found = embedding.choose(mesh, balls, branches, None)
    row["cpu_seconds"] = round(time.process_time() - start, 2)
    skeleton = place_skeleton(unplace_skeleton(found.skeleton, found_frame), true.frame)
    distance = rig_distance(replace(strip(true), skeleton=skeleton), true)
    row["facing_right"] = bool(np.allclose(found_frame.rotation, true.frame.rotation))
    row |= {"plan": found.plan, "form": found.form, "found": len(found.skeleton.names), "body": body}
    row |= {"confidence": round(found.confidence, 4), "measures": dict(found.measures)}
    row |= {key: round(100 * getattr(distance, key), 3) for key in ("j2j", "j2b", "b2b")}
    size = float(np.ptp(mesh.vertices, axis=0).max())
    large = [j for j, name in enumerate(true.skeleton.names) if not any(word in name.lower() for word in SMALL)]
    heads = true.skeleton.heads[large or slice(None)]
    row["j2j_without_fingers"] = round(100 * chamfer(skeleton.heads, heads) / size, 3)
    fits = [fit(templates(form), balls) for form in FORMS if features]
    row["features"] = {one.template.form.name: embedding.features(one, balls, branches) for one in fits}
    return row


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def measure_all(part: str, rows: Path, *, cache: Path | None, features: bool) -> None:
    index, count = (int(x) for x in part.split("/"))
    done = {row["name"] for row in read_rows(rows)}
    for path in files()[index - 1 :: count]:
        if path.stem not in done:
            try:
                row = measure(path, cache=cache, features=features)
            except KinemaError as error:  # a file that cannot be read
                row = {"name": path.stem, "error": str(error)}
            with rows.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(row["name"], row.get("form"), row.get("j2j"), flush=True)


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: medians by family and part, the kinds that were found, and the confidences."""
    rows = [row for row in rows if "error" not in row]
    lines = ["| family | files | J2J x100 | without fingers and faces | J2B | B2B | kind right |", "|" + " --- |" * 7]
    families = ["biped", "quadruped", "bird", "winged", "hexapod", "octopod", "fish", "snake", "other"]
    groups = [(f, [r for r in rows if r["true"] == f]) for f in families]
    walkers = [r for r in rows if r["true"] in ("biped", "quadruped")]
    few = [r for r in walkers if r["joints"] < FEW]
    groups += [
        ("bipeds and quadrupeds", walkers),
        (f"of them with {FEW} joints or more", [r for r in walkers if r not in few]),
    ]
    groups += [("all", rows)]
    for half, wanted in (("for tuning", True), ("held out", False)):
        groups += [
            (f"bipeds and quadrupeds, {half}", [r for r in walkers if r["tuning"] is wanted]),
            (f"all, {half}", [r for r in rows if r["tuning"] is wanted]),
        ]
    for name, group in groups:
        if group:
            values = [np.median([r[key] for r in group]) for key in ("j2j", "j2j_without_fingers", "j2b", "b2b")]
            right = [r for r in group if r["true"] != "other"]
            share = f"{np.mean([is_right(r) for r in right]):.0%}" if right else ""
            lines.append(f"| {name} | {len(group)} | " + " | ".join(f"{v:.2f}" for v in values) + f" | {share} |")
    lines += ["", "| confidence | files | kind right |", "| --- | --- | --- |"]
    known = [r for r in rows if r["true"] != "other"]
    for low, high in ((0.0, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01)):
        group = [r for r in known if low <= r["confidence"] < high]
        if group:
            share = np.mean([is_right(r) for r in group])
            lines.append(f"| {low:.1f} to {min(high, 1.0):.1f} | {len(group)} | {share:.0%} |")
    seconds, faces = [r["cpu_seconds"] for r in rows], sum(r["facing_right"] for r in rows)
    lines += ["", f"Up axis and facing, found by the shape alone, are right for {faces} of {len(rows)} files."]
    lines += ["", f"Processor time of an embedding: median {np.median(seconds):.1f} s, most {max(seconds):.1f} s.", ""]
    return "\n".join(lines)


def is_right(row: dict[str, Any]) -> bool:
    """A template of the true kind, or for bodies without one of their own the tree."""
    same = {"ray": "fish", "crab": "octopod"}
    return same.get(row["plan"], row["plan"]) == row["true"]


def fit_weights(rows: list[dict[str, Any]]) -> None:
    """Weights under which, by a softmax of minus the measure, the true plans of the files for tuning are likeliest.

    That of bodies without a template is the tree; snakes are told before.
    """
    from scipy.optimize import minimize

    plans = {form.name: form.plan for form in FORMS}
    cases = []
    for row in (row for row in rows if row.get("features")):
        right = [is_right(row | {"plan": plans[name]}) for name in row["features"]] + [row["true"] == "other"]
        if row["tuning"] and row["plan"] != "snake" and any(right):
            cases.append((np.array(list(row["features"].values())), right))

    def loss(x: np.ndarray) -> float:
        weights, tree = np.exp(x[:-1]), x[-1]
        total = 0.05 * float((x[:-1] ** 2).sum())
        for features, right in cases:
            scores = -np.append(features @ weights, tree)
            scores -= scores.max()
            odds = np.exp(scores)
            total -= float(np.log(odds[right].sum() / odds.sum() + 1e-9))
        return total

    best = minimize(loss, np.append(np.log(embedding.WEIGHTS), embedding.TREE), method="Nelder-Mead",
                    options={"maxiter": 4000, "maxfev": 4000})  # fmt: skip
    print(
        "WEIGHTS", tuple(np.exp(best.x[:-1]).round(2).tolist()), "TREE", round(float(best.x[-1]), 2), "loss", best.fun
    )


def fit_facing(cache: Path | None) -> None:
    """Weights of the signs of a body's front, by logistic regression on the files for tuning."""
    from scipy.optimize import minimize

    paths = [path for path in files() if cache is None or (cache / f"{path.stem}.npz").is_file()]
    signs = [front_signs(read(path, cache)[0].mesh.vertices, np.eye(3)[1], np.eye(3)[2]) for path in paths]
    x, tuning = np.array([list(row.values()) for row in signs]), np.array([is_for_tuning(p.stem) for p in paths])
    spread = x.std(axis=0)
    z = np.clip(x / spread, -3, 3)
    # Each sign may count only the way it is meant.
    bounds = [(None, 0.0) if name == "feet" else (0.0, None) for name in signs[0]]
    best = minimize(lambda w: np.log1p(np.exp(-z[tuning] @ w)).sum() + 2.0 * (w**2).sum(), np.zeros(len(spread)),
                    method="L-BFGS-B", bounds=bounds)  # fmt: skip
    print("SHAPE", {name: (w, s) for name, w, s in zip(signs[0], (best.x / spread).round(1), spread.round(3))})
    for half, which in (("for tuning", tuning), ("held out", ~tuning)):
        print(f"{half}: {np.mean(z[which] @ best.x > 0):.1%} right by the shape alone")


def animate_stripped(path: Path) -> dict[str, Any]:
    """Animate the stripped mesh (as an OBJ) and read the gait of the result."""
    import subprocess
    import sys

    import trimesh

    true = load(path)
    kind = true_kind(path.stem, find_limbs(true).body)
    word = {"biped": "a person is walking", "quadruped": "an animal is walking"}.get(kind, "it is walking")
    with tempfile.TemporaryDirectory() as folder:
        mesh = Path(folder) / f"{path.stem}.obj"
        trimesh.Trimesh(in_file(true.mesh.vertices, true.frame), true.mesh.faces, process=False).export(mesh)
        command = [sys.executable, "-m", "kinema", "animate", str(mesh), word, "--preset", "fast", "--json", "--anyway"]
        done = subprocess.run([*command, "-o", str(Path(folder) / "run")], capture_output=True, text=True)
    row: dict[str, Any] = {"name": path.stem, "true": kind}
    if done.returncode:
        return row | {"error": done.stderr.strip().splitlines()[-1]}
    report = json.loads(done.stdout)
    said = [line for line in report["notes"] if embedding.NO_RIG in line]
    kept = {key: report[key] for key in ("metrics", "verdict", "cpu_seconds")}
    return row | kept | {"found": said, "gait": report["metrics"]["gait"], "right": report["metrics"]["gait"] == "walk"}


def gait_table(rows: list[dict[str, Any]]) -> str:
    """Markdown: the gaits of stripped files that were asked to walk."""
    lines = ["| character | kind | part | found | gait | verdict |", "|" + " --- |" * 6]
    for row in rows:
        found = row.get("found") or [row.get("error", "")]
        verdict = (row.get("verdict") or {}).get("colour", "")
        part = "tuning" if is_for_tuning(row["name"]) else "held out"
        said = found[0].removeprefix("no rig: ").removesuffix("; kinema rig to see and change it")
        lines.append(f"| {row['name']} | {row['true']} | {part} | {said} | {row.get('gait', '')} | {verdict} |")
    right = sum(row.get("right", False) for row in rows)
    return "\n".join([*lines, "", f"Walks: {right} of {len(rows)} ({right / max(len(rows), 1):.0%}).", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("measure", "table", "fit", "facing", "animate"))
    parser.add_argument("files", nargs="*", help="names of characters for `animate`; else a sample")
    parser.add_argument("--sample", type=int, default=30, help="how many bipeds and quadrupeds `animate` draws")
    parser.add_argument("--seed", type=int, default=0, help="of that sample")
    parser.add_argument("--part", default="1/1", help="which part of the files, such as 2/4")
    parser.add_argument("--rows", type=Path, default=Path("rows.jsonl"))
    parser.add_argument("--cache", type=Path, help="folder in which meshes and rigs of the files are kept")
    parser.add_argument("--features", action="store_true", help="write what `fit` needs as well")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.what == "measure":
        measure_all(arguments.part, arguments.rows, cache=arguments.cache, features=arguments.features)
    elif arguments.what == "fit":
        fit_weights(read_rows(arguments.rows))
    elif arguments.what == "facing":
        fit_facing(arguments.cache)
    elif arguments.what == "animate":
        done, paths = {row["name"] for row in read_rows(arguments.rows)}, {path.stem: path for path in files()}
        wanted = arguments.files or walkers(arguments.sample, arguments.seed)
        for path in (paths[name] for name in wanted if name not in done):
            row = animate_stripped(path)
            with arguments.rows.open("a") as file:
                file.write(json.dumps(row) + "\n")
        print(gait_table(read_rows(arguments.rows)))
    else:
        text = table(read_rows(arguments.rows))
        print(text)
        if arguments.out:
            before, _, after = arguments.out.read_text().split(MARK)
            arguments.out.write_text(f"{before}{MARK}\n{text}{MARK}{after}")


if __name__ == "__main__":
    main()
