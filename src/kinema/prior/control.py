"""Video models that follow a control film, through diffusers' pipelines: Wan VACE, and CogVideoX-Fun control.

They paint, they are no `VideoPrior`: nothing is distilled out of them.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.errors import KinemaError
from kinema.prior.checkpoint import Placement, needs_diffusers, read_json, read_part
from kinema.prior.load import from_hub
from kinema.prior.text_cache import PromptEmbeddings

Frames = Float[Tensor, "frames 3 height width"]


@dataclass(frozen=True)
class GuideKind:
    """A family of models that follow a control film."""

    repository: str | None
    """On the hub, in diffusers' layout; None: a folder has to be given."""
    size: tuple[int, int, int]
    """Frames, height and width that it was trained with."""
    fps: float


GUIDES = {
    "wan-vace": GuideKind("Wan-AI/Wan2.1-VACE-1.3B-diffusers", (81, 480, 832), 16.0),
    "cogvideox-fun": GuideKind(None, (49, 480, 720), 8.0),
}
"""Models by the name that --with takes."""


@dataclass(frozen=True)
class Guide:
    """A loaded model."""

    name: str
    pipeline: Any
    texts: PromptEmbeddings
    """In place of the pipeline's own: the encoder is freed before the model runs, and `ftfy` is not needed."""
    cell: int
    """Pixels that height and width are multiples of."""
    kind: GuideKind

    @staticmethod
    def load(spec: str, *, device: str = "cpu") -> "Guide":
        """NAME or NAME=FOLDER, a folder in diffusers' layout."""
        name, _, path = spec.partition("=")
        if name not in GUIDES:
            raise KinemaError(f"--with {name}: unknown; known are {', '.join(GUIDES)}")
        needs_diffusers(name)
        if torch.device(device).type == "cuda" and not torch.cuda.is_available():
            raise KinemaError(f"--device {device}: this machine has no CUDA device; use --device cpu")
        kind = GUIDES[name]
        if not path and kind.repository is None:
            raise KinemaError(f"--with {name}: give its checkpoint, --with {name}=FOLDER")
        folder = Path(path) if path else from_hub(name, kind.repository or "", option="--with")
        if not folder.is_dir():
            raise KinemaError(f"{folder}: no such folder; --with {name} needs a checkpoint in diffusers' layout")
        dtype = torch.float32 if torch.device(device).type == "cpu" else torch.bfloat16
        placement = Placement(device, dtype)
        pipeline, texts, cell = (_wan_vace if name == "wan-vace" else _cogvideox_fun)(folder, placement)
        pipeline.set_progress_bar_config(disable=True)
        return Guide(name, pipeline.to(device), texts, cell, kind)

    def size(self, wanted: tuple[int, int, int] | None, length: int) -> tuple[int, int, int]:
        """Frames (one more than a multiple of four, and no more than there are), height and width that it can make."""
        frames, height, width = wanted or self.kind.size
        frames = 4 * ((min(frames, length) - 1) // 4) + 1
        if height % self.cell or width % self.cell:
            raise KinemaError(f"--size {height} {width}: {self.name} needs multiples of {self.cell}")
        return frames, height, width

    @torch.no_grad()
    def paint(
        self, control: Frames, prompt: str, *, first: Float[Tensor, "1 3 height width"], free: Frames, steps: int,
        guidance: float, seed: int,
    ) -> Float[Tensor, "_ 3 _ _"]:  # fmt: skip
        """A video of the prompt that moves as the control film does.

        Args:
            first: what the character looks like, one frame; Wan VACE takes it as its reference.
            free: white where the model paints, black where the control film is kept as it is (Wan VACE).
        """
        count, _, height, width = control.shape
        words, none = (self.texts(" ".join(text.split()))["text"][None] for text in (prompt, ""))
        how = {"prompt_embeds": words, "negative_prompt_embeds": none}
        how |= {"height": height, "width": width, "output_type": "np"}
        how |= {"num_inference_steps": steps, "guidance_scale": guidance}
        how |= {"generator": torch.Generator().manual_seed(seed)}
        if self.name == "wan-vace":
            how |= {"video": pictures(control), "mask": pictures(free), "reference_images": pictures(first)}
            how |= {"num_frames": count}
        else:
            how |= {"control_video": pictures(control)}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = self.pipeline(**how).frames[0]
        except Exception as error:  # whatever a pipeline raises is one line for the user
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise KinemaError(f"--with {self.name}: {reason[:160]}") from None
        video = torch.from_numpy(np.asarray(found, np.float32)).permute(0, 3, 1, 2)
        if not bool(video.isfinite().all()):
            raise KinemaError(f"--with {self.name}: its video has values that are not finite")
        return video.clamp(0, 1).contiguous()


def pictures(video: Float[Tensor, "_ 3 _ _"]) -> list[Any]:
    """Frames as images of PIL's."""
    from PIL import Image

    return [Image.fromarray(frame) for frame in (255 * video).round().byte().permute(0, 2, 3, 1).numpy()]


def _wan_vace(folder: Path, placement: Placement) -> tuple[Any, PromptEmbeddings, int]:
    from diffusers import AutoencoderKLWan, WanVACEPipeline, WanVACETransformer3DModel
    from transformers import UMT5EncoderModel

    index = read_json(folder / "model_index.json")
    parts = ["transformer"] if index.get("boundary_ratio") is None else ["transformer", "transformer_2"]
    experts = {part: read_part(WanVACETransformer3DModel, folder, part, dtype=placement.dtype) for part in parts}
    # The pipelines keep this VAE in single precision: half of it shows as flicker.
    vae = read_part(AutoencoderKLWan, folder, "vae", dtype=torch.float32)
    nobody: Any = None
    parts = {"tokenizer": nobody, "text_encoder": nobody, "vae": vae, "scheduler": _scheduler(folder)}
    pipeline = WanVACEPipeline(**parts, **experts, boundary_ratio=index.get("boundary_ratio"))
    texts = PromptEmbeddings(folder, placement, UMT5EncoderModel, tokens=512, mask=True)
    return pipeline, texts, vae.config.scale_factor_spatial * experts["transformer"].config.patch_size[1]


def _cogvideox_fun(folder: Path, placement: Placement) -> tuple[Any, PromptEmbeddings, int]:
    from diffusers import AutoencoderKLCogVideoX, CogVideoXFunControlPipeline, CogVideoXTransformer3DModel
    from transformers import T5EncoderModel

    transformer = read_part(CogVideoXTransformer3DModel, folder, "transformer", dtype=placement.dtype)
    vae = read_part(AutoencoderKLCogVideoX, folder, "vae", dtype=placement.dtype)
    if transformer.config.in_channels != 2 * vae.config.latent_channels:
        raise KinemaError(f"{folder / 'transformer'}: is not a control model (it takes no latents of a control film)")
    nobody: Any = None
    pipeline = CogVideoXFunControlPipeline(nobody, nobody, vae, transformer, _scheduler(folder))
    texts = PromptEmbeddings(folder, placement, T5EncoderModel, tokens=transformer.config.max_text_seq_length)
    return pipeline, texts, 2 ** (len(vae.config.block_out_channels) - 1) * transformer.config.patch_size


def _scheduler(folder: Path) -> Any:
    """The checkpoint's own sampler, by the class that it names."""
    import diffusers

    config = read_json(folder / "scheduler" / "scheduler_config.json")
    cls = getattr(diffusers, str(config.get("_class_name")), None)
    if cls is None:
        raise KinemaError(f"{folder / 'scheduler'}: names no sampler that diffusers has ({config.get('_class_name')})")
    return cls.from_config(config)
