"""The face that every video model shows to the distiller: a denoiser with an encoder, and what it needs to be shown."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

Video = Float[Tensor, "frames 3 height width"]
"""Frames in [0, 1], or point maps (`Needs.look`)."""
TALL = 1.1
"""Height over length and width of a box from which on a picture may be upright."""


@dataclass(frozen=True)
class Context:
    """What the distiller knows about a video before it exists. A prior takes what it can use and ignores the rest."""

    reference: Video
    """What `Needs.reference` asks for, seen by the same cameras, in [0, 1]; no frames where it asks for nothing."""
    yaw_deg: float = 45.0
    elevation_deg: float = 10.0
    phase: float | None = None
    """Position in the cycle at frame 0 [cycles], or the progress of an action there: 0 it begins, 1 it has ended.
    None: nobody knows phase, period and speed, and the prior has to see them for itself."""
    period: float = 0.0
    """Length of a cycle or of an action [frames]; 0 for a state, which has no progress."""
    speed: float = 0.0
    """Travel of the base path [leg lengths per frame]."""
    repeats: bool = True
    """A cycle, not an action."""
    motion: str = ""
    """The motion that the prompt was read as; "": the prior reads it."""
    variant: str | None = None
    """Which way of doing it (`Way.variant`); None: any."""
    side: int = 0
    """The side that acts or leads: +1 left, -1 right, 0 either."""


@dataclass(frozen=True)
class CameraRange:
    """Cameras that a prior knows, each value drawn uniformly. They travel with the character's base path and have the
    whole character at rest in the picture (`Stage.cameras`)."""

    yaw_deg: tuple[float, float] = (25.0, 100.0)
    """Angle away from the character's face, to either side: three-quarter and side views."""
    elevation_deg: tuple[float, float] = (4.0, 20.0)
    fovy_deg: float = 30.0
    zoom: tuple[float, float] = (1.0, 1.0)
    """Range of training videos; a distilled motion is filmed at its middle."""

    def draw_yaw(self, rng: np.random.Generator) -> float:
        return float(rng.uniform(*self.yaw_deg) * rng.choice((-1, 1)))


@dataclass(frozen=True)
class Needs:
    """What a prior wants to be shown and told; the defaults suit models that were trained on films of everything."""

    fps: float
    """Frames per second of the videos that it was trained on."""
    cycle_frames: float | None = None
    """Frames per gait cycle, for a prior that measures time in cycles: it was shown the gaits of large and small
    animals at the same rate per cycle, and `fps` holds for actions only. None: `fps` holds for everything."""
    look: Literal["points", "color"] = "color"
    """What a video shows: frames as a camera sees them, or point maps: where each point of the standing body, as the
    camera sees it, has gone (`render.points`)."""
    cameras: CameraRange = CameraRange()
    upright: bool = False
    """True: a tall body is filmed in an upright picture, width and height exchanged."""
    phase: bool = False
    """True if `condition` uses the context's phase, period and speed."""
    reference: Literal["points", "film", "start", "nothing"] = "film"
    """What a prior is given in its context: the point map of the standing body, the character at rest on a film along
    the base path, the first frame of the motion as it is now, which starts the videos of an image-to-video model, or
    nothing."""
    engines: tuple[Literal["fit", "sds"], ...] = ("fit", "sds")
    """Engines that it can be used with; `--engine auto` runs them in this order. A text-to-video model has no `fit`:
    the videos that it samples show some other character."""
    token_size: int = 96
    """Latent values that count as one token. Losses are per token, so that one weight suits latents of every size."""

    def frame_rate(self, period_s: float) -> float:
        """Frames per second at which a motion is shown: a gait whose cycle takes `period_s`, or an action (0)."""
        return self.cycle_frames / period_s if self.cycle_frames is not None and period_s > 0 else self.fps


@dataclass(frozen=True)
class PromptReading:
    """The motion that a prior understands a prompt as."""

    motion: str
    """The motion that the words mean, or the nearest one if they mean none."""
    confidence: float
    """Its probability."""
    phrase: str = ""
    """The verb phrase that was read."""
    known: bool = True
    """The prior was trained on this motion, on this kind of body."""
    nearest: tuple[str, ...] = ()
    """The motions nearest in meaning that it knows."""
    manner: str = ""
    """"fast", "slow" or nothing."""
    direction: str = ""
    """"left", "right", "backwards" or nothing."""
    problem: str | None = None
    """Why nothing can be made of the words, apart from an unknown motion: a negation, a sequence, the body ..."""


@dataclass(frozen=True)
class Way:
    """One way of doing a motion: an artist's clip, or the procedural one."""

    variant: str
    """Its name; "" is the procedural one."""
    seconds: float
    """Duration of a cycle or of the action [s]; 0 for a state."""
    side: int
    """The side that acts or leads in most clips: +1 left, -1 right."""
    performers: int = 1
    """How many characters do it of themselves."""
    build: tuple[float, float] | None = None
    """How they are built (`Limbs.build`); None: bodies of all builds do it."""
    missed: float = 0.0
    """Share of its motion that clean estimates miss near pure noise, with everything told: how well it is known."""
    lively: float = 1.0
    """How much it moves: 0 hardly, 0.5 as gestures do, towards 1 as falls do."""


NEUTRAL = 0.3
"""How far from every build a way is that bodies of all builds do."""
USUAL = 0.3
"""What a way gains that e times as many characters do: it owes less to one of them."""
PART = 0.3
"""What a way loses that takes an e-th of the usual time: a jump of 0.3 s is its take-off only."""
DULL = 0.5
"""What a way loses that hardly moves: who asks for a dance wants to see one."""
UNKNOWN = 2.0
"""What a way loses of which all is missed: a foreign way that is known goes before one's own that is not."""


@dataclass(frozen=True)
class KnownMotion:
    """A motion that a prior was trained on, for one kind of body."""

    name: str
    body: str
    """`Limbs.body`"""
    clips: int
    """How many training clips show it, of those that were counted."""
    repeats: bool
    seconds: float
    """Usual duration of a cycle or of the action [s]; 0 for a state."""
    speed: float
    """Usual travel [leg lengths per second]."""
    ways: tuple[Way, ...] = ()

    @staticmethod
    def of_row(row: Sequence[Any]) -> "KnownMotion":
        """From the list that `dataclasses.astuple` makes of one."""
        name, body, clips, repeats, seconds, speed, rows = row
        # Weights of former versions do not say how lively a way is.
        ways = [
            Way(variant, lasts, side, performers, tuple(build) if build else None, *known)
            for variant, lasts, side, performers, build, *known in rows
        ]
        return KnownMotion(name, body, clips, repeats, seconds, speed, tuple(ways))

    def way(self, build: tuple[float, float]) -> Way | None:
        """The way for such a body: of gaits the procedural one, whose feet stand, else that of whoever is built most
        alike: a block with four pegs nods by tilting, which is no way for a horse. Common and well-known ones first."""
        usual = [way for way in self.ways if way.variant == "" and self.repeats]
        # Clips of somebody who lies already show no lying down.
        timed = [way for way in self.ways if way.seconds > 0]

        def unlike(way: Way) -> float:
            apart = NEUTRAL if way.build is None else _unlike(way.build, build)
            short = math.log(self.seconds / way.seconds) if 0 < way.seconds < self.seconds else 0.0
            dull = DULL * (1 - way.lively)
            return apart + PART * short + dull + UNKNOWN * way.missed - USUAL * math.log(way.performers)

        return min(usual or timed or self.ways, key=unlike, default=None)


def _unlike(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Of two builds: a seventh of the height in leg length weighs as much as a joint per leg."""
    (leg, joints), (others_leg, others_joints) = one, other
    return 2.0 * abs(leg - others_leg) + 0.3 * abs(min(joints, 3.0) - min(others_joints, 3.0))


@runtime_checkable
class VideoPrior(Protocol):
    """A text-to-video model. `t` in (0, 1) is the share of its noise schedule: 0 clean, 1 pure noise.

    Latents and conditions are the prior's own business; only tensors' gradients cross this line.
    """

    frames: int
    height: int
    width: int
    needs: Needs

    @property
    def device(self) -> str:
        """Where it runs; the character is posed and rendered there too."""
        ...

    @property
    def motions(self) -> Sequence[KnownMotion]:
        """What it was trained on; empty where there is no such list."""
        ...

    @property
    def read(self) -> Callable[[str, str | None], PromptReading] | None:
        """Reads a prompt, for a kind of body (`Limbs.body`) or any, as one of the motions that the prior was trained
        on; None: it has no such classes and takes every text."""
        ...

    def condition(self, prompt: str, context: Context) -> Any:
        """What `denoise` needs beside the noisy latents; the empty prompt is the unconditional model."""
        ...

    def encode(self, video: Video, context: Context) -> Tensor:
        """Latents of a video in [0, 1], differentiable."""
        ...

    def decode(self, latents: Tensor, context: Context) -> Video:
        """The video of clean latents."""
        ...

    def add_noise(self, clean: Tensor, noise: Tensor, t: float) -> Tensor:
        """The forward process at t."""
        ...

    def denoise(self, noisy: Tensor, t: float, conditions: list[Any]) -> list[Tensor]:
        """Clean estimates ẑ, one per condition, in one batch where that is faster."""
        ...


def picture_size(prior: VideoPrior, extent: Float[np.ndarray, "3"]) -> tuple[int, int]:
    """Width and height in which the prior is shown a body whose box has that extent [m]."""
    tall = prior.needs.upright and extent[1] > TALL * max(extent[0], extent[2])
    return (prior.height, prior.width) if tall else (prior.width, prior.height)


def guide(cond: Tensor, uncond: Tensor, scale: float | Tensor) -> Tensor:
    """uncond + scale (cond - uncond); scale 1 is the conditional model."""
    return uncond + scale * (cond - uncond)


@torch.no_grad()
def guided_estimate(prior: VideoPrior, noisy: Tensor, t: float, cond: Any, uncond: Any, *, guidance: float) -> Tensor:
    """The clean estimate under classifier-free guidance."""
    if guidance == 1:
        return prior.denoise(noisy, t, [cond])[0]
    with_text, without = prior.denoise(noisy, t, [cond, uncond])
    return guide(with_text, without, guidance)


@torch.no_grad()
def sample(
    prior: VideoPrior, like: Tensor, cond: Any, uncond: Any, *, guidance: float, steps: int, generator: torch.Generator
) -> Tensor:
    """Latents of a video, from pure noise."""
    noise = torch.randn(like.shape, generator=generator, dtype=like.dtype).to(like.device)
    estimate = partial(guided_estimate, prior, cond=cond, uncond=uncond, guidance=guidance)
    return ddim(prior, torch.zeros_like(like), noise, estimate, start=0.98, steps=steps)


@torch.no_grad()
def ddim(
    prior: VideoPrior, clean: Tensor, noise: Tensor, estimate: Callable[[Tensor, float], Tensor], *, start: float,
    steps: int,
) -> Tensor:  # fmt: skip
    """Deterministic DDIM of latents that are noised to a level: `estimate` tells the clean ones of noisy ones, and the
    noise that both imply is kept at the next level."""
    levels, none = torch.linspace(start, 0.0, steps + 1).tolist(), torch.zeros_like(clean)
    noisy = prior.add_noise(clean, noise, levels[0])
    for t, t_next in itertools.pairwise(levels):
        clean = estimate(noisy, t)
        if t_next > 0:
            # noisy = add_noise(clean, noise, t) is linear in the noise, and solved for it.
            noise = (noisy - prior.add_noise(clean, none, t)) / prior.add_noise(none, torch.ones_like(clean), t)
            noisy = prior.add_noise(clean, noise, t_next)
    return clean
