"""Count the memory of score distillation with each video model on fake tensors at full size.

python benchmarks/prior_memory.py [PRIOR ...]

It prints the rows and puts them into the table of docs/results/priors.md. Needs the extra `gpu`.
"""

import sys
from importlib.metadata import version
from pathlib import Path

from kinema.prior.memory import CARDS, GIB, LADDER, MemoryEstimate, estimate_memory

PAGE = Path(__file__).parent.parent / "docs" / "results" / "priors.md"
BEGIN, END = "<!-- memory: made by benchmarks/prior_memory.py -->", "<!-- end of memory -->"
HEAD = (
    "| prior | frames × height × width | setting | parameters [10⁹] | weights | text, once | encode | denoise | "
    "backward | **peak [GiB]** | host | fits |\n|" + " --- |" * 12
)

# What runs by default: frames, height, width and the rungs of the ladder.
JOBS: dict[str, tuple[tuple[int, int, int], tuple[str, ...]]] = {
    "cogvideox-5b": ((49, 480, 720), tuple(LADDER)),
    "cogvideox-2b": ((49, 480, 720), ("bf16", "bf16, offload")),
    "wan2.1-1.3b": ((49, 480, 832), ("bf16", "bf16, offload")),
    "ltx-video": ((49, 480, 704), ("bf16", "bf16, offload")),
    "modelscope": ((16, 256, 256), ("bf16", "bf16, offload")),
}


def row(estimate: MemoryEstimate) -> str:
    parameters = " + ".join(f"{count / 1e9:.2f}" for count in estimate.parameters.values())
    stages = (estimate.weights, estimate.text, estimate.encode, estimate.denoise, estimate.backward)
    fits = ", ".join(f"{card}" for card in CARDS if estimate.fits(card)) or "–"
    cells = [
        estimate.prior,
        f"{estimate.frames} × {estimate.height} × {estimate.width}",
        estimate.setting,
        parameters,
        *(f"{size / GIB:.1f}" for size in stages),
        f"**{estimate.peak / GIB:.1f}**",
        f"{estimate.host / GIB:.1f}",
        f"{fits} GB" if fits != "–" else fits,
    ]
    return f"| {' | '.join(cells)} |"


def write(rows: dict[tuple[str, str], str]) -> None:
    """Put rows into the page; those of other jobs stay."""
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    table, _, after = rest.partition(END)
    kept = {}
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 4 and cells[1] in JOBS:
            kept[cells[1], cells[3]] = line
    kept |= rows
    order = [(prior, setting) for prior, (_, settings) in JOBS.items() for setting in settings]
    lines = "\n".join(kept[key] for key in order if key in kept)
    versions = ", ".join(f"{package} {version(package)}" for package in ("torch", "diffusers", "transformers"))
    part = PAGE.with_suffix(".md.part")
    part.write_text(f"{before}{BEGIN}\n{HEAD}\n{lines}\n\nMade with {versions}.\n{END}{after}")
    part.rename(PAGE)


def main() -> None:
    for prior in sys.argv[1:] or JOBS:
        (frames, height, width), settings = JOBS[prior]
        for setting in settings:
            estimate = estimate_memory(
                prior, LADDER[setting], setting=setting, frames=frames, height=height, width=width
            )
            print(f"{prior}: {estimate.line()}", flush=True)
            write({(prior, setting): row(estimate)})


if __name__ == "__main__":
    main()
