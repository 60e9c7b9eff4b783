"""report.html: the film, the contact sheet and the plots that a person would rather look at than JSON."""

import html
from pathlib import Path
from typing import Any

import numpy as np

from kinema.files import replacing
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs
from kinema.view.contacts import Contacts
from kinema.view.plots import chart

UNITS = {
    "period": "s",
    "phases": "cycles, by leg",
    "amplitude": "leg lengths",
    "lift": "leg lengths",
    "slide": "of the body's speed",
    "speed": "leg lengths/s",
    "travel": "leg lengths",
    "turn": "rad",
    "penetration": "of the height",
    "penetration_worst": "of the height",
    "floating": "leg lengths",
    "motion": "leg lengths/s",
    "stance_speed": "m/s",
    "body_speed": "m/s",
    "loaded_slip": "m/s",
    "depth": "m",
    "airborne": "of the frames in stance",
    "missed": "stances",
    "stances": "in the clip",
    "power": "W/kg",
}
"""Of what is measured; what is not here has none."""
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 2em auto; padding: 0 1em; color: #222 }
h1 { font-size: 1.5em } h2 { font-size: 1.1em; margin-top: 2em } video, img { max-width: 100%; border-radius: 4px }
table { border-collapse: collapse } td, th { padding: 2px 18px 2px 0; text-align: left; font-weight: normal }
th, .unit { color: #666 } td:not(:first-child) { font-variant-numeric: tabular-nums }
svg { background: #fafafa; border: 1px solid #ddd; border-radius: 4px; max-width: 100%; height: auto }
figure { margin: 1em 0 } figcaption { color: #555 } .key { margin-right: 1em; white-space: nowrap }
"""


def html_report(report: dict[str, Any], rig: Rig, limbs: Limbs, motion: Motion, distilled: Motion) -> str:
    """One self-contained page, except for the film and the contact sheet, which lie beside it."""
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in report.get("notes", ()))
    physics = report.get("physics")
    clips = {"after physics": motion, "as distilled": distilled} if physics else {"as distilled": distilled}
    metrics = {"as distilled": report["metrics_distilled"]}
    grounding = ""
    if physics:
        metrics = {"after physics": report["metrics"], **metrics}
        ground = {"after physics": physics["after"], "as distilled": physics["before"]}
        grounding = f"<h2>Ground</h2>{table(ground)}"
    return f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(report["prompt"])}</title>
<style>{STYLE}</style><h1>{html.escape(report["character"])}: “{html.escape(report["prompt"])}”</h1>
<p>Read as <b>{html.escape(report["read_as"])}</b>; made in {report["seconds"]:.0f} s.</p><ul>{notes}</ul>
<video src="preview.mp4" controls loop autoplay muted></video>
<h2>Contact sheet</h2><img src="contact_sheet.png" alt="frames of the clip from left to right, top to bottom">
<h2>Measures</h2>{table(metrics)}{grounding}
<h2>Feet</h2>{"".join(_feet(rig, limbs, clip, title) for title, clip in clips.items()) or "<p>No legs.</p>"}
<h2>Joint angles</h2>{_angles(rig, motion)}
<h2>Losses</h2>{_losses(report)}</html>
"""


def table(columns: dict[str, dict[str, Any]]) -> str:
    """The same values of several things side by side, with their units."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    rows = ""
    for key in next(iter(columns.values())):
        cells = "".join(f"<td>{_text(values[key])}</td>" for values in columns.values())
        rows += (
            f'<tr><td>{html.escape(key.replace("_", " "))}</td>{cells}<td class="unit">{UNITS.get(key, "")}</td></tr>'
        )
    return f"<table><tr><th></th>{head}<th></th></tr>{rows}</table>"


def _feet(rig: Rig, limbs: Limbs, clip: Motion, title: str) -> str:
    contacts = Contacts.of(rig, limbs, clip)
    if contacts is None:
        return ""
    lines = {name: 100 * height for name, height in zip(contacts.names, contacts.height, strict=True)}
    title = f"height of the feet {title} [cm], contacts below; L1 is the left one of the foremost pair"
    return chart(lines, title=title, x_end=_seconds(clip), bands=contacts.standing)


def _angles(rig: Rig, motion: Motion) -> str:
    """The eight joints that turn most."""
    degrees = np.rad2deg(motion.angles.detach().cpu().numpy())
    travel = np.abs(np.diff(degrees, axis=0)).sum(0)
    most = np.argsort(-travel.max(-1))[:8]
    lines = {rig.names[j]: degrees[:, j, int(travel[j].argmax())] for j in most}
    return chart(lines, title="the eight liveliest joints [degrees]", x_end=_seconds(motion))


def _losses(report: dict[str, Any]) -> str:
    losses: dict[str, list[float]] = {}
    for entry in report.get("history", ()):
        losses.setdefault(entry["stage"], []).append(entry["loss"])
    if "physics" in report:
        losses["physics"] = report["physics"]["losses"]
    return "".join(
        chart({stage: np.array(values)}, title="loss", x_end=f"{len(values)} steps") for stage, values in losses.items()
    )


def _seconds(motion: Motion) -> str:
    return f"{(len(motion) - 1) / motion.fps:.3g} s"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, list | tuple):
        return ", ".join(_text(v) for v in value)
    return html.escape(str(value))


def write_report(path: Path, report: dict[str, Any], rig: Rig, limbs: Limbs, motion: Motion, distilled: Motion) -> None:
    with replacing(path) as partial:
        partial.write_text(html_report(report, rig, limbs, motion, distilled), encoding="utf-8")
