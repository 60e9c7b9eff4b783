"""The suite from runs to table: real runs with few steps, filmed with and without ground, and paired for a study."""

import json
from pathlib import Path

import pytest

from kinema.batch.animate import animate_command, run_batch
from kinema.batch.process import Pool
from kinema.batch.suite import Suite, film, judge_runs, tabulate
from kinema.evaluate.study.films import pair_films

FEW = {"views": 1, "fit_iterations": 3, "iterations": 2, "frames": 12, "splats": 500, "physics": False}


@pytest.mark.slow
def test_a_character_by_both_methods(tmp_path: Path) -> None:
    jobs = Suite(("fox",), ("walk",), 1, "fast", FEW).jobs()
    done = run_batch(jobs, Pool(animate_command, tmp_path), title="suite", tell=lambda *_: None)
    assert done.count("done") == 2
    film(jobs, done)
    judge_runs(jobs, done)
    for name in ("skeleton", "field", "skeleton-plain", "field-plain"):
        assert (tmp_path / "films" / name / "fox-walk-0.mp4").stat().st_size > 1000
    assert (tmp_path / "sheet.jpg").is_file()
    ((ours, field),) = pair_films(tmp_path / "films" / "skeleton-plain", tmp_path / "films" / "field-plain")
    assert ours.prompt == field.prompt == "a fox is walking"
    assert ours.name != field.name
    table = tabulate(jobs, done)
    assert "| animals, gaits | field | 1 |" in table
    rows = json.loads((tmp_path / "suite.json").read_text())
    assert [row["method"] for row in rows] == ["skeleton", "field"]
    assert rows[1]["bone change"] > 0
    assert rows[0]["bone change"] is None
    assert 0 <= rows[0]["self-int. %"] < 100
