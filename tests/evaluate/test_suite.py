"""The suite: whom it asks for what, and its tables from reports."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from kinema.batch.engine import Batch, Entry
from kinema.batch.suite import Suite, ask, case_named, job_of, tabulate
from kinema.create.find import find_character
from kinema.errors import KinemaError
from kinema.evaluate.suite import ANIMALS, CHARACTERS, MOTIONS, Case, cases, cell, figures, suite_table
from kinema.evaluate.videophy import Told, VideoPhy

STAGE = {"slide": 0.2, "skating": 0.5, "foot_contact": 3.0, "bone_change": 0.0, "jerk": 100.0, "gait": "walk"}


def test_29_characters_with_prompts_that_are_english() -> None:
    assert len(set(CHARACTERS)) == 29
    found = cases(CHARACTERS, tuple(MOTIONS), 1)
    assert len(found) == 2 * (24 * 2 + 5 * 5)
    assert {case.motion for case in found if case.character in ANIMALS} == {"walk", "run"}
    assert Case("elephant", "run", 0, "field").prompt == "an elephant is running"
    assert Case("thin human", "punch", 0, "field").prompt == "a thin human is punching"
    assert len({(case.name, case.method) for case in found}) == len(found)


@pytest.mark.parametrize("name", ["thin human", "rhinoceros"])
def test_characters_are_built_in(name: str) -> None:
    assert find_character(f"a {name}").skeleton is not None


def test_jobs_know_their_case_and_methods_differ_in_the_parameters_only() -> None:
    jobs = Suite(("thin human",), ("walk",), 1, "fast").jobs()
    assert [case_named(job.title) for job in jobs] == [Case("thin human", "walk", 0, m) for m in ("skeleton", "field")]
    ours, field = (job.content for job in jobs)
    assert (ours.preset, ours.prompt, ours.seed) == (field.preset, field.prompt, field.seed)
    assert (field.parameters, field.physics) == ("field", False)
    assert jobs[0].key != jobs[1].key
    with pytest.raises(KinemaError, match="--characters unicorn: the suite has fox"):
        Suite(("unicorn",)).jobs()
    with pytest.raises(KinemaError, match="--set seed=3: is what the suite itself gives"):
        Suite(options={"seed": "3"}).jobs()


def test_figures_are_those_of_the_right_stage() -> None:
    after = STAGE | {"slide": 0.01, "gait": "run", "jerk": 50.0}
    report = {"stages": {"distilled": STAGE, "physics": after}, "metrics": after, "cpu_seconds": 7.0}
    report["intersection"] = [0.02, 0.01]
    ours = figures(Case("fox", "run", 0, "skeleton"), report)
    assert (ours["right"], ours["right after"], ours["bone change"]) == (0.0, 1.0, None)
    assert (ours["slide"], ours["slide after"]) == (0.2, 0.01)
    assert (ours["self-int. %"], ours["self-int. % after"]) == (2.0, 1.0)
    report["stages"]["field"] = STAGE | {"bone_change": 0.3}
    field = figures(Case("fox", "run", 0, "field"), report)
    assert (field["right"], field["right after"], field["slide after"]) == (0.0, None, None)
    assert (field["bone change"], field["jerk"], ours["jerk"], ours["jerk after"]) == (0.3, 100.0, 100.0, 50.0)
    action = figures(Case("human", "punch", 0, "skeleton"), report)
    assert action["right"] is action["right after"] is None


def test_spreads_are_those_of_cases_and_of_their_seeds() -> None:
    # The standard deviation of 1, 3 and 5 is 2, that of 1 and 3 √2, and of 2 and 6 √8; √((2 + 0) / 2) is 1.
    assert cell([("a", 1.0), ("b", 3.0), ("c", 5.0), ("d", None)]) == "3 ± 2"
    assert cell([("a", 1.0), ("b", 6.0), ("a", 3.0), ("b", 6.0)]) == "4 ± 2.8 (1)"
    assert cell([("a", 1.0), ("a", 3.0)]) == "2 (1.4)"
    assert cell([("a", 2.0)]) == "2"
    assert cell([("a", None)]) == "–"


def test_the_table_has_a_row_per_group_and_method() -> None:
    report = {
        "stages": {"distilled": STAGE, "field": STAGE},
        "metrics": STAGE,
        "cpu_seconds": 7.0,
        "intersection": [0.0, 0.0],
    }
    found = cases(("fox", "human"), ("walk",), 2)
    table = suite_table((case, figures(case, report)) for case in found)
    rows = [line for line in table.splitlines() if line.startswith(("| animals", "| humanoids"))]
    assert [row.split(" | ")[:2] for row in rows] == [
        ["| animals, gaits", "skeleton"], ["| animals, gaits", "field"], ["| humanoids, gaits", "skeleton"],
        ["| humanoids, gaits", "field"],
    ]  # fmt: skip
    assert "by construction" in table
    assert suite_table([]) == "no run is finished\n"


def test_the_table_names_the_runs_that_show_another_gait() -> None:
    report = {"stages": {"distilled": STAGE, "field": STAGE}, "metrics": STAGE | {"gait": "other"}, "cpu_seconds": 7.0}
    report["intersection"] = [0.0, 0.0]
    found = cases(("fox", "human"), ("walk", "run", "jump"), 1)
    last = suite_table((case, figures(case, report)) for case in found).splitlines()[-3:]
    assert last == [
        "- Another gait, skeleton, as distilled: 2 of 4 (fox-run-0, human-run-0)",
        "- Another gait, skeleton, after planting and physics: 4 of 4"
        " (fox-walk-0, human-walk-0, fox-run-0, human-run-0)",
        "- Another gait, field, as distilled: 2 of 4 (fox-run-0, human-run-0)",
    ]


def test_pairs_of_gaits_are_compared_by_a_sign_test() -> None:
    """Eight of eight: p = 2 / 2^8."""
    runs = []
    for case in cases(CHARACTERS[:8], ("walk",), 1):
        stage = STAGE | {"slide": 0.1 if case.method == "skeleton" else 0.2}
        report = {"stages": {"distilled": stage, "field": stage}, "metrics": stage, "cpu_seconds": 7.0}
        runs.append((case, figures(case, report | {"intersection": [0.0, 0.0]})))
    table = suite_table(runs)
    assert "slide as distilled: median 0.1 of joints and 0.2 of the field; joints have less in 8 of 8 pairs" in table
    assert "and more in 0 (sign test p = 0.0078)" in table
    assert "jerk as distilled" not in table  # they do not differ


def test_a_judges_scores_are_columns_of_films_that_it_has_seen(tmp_path: Path) -> None:
    """Films are shown once, in one call, and their scores stay with their runs."""

    calls = []

    class Judge(VideoPhy):
        def scores(self, films: Sequence[Told]) -> list[dict[str, float]]:
            calls.append([(film.parent.name, text) for film, text in films])
            return [{"semantic": 0.25, "physical": 0.5}, {"semantic": 0.75, "physical": 0.5}]

    report = {"stages": {"distilled": STAGE, "field": STAGE}, "metrics": STAGE, "cpu_seconds": 7.0}
    jobs = Suite(("fox",), ("walk",), 1, "fast").jobs()
    batch = Batch(tmp_path, {job.key: Entry(job.key, (), job.title, state="done") for job in jobs})
    for job in jobs:
        (tmp_path / job.key).mkdir()
        (tmp_path / job.key / "report.json").write_text(json.dumps(report))
        (tmp_path / job.key / "judged.json").write_text('{"intersection": [0.0, 0.0]}')
    assert "VideoPhy" not in tabulate(jobs, batch)
    for _ in range(2):
        ask(Judge(tmp_path, tmp_path), jobs, batch)
    assert calls == [[("skeleton-plain", "a fox is walking"), ("field-plain", "a fox is walking")]]
    header, _, ours, field = tabulate(jobs, batch).splitlines()[:4]
    assert header.endswith("| VideoPhy semantic | VideoPhy physical |")
    assert (ours[-15:], field[-15:]) == (" | 0.25 | 0.5 |", " | 0.75 | 0.5 |")


def test_a_job_of_the_suite_is_known_by_its_content() -> None:
    a, b = (job_of(Case("fox", "walk", seed, "skeleton"), preset="fast") for seed in (0, 1))
    assert a.key != b.key
    assert job_of(Case("fox", "walk", 0, "skeleton"), preset="fast").key == a.key
