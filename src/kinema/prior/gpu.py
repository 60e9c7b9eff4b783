"""`--preset gpu`: one setting per video model and size of card, and what a clip is predicted to take with it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from kinema.errors import KinemaError
from kinema.prior.checkpoint import Placement
from kinema.prior.memory import GIB, LADDER, MemoryEstimate, estimate_memory

RENDER_SECONDS = 0.05
"""Assumed time of posing, rendering and its gradient per step on a GPU [s]."""


@dataclass(frozen=True)
class Setting:
    """Size of the videos, steps of sds, and a rung of `memory.LADDER`."""

    frames: int
    height: int
    width: int
    steps: int
    rung: str

    @property
    def options(self) -> dict[str, Any]:
        """Options of a job."""
        placement = LADDER[self.rung]
        flags = {name: getattr(placement, name) for name in ("quantize", "offload", "tiling")}
        size = (self.frames, self.height, self.width)
        return {"video_size": size, "iterations": self.steps, "engine": "sds", **flags}


@dataclass(frozen=True)
class Card:
    """A graphics card with the rates that a prediction assumes: about half of what its data sheet promises."""

    name: str
    gigabytes: int
    tflops: float
    """Sustained dense bfloat16 products [TFLOP/s]."""
    host_gb_s: float
    """Copies from pinned host memory [GB/s]."""


CARDS = (
    Card("RTX 4060", 8, 15.0, 10.0),
    Card("RTX 3060", 12, 12.0, 20.0),
    Card("RTX 3090", 24, 35.0, 20.0),
    Card("RTX 4090", 24, 80.0, 20.0),
    Card("A100", 40, 150.0, 20.0),
)
OFFLOAD, TILES = "bf16, offload", "bf16, offload, tiles"
_COGVIDEOX_5B = {
    8: Setting(17, 240, 368, 600, TILES),
    12: Setting(17, 240, 368, 600, TILES),
    24: Setting(25, 320, 480, 600, "bf16"),
    40: Setting(49, 320, 480, 900, "bf16"),
}
# Its places are learnt: it takes 480 x 720 alone.
_COGVIDEOX_5B_I2V = {
    8: Setting(17, 480, 720, 600, TILES),
    12: Setting(17, 480, 720, 600, TILES),
    24: Setting(25, 480, 720, 600, OFFLOAD),
    40: Setting(49, 480, 720, 600, "bf16"),
}
_COGVIDEOX_1_5 = {
    8: Setting(17, 240, 368, 600, TILES),
    12: Setting(17, 240, 368, 600, TILES),
    24: Setting(33, 320, 480, 600, "bf16"),
    40: Setting(49, 320, 480, 900, "bf16"),
}
_LTX = {
    8: Setting(49, 320, 480, 900, OFFLOAD),
    12: Setting(49, 320, 480, 1200, OFFLOAD),
    24: Setting(49, 320, 480, 900, "bf16"),
    40: Setting(49, 480, 704, 1200, "bf16"),
}
SETTINGS: dict[str, dict[int, Setting]] = {
    "wan2.1-1.3b": {
        # Most of a step is the VAE's encoder, in single precision.
        8: Setting(17, 256, 384, 900, OFFLOAD),
        12: Setting(17, 256, 384, 900, OFFLOAD),
        24: Setting(17, 256, 384, 900, "bf16"),
        40: Setting(33, 320, 480, 900, "bf16"),
    },
    "wan2.1-14b": {
        8: Setting(17, 256, 384, 600, OFFLOAD),
        12: Setting(17, 256, 384, 600, OFFLOAD),
        24: Setting(17, 256, 384, 600, OFFLOAD),
        40: Setting(17, 256, 384, 900, "int8"),
    },
    "wan2.2-5b": {
        8: Setting(25, 256, 384, 600, OFFLOAD),
        12: Setting(25, 256, 384, 600, OFFLOAD),
        24: Setting(49, 320, 480, 900, "int8"),
        40: Setting(49, 320, 480, 900, "bf16"),
    },
    "wan2.2-a14b": {card: Setting(17, 256, 384, 600, OFFLOAD) for card in (8, 12, 24, 40)},
    "ltx-video": _LTX,
    "ltx-video-i2v": _LTX,
    "cogvideox-2b": {
        8: Setting(17, 240, 368, 600, TILES),
        12: Setting(25, 240, 368, 600, TILES),
        24: Setting(25, 320, 480, 900, "bf16"),
        40: Setting(49, 320, 480, 1200, "bf16"),
    },
    "cogvideox-5b": _COGVIDEOX_5B,
    "cogvideox-5b-i2v": _COGVIDEOX_5B_I2V,
    "cogvideox-1.5-5b": _COGVIDEOX_1_5,
    "cogvideox-1.5-5b-i2v": _COGVIDEOX_1_5,
    "modelscope": {card: Setting(16, 256, 256, 1200, "bf16") for card in (8, 12, 24, 40)},
    "zeroscope": {card: Setting(24, 320, 576, 1200, "bf16") for card in (8, 12, 24, 40)},
}
"""By model and card [GB]; chosen so that the estimate of memory fits (tests/prior/test_gpu.py)."""
_LARGER = Setting(33, 320, 480, 900, "bf16")
TINY: dict[str, dict[int, Setting]] = {
    "wan2.1-1.3b": {8: replace(_LARGER, rung=OFFLOAD), 12: replace(_LARGER, rung=OFFLOAD), 24: _LARGER, 40: _LARGER},
}
"""Those of models for which a tiny encoder (`--tiny-encoder`) leaves time for larger videos."""


def setting_for(prior: str, gigabytes: int | float, *, tiny: bool = False) -> Setting:
    """The setting of a model, with a tiny encoder or its own, for the largest card that is not larger than the given
    one."""
    name = prior.partition("=")[0]
    if name not in SETTINGS:
        raise KinemaError(f"--preset gpu: no setting for {name}; there are some for {', '.join(SETTINGS)}")
    settings = TINY.get(name, SETTINGS[name]) if tiny else SETTINGS[name]
    # A card of 24 GB says 23.6 of itself.
    fitting = [size for size in settings if size <= 1.05 * gigabytes]
    if not fitting:
        least = min(settings)
        raise KinemaError(f"--preset gpu: {name} needs a card of {least} GB, this one has {gigabytes:.1f} GB")
    return settings[max(fitting)]


def setting_here(prior: str, device: str, *, tiny: bool = False) -> dict[str, Any]:
    """Options for this machine's card; none without one, which loading the model reports."""
    if torch.device(device).type != "cuda" or not torch.cuda.is_available():
        return {}
    return setting_for(prior, torch.cuda.get_device_properties(device).total_memory / 1e9, tiny=tiny).options


@dataclass(frozen=True)
class Prediction:
    """What a clip takes on a card, predicted from counts."""

    card: Card
    setting: Setting
    estimate: MemoryEstimate

    @property
    def step_seconds(self) -> float:
        """Products, plus copies of offloaded weights as if nothing hid them, plus rendering [s].

        Products in single precision (TF32 on tensor cores) are taken to last twice as long.
        """
        products = (self.estimate.flops + self.estimate.single) / (1e12 * self.card.tflops)
        return products + self.estimate.moved / (1e9 * self.card.host_gb_s) + RENDER_SECONDS

    @property
    def minutes(self) -> float:
        """Of a clip's distillation. Loading the model, embedding the prompt, physics and films come on top."""
        return self.setting.steps * self.step_seconds / 60


def predictions(prior: str, cards: Sequence[Card] = CARDS, *, tiny: bool = False) -> list[Prediction]:
    """Predictions for cards; steps of one kind are counted once, however many a clip takes."""
    counted: dict[Setting, MemoryEstimate] = {}
    found = []
    for card in cards:
        setting = setting_for(prior, card.gigabytes, tiny=tiny)
        step = replace(setting, steps=1)
        if step not in counted:
            size = {"frames": setting.frames, "height": setting.height, "width": setting.width}
            counted[step] = estimate_memory(prior, LADDER[setting.rung], setting=setting.rung, tiny=tiny, **size)
        found.append(Prediction(card, setting, counted[step]))
    return found


def refuse_if_too_large(
    prior: str, gigabytes: int | float, placement: Placement, video_size: tuple[int, int, int] | None, *,
    tiny: bool = False,
) -> None:  # fmt: skip
    """One line with the peak and the setting that fits, before anything is loaded."""
    size: dict[str, Any] = dict(zip(("frames", "height", "width"), video_size or ())) | {"tiny": tiny}
    estimate = estimate_memory(prior, placement, **size)
    if estimate.fits(gigabytes):
        return
    flags = {"quantize": "--quantize nf4", "offload": "--offload", "tiling": "--tiling"}
    video = f"{estimate.frames} x {estimate.height} x {estimate.width}"
    peak = f"--prior {prior} at {video} takes {estimate.peak / GIB:.1f} GiB, this card has {gigabytes:.0f} GB"
    for rung in (OFFLOAD, TILES, "nf4, offload, tiles"):
        smaller = estimate_memory(prior, LADDER[rung], **size)
        if smaller.fits(gigabytes):
            given = " ".join(flag for name, flag in flags.items() if getattr(LADDER[rung], name))
            raise KinemaError(f"{peak}; {given} takes {smaller.peak / GIB:.1f} GiB")
    raise KinemaError(f"{peak}, and no setting fits; --preset gpu or a smaller --video-size does")
