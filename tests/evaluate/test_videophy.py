"""How VideoPhy's scripts are called and read. The model itself needs its weights and CUDA: such a machine may set
KINEMA_VIDEOPHY (the clone) and KINEMA_VIDEOPHY_WEIGHTS, KINEMA_VIDEOPHY_PYTHON."""

import csv
import os
import sys
from pathlib import Path

import pytest

from kinema.errors import KinemaError
from kinema.evaluate.videophy import INFER, INFER_2, PREPARE, VideoPhy, VideoPhy2

PREPARES = """
import argparse, csv, pathlib
p = argparse.ArgumentParser(); p.add_argument("--input_csv"); p.add_argument("--output_folder"); a = p.parse_args()
rows = list(csv.DictReader(open(a.input_csv)))
for name, question in (("sa_testing", "entails {caption}"), ("physics_testing", "physical")):
    with open(pathlib.Path(a.output_folder) / (name + ".csv"), "w", newline="") as file:
        w = csv.writer(file); w.writerow(("videopath", "caption"))
        w.writerows((r["videopath"], question.format(**r)) for r in rows)
"""
INFERS = """
import argparse, csv, pathlib, sys
p = argparse.ArgumentParser()
for flag in ("input_csv", "output_csv", "checkpoint", "batch_size"): p.add_argument("--" + flag, required=True)
a = p.parse_args()
assert pathlib.Path(a.checkpoint, "config.json").is_file()
for row in csv.DictReader(open(a.input_csv)):
    assert pathlib.Path(row["videopath"]).is_file()
    if "broken" in row["caption"]: sys.exit("CUDA error: out of memory")
    with open(a.output_csv, "a", newline="") as file:
        csv.writer(file).writerow((row["videopath"], row["caption"], len(row["caption"]) / 100))
"""


def clone(folder: Path, *, infers: str = INFERS) -> VideoPhy:
    """Programs with the command lines of VideoPhy's own, that answer with the length of the question."""
    for script, text in ((PREPARE, PREPARES), (INFER, infers)):
        (folder / script).parent.mkdir(parents=True, exist_ok=True)
        (folder / script).write_text(text)
    (folder / "weights").mkdir()
    (folder / "weights" / "config.json").write_text("{}")
    (folder / "film.mp4").touch()
    return VideoPhy(folder, folder / "weights", Path(sys.executable))


def test_both_questions_are_asked_and_answered(tmp_path: Path) -> None:
    prompt = 'a fox, "walking", slowly'
    film = tmp_path / "film.mp4"
    scores = clone(tmp_path).scores([(film, prompt), (film, "a fox")])
    assert scores == [{"semantic": len(f"entails {text}") / 100, "physical": 0.08} for text in (prompt, "a fox")]


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    judge = clone(tmp_path)
    with pytest.raises(KinemaError, match=r"entailment_inference.*code 1 \(CUDA error: out of memory\)"):
        judge.scores([(tmp_path / "film.mp4", "broken")])
    with pytest.raises(KinemaError, match="nowhere: cannot be run"):
        VideoPhy(tmp_path, tmp_path / "weights", tmp_path / "nowhere").scores([(tmp_path / "film.mp4", "a fox")])
    with pytest.raises(KinemaError, match=r"empty: no weights of videocon_physics"):
        VideoPhy(tmp_path, tmp_path / "empty").check()
    with pytest.raises(KinemaError, match="not a clone of VideoPhy"):
        VideoPhy(tmp_path / "empty", tmp_path / "weights").check()


def test_a_script_that_writes_nothing_gives_no_score(tmp_path: Path) -> None:
    judge = clone(tmp_path, infers="")
    with pytest.raises(KinemaError, match="gave no score"):
        judge.scores([(tmp_path / "film.mp4", "a fox")])
    (tmp_path / INFER).write_text(INFERS + "    break\n")
    with pytest.raises(KinemaError, match="gave 1 scores of 2 films"):
        judge.scores([(tmp_path / "film.mp4", "a fox")] * 2)


INFERS_2 = """
import argparse, csv
p = argparse.ArgumentParser()
for flag in ("input_csv", "output_csv", "checkpoint", "task"): p.add_argument("--" + flag, required=True)
a = p.parse_args()
with open(a.output_csv, "w", newline="") as file:
    w = csv.writer(file); w.writerow(("", "videopath", "caption", "score"))
    for row in csv.DictReader(open(a.input_csv)):
        w.writerow((0, row["videopath"], row["caption"], {"sa": len(row["caption"]), "pc": 4}[a.task]))
"""


def second_clone(folder: Path) -> VideoPhy2:
    """A program with the command line of VideoPhy-2's own; the score of the text is the length of the sentence."""
    (folder / INFER_2).parent.mkdir(parents=True)
    (folder / INFER_2).write_text(INFERS_2)
    (folder / "weights").mkdir()
    (folder / "weights" / "config.json").write_text("{}")
    (folder / "film.mp4").touch()
    return VideoPhy2(folder, folder / "weights", Path(sys.executable))


def test_the_second_judge_scores_from_one_to_five(tmp_path: Path) -> None:
    judge = second_clone(tmp_path)
    assert judge.scores([(tmp_path / "film.mp4", "a fox"), (tmp_path / "film.mp4", "fox")]) == [
        {"semantic": 5.0, "physical": 4.0, "joint": 1.0}, {"semantic": 3.0, "physical": 4.0, "joint": 0.0}
    ]  # fmt: skip
    with pytest.raises(KinemaError, match="gave 0 for task sa"):
        judge.scores([(tmp_path / "film.mp4", "")])
    with pytest.raises(KinemaError, match="no weights of videophy_2_auto"):
        VideoPhy2(tmp_path, tmp_path / "empty").check()
    with pytest.raises(KinemaError, match="not a clone of VideoPhy"):
        VideoPhy2(tmp_path / "empty", tmp_path / "weights").check()


@pytest.mark.slow
@pytest.mark.skipif("KINEMA_VIDEOPHY" not in os.environ, reason="VideoPhy's clone and weights are not here")
def test_the_model_itself_prefers_the_right_sentence(tmp_path: Path) -> None:
    names = ("KINEMA_VIDEOPHY", "KINEMA_VIDEOPHY_WEIGHTS", "KINEMA_VIDEOPHY_PYTHON")
    checkout, weights, python = (Path(os.environ[name]) for name in names)
    with (checkout / "examples" / "example.csv").open(newline="") as file:
        row = next(csv.DictReader(file))
    judge = VideoPhy(checkout, weights, python)
    film = checkout / row["videopath"]
    wrong = "an astronaut rides a bicycle on the moon"
    right, other = judge.scores([(film, row["caption"]), (film, wrong)])
    assert right["semantic"] > other["semantic"]
