"""index.html of a batch in Chromium: films play when they come into view, and failures are told with their line."""

import shutil
import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "view"))
from browser import chromium, complaints, wait_for

from kinema.batch.engine import Batch, Entry
from kinema.batch.page import FILM, write_page
from kinema.render.video import write_video

pytestmark = pytest.mark.browser
CLIPS = 24
METRICS = {"gait": "walk", "slide": 0.012}
REPORT = {"read_as": "walk", "seconds": 7.0, "verdict": {"colour": "green"}, "metrics": METRICS}
PLAYING = "const v = document.querySelectorAll('video'); return [v[0], v[23]].map((film) => film.currentTime > 0)"


def test_a_page_of_many_clips(tmp_path: Path) -> None:
    write_video(tmp_path / FILM, [torch.rand(12, 3, 48, 64)], fps=12.0)
    batch = Batch(tmp_path)
    for k in range(CLIPS):
        key = f"job{k:02d}"
        (tmp_path / key).mkdir()
        shutil.copyfile(tmp_path / FILM, tmp_path / key / FILM)
        batch.entries[key] = Entry(key, (k + 2,), f"fox {k} & <b>", "done")
    batch.entries["bad"] = Entry("bad", (99,), "nowhere.glb: it walks", "failed", code=1, message="no such file")
    write_page(batch, {f"job{k:02d}": REPORT for k in range(CLIPS)}, title="jobs.csv")
    with chromium(width=700, height=500) as browser:
        browser.get((tmp_path / "index.html").as_uri())
        wait_for(lambda: browser.execute_script(PLAYING)[0], "the first film")
        assert browser.execute_script("return document.querySelectorAll('video')[23].readyState") == 0
        browser.execute_script("document.querySelectorAll('video')[23].scrollIntoView()")
        wait_for(lambda: browser.execute_script(PLAYING)[1], "the last film")
        text = browser.find_element("tag name", "body").text
        assert "jobs.csv: 24 done, 1 failed" in text
        assert "line 99" in text
        assert "no such file" in text
        assert "fox 3 & <b>" in text
        assert "0.012" in text
        assert complaints(browser) == []
