import numpy as np
from paraphrases import PARAPHRASES

from kinema.gait.captions import caption
from kinema.gait.make import Label
from kinema.gait.motions import MOTIONS


def label(name: str, **changes) -> Label:
    values = {"repeats": True, "phase": 0.0, "period": 1.0, "speed": 1.3, "body": "quadruped", "side": 1, **changes}
    return Label(name, **values)


def test_every_motion_has_words():
    rng = np.random.default_rng(0)
    for name in MOTIONS:
        said = {caption(label(name, body=str(rng.choice(["biped", "bird"]))), rng) for _ in range(300)}
        assert len(said) > 100
        assert all(text.strip() for text in said)


def test_captions_are_reproducible():
    first, second = ([caption(label("walk"), np.random.default_rng(k)) for k in range(20)] for _ in range(2))
    assert first == second
    assert len(set(first)) > 10


def test_speed_words_are_true():
    rng = np.random.default_rng(1)
    slow = " ".join(caption(label("walk", speed=0.5), rng) for _ in range(200))
    fast = " ".join(caption(label("walk", speed=2.0), rng) for _ in range(200))
    assert "slowly" in slow
    assert "quickly" not in slow
    assert "quickly" in fast
    assert "slowly" not in fast


def test_sides_are_true():
    rng = np.random.default_rng(3)
    for name, part in (("limp", "leg"), ("wave", "hand")):
        left = " ".join(caption(label(name, side=1), rng) for _ in range(300))
        assert f"left {part}" in left
        assert f"right {part}" not in left
        assert f"right {part}" in " ".join(caption(label(name, side=-1), rng) for _ in range(300))


def test_paraphrases_are_not_templates():
    assert len(PARAPHRASES) >= 60
    assert {name for _, name in PARAPHRASES} <= set(MOTIONS)
    rng = np.random.default_rng(2)
    trained = {caption(label(name), rng).lower().strip(".") for name in MOTIONS for _ in range(400)}
    assert not trained & {text.lower() for text, _ in PARAPHRASES}
