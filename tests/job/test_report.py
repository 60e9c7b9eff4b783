"""report.html: what a person looks at says what the motion does."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kinema.asset.character import Character
from kinema.asset.options import FileOptions
from kinema.cli.parse import parse
from kinema.distill.config import Animate, command_words
from kinema.evaluate.metrics import measure
from kinema.geometry.rotations import runs
from kinema.job.report import html_report
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs
from kinema.view.contacts import Contacts
from kinema.view.plots import chart


def report_of(fox: Character, rig: Rig, motion: Motion, **more: Any) -> dict[str, Any]:
    metrics = measure(fox, motion, rig=rig).as_dict()
    history = [{"stage": "fit", "loss": 1.0 / (1 + k)} for k in range(160)]
    return {
        "prompt": "<script>a fox</script>", "character": "fox", "read_as": "walk", "seconds": 3.0,
        "notes": ["a <note>"], "history": history, "metrics": metrics,
        "stages": {"distilled": metrics, "planted": metrics}, "command": "kinema animate fox '<b>'",
        "verdict": {"colour": "amber", "reason": "it was to run and looks like 'walk'"}, **more,
    }  # fmt: skip


def svgs(page: str) -> list[ET.Element]:
    """Every plot, which must be well-formed."""
    return [ET.fromstring(text) for text in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def test_plots_are_those_of_the_motion(fox: Character, rig: Rig, walk: Motion) -> None:
    ground = {"depth": 0.01, "missed": 0}
    physics = {"before": ground, "after": ground, "losses": [3.0, 2.0, 1.0]}
    limbs = find_limbs(fox)
    report = report_of(fox, rig, walk, physics=physics)
    report["stages"]["physics"] = report["metrics"]
    page = html_report(report, rig, limbs, dict.fromkeys(("distilled", "planted", "physics"), walk))
    *feet_plots, angles, fit, tracking = svgs(page)
    feet = feet_plots[0]
    assert len(feet_plots) == 3
    contacts = Contacts.of(rig, limbs, walk)
    assert contacts is not None
    stances = sum(len(runs(row)) for row in contacts.standing)
    for plot in feet_plots:
        assert len(plot.findall("rect")) == stances
        assert len(plot.findall("polyline")) == len(limbs.legs)
        assert plot.findall("text")[-1].text == "0.958 s"
    assert len(angles.findall("polyline")) == 8
    assert fit.findall("text")[-1].text == "160 steps"
    assert tracking.findall("text")[-1].text == "3 steps"
    # A foot's highest point in its plot is the highest of the contact plot's numbers [cm].
    assert f"{100 * contacts.height.max():.3g}" in [text.text for text in feet.findall("text")]
    assert "<script>a" not in page
    assert '<p class="verdict amber"><b>amber</b>: it was to run and looks like &#x27;walk&#x27;</p>' in page
    assert "<pre>kinema animate fox &#x27;&lt;b&gt;&#x27;</pre>" in page
    assert "Read as <b>walk</b>" in page
    assert page.count('<td class="good">≤ 0.03</td>') == 1
    assert "&lt;note&gt;" in page
    assert page.count("<th>after physics</th>") == 2


def test_without_physics_nothing_is_called_after_it(fox: Character, rig: Rig, walk: Motion) -> None:
    limbs = find_limbs(fox)
    page = html_report(report_of(fox, rig, walk), rig, limbs, dict.fromkeys(("distilled", "planted"), walk))
    assert "after physics" not in page
    assert len(svgs(page)) == 4
    still = Motion.rest(rig, frames=1, fps=24.0)
    assert "No legs" not in page
    assert len(svgs(html_report(report_of(fox, rig, walk), rig, limbs, {"distilled": still}))) == 2


def test_the_command_is_the_one_that_makes_the_run() -> None:
    reading = FileOptions(up="+z", scale=0.01)
    job = Animate("my wolf.glb", "a wolf is walking", out=Path("runs/wolf"), seed=3, physics=False,
                  video_size=(9, 64, 64), loop=False, in_place=True, as_motion="walk", reading=reading)  # fmt: skip
    words = command_words(job)
    assert words[:3] == ["animate", "my wolf.glb", "a wolf is walking"]
    assert parse(words).command.job == job
    assert command_words(Animate("fox", "a fox is walking")) == ["animate", "fox", "a fox is walking"]


def test_chart_keeps_its_lines_inside() -> None:
    """The largest value is at the top, the smallest at the bottom, and what is not finite is left out."""
    plot = ET.fromstring(
        re.findall(r"<svg.*</svg>", chart({"a": np.array([-1.0, np.nan, 3.0])}, title="", x_end="2 s"), re.DOTALL)[0]
    )
    line = plot.find("polyline")
    assert line is not None
    (x0, y0), (x1, y1) = (map(float, point.split(",")) for point in line.attrib["points"].split())
    labels = {text.text: float(text.attrib["y"]) - 3 for text in plot.findall("text")[:3]}
    assert (labels["-1"], labels["3"]) == (y0, y1)
    # Zero is a quarter of the way up.
    assert labels["0"] == pytest.approx(y0 + (y1 - y0) / 4, abs=0.1)
    assert 0 < x0 < x1 < 640
    flat = chart({"a": np.full(4, np.nan)}, title="", x_end="")
    assert "nan" not in flat
