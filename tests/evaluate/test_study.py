"""The study: films are paired and hidden, and the statistics recover raters whose preference is known."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from kinema.errors import KinemaError
from kinema.evaluate.study.answers import Answers, Comparison, attention, read_answers
from kinema.evaluate.study.films import pair_films
from kinema.evaluate.study.page import QUESTIONS, make_page
from kinema.evaluate.study.report import (
    answers_needed,
    exact_interval,
    intraclass,
    report_lines,
    shares,
    strengths,
    study_report,
)


def two_methods(tmp_path: Path, count: int = 4) -> tuple[Path, Path]:
    for name in ("ours", "field"):
        (tmp_path / name).mkdir()
        for k in range(count):
            (tmp_path / name / f"clip-{k}.mp4").write_bytes(f"{name} {k}".encode())
    (tmp_path / "ours" / "prompts.csv").write_text('film,prompt\nclip-0.mp4,"a fox, </script> walking"\n')
    return tmp_path / "ours", tmp_path / "field"


def simulated(raters: int, trials: int, chance: dict[str, float], seed: int = 0, spread: float = 0.0) -> Answers:
    """Raters who prefer the first of two methods with a chance of their own around the given one."""
    rng = np.random.default_rng(seed)
    found: dict[str, list[Comparison]] = {question: [] for question in QUESTIONS}
    for rater in range(raters):
        away = spread * rng.standard_normal()
        for question, p in chance.items():
            for first in rng.random(trials) < p + away:
                pair = ("ours", "field") if first else ("field", "ours")
                found[question].append(Comparison(str(rater), *pair))
    comparisons = {question: tuple(entries) for question, entries in found.items()}
    return Answers(("ours", "field"), comparisons, tuple(map(str, range(raters))), ())


def test_films_are_paired_by_what_they_show(tmp_path: Path) -> None:
    a, b = two_methods(tmp_path)
    (a / "only-here.mp4").write_bytes(b"x")
    pairs = pair_films(a, b)
    assert [(x.path.name, y.path.name) for x, y in pairs] == [(f"clip-{k}.mp4",) * 2 for k in range(4)]
    assert pairs[0][0].prompt == "a fox, </script> walking"
    assert pairs[1][0].prompt == "clip 1"
    for folder, key in ((a, "0a"), (b, "1b")):
        run = folder / key
        run.mkdir()
        (run / "preview.mp4").write_bytes(key.encode())
        config = {"asset": f"/somewhere/{folder.name}/wolf.glb", "prompt": "a wolf runs", "seed": 2}
        (run / "config.json").write_text(json.dumps({"config": config}))
    assert ("wolf | a wolf runs | 2", "a wolf runs") in [(x.shows, x.prompt) for x, _ in pair_films(a, b)]
    (a / "clip-0.gif").write_bytes(b"x")
    with pytest.raises(KinemaError, match=r"clip-0.gif, .*clip-0.mp4: both show 'clip-0'"):
        pair_films(a, b)


def test_the_page_does_not_tell_whose_film_is_whose(tmp_path: Path) -> None:
    a, b = two_methods(tmp_path)
    key, count = make_page(a, b, tmp_path / "page", names=("ours", "field"), seed=1)
    assert count == 4
    page = (tmp_path / "page" / "index.html").read_text()
    assert "ours" not in page
    assert "field" not in page
    assert "</script> walking" not in page
    assert len(list((tmp_path / "page" / "films").iterdir())) == 8
    told = json.loads(key.read_text())
    for pair in told["films"].values():
        assert set(pair.values()) == {"ours", "field"}
    study = json.loads(page.split('type="application/json">')[1].split("</script>")[0])
    firsts = [told["films"][pair["id"]][pair["films"][0]] for pair in study["pairs"]]
    assert set(firsts) == {"ours", "field"}  # the first film is not always that of the same method
    assert study["pairs"][0]["prompt"] == "a fox, </script> walking"


def answers_of(rater: str, key: Path, *, prefers: str, attentive: bool = True) -> dict:
    told = json.loads(key.read_text())
    trials: list[dict] = []
    for pair, whose in told["films"].items():
        left, right = whose
        side = "left" if whose[left] == prefers else "right"
        trials.append({"pair": pair, "left": left, "right": right, "still": None} | dict.fromkeys(QUESTIONS, side))
    still = {"pair": "p0", "left": left, "right": left, "still": "left"}
    trials.insert(1, still | dict.fromkeys(QUESTIONS, "right" if attentive else "left"))
    return {"study": told["study"], "rater": rater, "trials": trials}


def test_answers_are_read_with_their_key_and_inattentive_raters_left_out(tmp_path: Path) -> None:
    key, _ = make_page(*two_methods(tmp_path), tmp_path / "page", names=("ours", "field"))
    files = []
    for rater, prefers, attentive in (("1", "ours", True), ("2", "field", True), ("3", "ours", False)):
        files.append(tmp_path / f"{rater}.json")
        files[-1].write_text(json.dumps(answers_of(rater, key, prefers=prefers, attentive=attentive)))
    answers = read_answers(files, [key])
    assert (answers.raters, answers.inattentive) == (("1", "2"), ("3",))
    assert [(s.wins, s.answers) for s in shares(answers)] == [(4, 8)] * 3
    with pytest.raises(KinemaError, match="answered in another file"):
        read_answers([files[0], files[0]], [key])
    (tmp_path / "odd.json").write_text(json.dumps({"study": "other", "rater": "1", "trials": []}))
    with pytest.raises(KinemaError, match="of study other, of which no key was given"):
        read_answers([tmp_path / "odd.json"], [key])
    (tmp_path / "odd.json").write_text("[]")
    with pytest.raises(KinemaError, match="no file of a study"):
        read_answers([tmp_path / "odd.json"], [key])
    with pytest.raises(KinemaError, match="nobody passed"):
        shares(read_answers([files[2]], [key]))


def test_a_rater_answers_each_of_two_studies_once(tmp_path: Path) -> None:
    keys, files = [], []
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        keys.append(make_page(*two_methods(folder, number + 1), folder / "page", names=("ours", "field"))[0])
        files.append(folder / "anna.json")
        files[-1].write_text(json.dumps(answers_of("anna", keys[-1], prefers="ours")))
    answers = read_answers(files, keys)
    assert (answers.raters, len(answers.comparisons["motion"])) == (("anna",), 5)
    with pytest.raises(KinemaError, match="'anna' has answered in another file"):
        read_answers([*files, files[0]], keys)


def test_an_attention_check_is_about_motion_only() -> None:
    trial = {"still": "left", "motion": "right", "physics": "left", "text": "left"}
    assert attention([trial, trial | {"motion": "left"}, {"still": None, "motion": "left"}]) == (1, 2)


@pytest.mark.parametrize(("wins", "answers"), [(0, 10), (10, 10), (7, 20), (553, 1000)])
def test_the_exact_interval_is_clopper_and_pearsons(wins: int, answers: int) -> None:
    # P(X >= wins | low) = P(X <= wins | high) = 0.025; both are quantiles of beta distributions.
    low = stats.beta.ppf(0.025, wins, answers - wins + 1) if wins else 0.0
    high = stats.beta.ppf(0.975, wins + 1, answers - wins) if wins < answers else 1.0
    assert exact_interval(wins, answers) == pytest.approx((low, high), abs=1e-9)


def test_simulated_raters_of_known_preference_are_recovered() -> None:
    chance = {"motion": 0.8, "physics": 0.5, "text": 0.3}
    answers = simulated(40, 25, chance)
    for share in shares(answers):
        assert share.exact[0] < chance[share.question] < share.exact[1]
        assert share.over_raters[0] < chance[share.question] < share.over_raters[1]
        assert (share.p_value < 0.01) == (share.question != "physics")
        # P(first before second) = 1 / (1 + exp(-(s_1 - s_2)))
        found = strengths(answers, share.question)
        assert 1 / (1 + math.exp(found["field"] - found["ours"])) == pytest.approx(share.share, abs=2e-3)


def test_three_methods_are_placed_on_one_scale() -> None:
    rng, true = np.random.default_rng(1), {"a": 1.0, "b": 0.0, "c": -1.0}
    names = tuple(true)
    found = []
    for _ in range(6000):
        i, j = rng.permutation(3)[:2]
        wins = rng.random() < 1 / (1 + math.exp(true[names[j]] - true[names[i]]))
        found.append(Comparison("r", *((names[i], names[j]) if wins else (names[j], names[i]))))
    answers = Answers(names, {"motion": tuple(found)}, ("r",), ())
    assert strengths(answers, "motion") == pytest.approx(true, abs=0.1)


def test_a_bootstrap_over_raters_is_wider_where_raters_differ() -> None:
    alike, differ = (shares(simulated(30, 30, {"motion": 0.5}, spread=s))[0] for s in (0.0, 0.3))

    def width(interval: tuple[float, float]) -> float:
        return interval[1] - interval[0]

    assert width(alike.over_raters) == pytest.approx(width(alike.exact), rel=0.35)
    assert width(differ.over_raters) > 1.8 * width(differ.exact)


def test_power() -> None:
    # n = (z_0.975 sqrt(1/4) + z_0.8 sqrt(p (1 - p)))^2 / 0.05^2 = 783 for normal statistics
    needed = answers_needed()
    assert 783 <= needed <= 820
    rng = np.random.default_rng(0)
    found = [stats.binomtest(int(wins), needed).pvalue < 0.05 for wins in rng.binomial(needed, 0.55, 2000)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.03)
    alike, crowd = (shares(simulated(30, 20, {"motion": 0.5}, spread=s))[0] for s in (0.0, 0.3))
    assert math.ceil(needed / 20) <= alike.raters_needed
    assert crowd.raters_needed > 2 * alike.raters_needed


def test_raters_needed_are_those_of_a_pair() -> None:
    """Comparisons of other methods say nothing of how much a rater prefers the first of two."""
    answers = simulated(30, 20, {"motion": 0.5})
    others = tuple(Comparison(c.rater, "field", "third") for c in answers.comparisons["motion"])
    more = Answers((*answers.names, "third"), {"motion": (*answers.comparisons["motion"], *others)}, answers.raters, ())
    assert shares(more)[0].raters_needed == shares(answers)[0].raters_needed


def test_the_intraclass_correlation_is_that_of_the_simulation() -> None:
    rng = np.random.default_rng(3)
    # Chances from a beta distribution: the correlation of two answers of a rater is 1 / (a + b + 1).
    chances = rng.beta(2.0, 2.0, 4000)
    counts = np.stack((rng.binomial(12, chances), np.full(4000, 12)), -1).astype(float)
    assert intraclass(counts) == pytest.approx(1 / 5, abs=0.02)
    assert intraclass(np.array([[3.0, 6.0]])) == 0.0


def test_the_report_says_it_all() -> None:
    lines = report_lines(study_report(simulated(10, 10, {"motion": 0.9, "physics": 0.5, "text": 0.5})))
    assert lines[0] == "10 raters"
    assert sum("exact" in line for line in lines) == 3
    assert "to tell 55 % from 50 %" in lines[-1]
