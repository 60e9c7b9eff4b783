"""Predict the time of a clip with `--preset gpu` from counted operations and bytes, for every model and card.

python benchmarks/prior_times.py [PRIOR ...] [--cards 8 12 24 40]

It puts the rows into docs/results/priors.md, those of other models and cards stay. Nothing is measured on a GPU.
"""

import argparse
from pathlib import Path

from kinema.files import replacing
from kinema.prior.gpu import CARDS, RENDER_SECONDS, SETTINGS, TINY, Prediction, predictions
from kinema.prior.memory import GIB

NAMES = {name: (name, False) for name in SETTINGS} | {f"{name}, tiny encoder": (name, True) for name in TINY}
"""Rows' names, as a model and whether a tiny encoder encodes."""
PAGE = Path(__file__).parent.parent / "docs" / "results" / "priors.md"
BEGIN, END = "<!-- times: made by benchmarks/prior_times.py -->", "<!-- end of times -->"
HEAD = (
    "| prior | card | frames × height × width | setting | steps | tokens | TFLOP per step | GB moved per step |"
    " peak [GiB] | **predicted minutes per clip** |\n|" + " --- |" * 10
)


def row(prior: str, found: Prediction) -> str:
    setting, count = found.setting, found.estimate
    assert count.fits(found.card.gigabytes), f"{prior} does not fit {found.card}: {count.peak / GIB:.1f} GiB"
    size = f"{setting.frames} × {setting.height} × {setting.width}"
    counts = (count.tokens, f"{count.flops / 1e12:.1f}", f"{count.moved / 1e9:.1f}", f"{count.peak / GIB:.1f}")
    card = f"{found.card.name}, {found.card.gigabytes} GB"
    cells = (prior, card, size, setting.rung, setting.steps, *counts, f"**{found.minutes:.0f}**")
    return f"| {' | '.join(map(str, cells))} |"


def _place(name: str) -> tuple[int, bool]:
    """Models in their order, each with its own encoder first."""
    prior, tiny = NAMES[name]
    return list(SETTINGS).index(prior), tiny


def write(rows: dict[tuple[str, str], str]) -> None:
    before, _, rest = PAGE.read_text().partition(BEGIN)
    block, _, after = rest.partition(END)
    known = {}
    for line in block.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 3 and cells[1] in NAMES:
            known[cells[1], cells[2]] = line
    known |= rows
    order = [(name, f"{card.name}, {card.gigabytes} GB") for name in sorted(NAMES, key=_place) for card in CARDS]
    rates = "; ".join(f"{card.name} {card.tflops:g} TFLOP/s, {card.host_gb_s:g} GB/s" for card in CARDS)
    rates += "; products in single precision (Wan's encoder) take twice as long"
    said = f"Assumed: {rates}; {RENDER_SECONDS} s per step for rendering. These are predictions, not measurements."
    text = "\n".join((HEAD, *(known[key] for key in order if key in known), "", said))
    with replacing(PAGE) as partial:
        partial.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("priors", nargs="*", metavar="PRIOR", choices=[[], *NAMES])
    parser.add_argument("--cards", nargs="*", type=int, default=[8, 12, 24, 40])
    options = parser.parse_args()
    cards = [card for card in CARDS if card.gigabytes in options.cards]
    for name in options.priors or NAMES:
        prior, tiny = NAMES[name]
        found = predictions(prior, cards, tiny=tiny)
        rows = {(name, f"{p.card.name}, {p.card.gigabytes} GB"): row(name, p) for p in found}
        print(*rows.values(), sep="\n", flush=True)
        write(rows)


if __name__ == "__main__":
    main()
