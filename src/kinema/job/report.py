"""report.html: the film, the contact sheet and the plots that a person would rather look at than JSON."""

import html
import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from kinema.distill.config import Animate, command_words
from kinema.evaluate.amount import amount_done
from kinema.evaluate.metrics import UNITS
from kinema.evaluate.verdict import good_values, verdict
from kinema.files import write_text
from kinema.job.animate import Outcome
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs
from kinema.view.contacts import Contacts
from kinema.view.plots import chart

TITLES = {
    "field": "field", "distilled": "as distilled", "planted": "feet planted", "simulated": "as simulated",
    "physics": "after physics", "joined": "joined",
}  # fmt: skip
"""Columns of the page, by the stages of `Outcome.metrics`, or of clips that were joined."""
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 2em auto; padding: 0 1em; color: #222 }
h1 { font-size: 1.5em } h2 { font-size: 1.1em; margin-top: 2em } video, img { max-width: 100%; border-radius: 4px }
table { border-collapse: collapse } td, th { padding: 2px 18px 2px 0; text-align: left; font-weight: normal }
th, .unit { color: #666 } td:not(:first-child) { font-variant-numeric: tabular-nums }
svg { background: #fafafa; border: 1px solid #ddd; border-radius: 4px; max-width: 100%; height: auto }
.verdict { padding: 6px 12px; border-radius: 4px; border-left: 6px solid } pre { white-space: pre-wrap; color: #555 }
.green { background: #e8f5e9; border-color: #2e7d32 } .amber { background: #fff8e1; border-color: #f9a825 }
.red { background: #ffebee; border-color: #c62828 } .good { color: #2e7d32 }
figure { margin: 1em 0 } figcaption { color: #555 } .key { margin-right: 1em; white-space: nowrap }
"""


def summarise(config: Animate, outcome: Outcome) -> dict[str, Any]:
    """What report.json holds."""
    tempo, tracked = outcome.tempo, outcome.tracked
    stages = {name: found.as_dict() for name, found in outcome.metrics.items()}
    anatomy = outcome.anatomy
    amount = amount_done(anatomy.rig, anatomy.limbs, outcome.motion, tempo.motion)
    found = verdict(list(stages.values())[-1], wanted=tempo.motion, amount=amount)
    report: dict[str, Any] = {
        "prompt": config.prompt,
        "told": config.told,
        "character": outcome.character.name,
        "read_as": tempo.motion,
        "reading": asdict(outcome.reading),
        "verdict": asdict(found),
        "command": shlex.join(["kinema", *command_words(config)]),
        "period_s": tempo.period / tempo.fps,
        "speed_m_s": tempo.speed * tempo.fps,
        "notes": outcome.notes,
        "history": outcome.history,
        "metrics": list(stages.values())[-1],
        "stages": stages,
        "stage_seconds": {name: round(value, 1) for name, value in outcome.stage_seconds.items()},
    }
    if outcome.deformation is not None:
        report["field"] = {"shape_change": outcome.deformation.shape_change}
    if tracked is not None:
        ground = {"before": asdict(tracked.before), "after": asdict(tracked.after)}
        report["physics"] = ground | {"joint_error_deg": tracked.joint_error_deg, "losses": tracked.losses}
    return report


def html_report(report: dict[str, Any], rig: Rig, limbs: Limbs, clips: dict[str, Motion]) -> str:
    """One self-contained page, except for the film and the contact sheet, which lie beside it.

    Args:
        clips: The motion by stage, the result last.
    """
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in report["notes"])
    metrics = table({TITLES[stage]: found for stage, found in report["stages"].items()}, good=good_values())
    judged = report["verdict"]
    physics = report.get("physics")
    ground = table({"feet planted": physics["before"], "after physics": physics["after"]}) if physics else ""
    feet = "".join(_feet(rig, limbs, clip, TITLES[stage]) for stage, clip in clips.items())
    return f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(report["prompt"])}</title>
<style>{STYLE}</style><h1>{html.escape(report["character"])}: “{html.escape(report["prompt"])}”</h1>
<p class="verdict {judged["colour"]}"><b>{judged["colour"]}</b>: {html.escape(judged["reason"])}</p>
<p>Read as <b>{html.escape(report["read_as"])}</b>; made in {report["seconds"]:.0f} s by</p>
<pre>{html.escape(report["command"])}</pre><ul>{notes}</ul>
<video src="preview.mp4" controls loop autoplay muted></video>
<h2>Contact sheet</h2><img src="contact_sheet.png" alt="frames of the clip from left to right, top to bottom">
<h2>Measures</h2>{metrics}{f"<h2>Ground</h2>{ground}" if ground else ""}
<h2>Feet</h2>{feet or "<p>No legs.</p>"}
<h2>Joint angles</h2>{_angles(rig, list(clips.values())[-1])}
<h2>Losses</h2>{_losses(report)}</html>
"""


def table(columns: dict[str, dict[str, Any]], *, good: dict[str, str] | None = None) -> str:
    """The same values of several things side by side, with what is good and with their units."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in (*columns, *(("good",) if good else ())))
    rows = ""
    for key in next(iter(columns.values())):
        cells = "".join(f"<td>{_text(values[key])}</td>" for values in columns.values())
        cells += f'<td class="good">{html.escape(good.get(key, ""))}</td>' if good else ""
        rows += (
            f'<tr><td>{html.escape(key.replace("_", " "))}</td>{cells}<td class="unit">{UNITS.get(key, "")}</td></tr>'
        )
    return f"<table><tr><th></th>{head}<th></th></tr>{rows}</table>"


def _feet(rig: Rig, limbs: Limbs, clip: Motion, title: str) -> str:
    contacts = Contacts.of(rig, limbs, clip)
    if contacts is None:
        return ""
    lines = {name: 100 * height for name, height in zip(contacts.names, contacts.height, strict=True)}
    title = f"height of the feet, {title} [cm], contacts below; L1 is the left one of the foremost pair"
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
        # Rounding of the last digits of a float is no measure of anything.
        return f"{value:.3g}" if abs(value) >= 1e-5 else "0"
    if isinstance(value, list | tuple):
        return ", ".join(_text(v) for v in value)
    return html.escape(str(value))


def write_report(folder: Path, report: dict[str, Any], rig: Rig, limbs: Limbs, clips: dict[str, Motion]) -> None:
    """The page, and then report.json, which is the last file of a finished run."""
    write_text(folder / "report.html", html_report(report, rig, limbs, clips))
    write_text(folder / "report.json", json.dumps(report, indent=2))
