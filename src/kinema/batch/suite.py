"""Run the suite of the evaluation as a batch, then film and tabulate it. Everything that is there already is kept."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kinema.batch.engine import Batch
from kinema.batch.job import DONE, Job
from kinema.batch.key import key_of
from kinema.batch.rows import config_of
from kinema.distill.config import Preset
from kinema.errors import KinemaError
from kinema.evaluate.suite import CHARACTERS, METHODS, MOTIONS, Case, cases, figures, suite_table
from kinema.evaluate.videophy import Told, VideoPhy, VideoPhy2
from kinema.files import make_folder, read_json, replacing, write_text

JUDGED = "judged.json"
"""What a run's report has not, in its folder: how its mesh meets itself."""
JUDGES = (VideoPhy.name, VideoPhy2.name)
"""Whose scores are in a file of the run's folder by their name."""
VARIED = {"asset", "prompt", "seed", "parameters", "preset"}
"""Options in which runs differ, or that have an option of their own."""
FILM_SIZE = 320, 240
"""Width and height of the films without ground [px]."""
TABLE, FIGURES = "suite.md", "suite.json"


@dataclass(frozen=True)
class Suite:
    """Which part of the suite is run."""

    characters: Sequence[str] = CHARACTERS
    motions: Sequence[str] = tuple(MOTIONS)
    seeds: int = 2
    preset: Preset = "default"
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further options of all runs, as columns of a batch."""

    def check(self) -> None:
        for known, given, option in ((CHARACTERS, self.characters, "characters"), (MOTIONS, self.motions, "motions")):
            for name in given:
                if name not in known:
                    raise KinemaError(f"--{option} {name}: the suite has {', '.join(known)}")
        for name in VARIED & self.options.keys():
            raise KinemaError(f"--set {name}={self.options[name]}: is what the suite itself gives each run")

    def jobs(self) -> list[Job]:
        self.check()
        told = {"preset": self.preset, **self.options}
        return [job_of(case, **told) for case in cases(self.characters, self.motions, self.seeds)]


def job_of(case: Case, **options: Any) -> Job:
    """Both methods with the same prior and steps; planting and physics need bones."""
    options |= {"parameters": "field", "physics": False} if case.method == "field" else {}
    config = config_of({"asset": f"a {case.character}", "prompt": case.prompt, "seed": case.seed, **options})
    return Job(key_of(config), f"{case.name} ({case.method})", content=config)


def case_named(title: str) -> Case:
    """The case that a job of that title was made of."""
    name, _, method = title.removesuffix(")").rpartition(" (")
    character, motion, seed = name.rsplit("-", 2)
    return Case(character.replace("-", " "), motion, int(seed), method)


def tabulate(jobs: list[Job], batch: Batch) -> str:
    """Write suite.json and suite.md of all runs that are done; returns the table."""
    rows = []
    for job in jobs:
        folder, case = batch.out / job.key, case_named(job.title)
        if batch.entries[job.key].state == "done":
            rows.append((case, figures(case, read_json(folder / DONE) | read_json(folder / JUDGED)) | _scores(folder)))
    table = suite_table(rows)
    failed = [f"- {entry.title}: {entry.message}" for entry in batch.failed()]
    table += "\n".join(["", "Not run:", *failed, ""]) if failed else ""
    told: list[dict[str, Any]] = [{**vars(case), **values} for case, values in rows]
    for name, content in ((FIGURES, json.dumps(told, indent=1)), (TABLE, table)):
        write_text(batch.out / name, content)
    return table


def _scores(folder: Path) -> dict[str, float | None]:
    """What VideoPhy's judges have said of a run, by column."""
    found = {name: read_json(path) for name in JUDGES if (path := folder / f"{name}.json").is_file()}
    return {f"{name} {question}": score for name, scores in found.items() for question, score in scores.items()}


def ask(judge: VideoPhy | VideoPhy2, jobs: list[Job], batch: Batch) -> None:
    """Let a judge score the films without ground that it has not seen."""
    waiting: list[tuple[Path, Told]] = []
    for job in jobs:
        case, file = case_named(job.title), batch.out / job.key / f"{judge.name}.json"
        if batch.entries[job.key].state == "done" and not file.is_file():
            waiting.append((file, (batch.out / "films" / f"{case.method}-plain" / f"{case.name}.mp4", case.prompt)))
    if waiting:
        for (file, _), scores in zip(waiting, judge.scores([told for _, told in waiting]), strict=True):
            write_text(file, json.dumps(scores))


def judge_runs(jobs: list[Job], batch: Batch) -> None:
    """Look for self-intersections in each run."""
    import numpy as np

    from kinema.motion.motion import load_motion
    from kinema.motion.source import load_result
    from kinema.posespace.skinned import Skinned

    for job in jobs:
        folder, case = batch.out / job.key, case_named(job.title)
        if batch.entries[job.key].state != "done" or (folder / JUDGED).is_file():
            continue
        character, rig, clip = load_result(folder)
        body = Skinned.of(character)
        assert body.contacts is not None
        if case.method == "field":
            with np.load(folder / "field.npz") as saved:
                meshes = [saved["vertices"].astype(np.float64)]
        else:
            clips = (load_motion(folder / "distilled.npz", rig), clip)
            meshes = [body.posed(each.pose(rig)).double().numpy() for each in clips]
        shares = [float(body.contacts.share(mesh).mean()) for mesh in meshes]
        write_text(folder / JUDGED, json.dumps({"intersection": shares}))


def film(jobs: list[Job], batch: Batch) -> None:
    """Films of both methods in films/METHOD, with ground, and films/METHOD-plain, without; and one sheet of all."""
    import shutil

    import numpy as np

    from kinema.motion.source import load_result
    from kinema.render.show import FilmOptions, render_character, render_vertices

    options = FilmOptions(*FILM_SIZE, ground=False, count=8000)
    prompts: dict[str, list[str]] = {}
    for job in jobs:
        run, case = batch.out / job.key, case_named(job.title)
        if batch.entries[job.key].state != "done":
            continue
        ground, plain = (make_folder(batch.out / "films" / f"{case.method}{kind}") for kind in ("", "-plain"))
        for folder in (ground, plain):
            prompts.setdefault(str(folder), ["film,prompt"]).append(f"{case.name}.mp4,{case.prompt}")
        if not (ground / f"{case.name}.mp4").is_file():
            shutil.copyfile(run / "preview.mp4", ground / f"{case.name}.mp4")
        outputs = [plain / f"{case.name}.mp4", plain / f"{case.name}.png"]
        if all(path.is_file() for path in outputs):
            continue
        character, _, motion = load_result(run)
        if case.method == "field":
            with np.load(run / "field.npz") as saved:
                render_vertices(
                    character, saved["vertices"].astype(np.float64), outputs, fps=float(saved["fps"]), options=options
                )
        else:
            render_character(character, motion, outputs, options=options)
    for folder, lines in prompts.items():
        write_text(Path(folder) / "prompts.csv", "\n".join(lines) + "\n")
    sheet(batch.out)


def sheet(out: Path, *, width: int = 480) -> None:
    """One picture: a row per clip, the first row of its contact sheet by each method side by side."""
    from PIL import Image, ImageDraw

    folders = [out / "films" / f"{method}-plain" for method in METHODS]
    names = [path.name for path in sorted(folders[0].glob("*.png")) if (folders[1] / path.name).is_file()]
    if not names:
        return
    rows = []
    for name in names:
        sheets = [Image.open(folder / name).convert("RGB") for folder in folders]
        parts = [each.crop((0, 0, each.width, FILM_SIZE[1])) for each in sheets]
        height = max(1, round(width * parts[0].height / parts[0].width))
        row = Image.new("RGB", (2 * width, height + 16), "white")
        for k, part in enumerate(parts):
            row.paste(part.resize((width, height)), (k * width, 16))
            ImageDraw.Draw(row).text((k * width + 4, 2), f"{Path(name).stem}: {METHODS[k]}", fill="black")
        rows.append(row)
    whole = Image.new("RGB", (2 * width, sum(row.height for row in rows)), "white")
    top = 0
    for row in rows:
        whole.paste(row, (0, top))
        top += row.height
    with replacing(out / "sheet.jpg") as partial:
        whole.save(partial, format="JPEG", quality=80)
