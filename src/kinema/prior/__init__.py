"""Video diffusion models as denoisers behind one protocol (`protocol.py`). A prior knows no 3D.

`load.load_prior` gives one by name: `nano/` is embedded; `cogvideox`, `wan`, `ltx` and `unet` run through diffusers,
with `checkpoint`, `latents`, `noise`, `text_cache`, `quantize` and `tiny_encoder` as their parts; `memory` estimates
what they take.
"""
