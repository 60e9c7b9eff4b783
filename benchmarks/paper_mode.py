"""Walks in the paper's mode with the embedded prior, cut to what there is time for; figures and a contact sheet.

python benchmarks/paper_mode.py [fox ostrich] [--iterations 1000] [--physics-iterations 60] [--guidance 2] [--write]

A run that is killed goes on where it was. `--write` puts all finished runs of this size into docs/results/akd.md.
"""

import argparse
from pathlib import Path
from typing import Any

from ablations import snap
from PIL import Image

from kinema.distill.config import NANO_GUIDANCE, Animate
from kinema.files import make_folder, replacing
from kinema.job.folder import run

RESULTS = Path(__file__).parents[1] / "docs" / "results"
PAGE, SHEET = RESULTS / "akd.md", RESULTS / "akd_walks.jpg"
BEGIN, END = "<!-- walks: made by benchmarks/paper_mode.py -->", "<!-- end of walks -->"
HEAD = (
    "| character | steps, guidance | gait | slide | penetration | last step over median | gait after physics | slide |"
    " penetration | CPU [s] |\n|" + " --- |" * 10
)


def row(asset: str, options: argparse.Namespace) -> str:
    folder = options.out / f"{asset}-{options.iterations}-{options.guidance:g}"
    job = Animate(
        asset, f"the {asset} is walking", preset="paper", iterations=options.iterations, guidance=options.guidance,
        physics_iterations=options.physics_iterations, out=folder,
    )  # fmt: skip
    found = run(Animate(resume=folder) if (folder / "config.json").exists() else job)
    report: Any = found.report
    before, after = report["stages"]["distilled"], report["stages"]["physics"]
    angles = found.distilled.angles.numpy()
    cells = (
        asset, f"{options.iterations}, {options.guidance:g}", before["gait"], f"{before['slide']:.0%}",
        f"{before['penetration']:.2%}", f"{snap(angles):.1f}", after["gait"], f"{after['slide']:.0%}",
        f"{after['penetration']:.2%}", f"{report['cpu_seconds']:.0f}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def write(rows: list[str], sheets: list[Path]) -> None:
    before, _, rest = PAGE.read_text().partition(BEGIN)
    pictures = [Image.open(path).convert("RGB") for path in sheets]
    width = min(1200, *(picture.width for picture in pictures))
    pictures = [picture.resize((width, round(picture.height * width / picture.width))) for picture in pictures]
    sheet = Image.new("RGB", (width, sum(picture.height for picture in pictures)))
    top = 0
    for picture in pictures:
        sheet.paste(picture, (0, top))
        top += picture.height
    with replacing(SHEET) as partial:
        sheet.save(partial, format="JPEG", quality=85)
    text = "\n".join((HEAD, *rows, "", f"![walks in the paper's mode]({SHEET.name})"))
    with replacing(PAGE) as partial:
        partial.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assets", nargs="*", default=["fox", "ostrich"])
    parser.add_argument("--out", type=Path, default=Path("runs/paper_mode"))
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--physics-iterations", type=int, default=60)
    parser.add_argument("--guidance", type=float, default=NANO_GUIDANCE)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    make_folder(options.out)
    rows = []
    for asset in options.assets:
        rows.append(row(asset, options))
        print(rows[-1], flush=True)
    if options.write:
        names = [f"{asset}-{options.iterations}-{options.guidance:g}" for asset in options.assets]
        write(rows, [options.out / name / "contact_sheet.png" for name in names])


if __name__ == "__main__":
    main()
