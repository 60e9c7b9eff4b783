"""SVG plots: line charts with bars below them for reports, and small plots for the viewer's panel."""

import html

import numpy as np
from jaxtyping import Bool, Float

from kinema.geometry.rotations import runs

COLORS = ("#d1495b", "#30638e", "#edae49", "#00798c", "#8d6a9f", "#5b8e3e", "#b56576", "#444444")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BAND = 640, 180, 44, 12, 12, 12
"""Layout of a chart [px]: the edges of its lines, and the height of a row of bars."""
Number = int | float
Line = Float[np.ndarray, "n"]


def color(index: int) -> str:
    """Colour of a line; after the last they begin again."""
    return COLORS[index % len(COLORS)]


def text(x: Number, y: Number, content: str, **attributes: str) -> str:
    """A label; `text_anchor="end"` puts it to the left of x."""
    more = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x:g}" y="{y:g}"{more}>{html.escape(content)}</text>'


def polyline(x: Line, y: Line, index: int, *, width: float = 1.0, opacity: float = 1.0) -> str:
    """A line through all points that are finite."""
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True) if np.isfinite(b))
    pen = f'stroke="{color(index)}" stroke-width="{width:g}" stroke-opacity="{opacity:g}"'
    return f'<polyline points="{points}" fill="none" {pen}/>'


def bars(on: Bool[np.ndarray, "n"], index: int, *, left: Number, right: Number, y: Number, height: Number) -> str:
    """A bar for every run of True; the whole array spans left to right."""
    step = (right - left) / len(on)
    box = f'y="{y:g}" height="{height:g}" fill="{color(index)}"'
    return "".join(f'<rect x="{left + step * a:.1f}" width="{step * (b - a):.1f}" {box}/>' for a, b in runs(on))


def chart(lines: dict[str, Line], *, title: str, x_end: str, bands: Bool[np.ndarray, "rows n"] | tuple[()] = ()) -> str:
    """Lines over a common x axis, as an HTML figure; `bands` are rows of bars below them, in the lines' colours."""
    finite = np.concatenate([v[np.isfinite(v)] for v in lines.values()] or [np.zeros(1)])
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    high = high if high > low else low + 1.0
    bottom, right = HEIGHT + BAND * len(bands) + 6, WIDTH - RIGHT
    scale = (HEIGHT - TOP) / (high - low)
    parts = []
    # Zero too, where its label would not touch the others.
    for value in (low, high, 0.0) if min(-low, high) > 0.08 * (high - low) else (low, high):
        y = TOP + scale * (high - value)
        parts.append(f'<line x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(text(LEFT - 6, round(y + 3, 1), f"{value:.3g}", text_anchor="end"))
    for index, line in enumerate(lines.values()):
        x = LEFT + (right - LEFT) * np.arange(len(line)) / max(1, len(line) - 1)
        parts.append(polyline(x, TOP + scale * (high - line), index, width=1.5))
    for row, band in enumerate(bands):
        parts.append(bars(band, row, left=LEFT, right=right, y=HEIGHT + 6 + BAND * row, height=8))
    parts += [text(LEFT, bottom + 12, "0"), text(right, bottom + 12, x_end, text_anchor="end")]
    marks = ((f'<span style="color:{color(index)}">■</span>', html.escape(name)) for index, name in enumerate(lines))
    # With a space between them a row of many keys is broken; without, it runs off the page.
    keys = " ".join(f'<span class="key">{mark} {name}</span>' for mark, name in marks)
    box = f'viewBox="0 0 {WIDTH} {bottom + 18}" width="{WIDTH}" font-size="10" fill="#555"'
    return f"<figure><svg {box}>{''.join(parts)}</svg><figcaption>{html.escape(title)}<br>{keys}</figcaption></figure>"


def panel_svg(height: int, content: str) -> str:
    """An SVG 300 px wide for the viewer's panel."""
    style = "width:100%;display:block;padding:2px 8px 6px;box-sizing:border-box"
    return f'<svg viewBox="0 0 300 {height}" style="{style}" font-size="10">{content}</svg>'


def loss_chart(losses: dict[str, Float[np.ndarray, "steps"]]) -> str:
    """Losses of the stages for the viewer's panel: one small line each, on its own scale."""
    parts = []
    for index, (name, values) in enumerate(losses.items()):
        values = values[np.isfinite(values)]
        if len(values) > 1:
            thin = values[:: max(1, len(values) // 150)]
            share = (thin - thin.min()) / max(float(np.ptp(thin)), 1e-12)
            label = text(8 + 60 * len(parts), 68, name, fill=color(index))
            parts.append(polyline(6 + 288 * np.linspace(0, 1, len(thin)), 54 - 46 * share, index, width=1.3) + label)
    return panel_svg(72, "".join(parts)) if parts else ""
