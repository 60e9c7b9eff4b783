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
    takes = "a clip takes (video models: `--preset gpu` on an RTX 4090, a prediction by count)"
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
