"""Write README's table of priors: memory and predicted times from docs/results/priors.md, nano's from finished runs.

python benchmarks/readme_priors.py [--runs runs/readme]
"""

import argparse
import json
import re
from pathlib import Path

import numpy as np

from kinema.cli.doctor import _processor
from kinema.files import replacing

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- priors: made by benchmarks/readme_priors.py -->", "<!-- end of priors -->"
FLAGS = {
    "bf16": "",
    "offload": "`--offload`",
    "tiles": "`--tiling`",
    "int8": "`--quantize int8`",
    "nf4": "`--quantize nf4`",
}
CARDS = (8, 12, 24, 40)


def memory_rows() -> dict[str, list[dict[str, str]]]:
    """The rows of docs/results/priors.md by prior, in their order: from the fastest setting to the smallest."""
    page = (ROOT / "docs/results/priors.md").read_text()
    lines = [line for line in page.splitlines() if re.match(r"\| \S+ \| \d+ × ", line)]
    rows: dict[str, list[dict[str, str]]] = {}
    for line in lines:
        cells = [cell.strip(" *") for cell in line.strip("|").split("|")]
        row = dict(zip(("prior", "video", "setting", "parameters"), cells))
        row |= {"peak": cells[9], "host": cells[10], "fits": cells[11]}
        rows.setdefault(row["prior"], []).append(row)
    return rows


def smallest(rows: list[dict[str, str]]) -> str:
    """The smallest card that a job fits, with the first setting that fits it."""
    for card in CARDS:
        for row in rows:
            if str(card) in re.findall(r"\d+", row["fits"]):
                flags = " ".join(filter(None, (FLAGS.get(part, "") for part in row["setting"].split(", "))))
                return f"{card} GB{f' with {flags}' if flags else ''} ({row['peak']} GiB, host {row['host']} GiB)"
    return "more than 40 GB"


def reports(runs: Path) -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted(runs.glob("*/report.json"))]


def nano_memory(runs: Path) -> str:
    """Where a run is alone in its process, its peak; several in one process would count each other's."""
    peaks = [report["peak_memory_gb"] for report in reports(runs) if "peak_memory_gb" in report]
    return f"any CPU, {min(peaks):.1f} GB of memory" if peaks else "any CPU"


def nano_time(runs: Path) -> str:
    seconds = [report["cpu_seconds"] for report in reports(runs) if "cpu_seconds" in report]
    if not seconds:
        return "`kinema doctor` measures it"
    return f"{np.median(seconds):.0f} s of CPU time (median of {len(seconds)} runs, {_processor()})"


def predicted_times() -> dict[str, str]:
    """The predictions for two cards of 24 GB by prior, out of docs/results/priors.md."""
    page = (ROOT / "docs/results/priors.md").read_text()
    rows = re.findall(r"\| (\S+) \| RTX (\d+), 24 GB \| ([^|]+) \|.*\| \*\*(\d+)\*\* \|", page)
    minutes = {(prior, card): found for prior, card, _, found in rows}
    return {
        prior: f"predicted {minutes[prior, '4090']} min ({minutes[prior, '3090']}) at {size.strip()}"
        for prior, card, size, _ in rows
        if card == "4090"
    }


def table(runs: Path) -> str:
    takes = "a clip takes (video models: `--preset gpu` on an RTX 4090, in brackets 3090; predictions by count)"
    lines = [f"| `--prior` | runs on | {takes} |", "| --- | --- | --- |"]
    lines.append(f"| `nano` (embedded, the default) | {nano_memory(runs)} | {nano_time(runs)} |")
    times = predicted_times()
    for prior, rows in memory_rows().items():
        time = times.get(prior, "not measured: no GPU was available")
        lines.append(f"| `{prior}` at {rows[0]['video']} | {smallest(rows)} | {time} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=Path("runs/readme"))
    before, _, rest = (ROOT / "README.md").read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    text = table(parser.parse_args().runs)
    with replacing(ROOT / "README.md") as partial:
        partial.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
    print(text)


if __name__ == "__main__":
    main()
