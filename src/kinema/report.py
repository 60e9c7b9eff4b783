"""report.html: the film, the contact sheet and the plots that a person would rather look at than JSON."""

import html
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from kinema.files import replacing
from kinema.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs
from kinema.transforms import apply

WIDTH, HEIGHT, MARGIN = 640, 200, 36
COLORS = ("#d1495b", "#30638e", "#edae49", "#00798c", "#8d6a9f", "#5b8e3e", "#b56576", "#444444")
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 2em auto; padding: 0 1em; color: #222 }
h1 { font-size: 1.5em } h2 { font-size: 1.1em; margin-top: 2em } video, img { max-width: 100%; border-radius: 4px }
table { border-collapse: collapse } td, th { padding: 2px 14px 2px 0; text-align: left }
svg { background: #fafafa; border: 1px solid #ddd; border-radius: 4px } figure { margin: 1em 0 }
figcaption { color: #555 } .key { margin-right: 1em; white-space: nowrap }
"""


def html_report(report: dict[str, Any], rig: Rig, limbs: Limbs, motion: Motion, distilled: Motion) -> str:
    """One self-contained page, except for the film and the contact sheet, which lie beside it."""
    metrics = report.get("metrics", {})
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in report.get("notes", ()))
    return f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(report["prompt"])}</title>
<style>{STYLE}</style><h1>{html.escape(report["character"])}: “{html.escape(report["prompt"])}”</h1>
<p>Read as <b>{html.escape(report["read_as"])}</b>; made in {report["seconds"]:.0f} s.</p><ul>{notes}</ul>
<video src="preview.mp4" controls loop autoplay muted></video>
<h2>Contact sheet</h2><img src="contact_sheet.png" alt="frames of the clip from left to right, top to bottom">
<h2>Measures</h2>{_table(metrics)}{_physics_table(report.get("physics"))}
<h2>Feet</h2>{_feet(rig, limbs, motion, distilled)}
<h2>Joint angles</h2>{_angles(rig, motion)}
<h2>Losses</h2>{_losses(report)}</html>
"""


def chart(
    lines: dict[str, Float[np.ndarray, "n"]],
    *,
    title: str,
    x_seconds: float,
    bands: list[tuple[str, np.ndarray]] | None = None,
) -> str:
    """Lines over a common x axis as SVG; `bands` are rows of on/off marks below them (foot contacts)."""
    bands = bands or []
    values = np.concatenate([v[np.isfinite(v)] for v in lines.values()]) if lines else np.zeros(1)
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    high = high if high > low else low + 1.0
    bottom = HEIGHT - MARGIN + 12 * len(bands)
    x_of = lambda k, n: MARGIN + (WIDTH - 2 * MARGIN) * k / max(1, n - 1)  # noqa: E731
    y_of = lambda v: 12 + (HEIGHT - MARGIN - 12) * (1 - (v - low) / (high - low))  # noqa: E731
    parts = [f'<text x="4" y="{y_of(value) + 4:.0f}" font-size="10">{value:.3g}</text>' for value in (low, high)]
    for index, line in enumerate(lines.values()):
        points = " ".join(f"{x_of(k, len(line)):.1f},{y_of(v):.1f}" for k, v in enumerate(line) if np.isfinite(v))
        color = COLORS[index % len(COLORS)]
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.5"/>')
    for row, (_, on) in enumerate(bands):
        y, step = HEIGHT - MARGIN + 6 + 12 * row, (WIDTH - 2 * MARGIN) / max(1, len(on))
        color = COLORS[row % len(COLORS)]
        parts += [
            f'<rect x="{MARGIN + k * step:.1f}" y="{y}" width="{step + 0.3:.1f}" height="8" fill="{color}"/>'
            for k in np.flatnonzero(on)
        ]
    parts.append(f'<text x="{WIDTH - 60}" y="{bottom + 18}" font-size="10">{x_seconds:.2g}</text>')
    keys = "".join(
        f'<span class="key" style="color:{COLORS[i % len(COLORS)]}">■ {html.escape(name)}</span>'
        for i, name in enumerate(lines)
    )
    svg = f'<svg viewBox="0 0 {WIDTH} {bottom + 24}" width="{WIDTH}">{"".join(parts)}</svg>'
    return f"<figure>{svg}<figcaption>{html.escape(title)}<br>{keys}</figcaption></figure>"


def _feet(rig: Rig, limbs: Limbs, motion: Motion, distilled: Motion) -> str:
    if not limbs.legs:
        return "<p>No legs.</p>"
    result = ""
    for title, clip in (("after physics", motion), ("as distilled", distilled)):
        heights = foot_heights(rig, limbs, clip)
        names = [f"{'left' if leg.side > 0 else 'right'} {leg.rank + 1}" for leg in limbs.legs]
        contact = [(name, heights[:, i] < 0.04 * limbs.leg_length) for i, name in enumerate(names)]
        lines = {name: 100 * heights[:, i] for i, name in enumerate(names)}
        seconds = (len(clip) - 1) / clip.fps
        result += chart(
            lines, title=f"height of the feet {title} [cm], contacts below", x_seconds=seconds, bands=contact
        )
    return result


def foot_heights(rig: Rig, limbs: Limbs, motion: Motion) -> Float[np.ndarray, "frames legs"]:
    """Lowest point of each sole over the ground [m]."""
    with torch.no_grad():
        pose = motion.pose(rig)
        heights = [
            apply(pose[:, leg.joints[-1]], torch.from_numpy(leg.soles).to(pose).expand(len(pose), -1, -1))[..., 1].amin(
                -1
            )
            for leg in limbs.legs
        ]
    return torch.stack(heights, -1).cpu().numpy()


def _angles(rig: Rig, motion: Motion) -> str:
    """The eight joints that turn most."""
    degrees = np.rad2deg(motion.angles.detach().cpu().numpy())
    travel = np.abs(np.diff(degrees, axis=0)).sum(0) if len(degrees) > 1 else np.zeros(degrees.shape[1:])
    most = np.argsort(-travel.max(-1))[:8]
    lines = {rig.names[j]: degrees[:, j, int(travel[j].argmax())] for j in most}
    return chart(lines, title="the eight liveliest joints [degrees]", x_seconds=(len(motion) - 1) / motion.fps)


def _losses(report: dict[str, Any]) -> str:
    history = report.get("history", ())
    result = ""
    for stage in dict.fromkeys(entry["stage"] for entry in history):
        losses = np.array([entry["loss"] for entry in history if entry["stage"] == stage])
        result += chart({stage: losses}, title=f"{stage}: loss over steps", x_seconds=len(losses))
    if "physics" in report:
        losses = np.array(report["physics"]["losses"])
        result += chart({"tracking": losses}, title="physics: loss over iterations", x_seconds=len(losses))
    return result


def _table(values: dict[str, Any]) -> str:
    rows = "".join(f"<tr><td>{html.escape(k)}</td><td>{_number(v)}</td></tr>" for k, v in values.items())
    return f"<table>{rows}</table>"


def _physics_table(physics: dict[str, Any] | None) -> str:
    if physics is None:
        return ""
    rows = "".join(
        f"<tr><td>{html.escape(key)}</td><td>{_number(physics['before'][key])}</td><td>{_number(value)}</td></tr>"
        for key, value in physics["after"].items()
    )
    return f"<h2>Physics</h2><table><tr><th></th><th>before</th><th>after</th></tr>{rows}</table>"


def _number(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, list | tuple):
        return ", ".join(_number(v) for v in value)
    return html.escape(str(value))


def write_report(path: Path, report: dict[str, Any], rig: Rig, limbs: Limbs, motion: Motion, distilled: Motion) -> None:
    with replacing(path) as partial:
        partial.write_text(html_report(report, rig, limbs, motion, distilled), encoding="utf-8")
