"""Tiny checkpoints of the real diffusers classes, in the layout of the published ones."""

import json
from collections.abc import Callable
from pathlib import Path

import torch

TEXT = 16


def write_tokenizer(folder: Path, *, words: str = "a fox is trotting the bear walks") -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: k for k, word in enumerate(["<pad>", "</s>", "<unk>", *words.split()])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder / "tokenizer")


def write_t5(folder: Path, *, multilingual: bool = False) -> None:
    from transformers import T5Config, T5EncoderModel, UMT5Config, UMT5EncoderModel

    size = {"vocab_size": 16, "d_model": TEXT, "d_kv": 4, "d_ff": 8, "num_layers": 1, "num_heads": 2}
    encoder = UMT5EncoderModel(UMT5Config(**size)) if multilingual else T5EncoderModel(T5Config(**size))
    encoder.save_pretrained(folder / "text_encoder")
    write_tokenizer(folder)


def write_index(folder: Path, pipeline: str, **entries: object) -> None:
    (folder / "model_index.json").write_text(json.dumps({"_class_name": pipeline, **entries}))


def nearly_sure(vae: torch.nn.Module, convolution: torch.nn.Module) -> torch.nn.Module:
    """A posterior without spread, so that a pipeline that samples it agrees with its mean."""
    half = convolution.bias.shape[0] // 2
    with torch.no_grad():
        convolution.weight[half:] = 0
        convolution.bias[half:] = -30
    return vae


def cogvideox(
    folder: Path, *, rotary: bool = True, image: bool = False, learned: bool = False, pairs: bool = False
) -> None:
    from diffusers import AutoencoderKLCogVideoX, CogVideoXDDIMScheduler, CogVideoXTransformer3DModel

    vae = AutoencoderKLCogVideoX(
        block_out_channels=(4, 4, 8, 8),
        latent_channels=4,
        layers_per_block=1,
        norm_num_groups=2,
        sample_height=32,
        sample_width=48,
        scaling_factor=0.7,
        invert_scale_latents=pairs and image,
    )
    nearly_sure(vae, vae.encoder.conv_out.conv).save_pretrained(folder / "vae")
    CogVideoXTransformer3DModel(
        num_attention_heads=2,
        attention_head_dim=16,
        in_channels=8 if image else 4,
        out_channels=4,
        time_embed_dim=8,
        ofs_embed_dim=8 if pairs and image else None,
        text_embed_dim=TEXT,
        num_layers=2,
        sample_width=6,
        sample_height=4,
        sample_frames=17,
        patch_size=2,
        patch_size_t=2 if pairs else None,
        max_text_seq_length=8,
        use_rotary_positional_embeddings=rotary,
        use_learned_positional_embeddings=learned,
        patch_bias=not pairs,
    ).save_pretrained(folder / "transformer")
    CogVideoXDDIMScheduler(
        beta_schedule="scaled_linear",
        prediction_type="v_prediction",
        snr_shift_scale=1.0 if rotary else 3.0,
        rescale_betas_zero_snr=True,
        set_alpha_to_one=True,
        timestep_spacing="trailing",
    ).save_pretrained(folder / "scheduler")
    write_t5(folder)
    write_index(folder, "CogVideoXImageToVideoPipeline" if image else "CogVideoXPipeline")


TOYS: dict[str, Callable[[Path], None]] = {
    "cogvideox-2b": lambda folder: cogvideox(folder, rotary=False),
    "cogvideox-5b": cogvideox,
    "cogvideox-5b-i2v": lambda folder: cogvideox(folder, image=True, learned=True),
    "cogvideox-1.5-5b": lambda folder: cogvideox(folder, pairs=True),
    "cogvideox-1.5-5b-i2v": lambda folder: cogvideox(folder, image=True, pairs=True),
}


def pipeline_estimate(name, folder, prior, clean, noise, shot, prompt, *, guidance):
    """One guided step of diffusers' own pipeline: (t, noisy latents, the clean estimate of its scheduler)."""
    return cogvideox_estimate(folder, prior, clean, noise, shot, prompt, guidance=guidance)


def cogvideox_estimate(folder, prior, clean, noise, shot, prompt, *, guidance):
    from diffusers import (
        AutoencoderKLCogVideoX,
        CogVideoXDDIMScheduler,
        CogVideoXImageToVideoPipeline,
        CogVideoXPipeline,
        CogVideoXTransformer3DModel,
    )
    from transformers import AutoTokenizer, T5EncoderModel

    cls = CogVideoXImageToVideoPipeline if prior.from_image else CogVideoXPipeline
    pipeline = cls(
        tokenizer=AutoTokenizer.from_pretrained(folder / "tokenizer"),
        text_encoder=T5EncoderModel.from_pretrained(folder / "text_encoder"),
        vae=AutoencoderKLCogVideoX.from_pretrained(folder / "vae"),
        transformer=CogVideoXTransformer3DModel.from_pretrained(folder / "transformer"),
        scheduler=CogVideoXDDIMScheduler.from_pretrained(folder / "scheduler"),
    )
    pipeline.set_progress_bar_config(disable=True)
    scheduler, seen = pipeline.scheduler, []
    step = scheduler.step

    def recording(model_output, timestep, sample, **options):
        seen.append(step(model_output, timestep, sample, **(options | {"return_dict": True})).pred_original_sample)
        return step(model_output, timestep, sample, **options)

    scheduler.step = recording
    scheduler.set_timesteps(3)
    timestep = int(scheduler.timesteps[1])
    t = timestep / 999
    noisy = prior.add_noise(clean, noise, t)
    # The first of three steps is at pure noise, the second is not: its input is set to our noisy latents.
    pipeline(
        **({"image": shot.reference[:1]} if prior.from_image else {}),
        prompt=prompt,
        num_frames=prior.frames,
        height=prior.height,
        width=prior.width,
        num_inference_steps=3,
        guidance_scale=guidance,
        latents=clean[None],
        max_sequence_length=8,
        output_type="latent",
        callback_on_step_end=lambda pipe, index, when, tensors: {"latents": noisy[None]},
        callback_on_step_end_tensor_inputs=["latents"],
    )
    expected_noisy = scheduler.add_noise(clean, noise, torch.tensor([timestep]))
    torch.testing.assert_close(noisy, expected_noisy, atol=1e-5, rtol=1e-4)
    return t, noisy, seen[1][0]
