"""What a user sees where the extra, the weights or the name is missing; needs no diffusers."""

from pathlib import Path

import pytest

from kinema.errors import KinemaError
from kinema.prior import checkpoint
from kinema.prior.load import MODELS, load_prior, weights_files


def test_base_install_says_what_to_install(monkeypatch):
    monkeypatch.setattr(checkpoint, "find_spec", lambda name: None)
    with pytest.raises(KinemaError) as error:
        load_prior("cogvideox-5b")
    assert str(error.value) == (
        "--prior cogvideox-5b needs diffusers and transformers and accelerate: pip install 'kinema[gpu]'"
    )


@pytest.mark.parametrize("name", ["cogvideox-5b", "wan2.1-1.3b"])
def test_missing_weights_name_the_repository(name, monkeypatch, tmp_path):
    pytest.importorskip("diffusers", reason="needs the extra `gpu`")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(KinemaError, match=MODELS[name][1]) as error:
        load_prior(name)
    assert "\n" not in str(error.value)
    with pytest.raises(KinemaError, match=r"scheduler_config\.json: no such file|model_index\.json: no such file"):
        load_prior(f"{name}={tmp_path}")


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(KinemaError, match=r"cogvideox-9b: unknown; known are nano, cogvideox-2b"):
        load_prior("cogvideox-9b")


def test_weights_are_the_files_that_decide_what_a_prior_says(tmp_path: Path, monkeypatch):
    from kinema.prior.nano.prior import WEIGHTS

    assert weights_files("nano") == [WEIGHTS]
    read = ["model_index.json", "scheduler/scheduler_config.json", "transformer/a.safetensors", "vae/config.json"]
    for name in (*read, "transformer/a.fp16.safetensors", "vae/a.bin", "README.md", "other/b.safetensors"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert weights_files(f"wan2.1-1.3b={tmp_path}") == [tmp_path / name for name in read]
    assert weights_files(f"nano={tmp_path / 'vae' / 'config.json'}") == [tmp_path / "vae" / "config.json"]
    assert weights_files(f"wan2.1-1.3b={tmp_path / 'nothing'}") == []
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "nothing"))
    assert weights_files("wan2.1-1.3b") == []
