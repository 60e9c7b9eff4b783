"""`kinema doctor` tells what is true of this machine."""

import json
from pathlib import Path

import pytest
import torch

from kinema.cli.doctor import doctor_lines, examine, memory_lines
from kinema.cli.main import main
from kinema.prior.load import MODELS


def test_examination_is_true_and_complete(capsys: pytest.CaptureFixture) -> None:
    main(["doctor", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["packages"]["torch"] == torch.__version__
    assert len(found["cuda"]) == torch.cuda.device_count()
    assert set(found["priors"]) == {"nano", *MODELS}
    assert found["priors"]["nano"] == "ready"
    built = {path.name for path in (Path(__file__).parents[2] / "native").iterdir() if (path / "module.cpp").is_file()}
    assert set(found["kernels"]) == built
    assert "NOT BUILT" not in str(found["kernels"])
    assert "vectors of" in found["kernels"]["rasterizer"]
    assert 0 < found["memory_gb"]["free"] <= found["memory_gb"]["total"]
    assert all(seconds > 0 for seconds in found["nano"]["seconds"].values())
    assert 0.2 < found["nano"]["memory_gb"] < 20
    lines = doctor_lines(found)
    assert all("\n" not in line for line in lines)
    assert any("torch" in line for line in lines)


def test_examination_without_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    import kinema.cli.doctor

    monkeypatch.setattr(kinema.cli.doctor, "_nano_job", lambda: None)
    monkeypatch.setattr(kinema.cli.doctor, "find_spec", lambda name: None)
    monkeypatch.setattr(kinema.cli.doctor, "_version", lambda name: None)
    text = "\n".join(doctor_lines(examine()))
    assert "pip install 'kinema[gpu]'" in text
    assert "pip install 'kinema[usd]'" in text


@pytest.mark.slow
def test_memory_of_a_small_job(capsys: pytest.CaptureFixture) -> None:
    pytest.importorskip("diffusers", reason="needs the extra `gpu`")
    main(["doctor", "--prior", "modelscope", "--video-size", "8", "64", "64", "--json"])
    estimate = json.loads(capsys.readouterr().out)
    assert estimate["video"] == [8, 64, 64]
    assert set(estimate["cards"]) == {"8 GB", "12 GB", "24 GB", "40 GB"}
    peaks = {name: setting["peak_gib"] for name, setting in estimate["settings"].items()}
    assert peaks["bf16, offload"] < peaks["bf16"]
    assert any("--offload" in line or "bf16" in line for line in memory_lines(estimate))
