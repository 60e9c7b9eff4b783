"""The shipped weights do what they are for: through the real job a fox walks and a robot runs."""

import numpy as np
import pytest

from kinema.create.creatures import creature
from kinema.distill.config import Animate, resolve
from kinema.evaluate.judge import text_score
from kinema.job.animate import Outcome, animate
from kinema.prior.load import load_prior


def outcome_of(noun: str, prompt: str) -> Outcome:
    config = resolve(Animate(noun, prompt))
    return animate(config, creature(noun), load_prior(config.prior))


@pytest.fixture(scope="module")
def fox_walk() -> Outcome:
    return outcome_of("fox", "a fox is walking")


def alternation(outcome: Outcome) -> list[float]:
    """Phase between the left and the right leg of each pair [cycles, at most 0.5]."""
    phases, legs = list(outcome.metrics.values())[-1].phases, outcome.anatomy.limbs.legs
    found = []
    for rank in {leg.rank for leg in legs}:
        left, right = (phase for phase, leg in zip(phases, legs, strict=True) if leg.rank == rank)
        found.append(min((left - right) % 1.0, (right - left) % 1.0))
    return found


def test_a_fox_walks(fox_walk: Outcome) -> None:
    assert list(fox_walk.metrics) == ["distilled", "planted", "simulated", "physics"]
    measured = fox_walk.metrics["physics"]
    assert measured.gait == "walk"
    assert measured.slide < 0.1
    # A walk's legs of one pair are half a cycle apart.
    np.testing.assert_allclose(alternation(fox_walk), 0.5, atol=0.1)
    # It goes forth: by more than a leg length in two seconds.
    assert measured.travel > 1.0


def test_an_upright_body_runs() -> None:
    run = outcome_of("robot", "a robot is running")
    measured = run.metrics["physics"]
    assert measured.gait == "run"
    assert measured.slide < 0.1
    np.testing.assert_allclose(alternation(run), 0.5, atol=0.1)


def test_the_right_sentence_wins(fox_walk: Outcome) -> None:
    """Of six sentences the prior finds the one that the clip was made from the best description of it."""
    score = text_score(
        fox_walk.character,
        fox_walk.anatomy.rig,
        fox_walk.motion,
        "a fox is walking",
        metrics=fox_walk.metrics["physics"],
    )
    assert score["error"] < min(score["others"][text] for text in ("running", "hopping", "standing still"))
