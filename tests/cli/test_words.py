"""`kinema read`, `kinema motions`, and prompts that `kinema animate` refuses."""

import json
from dataclasses import replace

import pytest

from kinema.cli.main import main
from kinema.distill.config import Resolved
from kinema.distill.prompt import UNKNOWN_ACTION, read_prompt, refusal, told
from kinema.errors import KinemaError
from kinema.gait.vocabulary import vocabulary
from kinema.prior.nano.reader import Reader
from kinema.prior.protocol import PromptReading, VideoPrior


class Knowing(VideoPrior):
    """A prior that knows three motions."""

    motions, device = (), "cpu"

    def read(self, prompt: str, body: str | None = None) -> PromptReading:
        return Reader.load().read(prompt, body, known=("walk", "roll", "jump"))


class Free(VideoPrior):
    """A prior that takes every text."""

    motions, device = (), "cpu"
    read = None


def job(prompt: str, **options) -> Resolved:
    return Resolved("a red fox", prompt, **options)


def test_read_says_what_a_sentence_means(capsys):
    main(["read", "a fox is slowly walking", "a red fox"])
    said = capsys.readouterr().out
    assert said.startswith('"slowly walking" is read as walk (')
    assert "manner: slow" in said
    assert "body: quadruped" in said


def test_read_in_json_holds_everything(capsys):
    main(["--json", "read", "a fox is doing its taxes"])
    found = json.loads(capsys.readouterr().out)
    assert found["known"] is False
    assert {"motion", "confidence", "phrase", "nearest", "manner", "direction", "problem", "body"} <= set(found)


def test_read_needs_words():
    with pytest.raises(SystemExit) as stop:
        main(["read", "?!"])
    assert stop.value.code == 1


def test_motions_of_a_body_are_a_part_of_all(capsys):
    main(["--json", "motions"])
    everything = json.loads(capsys.readouterr().out)["motions"]
    main(["--json", "motions", "a red fox"])
    of_fox = json.loads(capsys.readouterr().out)["motions"]
    assert {row["body"] for row in of_fox} == {"quadruped"}
    assert {row["name"] for row in of_fox} < {row["name"] for row in everything} <= set(vocabulary())


def test_an_unknown_motion_is_refused_in_one_line():
    with pytest.raises(KinemaError) as caught:
        read_prompt(job("a man is doing a cartwheel"), Knowing(), "biped")
    line = str(caught.value)
    assert line.startswith('the embedded prior does not know "doing a cartwheel"; nearest: ')
    assert "--anyway, or a large prior" in line
    assert "\n" not in line


def test_a_problem_is_refused_with_its_reason():
    with pytest.raises(KinemaError, match="one thing after another"):
        read_prompt(job("a man walks, then sits"), Knowing(), "biped")


def test_as_and_anyway_run_it_all_the_same():
    config = job("a man is doing a cartwheel", as_motion="roll")
    reading = read_prompt(config, Knowing(), "biped")
    assert (reading.motion, reading.phrase) == ("roll", "rolling")
    assert told(config, Knowing(), reading).prompt == "rolling"
    assert read_prompt(job("a man is doing a cartwheel", anyway=True), Knowing(), "biped").known is False
    with pytest.raises(KinemaError, match=r"--as fly_kite: no motion that is known \(kinema motions"):
        read_prompt(replace(config, as_motion="fly_kite"), Knowing(), "biped")
    with pytest.raises(KinemaError, match=r"--as walking: no motion that is known; did you mean walk\?"):
        read_prompt(replace(config, as_motion="walking"), Knowing(), "biped")
    with pytest.raises(KinemaError, match="cannot do it"):
        read_prompt(replace(config, as_motion="slither"), Knowing(), "biped")


def test_priors_without_classes_take_every_text():
    with pytest.warns(UserWarning, match="no verb that is known"):
        reading = read_prompt(job("a man yodels"), Free(), "biped")
    assert reading.motion == UNKNOWN_ACTION
    walking = read_prompt(job("two men never walked there"), Free(), "biped")
    assert walking.motion == "walk"
    assert told(job("a man yodels"), Free(), walking).prompt == "a man yodels"
    # --as sets the pace: a video model that heard "walking" alone would not know who walks.
    named = job("a man yodels", as_motion="walk")
    assert told(named, Free(), read_prompt(named, Free(), "biped")).prompt == "a man yodels"


def test_the_refusal_names_what_to_use():
    text = refusal("a fox flips", PromptReading("flip", 0.3, phrase="flips", known=False, nearest=("roll", "jump")))
    assert text == (
        'the embedded prior does not know "flips"; nearest: roll, jump. Use --as roll, --anyway, or a large prior'
    )
