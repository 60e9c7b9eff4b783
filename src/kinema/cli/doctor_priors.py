"""`kinema doctor --prior NAME`: a video model's memory by setting, and the predicted times of `--preset gpu`."""

from collections.abc import Callable
from typing import Any

from kinema.errors import KinemaError


def memory_of(
    prior: str,
    size: tuple[int, int, int] | None = None,
    *,
    tiny: bool = False,
    announce: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """The ladder of settings for one job (real classes on fake tensors), as plain values for JSON."""
    from kinema.prior.load import MODELS

    _check_large(prior)
    from kinema.prior.memory import CARDS, GIB, memory_report

    announce(f"{prior}: running its layers without data, which takes minutes ...")
    frames, height, width = size or (None if MODELS[prior][0] == "unet" else 49, None, None)
    report = memory_report(prior, tiny=tiny, frames=frames, height=height, width=width)
    first = report.estimates[0]
    return {
        "prior": prior,
        "video": [first.frames, first.height, first.width],
        "parameters": first.parameters,
        "settings": {
            e.setting: {
                "peak_gib": round(e.peak / GIB, 2),
                "host_gib": round(e.host / GIB, 2),
                "fits_gb": [card for card in CARDS if e.fits(card)],
            }
            for e in report.estimates
        },
        "cards": {f"{card} GB": report.setting_for(card) for card in sorted(CARDS)},
    }


def predicted(prior: str, *, tiny: bool = False, announce: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Counts and predicted times of `--preset gpu`, as plain values for JSON."""
    from kinema.prior.gpu import predictions, setting_for
    from kinema.prior.memory import GIB

    _check_large(prior)
    setting_for(prior, 40)  # a model without settings is refused before the long count
    announce(f"{prior}: running its layers without data, which takes minutes ...")
    cards = {}
    for found in predictions(prior, tiny=tiny):
        setting, count, card = found.setting, found.estimate, found.card
        cards[card.name] = {
            "card_gb": card.gigabytes, "assumed_tflops": card.tflops, "assumed_host_gb_s": card.host_gb_s,
            "video": [setting.frames, setting.height, setting.width], "steps": setting.steps, "setting": setting.rung,
            "tokens": count.tokens, "tflop_per_step": round(count.flops / 1e12, 2),
            "moved_gb_per_step": round(count.moved / 1e9, 2), "peak_gib": round(count.peak / GIB, 2),
            "fits": count.fits(card.gigabytes), "predicted_minutes": round(found.minutes, 1),
        }  # fmt: skip
    return {"prior": prior, "cards": cards}


def prediction_lines(found: dict[str, Any]) -> list[str]:
    """For people."""
    lines = [f"{found['prior']} with --preset gpu: a PREDICTION from counts; nothing here was measured on a card"]
    for name, card in found["cards"].items():
        frames, height, width = card["video"]
        job = f"{frames} x {height} x {width}, {card['steps']} steps, {card['setting']}"
        counts = f"{card['tokens']} tokens, {card['tflop_per_step']} TFLOP and {card['moved_gb_per_step']} GB per step"
        lines.append(f"  {name} ({card['card_gb']} GB): {job}; {counts}; {card['peak_gib']} GiB of the card")
        rates = f"{card['assumed_tflops']:g} TFLOP/s and {card['assumed_host_gb_s']:g} GB/s from the host assumed"
        lines.append(f"    predicted {card['predicted_minutes']:.0f} min per clip ({rates})")
    return lines


def _check_large(prior: str) -> None:
    from kinema.prior.load import MODELS

    if prior == "nano":
        raise KinemaError("--prior nano: is embedded and needs no card; give the name of a larger one")
    if prior not in MODELS:
        raise KinemaError(f"--prior {prior}: unknown; known are {', '.join(MODELS)}")


def memory_lines(estimate: dict[str, Any]) -> list[str]:
    """For people."""
    flags = {"int8": "--quantize int8", "nf4": "--quantize nf4", "offload": "--offload", "tiles": "--tiling"}
    frames, height, width = estimate["video"]
    size = ", ".join(f"{part} {count / 1e9:.2f}" for part, count in estimate["parameters"].items())
    lines = [f"{estimate['prior']}, {frames} frames of {width} x {height}; billions of parameters: {size}"]
    for setting, e in estimate["settings"].items():
        lines.append(f"  {setting:22s} {e['peak_gib']:6.1f} GiB on the card, {e['host_gib']:5.1f} GiB on the host")
    for card, setting in estimate["cards"].items():
        chosen = " ".join(filter(None, (flags.get(part, "") for part in (setting or "").split(", "))))
        lines.append(f"  {card:>6s} card: " + ("too small" if setting is None else f"{setting}  {chosen}".rstrip()))
    return lines
