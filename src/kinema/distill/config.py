"""The options of `kinema animate`; light, so that the command line can show them without torch."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import tyro

Positional = tyro.conf.Positional
Engine = Literal["auto", "fit", "sds"]
Preset = Literal["default", "fast", "paper"]


@dataclass(frozen=True)
class Animate:
    """Animate a character from a sentence: the main job."""

    asset: Positional[str] = ""
    """A character file (GLB, glTF, FBX, ...) or the words of a built-in creature ("a red fox")."""
    prompt: Positional[str] = ""
    """What it does: "a fox is trotting"."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Folder for the result; by default runs/<asset>-<prompt>."""
    resume: Path | None = None
    """Go on with an interrupted run in this folder, to the same result as an uninterrupted one."""
    preset: Preset = "default"
    """`fast` halves the iterations. `paper` sets what AKD states: engine sds, free per-frame angles, 10,000
    iterations, guidance 100, smooth 2e5 and ground 1e7 for a summed SDS loss, t from U[0.02, t_end] with t_end falling
    0.98 to 0.5 over the first half, no contact, limit or drift terms. Left open by the paper and kept at our values:
    the learning rate, w(t) = 1, camera ranges (TC4D's), the root's initial speed."""
    engine: Engine = "auto"
    """`fit` samples videos and fits the joints to them; `sds` is the paper's; `auto` fits, then refines by sds."""
    prior: str = "nano"
    """nano (embedded), or cogvideox-2b, cogvideox-5b, wan-1.3b, ltx, modelscope; also a local folder as NAME=FOLDER."""
    device: str = "cpu"
    frames: int = 48
    """Length of the clip."""
    fps: float = 24.0
    seed: int = 0
    physics: bool = True
    """Project the motion to one that can happen (bipeds to octopods; skipped where nothing stands on the ground)."""
    in_place: bool = False
    """Leave the travel out of the exported files."""
    loop: bool = False
    """Cut the clip to whole gait cycles so that its end meets its beginning."""
    speed: float | None = None
    """Travel [m/s]; by default from the leg length and the words."""
    period: float | None = None
    """Duration of a gait cycle [s]; by default from the leg length and the words."""
    views: int = 6
    """Videos to sample for `fit`."""
    iterations: int | None = None
    """Of sds; by default 60 after a fit, 250 alone."""
    fit_iterations: int = 120
    guidance: float = 2.0
    """Classifier-free guidance; 1 is the plain conditional model."""
    time: Literal["auto", "fourier", "dct", "free"] = "auto"
    """How the motion is spelled in time; `auto`: whole cycles for gaits, cosines for actions."""
    learning_rate: float = 0.03
    smooth: float = 0.02
    """Weight of the second time difference (per mean absolute rad)."""
    ground: float = 30.0
    """Weight of feet under the ground (squared depth in leg lengths)."""
    slip: float = 20.0
    """Weight of low feet that move over the ground (squared travel per frame in leg lengths)."""
    limits: float = 2.0
    """Weight of knees and elbows that bend the wrong way (squared rad)."""
    render_ground: bool = True
    """Draw the ground that the prior sees; off only for ablations."""
    splats: int = 2000
    """Gaussians that the prior sees (the preview uses more)."""
    checkpoint_seconds: float = 10.0
    json: bool = False
    """Print one line of JSON instead of text."""


def resolve(config: Animate) -> Animate:
    """Apply the preset to every value that it speaks of."""
    if config.preset == "fast":
        return replace(config, views=3, fit_iterations=60, iterations=config.iterations or 25)
    if config.preset == "paper":
        return replace(
            config,
            engine="sds",
            time="free",
            guidance=100.0,
            iterations=config.iterations or 10_000,
            smooth=2e5,
            ground=1e7,
            slip=0.0,
            limits=0.0,
        )
    return config
