"""What a prior says of its training: motions, and which way of doing one suits a body."""

import json
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest

from kinema.gait.make import Label
from kinema.gait.vocabulary import on_body
from kinema.prior.nano.codec import CHANNELS, PLACES, STILL_VALUES, TOKENS
from kinema.prior.nano.known import known_motions
from kinema.prior.nano.shards import Clips, motions_table, write_shard
from kinema.prior.protocol import KnownMotion, Way

HORSE, BLOCK = (0.6, 4.0), (0.2, 1.0)
"""Leg length over height, and joints per leg."""


def nod(*ways: Way, repeats: bool = False) -> KnownMotion:
    return KnownMotion("nod", "quadruped", 9, repeats, 1.0, 0.0, ways)


def test_a_body_moves_as_those_who_are_built_like_it() -> None:
    known = nod(Way("horses", 2.0, 1, 3, HORSE), Way("blocks", 0.5, 1, 3, BLOCK))
    assert known.way((0.55, 3.0)).variant == "horses"
    assert known.way((0.25, 1.0)).variant == "blocks"


def test_what_many_do_goes_before_what_one_does() -> None:
    known = nod(Way("one", 2.0, 1, 1, HORSE), Way("many", 2.0, 1, 6, HORSE))
    assert known.way(HORSE).variant == "many"


def test_a_way_that_is_not_known_is_not_asked_for() -> None:
    known = nod(Way("hardly", 2.0, 1, 1, HORSE, 0.6), Way("well", 2.0, 1, 1, (0.5, 3.0), 0.05))
    assert known.way(HORSE).variant == "well"


def test_who_asks_for_a_dance_sees_one() -> None:
    known = nod(Way("hardly moves", 2.0, 1, 1, HORSE, lively=0.2), Way("dances", 2.0, 1, 1, (0.55, 4.0), lively=0.8))
    assert known.way(HORSE).variant == "dances"


def test_the_beginning_of_an_action_is_not_the_action() -> None:
    known = nod(Way("begins", 0.25, 1, 1, HORSE), Way("does it", 1.0, 1, 1, (0.55, 4.0)))
    assert known.way(HORSE).variant == "does it"
    # What takes longer is the whole of it, too.
    assert nod(Way("slow", 4.0, 1, 1, HORSE), Way("usual", 1.0, 1, 1, (0.55, 4.0))).way(HORSE).variant == "slow"


def test_a_body_unlike_all_others_takes_what_bodies_of_all_builds_do() -> None:
    known = nod(Way("", 2.0, 1), Way("blocks", 0.5, 1, 1, BLOCK))
    assert known.way(HORSE).variant == ""
    assert known.way(BLOCK).variant == "blocks"


def test_gaits_are_the_procedural_ones_and_actions_have_a_duration() -> None:
    ways = (Way("", 1.0, 1), Way("horses", 1.0, 1, 9, HORSE))
    assert nod(*ways, repeats=True).way(HORSE).variant == ""
    assert nod(*ways).way(HORSE).variant == "horses"
    sitting = nod(Way("sits already", 0.0, 1, 9, HORSE), Way("sits down", 1.0, 1, 1, HORSE))
    assert sitting.way(HORSE).variant == "sits down"
    assert nod(Way("sits already", 0.0, 1, 9, HORSE)).way(HORSE).variant == "sits already"
    assert nod().way(HORSE) is None


def test_the_table_survives_a_file() -> None:
    known = nod(Way("", 2.0, 1), Way("blocks", 0.5, -1, 13, BLOCK))
    assert KnownMotion.of_row(json.loads(json.dumps(astuple(known)))) == known


def test_the_table_counts_what_the_clips_show(tmp_path: Path) -> None:
    labels = [
        Label("nod", False, 0.0, 1.0, 0.0, "quadruped", side, variant=variant)
        for variant, side in (("pack nod", 1), ("pack nod", 1), ("pack nod", -1), ("", -1))
    ]
    natural = np.array([(0.5, 0.0), (0.7, 0.0), (0.0, 0.0), (2.0, 0.0)])
    zeros = {"latents": (4, TOKENS, CHANNELS), "still": (4, PLACES, STILL_VALUES)}
    arrays = {name: np.zeros(shape, dtype=np.float16) for name, shape in zeros.items()}
    clips = Clips(**arrays, upright=np.zeros(4, dtype=bool), motion=np.zeros((4, 4)), camera=np.zeros((4, 2)),
                  natural=natural, label=labels)  # fmt: skip
    write_shard(tmp_path, 0, clips)
    (known,) = motions_table(tmp_path, range(1), {"pack nod": (13, BLOCK)}, {("nod", "quadruped", ""): (0.3, 0.4)})
    assert (known.name, known.body, known.clips, known.repeats) == ("nod", "quadruped", 4, False)
    assert known.seconds == pytest.approx(0.7)
    procedural, pack = known.ways
    assert (procedural.variant, procedural.seconds, procedural.side, procedural.build) == ("", 2.0, -1, None)
    assert (procedural.missed, pack.missed) == (0.3, 0.0)
    assert (procedural.lively, pack.lively) == (0.4, 1.0)
    # Who nods already has no duration; most of the clips are of the left.
    assert (pack.variant, pack.side, pack.performers, pack.build) == ("pack nod", 1, 13, BLOCK)
    assert pack.seconds == pytest.approx(0.6)


def test_what_the_prior_has_seen_of_a_body_can_be_asked_for() -> None:
    """`kinema motions` listed a chick's getting up, and `kinema read` said that a bird cannot."""
    refused = [(row.body, row.name) for row in known_motions() if on_body(row.name, row.body) is None]
    assert not refused
