"""The page of a study in Chromium: films play, a rater answers all, and the report reads the downloaded file."""

import json
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1] / "view"))
from browser import chromium, complaints, wait_for

from kinema.cli.main import main
from kinema.evaluate.study.answers import read_answers
from kinema.evaluate.study.report import shares
from kinema.render.video import write_video

pytestmark = pytest.mark.browser


def films(folder: Path, count: int, colour: int) -> None:
    """Squares that move over a coloured background."""
    folder.mkdir()
    for number in range(count):
        video = torch.zeros(12, 3, 48, 64)
        video[:, colour] = 0.2 + 0.1 * number
        for frame in range(12):
            video[frame, :, 16:32, 3 * frame : 3 * frame + 16] = 1.0
        write_video(folder / f"clip-{number}.mp4", [video], fps=12.0)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    films(tmp_path / "ours", 3, 0)
    films(tmp_path / "field", 3, 2)
    main(["study", str(tmp_path / "ours"), str(tmp_path / "field"), "-o", str(tmp_path / "page"), "-q"])
    return tmp_path / "page"


def answer_all(browser, rater: str, prefers: dict[str, str]) -> list[list[str]]:
    """Answer as someone who prefers the films named in `prefers`, and sees which film stands still."""
    browser.find_element("id", "rater").send_keys(rater)
    browser.find_element("id", "start").click()
    seen = []
    while browser.find_element("id", "trial").is_displayed():
        wait_for(
            lambda: browser.execute_script(
                "return [...document.querySelectorAll('video')].every((v) => v.readyState >= 2)"
            ),
            "films",
        )
        end = time.monotonic() + 30
        while True:  # at least one of the films plays
            state = browser.execute_script(
                "return ['left', 'right'].map((s) => { const v = document.querySelector(`#${s} video`);"
                " return [v.src.split('/').pop(), v.paused, v.currentTime] })"
            )
            if any(at > 0 for _, _, at in state) or time.monotonic() > end:
                break
            time.sleep(0.05)
        names, paused = [entry[0] for entry in state], [entry[1] for entry in state]
        seen.append(names)
        assert any(at > 0 for _, _, at in state)
        side = paused.index(False) if any(paused) else [prefers[name] for name in names].index("yes")
        assert not browser.find_element("id", "next").is_enabled()
        for question in ("motion", "physics", "text"):
            browser.find_element("id", f"{question}-{('left', 'right')[side]}").click()
        browser.find_element("id", "next").click()
    return seen


def test_animated_pictures_are_held_still_too(tmp_path: Path) -> None:
    for name, colour in (("ours", "red"), ("field", "blue")):
        (tmp_path / name).mkdir()
        frames = [Image.new("RGB", (40, 30), colour), Image.new("RGB", (40, 30), "white")]
        frames[0].save(tmp_path / name / "clip.gif", save_all=True, append_images=frames[1:], duration=50, loop=0)
    main(["study", str(tmp_path / "ours"), str(tmp_path / "field"), "-o", str(tmp_path / "page"), "-q"])
    with chromium(width=900, height=800) as browser:
        browser.get((tmp_path / "page" / "index.html").as_uri())
        browser.execute_script("player('left', study.pairs[0].films[0], true)")
        browser.execute_script("player('right', study.pairs[0].films[0], false)")
        wait_for(lambda: browser.execute_script("return document.querySelector('#left canvas') !== null"), "still")
        assert browser.execute_script("return document.querySelector('#left canvas').width") == 40
        assert browser.execute_script("return document.querySelector('#right img').complete")
        assert complaints(browser) == []


def test_a_rater_answers_and_the_report_reads_it(page: Path, tmp_path: Path) -> None:
    told = json.loads(page.with_name("page.key.json").read_text())
    prefers = {
        film: "yes" if whose == "ours" else "no" for pair in told["films"].values() for film, whose in pair.items()
    }
    orders, files = [], []
    with chromium(width=900, height=800) as browser:
        for rater in ("anna", "bo", "anna"):
            browser.get(page.joinpath("index.html").as_uri())
            browser.execute_script("localStorage.clear()")
            orders.append(answer_all(browser, rater, prefers))
            data = browser.execute_async_script(
                "const done = arguments[0];"
                "fetch(document.getElementById('download').href).then((r) => r.text()).then(done)"
            )
            assert browser.find_element("id", "download").get_attribute("download").endswith(f"-{rater}.json")
            if rater not in [file.stem for file in files]:
                files.append(tmp_path / f"{rater}.json")
                files[-1].write_text(data)
        assert complaints(browser) == []
    # Three pairs and a check; a rater's order can be made again, another rater has another.
    assert [len(order) for order in orders] == [4, 4, 4]
    assert orders[0] == orders[2]
    assert orders[0] != orders[1]
    answers = read_answers(files, [page.with_name("page.key.json")])
    assert answers.inattentive == ()
    assert [(s.first, s.wins, s.answers) for s in shares(answers)] == [("ours", 6, 6)] * 3
    assert np.all([s.exact[1] == 1.0 for s in shares(answers)])
