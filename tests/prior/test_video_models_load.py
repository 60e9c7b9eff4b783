"""What a user sees where the extra, the weights or the name is missing; needs no diffusers."""

import importlib.util

import pytest

from kinema.errors import KinemaError
from kinema.prior import checkpoint
from kinema.prior.load import MODELS, load_video_model


def test_base_install_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    checkpoint._missing.cache_clear()
    try:
        with pytest.raises(KinemaError) as error:
            load_video_model("cogvideox-5b")
    finally:
        checkpoint._missing.cache_clear()
    assert str(error.value) == (
        "--prior cogvideox-5b needs diffusers and transformers and accelerate: pip install 'kinema[gpu]'"
    )


@pytest.mark.parametrize("name", ["cogvideox-5b", "wan2.1-1.3b"])
def test_missing_weights_name_the_repository(name, monkeypatch, tmp_path):
    pytest.importorskip("diffusers", reason="needs the extra `gpu`")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(KinemaError, match=MODELS[name][1]) as error:
        load_video_model(name)
    assert "\n" not in str(error.value)
    with pytest.raises(KinemaError, match=r"scheduler_config\.json: no such file|model_index\.json: no such file"):
        load_video_model(name, tmp_path)


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(KinemaError, match=r"cogvideox-9b: unknown; known are nano, cogvideox-2b"):
        load_video_model("cogvideox-9b")
