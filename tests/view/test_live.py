"""A watched run: untouched it gives the same bits; weights, pause and stop do what they say. A toy prior decides
nothing here."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

pytest.importorskip("viser")

from kinema.create.creatures import creature
from kinema.distill.config import Animate, resolve
from kinema.distill.loop import Distiller, Steering
from kinema.distill.tempo import choose_tempo
from kinema.job.animate import make_stage
from kinema.motion.motion import Motion
from kinema.prior.nano.model import Nano
from kinema.prior.nano.prior import NanoPrior
from kinema.rig.anatomy import Anatomy
from kinema.view.live import Live
from kinema.view.plots import loss_chart
from kinema.view.server import Address

FOX = resolve(Animate("fox", "a fox is walking", splats=300, engine="sds", iterations=4, frames=12, physics=False))


@pytest.fixture(scope="module")
def anatomy() -> Anatomy:
    return Anatomy.of(creature("fox"))


@pytest.fixture(scope="module")
def prior() -> NanoPrior:
    return NanoPrior(Nano(width=16, layers=1, heads=2, generator=torch.Generator().manual_seed(0)))


@pytest.fixture
def fresh(anatomy: Anatomy, prior: NanoPrior) -> Callable[..., Distiller]:
    tempo = choose_tempo("walk", FOX.prompt, anatomy.limbs, prior)
    stage = make_stage(FOX, creature("fox"), anatomy, prior)
    return lambda **changes: Distiller(replace(FOX, **changes), prior, stage, anatomy, tempo)


def test_watching_changes_nothing(fresh: Callable[..., Distiller], anatomy: Anatomy) -> None:
    alone = fresh().run()
    live = Live(Address(port=0))
    try:
        observe = live.begin(creature("fox"), anatomy, FOX)
        watched = fresh().run(report=live.progress, observe=observe)
    finally:
        live.close()
    assert torch.equal(alone.motion.angles, watched.motion.angles)
    assert torch.equal(alone.motion.root_position, watched.motion.root_position)
    assert alone.notes == watched.notes


def test_weights_by_hand_are_used_and_noted(fresh: Callable[..., Distiller], anatomy: Anatomy) -> None:
    """The same as a run that starts with these weights, and the report tells."""
    changed = fresh()
    outcome = changed.run(observe=lambda step, motion: Steering({"smooth_weight": 5.0, "guidance": 6.0}))
    assert changed.config.smooth_weight == 5.0
    assert changed.state.guidance >= 6.0
    assert outcome.notes[0] == "step 1: by hand smooth_weight 5, guidance 6"
    assert len([note for note in outcome.notes if "by hand" in note]) == 1
    assert not torch.equal(outcome.motion.angles, fresh().run().motion.angles)
    from_start = fresh(smooth_weight=5.0, guidance=6.0).run(
        observe=lambda step, motion: Steering({"smooth_weight": 5.0})
    )
    assert from_start.notes == []


def test_stop_keeps_the_motion(fresh: Callable[..., Distiller], anatomy: Anatomy) -> None:
    seen: list[Motion] = []

    def observe(step: int, motion: Callable[[], Motion]) -> Steering:
        seen.append(motion())
        return Steering(stop=step == 2)

    outcome = fresh().run(observe=observe)
    assert len(outcome.history) == 2
    assert outcome.notes[-1] == "step 2: stopped by hand"
    assert torch.equal(outcome.motion.angles, seen[-1].angles)


def test_buttons(fresh: Callable[..., Distiller], anatomy: Anatomy) -> None:
    """Pause holds the optimiser; stop ends it even while it is paused."""
    live = Live(Address(port=0))
    try:
        distiller = fresh(iterations=10_000)
        observe = live.begin(creature("fox"), anatomy, FOX)
        live.factors["ground_weight"] = 2.0
        run = threading.Thread(target=lambda: distiller.run(report=live.progress, observe=observe), daemon=True)
        run.start()
        while distiller.state.step < 2:
            assert run.is_alive()
            time.sleep(0.02)
        live.toggle_pause()
        time.sleep(1.0)
        held = distiller.state.step
        time.sleep(0.5)
        assert distiller.state.step == held
        assert live.pause.label == "Go on"
        live.toggle_pause()
        while distiller.state.step == held:
            assert run.is_alive()
            time.sleep(0.02)
        live.toggle_pause()
        live.stop_run()
        run.join(timeout=30)
        assert not run.is_alive()
        assert distiller.config.ground_weight == 2 * FOX.ground_weight
        assert distiller.state.notes[-1].endswith("stopped by hand")
        motion = distiller.motion()
        live.finish(motion, motion)
        assert live.viewer is not None
        assert live.viewer.compare.visible
        assert live.viewer.motion is motion
    finally:
        live.close()


def test_loss_chart() -> None:
    import numpy as np

    chart = loss_chart({"fit": np.linspace(2, 1, 1000), "sds": np.array([np.nan, 3.0, 2.0]), "physics": np.ones(1)})
    assert chart.count("<polyline") == 2
    assert "nan" not in chart
    assert loss_chart({}) == ""
