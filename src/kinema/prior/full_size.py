"""The published sizes of the video models, to build them without their weights (`memory.py`)."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import diffusers
import torch
import transformers
from torch import nn

from kinema.errors import KinemaError
from kinema.prior.checkpoint import Placement
from kinema.prior.cogvideox import CogVideoXPrior
from kinema.prior.ltx import LTXPrior
from kinema.prior.unet import UNetPrior
from kinema.prior.wan import WanPrior

_5B: dict[str, Any] = {"num_attention_heads": 48, "num_layers": 42, "use_rotary_positional_embeddings": True}
_1_5: dict[str, Any] = {
    **_5B, "patch_size_t": 2, "patch_bias": False, "sample_height": 300, "sample_width": 300, "sample_frames": 81,
}  # fmt: skip
COGVIDEOX: dict[str, dict[str, Any]] = {
    "cogvideox-2b": {"num_attention_heads": 30, "num_layers": 30},
    "cogvideox-5b": _5B,
    "cogvideox-5b-i2v": {**_5B, "in_channels": 32, "use_learned_positional_embeddings": True},
    "cogvideox-1.5-5b": _1_5,
    "cogvideox-1.5-5b-i2v": {**_1_5, "in_channels": 32, "ofs_embed_dim": 512},
}
_14B: dict[str, Any] = {"num_attention_heads": 40, "num_layers": 40, "ffn_dim": 13824}
WAN: dict[str, dict[str, Any]] = {
    "wan2.1-1.3b": {"num_attention_heads": 12, "num_layers": 30, "ffn_dim": 8960},
    "wan2.1-14b": _14B,
    "wan2.2-5b": {
        "num_attention_heads": 24, "num_layers": 30, "ffn_dim": 14336, "in_channels": 48, "out_channels": 48,
    },
    "wan2.2-a14b": _14B,
}  # fmt: skip
WAN_5B_VAE: dict[str, Any] = {
    "base_dim": 160, "decoder_base_dim": 256, "z_dim": 48, "is_residual": True, "patch_size": 2, "in_channels": 12,
    "out_channels": 12, "scale_factor_spatial": 16, "latents_mean": [0.0] * 48, "latents_std": [1.0] * 48,
}  # fmt: skip
"""The encoder of Wan 2.2's 5B, but for the statistics of its latents, on which no count depends."""
T5_XXL: dict[str, Any] = {
    "d_model": 4096, "d_kv": 64, "d_ff": 10240, "num_layers": 24, "num_heads": 64, "feed_forward_proj": "gated-gelu",
}  # fmt: skip
CLIP: Any = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 23, "num_attention_heads": 16}
UNETS = ("modelscope", "zeroscope")
KNOWN = (*COGVIDEOX, *WAN, "ltx-video", "ltx-video-i2v", *UNETS)


def build(
    name: str, placement: Placement, *, frames: int | None = None, height: int | None = None, width: int | None = None
) -> tuple[Any, nn.Module]:
    """The prior with random weights, waiting on the host as if just read, and its denoiser."""
    if name not in KNOWN:
        raise KinemaError(f"--prior {name}: no full-size configuration to estimate from; known are {', '.join(KNOWN)}")
    common: dict[str, Any] = {"folder": Path(name), "placement": placement}
    common |= {"frames": frames, "height": height, "width": width}
    if name in COGVIDEOX:
        with made_on(placement.host, placement.dtype):
            vae, denoiser = diffusers.AutoencoderKLCogVideoX(), diffusers.CogVideoXTransformer3DModel(**COGVIDEOX[name])
        prior = CogVideoXPrior(denoiser, vae, [0.5], **common)
    elif name in WAN:
        with made_on(placement.host, placement.dtype):
            count = 2 if name == "wan2.2-a14b" else 1
            experts = [diffusers.WanTransformer3DModel(attention_head_dim=128, **WAN[name]) for _ in range(count)]
        with made_on(placement.host, torch.float32):
            vae = diffusers.AutoencoderKLWan(**(WAN_5B_VAE if name == "wan2.2-5b" else {}))
        index = {"boundary_ratio": 0.875 if count == 2 else None, "expand_timesteps": name == "wan2.2-5b"}
        prior, denoiser = WanPrior(experts, vae, {"flow_shift": 3.0, **index}, **common), experts[0]
    elif name.startswith("ltx-video"):
        with made_on(placement.host, placement.dtype):
            vae, denoiser = diffusers.AutoencoderKLLTXVideo(), diffusers.LTXVideoTransformer3DModel()
        prior = LTXPrior(denoiser, vae, {}, from_image=name.endswith("i2v"), **common)
    else:
        # Unpacked, because the constructor's annotations allow for one block only.
        blocks: Any = {"down_block_types": ("DownEncoderBlock2D",) * 4, "up_block_types": ("UpDecoderBlock2D",) * 4}
        blocks["block_out_channels"] = (128, 256, 512, 512)
        with made_on(placement.host, placement.dtype):
            vae = diffusers.AutoencoderKL(**blocks, layers_per_block=2)
            denoiser = diffusers.UNet3DConditionModel(sample_size=32)
        prior = UNetPrior(denoiser, vae, [0.5], wide=name == "zeroscope", **common)
    tokens, width = prior.texts.tokens or 77, 1024 if name in UNETS else 4096
    for prompt in ("prompt", ""):
        text = torch.empty(tokens, width, dtype=placement.dtype, device=placement.device)
        mask = torch.ones(tokens, dtype=torch.bool, device=placement.device)
        prior.texts.known[prompt] = {"text": text, "mask": mask}
    return prior, denoiser


def text_parameters(name: str) -> int:
    """Size of the text encoder that runs once per prompt."""
    with torch.device("meta"):
        if name in WAN:
            encoder = transformers.UMT5EncoderModel(transformers.UMT5Config(vocab_size=256384, **T5_XXL))
        elif name in UNETS:
            encoder = transformers.CLIPTextModel(transformers.CLIPTextConfig(**CLIP))
        else:
            encoder = transformers.T5EncoderModel(transformers.T5Config(vocab_size=32128, **T5_XXL))
    return sum(parameter.numel() for parameter in encoder.parameters())


@contextlib.contextmanager
def made_on(host: str, dtype: torch.dtype) -> Iterator[None]:
    """Modules made here are on the host, in the precision that they will run in."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(host):
            yield
    finally:
        torch.set_default_dtype(before)
