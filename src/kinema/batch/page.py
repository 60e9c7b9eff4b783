"""index.html of a batch: a player, the verdict and the metrics of each clip, and why jobs failed."""

import html
from typing import Any
from urllib.parse import quote

from kinema.batch.engine import Batch, Entry
from kinema.files import write_text

FILM, SHEET, REPORT = "preview.mp4", "contact_sheet.png", "report.html"
STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 1400px; padding: 0 1em; color: #222 }
h1 { font-size: 1.4em } .grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(300px, 1fr)); gap: 18px }
.clip { border: 1px solid #ddd; border-radius: 6px; padding: 10px } video { width: 100%; border-radius: 4px }
.clip h2 { font-size: 1em; margin: .4em 0 } table { border-collapse: collapse; color: #444 }
td { padding: 0 14px 0 0; font-variant-numeric: tabular-nums }
.failed td { vertical-align: top; padding: 3px 14px 3px 0 }
.verdict { padding: 1px 8px; border-radius: 4px } .green { background: #c8e6c9 } .amber { background: #ffecb3 }
.red { background: #ffcdd2 } .key { color: #888; font-size: .85em } video { aspect-ratio: 4 / 3; background: #eee }
"""
SCRIPT = """
// Films are read when they come into view: a page of a thousand clips opens at once.
const seen = new IntersectionObserver((entries) => entries.filter((e) => e.isIntersecting).forEach((e) => {
  e.target.preload = "auto"; e.target.play().catch(() => {}); seen.unobserve(e.target);
}));
document.querySelectorAll("video").forEach((video) => seen.observe(video));
"""


def write_page(batch: Batch, reports: dict[str, dict[str, Any]], *, title: str) -> None:
    """Write index.html: all links are relative, so that the folder can be moved or served."""
    states = ("done", "failed", "running", "waiting")
    counts = ", ".join(f"{batch.count(state)} {state}" for state in states if batch.count(state))
    clips = "".join(_clip(batch.entries[key], report) for key, report in reports.items())
    rows = "".join(_failure(entry) for entry in batch.failed())
    failed = f'<h2>Failed</h2><table class="failed">{rows}</table>' if rows else ""
    write_text(
        batch.out / "index.html",
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>{STYLE}</style><h1>{html.escape(title)}: {counts}</h1>{failed}"
        f'<div class="grid">{clips}</div><script>{SCRIPT}</script></html>\n',
    )


def _clip(entry: Entry, report: dict[str, Any]) -> str:
    folder, found = quote(entry.key), report.get("verdict") or {}
    judged = html.escape(str(found.get("colour", "")))
    rows = "".join(f"<tr><td>{html.escape(k)}</td><td>{_text(v)}</td></tr>" for k, v in report["metrics"].items())
    return (
        f'<div class="clip"><video src="{folder}/{FILM}" controls loop muted playsinline preload="none"></video>'
        f"<h2>{html.escape(entry.title)}</h2>"
        f'<span class="verdict {judged}" title="{html.escape(str(found.get("reason", "")))}">{judged}</span>'
        f" read as {html.escape(str(report.get('read_as', '')))}; {report.get('seconds', 0):.0f} s;"
        f' <a href="{folder}/{REPORT}">report</a>, <a href="{folder}/{SHEET}">frames</a><table>{rows}</table>'
        f'<span class="key">{_lines(entry)}, {entry.key}</span></div>\n'
    )


def _failure(entry: Entry) -> str:
    cells = (_lines(entry), html.escape(entry.title), html.escape(entry.message), f"code {entry.code}")
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>\n"


def _lines(entry: Entry) -> str:
    return f"line {', '.join(map(str, entry.lines))}" if entry.lines else ""


def _text(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else html.escape(str(value))
