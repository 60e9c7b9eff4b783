import pytest

from kinema.gait.clip_names import ARTISTS_NAMES, CAPTIONS, CAPTURES, CYCLES, HELD, STATES, is_held, motion_of
from kinema.gait.takes import ALLOWED, HELD_OUT
from kinema.gait.vocabulary import vocabulary


@pytest.mark.parametrize(
    ("phrase", "name"),
    [
        ("runs at a gallop", "gallop"),
        ("lunges forward and bites", "bite"),
        ("throws a hook punch", "punch"),
        ("throws overhand", "throw"),
        ("slashes with a sword", "sword"),
        ("stands with a sword in the left hand", "guard"),
        ("rolls forward with a sword", "roll"),
        ("sits down on a chair", "sit_chair"),
        ("stands up from the floor", "get_up"),
        ("scratches like a zombie", "attack"),
        ("strolls", "walk"),
        ("does a cartwheel", ""),
        ("takes off for a jump", ""),
        ("solves an equation", None),
    ],
)
def test_captions_name_motions(phrase, name):
    assert motion_of(phrase) == name


def test_artists_and_captures_have_their_own_words():
    assert motion_of("idle_2", ARTISTS_NAMES) == "look"
    assert motion_of("gallop_jump", ARTISTS_NAMES) == ""
    assert motion_of("velociraptor_run", ARTISTS_NAMES) == "run"
    assert motion_of("slow walk/stride", CAPTURES) == "walk"
    assert motion_of("crawls", kind="snake") == "slither"


def test_all_names_are_in_the_vocabulary():
    tables = {name for table in (CAPTIONS, ARTISTS_NAMES, CAPTURES) for name, _ in table if name}
    assert tables | CYCLES | HELD | STATES <= set(vocabulary())
    assert not CYCLES & STATES


def test_the_end_of_an_action_is_told_from_the_action():
    assert is_held("sits on the floor")
    assert not is_held("sits down on the floor")
    assert not is_held("sits driving")


def test_no_twin_of_a_held_out_character_is_trained_on_unseen():
    assert len(set(HELD_OUT)) == len(HELD_OUT) >= 29
    assert not set(ALLOWED) & set(HELD_OUT)
