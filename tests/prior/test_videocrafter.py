"""The published conversion of VideoCrafter2: its U-Net at the folder's root, with an embedding of the frame rate."""

import shutil
from pathlib import Path

import pytest
import torch

pytest.importorskip("diffusers", reason="needs the extra `gpu`")
pytest.importorskip("transformers", reason="needs the extra `gpu`")

from diffusers.models.embeddings import TimestepEmbedding, Timesteps
from safetensors.torch import load_file, save_file
from toy_checkpoints import unet as write_unet
from toy_checkpoints import videocrafter as write_videocrafter

from kinema.errors import KinemaError
from kinema.prior.load import load_prior, weights_files
from kinema.prior.protocol import Context


def test_the_frame_rate_is_added_to_the_time(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("KINEMA_CACHE", str(tmp_path / "cache"))
    plain, crafted = tmp_path / "plain", tmp_path / "crafted"
    write_videocrafter(crafted)
    shutil.copytree(crafted, plain)
    weights, others = (next(folder.glob("*.safetensors")) for folder in (crafted, plain))
    tensors = load_file(weights)
    told = {name.removeprefix("fps_embedding."): value for name, value in tensors.items() if "fps_embedding" in name}
    save_file({name: value for name, value in tensors.items() if "fps_embedding" not in name}, others)
    embedding = TimestepEmbedding(4, 16)
    embedding.load_state_dict(told)
    a, b = (load_prior(f"zeroscope={folder}", video_size=(4, 16, 16)) for folder in (plain, crafted))
    step = torch.tensor([[0.1, 0.2, 0.3, 0.4]])
    rate = embedding(Timesteps(4, True, 0)(torch.tensor([24.0])))
    torch.testing.assert_close(b.unet.time_embedding(step), a.unet.time_embedding(step) + rate)
    z, context = torch.randn(4, 4, 8, 8), Context(torch.empty(0, 3, 16, 16))
    found = [p.denoise(z, 0.5, [p.condition("a fox is trotting", context)])[0] for p in (a, b)]
    assert not torch.equal(*found)
    save_file(tensors | {"fps_embedding.linear_1.weight": torch.zeros(3, 3)}, weights)
    with pytest.raises(KinemaError, match="fps_embedding does not fit"):
        load_prior(f"zeroscope={crafted}", video_size=(4, 16, 16))


def test_it_has_the_size_that_it_was_trained_with(tmp_path: Path) -> None:
    """Its configuration, and Zeroscope's, hold ModelScope's size instead."""
    for write, size in ((write_videocrafter, (16, 320, 512)), (write_unet, (24, 320, 576))):
        write(tmp_path / write.__name__)
        prior = load_prior(f"zeroscope={tmp_path / write.__name__}")
        assert (prior.frames, prior.height, prior.width) == size


def test_its_weights_are_among_the_files_that_a_resumed_run_checks(tmp_path: Path) -> None:
    write_videocrafter(tmp_path)
    found = {file.relative_to(tmp_path).as_posix() for file in weights_files(f"zeroscope={tmp_path}")}
    assert {"config.json", "diffusion_pytorch_model.safetensors", "vae/config.json"} <= found


def test_pickles_only_are_one_line_with_a_way_out(tmp_path: Path) -> None:
    write_unet(tmp_path)
    for file in (tmp_path / "unet").glob("*.safetensors"):
        file.rename(file.with_suffix(".bin"))
    with pytest.raises(
        KinemaError, match=r"diffusion_pytorch_model\.bin, a pickle, .* save_pretrained\(FOLDER\)"
    ) as error:
        load_prior(f"zeroscope={tmp_path}")
    assert "\n" not in str(error.value)


def test_missing_and_misshapen_tensors_and_a_wrong_size_are_one_line(tmp_path: Path) -> None:
    write_unet(tmp_path)
    with pytest.raises(KinemaError, match="sides divisible by 4") as error:
        load_prior(f"zeroscope={tmp_path}", video_size=(4, 17, 16))
    assert "\n" not in str(error.value)
    weights = next((tmp_path / "unet").glob("*.safetensors"))
    tensors = load_file(weights)
    first = sorted(tensors)[0]
    for broken in (
        {name: value for name, value in tensors.items() if name != first},
        tensors | {first: torch.zeros(1, 2, 3)},
    ):
        save_file(broken, weights, metadata={"format": "pt"})
        with pytest.raises(KinemaError, match="unet") as error:
            load_prior(f"zeroscope={tmp_path}", video_size=(4, 16, 16))
        assert "\n" not in str(error.value)
