"""Options of `load_prior` reach the video model that they are about."""

from pathlib import Path

import pytest
import torch

from kinema.errors import KinemaError
from kinema.prior.load import load_prior


def test_flags_reach_the_model(tmp_path: Path) -> None:
    pytest.importorskip("diffusers", reason="needs the extra `gpu`")
    from toy_checkpoints import cogvideox

    from kinema.prior.quantize import Int8Linear

    cogvideox(tmp_path)
    spec, size = f"cogvideox-5b={tmp_path}", (9, 32, 48)
    plain = load_prior(spec, video_size=size)
    assert (plain.frames, plain.height, plain.width) == (9, 32, 48)
    small = load_prior(spec, video_size=size, offload=True, tiling=True, quantize="int8")
    assert small.vae.use_tiling  # type: ignore[attr-defined]
    assert not plain.vae.use_tiling  # type: ignore[attr-defined]
    kinds = [type(module) for module in small.transformer.modules()]  # type: ignore[attr-defined]
    assert Int8Linear in kinds
    hooks = [block._forward_pre_hooks for block in small.transformer.transformer_blocks]  # type: ignore[attr-defined]
    assert all(hooks)
    with pytest.raises(KinemaError, match=r"tiny\.safetensors"):
        load_prior(spec, tiny_encoder=tmp_path / "tiny.safetensors")


def test_nano_refuses_what_it_does_not_need() -> None:
    for flag in ({"offload": True}, {"tiling": True}, {"quantize": "nf4"}, {"tiny_encoder": Path("x")}):
        with pytest.raises(KinemaError, match="nano needs none"):
            load_prior("nano", **flag)
    with pytest.raises(KinemaError, match="no such device"):
        load_prior("nano", device="gpu")
    if not torch.cuda.is_available():
        with pytest.raises(KinemaError, match="no CUDA device"):
            load_prior("nano", device="cuda:1")
