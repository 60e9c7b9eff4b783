"""What sentences are read as.

known.tsv and unknown.tsv in reading/ were written by somebody who had not seen the reader. more_known.tsv and
more_unknown.tsv are one half of a list whose author also wrote the word lists; the failures of the
other half were looked at.
"""

import csv
from pathlib import Path

import pytest
import torch

from kinema.gait.vocabulary import vocabulary
from kinema.prior.nano.known import known_motions
from kinema.prior.nano.reader import HEADER, WEIGHTS, Reader, trained_names
from kinema.prior.nano.reader_fit import words_checksum
from kinema.prior.protocol import KnownMotion
from kinema.tensor_files import load_tensors

LISTS = Path(__file__).parent / "reading"


def rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((LISTS / name).read_text().splitlines(), delimiter="\t"))


@pytest.mark.parametrize(
    ("name", "count", "most_accepted"), [("unknown.tsv", 120, 0.10), ("more_unknown.tsv", 145, 0.04)]
)
def test_unknown_sentences_are_refused(name, count, most_accepted):
    listed = rows(name)
    accepted = sum(Reader.load().read(row["sentence"], row["body"]).known for row in listed)
    assert len(listed) == count
    assert accepted <= most_accepted * len(listed)


@pytest.mark.parametrize(
    ("name", "count", "least_right", "most_refused"),
    [("known.tsv", 240, 0.92, 0.05), ("more_known.tsv", 441, 0.95, 0.03)],
)
def test_held_out_wordings_are_read_right(name, count, least_right, most_refused):
    listed = rows(name)
    read = [(row["motion"].split("|"), Reader.load().read(row["sentence"], row["body"])) for row in listed]
    assert len(listed) == count
    # What is reached (docs/prior.md); the aim is 0.92 and 0.05. The sentences stay unnamed: nobody tunes to them.
    assert sum(not reading.known for _, reading in read) <= most_refused * count
    assert sum(reading.known and reading.motion in motions for motions, reading in read) >= least_right * count


@pytest.mark.parametrize(
    ("text", "body", "motion"),
    [
        ("walks", "biped", "walk"),
        ("runs fast", "biped", "run"),
        ("sits down", "biped", "sit"),
        ("a horse trots", "quadruped", "trot"),
        ("trotting horse", "quadruped", "trot"),
        ("trot", "quadruped", "trot"),
        ("sword attack", "biped", "sword"),
        ("idle animation", "biped", "stand"),
        ("a dog is barkng", "quadruped", "bark"),
        ("in the forest, a fox is running", "quadruped", "run"),
        ("a boy runs as fast as his legs can carry him", "biped", "run"),
        ("a man gives the door a kick", "biped", "kick"),
    ],
)
def test_short_and_roundabout_prompts_are_read(text, body, motion):
    reading = Reader.load().read(text, body)
    assert (reading.motion, reading.known, reading.problem) == (motion, True, None)


def test_the_reader_was_fitted_to_these_words():
    _, header = load_tensors(WEIGHTS, key=HEADER)
    assert header["words"] == words_checksum(), "run python -m kinema.prior.nano.reader_fit"


def test_a_reader_survives_its_tensors():
    reader = Reader.load()
    again = Reader.from_tensors(reader.tensors())
    assert len(reader.weight) == len(vocabulary()) + 1
    assert all(torch.equal(a, b) for a, b in zip(reader.tensors().values(), again.tensors().values()))


@pytest.mark.parametrize("motion", ["walk", "trot", "dance", "bite", "pick_up", "swim"])
def test_every_wording_of_the_thesaurus_is_its_own_motion(motion):
    words = vocabulary()[motion]
    for wording in words.wordings[:4]:
        reading = Reader.load().read(f"a creature {wording.does}", words.bodies[0])
        assert (reading.motion, reading.known) == (motion, True), wording.does


@pytest.mark.parametrize(
    ("text", "body", "motion"),
    [
        ("a triceratops is walking", "quadruped", "walk"),
        ("a fox is dancing", "quadruped", "dance"),
        ("a spider crawls along", "crawler", "walk"),
        ("a snake crawls along", "snake", "slither"),
        ("a man walks to the left", "biped", "turn_left"),
        ("a dog walks backwards", "quadruped", "walk_back"),
        ("a shark swims fast", "fish", "swim_fast"),
        ("a man stands and claps", "biped", "clap"),
    ],
)
def test_bodies_and_directions_choose_the_motion(text, body, motion):
    reading = Reader.load().read(text, body)
    assert (reading.motion, reading.known, reading.problem) == (motion, True, None)


@pytest.mark.parametrize(
    ("text", "body", "problem"),
    [
        ("a manta ray is walking", "fish", "this body cannot walk"),
        ("a fox does not run", "quadruped", "not done"),
        ("a fox runs, then sits", "quadruped", "after another"),
        ("a man walks and waves", "biped", "two motions"),
        ("two foxes run", "quadruped", "several"),
        ("ein Fuchs läuft durch den Wald", "quadruped", "German"),
        ("a man bows backwards", "biped", "backwards"),
        ("the price of oil fell", "quadruped", "no character"),
        ("?!", "quadruped", "no words"),
        ("a fox frobnicates", "quadruped", "no verb that is known"),
        ("a man zorbles along", "biped", "no verb that is known"),
    ],
)
def test_what_nothing_can_be_made_of_is_said(text, body, problem):
    reading = Reader.load().read(text, body)
    assert not reading.known
    assert reading.problem is not None
    assert problem in reading.problem


def test_a_prior_knows_what_it_was_trained_on():
    trained = (KnownMotion("walk", "biped", 9, True, 1.0, 1.0), KnownMotion("trot", "quadruped", 9, True, 0.5, 2.0))
    names = trained_names(trained, "biped")
    assert names == {"walk"}
    assert trained_names(trained, None) == {"walk", "trot"}
    assert trained_names((), "biped") == set(vocabulary())
    dancing = Reader.load().read("a man is dancing", "biped", known=names)
    assert (dancing.motion, dancing.known, dancing.nearest) == ("dance", False, ("walk",))


@pytest.mark.parametrize(
    ("text", "body", "motion"),
    [
        ("a bird pecks at seeds", "bird", "eat"),
        ("a cobra strikes", "snake", "bite"),
        ("a dog attacks", "quadruped", "attack"),
        ("a dragon flaps its wings", "winged", "fly"),
        ("a crocodile crawls", "quadruped", "walk"),
        ("a ray is swimming", "fish", "swim"),
    ],
)
def test_what_was_not_seen_of_a_body_is_done_as_what_comes_nearest(text, body, motion):
    reading = Reader.load().read(text, body, known=trained_names(known_motions(), body))
    assert (reading.motion, reading.known) == (motion, True)
