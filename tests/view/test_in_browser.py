"""The viewer in a real browser: it loads, the character is there and moves, nothing complains; a live run obeys."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("viser")

from browser import (
    PATIENCE,
    busy_machine,
    chromium,
    coloured,
    complaints,
    picture,
    press,
    scene,
    text,
    tick,
    wait_for,
    watch,
)  # fmt: skip

from kinema.create.creatures import creature
from kinema.gait.make import make_motion
from kinema.geometry.transforms import euler_to_matrix
from kinema.motion.motion import Motion, rotation_angles
from kinema.motion.source import find_motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs
from kinema.view.exhibit import Exhibit
from kinema.view.page import Page
from kinema.view.server import Address
from kinema.view.viewer import Viewer

pytestmark = pytest.mark.browser
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}


@pytest.fixture
def viewer() -> Iterator[Viewer]:
    fox = creature("a red fox")
    assert fox.skeleton is not None
    rig = Rig.from_skeleton(fox.skeleton)
    trot, _ = make_motion(rig, find_limbs(fox), "trot", frames=24, fps=24.0)
    before = Motion(trot.root_position, 1.3 * trot.angles, trot.fps)
    # A token here too: the cookie and the websocket are those of a real browser.
    page = Page(Address(port=0, token="a-token-of-the-test"))
    shown = Viewer(Exhibit(fox, {"trot": trot}, before, "a red fox"), page, playing=False)
    yield shown
    shown.close()


def changed(a: np.ndarray, b: np.ndarray) -> float:
    """Share of the character's pixels, in either picture, that are not the same in both."""
    body = (np.ptp(a.astype(int), axis=-1) > 40) | (np.ptp(b.astype(int), axis=-1) > 40)
    return float((np.abs(a.astype(int) - b).max(-1) > 24)[body].mean())


def test_page_plays(viewer: Viewer) -> None:
    with chromium() as browser:
        browser.get(viewer.page.url.split("?")[0])
        assert "refused" in text(browser)
        assert viewer.server.get_clients() == {}
        complaints(browser)

        browser.get(viewer.page.url)
        assert "token" not in browser.current_url
        wait_for(lambda: "Feet on the ground" in text(browser), "the panel")
        wait_for(lambda: coloured(scene(browser)) > 0.03, "the character")
        assert len(np.unique(picture(browser).reshape(-1, 3), axis=0)) > 500
        still = scene(browser)
        time.sleep(0.5)
        assert changed(still, scene(browser)) < 0.01

        press(browser, "Play")
        wait_for(lambda: viewer.player.playing and viewer.player.position > 2, "time")
        wait_for(lambda: changed(still, scene(browser)) > 0.05, "motion")
        press(browser, "Pause")
        wait_for(lambda: not viewer.player.playing, "pause")
        assert complaints(browser) == []

        before = scene(browser)
        tick(browser, "Splats")
        tick(browser, "Mesh")
        wait_for(lambda: viewer.shown.splats is not None and not viewer.shown.meshes[0].visible, "splats")
        wait_for(lambda: coloured(scene(browser)) > 0.03 and changed(before, scene(browser)) > 0.02, "splats")
        # viser gives its splats a flat square whose third coordinate three.js misses; all else would be ours.
        assert [c for c in complaints(browser) if "computeBoundingSphere" not in c] == []


def test_a_posed_clip_leaves_the_page(viewer: Viewer, tmp_path: Path) -> None:
    """The buttons GLB and BVH give files with what was turned by hand; Undo takes it back."""
    posing, trot, fox = viewer.posing, viewer.motion, viewer.exhibit.character
    assert posing is not None
    assert trot is not None
    assert viewer.rig is not None
    with chromium() as browser:
        browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
        browser.get(viewer.page.url)
        wait_for(lambda: "Feet on the ground" in text(browser), "the panel")
        wait_for(lambda: coloured(scene(browser)) > 0.03, "the character")
        before = scene(browser)
        posing.choose(3)
        wait_for(lambda: viewer.shown.at is not None and posing.own.angles.shape == posing.added[None].shape, "a frame")
        assert viewer.shown.at is not None
        posing.turn(viewer.shown.at[3, :, :3] @ euler_to_matrix(torch.tensor([0.0, 0.0, 0.6])))
        wait_for(lambda: changed(before, scene(browser)) > 0.02, "the turn")
        turned = posing.posed(trot)
        assert float(posing.added.abs().max()) > 0.3
        for suffix in (".glb", ".bvh"):
            file = tmp_path / f"{fox.name}_trot{suffix}"
            press(browser, suffix[1:].upper())
            find = f"return document.querySelector('a[download=\"{file.name}\"]')"
            wait_for(lambda find=find: browser.execute_script(find), "the link")
            browser.execute_script(find + ".click()")
            wait_for(file.is_file, file.name)
            again = find_motion(fox, str(file))[1]
            assert float(rotation_angles(viewer.rig, again, turned).max()) < 1e-3
        press(browser, "Undo")
        wait_for(lambda: not posing.added.any(), "undo")
        wait_for(lambda: posing.back.disabled, "nothing more to undo")  # the button follows the motion
        assert complaints(browser) == []


@pytest.mark.parametrize("seconds", [3.0, pytest.param(10.0, marks=pytest.mark.slow)])
def test_character_stays_in_the_picture(viewer: Viewer, seconds: float) -> None:
    """A trot over many metres on a machine that has other work; the space bar plays and pauses it."""
    from selenium.webdriver.common.keys import Keys

    assert viewer.rig is not None
    assert viewer.limbs is not None
    trot, _ = make_motion(viewer.rig, viewer.limbs, "trot", frames=120, fps=24.0)
    travel = float((trot.root_position[-1] - trot.root_position[0]).norm())
    assert travel > 5 * viewer.shown.size
    viewer.update(trot)
    with chromium() as browser:
        browser.get(viewer.page.url)
        wait_for(lambda: coloured(scene(browser)) > 0.03, "the character")
        assert browser.title == "a red fox · Kinema"
        browser.switch_to.active_element.send_keys(Keys.SPACE)
        wait_for(lambda: viewer.player.playing, "space")
        with busy_machine():
            seen = watch(browser, seconds)
        assert max(seen) < 0.15, seen
        browser.switch_to.active_element.send_keys(Keys.SPACE)
        wait_for(lambda: not viewer.player.playing, "space again")
        # A button that was clicked has the focus; the key must not press it as well.
        press(browser, "Play")
        wait_for(lambda: viewer.player.playing, "play")
        found = wait_for(lambda: browser.find_elements("xpath", "//button[normalize-space()='Pause']"), "the button")
        found[0].send_keys(Keys.SPACE)
        time.sleep(1.0)
        assert not viewer.player.playing


@pytest.mark.slow
def test_live_character_stays_in_the_picture(tmp_path: Path) -> None:
    command = (
        "animate", "a red fox", "a fox is trotting", "-o", str(tmp_path / "run"), "--live", "--port", "0",
        "--fit-iterations", "50000", "--no-physics", "--splats", "500",
    )  # fmt: skip
    run = subprocess.Popen(
        [sys.executable, "-m", "kinema", *command], stderr=subprocess.PIPE, text=True, env=ONE_THREAD
    )
    try:
        assert run.stderr is not None
        url = run.stderr.readline().split()[-1]
        with chromium() as browser:
            browser.get(url)
            wait_for(lambda: "motion" in text(browser), "steps")
            wait_for(lambda: coloured(scene(browser)) > 0.03, "the character")
            with busy_machine():
                seen = watch(browser, 10.0)
        assert run.poll() is None
    finally:
        run.kill()
        run.wait()
    assert max(seen) < 0.15, seen


def test_live_run_is_shown_and_stopped(tmp_path: Path) -> None:
    """Thousands of steps, ended by the button: the result is written, and the report says who stopped it."""
    out = tmp_path / "run"
    command = (
        "animate", "a red fox", "a fox is walking", "-o", str(out), "--live", "--port", "0", "--engine", "sds",
        "--iterations", "5000", "--no-physics", "--frames", "8", "--splats", "500",
    )  # fmt: skip
    run = subprocess.Popen(
        [sys.executable, "-m", "kinema", *command], stderr=subprocess.PIPE, text=True, env=ONE_THREAD
    )
    try:
        assert run.stderr is not None
        url = run.stderr.readline().split()[-1]
        with chromium() as browser:
            browser.get(url)
            wait_for(lambda: "Weights of the losses" in text(browser), "the panel")
            # Drawn in software, the page would keep the machine busy by playing.
            press(browser, "Pause")
            wait_for(lambda: "sds" in text(browser), "steps")
            press(browser, "Pause the run")
            wait_for(lambda: "Go on" in text(browser), "pause")
            wait_for(lambda: coloured(scene(browser)) > 0.03, "the character")
            held = text(browser)
            time.sleep(1)
            assert text(browser) == held
            assert complaints(browser) == []
            press(browser, "Stop and keep")
            assert run.wait(timeout=PATIENCE) == 0, run.stderr.read()
    finally:
        run.kill()
        run.wait()
    report = json.loads((out / "report.json").read_text())
    assert report["notes"][-1].endswith("stopped by hand")
    assert (out / "motion.glb").is_file()


def test_ctrl_c_ends_the_viewer() -> None:
    run = subprocess.Popen(
        [sys.executable, "-m", "kinema", "view", "fox", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
        # A shell that starts the tests in the background has them ignore Ctrl-C, and so would their children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    try:
        assert run.stdout is not None
        assert run.stdout.readline().startswith("http://127.0.0.1:")
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=PATIENCE)
        assert run.returncode == 0
        assert errors == ""
    finally:
        run.kill()
