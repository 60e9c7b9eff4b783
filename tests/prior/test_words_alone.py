"""Each of the 27 prompts of benchmarks/words_alone.py has a body, and its motion is known for that body."""

import importlib.util
from pathlib import Path

from kinema.create.creatures import creature
from kinema.prior.nano.known import known_motions
from kinema.prior.nano.reader import Reader, trained_names
from kinema.rig.limbs import find_limbs

PATH = Path(__file__).parents[2] / "benchmarks" / "words_alone.py"
KINDS = {"walk": {"walk", "run", "trot", "gallop"}, "swim": {"swim", "swim_fast"}, "fly": {"fly"}}


def prompts() -> tuple[tuple[str, str], ...]:
    spec = importlib.util.spec_from_file_location("words_alone", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PROMPTS


def test_all_prompts_are_known_for_their_bodies() -> None:
    reader, motions, found = Reader.load(), known_motions(), []
    for words, prompt in prompts():
        body = find_limbs(creature(words, detail="low")).body
        reading = reader.read(prompt, body, known=trained_names(motions, body))
        assert reading.known, (words, prompt, reading.nearest)
        found.append(reading.motion)
    counts = {kind: sum(motion in names for motion in found) for kind, names in KINDS.items()}
    assert counts == {"walk": 19, "swim": 5, "fly": 3}
