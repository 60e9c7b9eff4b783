"""`kinema animate` with a video model that cannot be run: one line, exit code 1, and nothing is written."""

import logging
import sys
from pathlib import Path

import pytest
import torch

pytest.importorskip("diffusers", reason="needs the extra `gpu`")
pytest.importorskip("transformers", reason="needs the extra `gpu`")

from safetensors.torch import load_file, save_file

sys.path.insert(0, str(Path(__file__).parents[1] / "prior"))
from toy_checkpoints import unet

from kinema.cli.main import main
from kinema.prior import gpu, load
from kinema.prior.memory import GIB, MemoryEstimate

NO_CUDA = pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a card")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy") / "checkpoint"
    unet(folder)
    return folder


def refused(capsys: pytest.CaptureFixture[str], out: Path, *arguments: str) -> str:
    """The one line that a job ends with."""
    words = ("animate", "a red fox", "a fox is trotting", "--engine", "sds", "--no-physics", "-o", str(out / "run"))
    with pytest.raises(SystemExit) as ended:
        main([*words, *arguments])
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("kinema: ")]
    assert ended.value.code == 1
    assert len(lines) == 1
    assert "a bug" not in lines[0]
    assert not list(out.iterdir())
    return lines[0]


@NO_CUDA
@pytest.mark.parametrize("given", [("--device", "cuda", "--prior", "ltx-video"), ("--preset", "gpu")])
def test_no_cuda(given, tmp_path: Path, capsys) -> None:
    line = refused(capsys, tmp_path, *given)
    assert line == "kinema: --device cuda: this machine has no CUDA device; use --device cpu"


def test_too_little_memory_is_found_before_anything_is_loaded(tmp_path: Path, capsys, monkeypatch) -> None:
    """The folder is not there: had it been looked at first, the line would say that."""

    def counted(prior, placement, **size):
        stages = {"weights": 0, "text": 0, "denoise": 0, "backward": 0, "host": 0}
        job = {"prior": prior, "setting": "", "frames": 49, "height": 480, "width": 704, "parameters": {}}
        return MemoryEstimate(encode=(5 if placement.offload else 13) * GIB, **stages, **job)

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    card = type("Card", (), {"total_memory": 8 * GIB})
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: card)
    monkeypatch.setattr(gpu, "estimate_memory", counted)
    monkeypatch.setattr(load, "_load", lambda *_: pytest.fail("loaded"))
    line = refused(capsys, tmp_path, "--device", "cuda", "--prior", "ltx-video=nowhere")
    peak = "--prior ltx-video at 49 x 480 x 704 takes 13.0 GiB, this card has 8 GB"
    assert line == f"kinema: {peak}; --offload takes 5.0 GiB"


def test_no_folder_and_a_folder_that_is_no_checkpoint(tmp_path: Path, capsys) -> None:
    out, empty = tmp_path / "out", tmp_path / "empty"
    out.mkdir()
    empty.mkdir()
    line = refused(capsys, out, "--prior", f"ltx-video={tmp_path / 'nowhere'}")
    assert line.endswith("nowhere: no such folder; --prior ltx-video needs a checkpoint in diffusers' layout")
    for prior in ("ltx-video", "wan2.1-1.3b", "cogvideox-5b", "modelscope"):
        line = refused(capsys, out, "--prior", f"{prior}={empty}")
        assert line.endswith(".json: no such file; a diffusers checkpoint folder is needed")


def test_missing_and_misshapen_tensors(checkpoint: Path, tmp_path: Path, capsys, caplog) -> None:
    logging.getLogger("diffusers").addHandler(caplog.handler)
    weights = checkpoint / "unet" / "diffusion_pytorch_model.safetensors"
    whole = load_file(weights)
    first = sorted(whole)[0]
    out = tmp_path / "out"
    out.mkdir()
    try:
        save_file({name: value for name, value in whole.items() if name != first}, weights, {"format": "pt"})
        line = refused(capsys, out, "--prior", f"modelscope={checkpoint}", "--video-size", "4", "16", "16")
        assert f"1 weights are missing, the first is {first}" in line
        save_file(whole | {first: torch.zeros(1, 2, 3)}, weights, {"format": "pt"})
        line = refused(capsys, out, "--prior", f"modelscope={checkpoint}", "--video-size", "4", "16", "16")
        assert "cannot read the weights" in line
        assert first in line
        weights.write_bytes(weights.read_bytes()[:100])
        line = refused(capsys, out, "--prior", f"modelscope={checkpoint}", "--video-size", "4", "16", "16")
        assert "cannot read the weights" in line
        assert not caplog.records  # diffusers would have told the same in two lines of its own
    finally:
        logging.getLogger("diffusers").removeHandler(caplog.handler)
        save_file(whole, weights, {"format": "pt"})


def test_a_size_that_the_model_cannot_take(checkpoint: Path, tmp_path: Path, capsys) -> None:
    for size in ("4 17 16", "0 16 16", "4 16 -16"):
        line = refused(capsys, tmp_path, "--prior", f"modelscope={checkpoint}", "--video-size", *size.split())
        assert line == f"kinema: --video-size {size}: this U-Net needs a frame or more and sides divisible by 4"


def test_a_student_needs_videos_to_sample(checkpoint: Path, tmp_path: Path, capsys) -> None:
    given = ("--prior", f"modelscope={checkpoint}", "--video-size", "4", "16", "16", "--student", str(tmp_path))
    assert f"--student {tmp_path}: --engine sds with modelscope" in refused(capsys, tmp_path, *given)


def test_sampled_videos_of_other_characters_are_not_fitted(checkpoint: Path, tmp_path: Path, capsys) -> None:
    given = ("--prior", f"modelscope={checkpoint}", "--video-size", "4", "16", "16", "--engine", "fit")
    assert "samples videos of other characters; use --engine sds" in refused(capsys, tmp_path, *given)
