"""Tiny checkpoints of the real diffusers classes, in the layout of the published ones."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.testing import assert_close

TEXT = 16


def write_tokenizer(folder: Path, *, tokens: int = 512, words: str = "a fox is trotting the bear walks") -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: k for k, word in enumerate(["<pad>", "</s>", "<unk>", *words.split()])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=tokens,
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


def wan(folder: Path, *, experts: bool = False, patches: bool = False) -> None:
    """Wan 2.1; `experts`: the 14B of 2.2 with two; `patches`: its 5B with patches in the VAE and a time per token."""
    from diffusers import AutoencoderKLWan, UniPCMultistepScheduler, WanTransformer3DModel

    patched = {"is_residual": True, "patch_size": 2, "in_channels": 12, "out_channels": 12} if patches else {}
    AutoencoderKLWan(
        base_dim=4,
        z_dim=4,
        dim_mult=[1, 1, 2, 2],
        num_res_blocks=1,
        latents_mean=[0.1, -0.2, 0.0, 0.3],
        latents_std=[0.5, 1.0, 2.0, 0.8],
        scale_factor_spatial=16 if patches else 8,
        **patched,
    ).save_pretrained(folder / "vae")
    for part in ("transformer", "transformer_2") if experts else ("transformer",):
        WanTransformer3DModel(
            num_attention_heads=2,
            attention_head_dim=12,
            in_channels=4,
            out_channels=4,
            text_dim=TEXT,
            freq_dim=8,
            ffn_dim=16,
            num_layers=2,
            rope_max_seq_len=32,
        ).save_pretrained(folder / part)
    UniPCMultistepScheduler(prediction_type="flow_prediction", use_flow_sigmas=True, flow_shift=3.0).save_pretrained(
        folder / "scheduler"
    )
    write_t5(folder, multilingual=True)
    write_index(folder, "WanPipeline", boundary_ratio=0.875 if experts else None, expand_timesteps=patches)


def wan_vace(folder: Path) -> None:
    """A control model of Wan 2.1."""
    from diffusers import AutoencoderKLWan, UniPCMultistepScheduler, WanVACETransformer3DModel

    mean, deviation = [0.1, -0.2, 0.0, 0.3], [0.5, 1.0, 2.0, 0.8]
    vae = AutoencoderKLWan(
        base_dim=4, z_dim=4, dim_mult=[1, 1, 2, 2], num_res_blocks=1, latents_mean=mean, latents_std=deviation
    )
    vae.save_pretrained(folder / "vae")
    # Latents of what is kept and of what is painted, and the mask in patches of the VAE's cell.
    control = {"vace_layers": [0, 1], "vace_in_channels": 2 * 4 + 8 * 8}
    size = {"in_channels": 4, "out_channels": 4, "text_dim": TEXT, "freq_dim": 8, "ffn_dim": 16, "num_layers": 2}
    heads = {"num_attention_heads": 2, "attention_head_dim": 12, "rope_max_seq_len": 32}
    WanVACETransformer3DModel(**heads, **size, **control).save_pretrained(folder / "transformer")
    scheduler = UniPCMultistepScheduler(prediction_type="flow_prediction", use_flow_sigmas=True, flow_shift=3.0)
    scheduler.save_pretrained(folder / "scheduler")
    write_t5(folder, multilingual=True)
    write_index(folder, "WanVACEPipeline")


def ltx(folder: Path) -> None:
    from diffusers import AutoencoderKLLTXVideo, FlowMatchEulerDiscreteScheduler, LTXVideoTransformer3DModel

    channels = {f"{side}block_out_channels": (4, 4, 8, 8) for side in ("", "decoder_")}
    layers = {f"{side}layers_per_block": (1, 1, 1, 1, 1) for side in ("", "decoder_")}
    vae = AutoencoderKLLTXVideo(latent_channels=8, **channels, **layers)
    vae.latents_mean += torch.linspace(-0.2, 0.2, 8)
    vae.latents_std *= torch.linspace(0.5, 2.0, 8)
    vae.save_pretrained(folder / "vae")
    LTXVideoTransformer3DModel(
        in_channels=8,
        out_channels=8,
        num_attention_heads=2,
        attention_head_dim=8,
        cross_attention_dim=16,
        caption_channels=TEXT,
        num_layers=2,
    ).save_pretrained(folder / "transformer")
    FlowMatchEulerDiscreteScheduler(
        use_dynamic_shifting=True, base_image_seq_len=1024, base_shift=0.95, max_shift=2.05, shift_terminal=0.1
    ).save_pretrained(folder / "scheduler")
    write_t5(folder)
    write_index(folder, "LTXPipeline")


def unet(folder: Path) -> None:
    from diffusers import AutoencoderKL, DDIMScheduler, UNet3DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel

    AutoencoderKL(
        block_out_channels=(4, 4),
        down_block_types=("DownEncoderBlock2D", "DownEncoderBlock2D"),
        up_block_types=("UpDecoderBlock2D", "UpDecoderBlock2D"),
        norm_num_groups=2,
        scaling_factor=0.18215,
    ).save_pretrained(folder / "vae")
    UNet3DConditionModel(
        sample_size=8,
        block_out_channels=(4, 8),
        layers_per_block=1,
        down_block_types=("CrossAttnDownBlock3D", "DownBlock3D"),
        up_block_types=("UpBlock3D", "CrossAttnUpBlock3D"),
        cross_attention_dim=TEXT,
        attention_head_dim=4,
        norm_num_groups=2,
    ).save_pretrained(folder / "unet")
    DDIMScheduler(
        beta_schedule="scaled_linear", beta_start=0.00085, beta_end=0.012, clip_sample=False, set_alpha_to_one=False
    ).save_pretrained(folder / "scheduler")
    CLIPTextModel(
        CLIPTextConfig(
            vocab_size=16,
            hidden_size=TEXT,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            max_position_embeddings=8,
            eos_token_id=1,
            pad_token_id=0,
            bos_token_id=2,
        )
    ).save_pretrained(folder / "text_encoder")
    write_tokenizer(folder, tokens=8)
    write_index(folder, "TextToVideoSDPipeline")


def videocrafter(folder: Path) -> None:
    """The published conversion: the U-Net at the folder's root, with an embedding of the frame rate."""
    from diffusers.models.embeddings import TimestepEmbedding
    from safetensors.torch import load_file, save_file

    unet(folder)
    for file in (folder / "unet").iterdir():
        file.rename(folder / file.name)
    (folder / "unet").rmdir()
    weights = next(folder.glob("*.safetensors"))
    embedding = TimestepEmbedding(4, 16).state_dict()
    more = {f"fps_embedding.{name}": value for name, value in embedding.items()}
    save_file(load_file(weights) | more, weights, metadata={"format": "pt"})


@dataclass(frozen=True)
class Toy:
    """How a checkpoint is written, the size it is run at, and its twin in diffusers."""

    write: Callable[[Path], None]
    estimate: Callable[..., tuple[float, Tensor, Tensor]]
    video_size: tuple[int, int, int] | None = None


def cogvideox_estimate(folder, prior, clean, noise, context, prompt, *, guidance):
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
        **({"image": context.reference[:1]} if prior.from_image else {}),
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
    assert_close(noisy, expected_noisy, atol=1e-5, rtol=1e-4)
    return t, noisy, seen[1][0]


def wan_estimate(folder, prior, clean, noise, context, prompt, *, guidance):
    from diffusers import AutoencoderKLWan, UniPCMultistepScheduler, WanPipeline, WanTransformer3DModel
    from transformers import AutoTokenizer, UMT5EncoderModel

    index = json.loads((folder / "model_index.json").read_text())
    pipeline = WanPipeline(
        tokenizer=AutoTokenizer.from_pretrained(folder / "tokenizer"),
        text_encoder=UMT5EncoderModel.from_pretrained(folder / "text_encoder"),
        vae=AutoencoderKLWan.from_pretrained(folder / "vae"),
        transformer=WanTransformer3DModel.from_pretrained(folder / "transformer"),
        transformer_2=(
            WanTransformer3DModel.from_pretrained(folder / "transformer_2") if index["boundary_ratio"] else None
        ),
        scheduler=UniPCMultistepScheduler.from_pretrained(folder / "scheduler"),
        boundary_ratio=index["boundary_ratio"],
        expand_timesteps=index["expand_timesteps"],
    )
    pipeline.set_progress_bar_config(disable=True)
    scheduler, seen = pipeline.scheduler, []
    step = scheduler.step

    def recording(model_output, timestep, sample, **options):
        if scheduler.step_index is None:
            scheduler._init_step_index(timestep)
        seen.append(scheduler.convert_model_output(model_output, sample=sample))
        return step(model_output, timestep, sample, **options)

    scheduler.step = recording
    scheduler.set_timesteps(3)
    sigma = float(scheduler.sigmas[1])
    t = unshifted(sigma, prior.shift)
    noisy = prior.add_noise(clean, noise, t)
    assert_close(noisy, (1 - sigma) * clean + sigma * noise, atol=1e-5, rtol=1e-4)
    pipeline(
        prompt=prompt,
        negative_prompt="",
        num_frames=prior.frames,
        height=prior.height,
        width=prior.width,
        num_inference_steps=3,
        guidance_scale=guidance,
        latents=clean.transpose(0, 1)[None],
        output_type="latent",
        callback_on_step_end=lambda pipe, index, when, tensors: {"latents": noisy.transpose(0, 1)[None]},
    )
    return t, noisy, seen[1][0].transpose(0, 1)


def ltx_estimate(folder, prior, clean, noise, context, prompt, *, guidance):
    from diffusers import (
        AutoencoderKLLTXVideo,
        FlowMatchEulerDiscreteScheduler,
        LTXImageToVideoPipeline,
        LTXPipeline,
        LTXVideoTransformer3DModel,
    )
    from transformers import AutoTokenizer, T5EncoderModel

    pipeline = (LTXImageToVideoPipeline if prior.from_image else LTXPipeline)(
        scheduler=FlowMatchEulerDiscreteScheduler.from_pretrained(folder / "scheduler"),
        vae=AutoencoderKLLTXVideo.from_pretrained(folder / "vae"),
        text_encoder=T5EncoderModel.from_pretrained(folder / "text_encoder"),
        tokenizer=AutoTokenizer.from_pretrained(folder / "tokenizer"),
        transformer=LTXVideoTransformer3DModel.from_pretrained(folder / "transformer"),
    )
    pipeline.set_progress_bar_config(disable=True)
    seen, levels = [], []
    step = pipeline.scheduler.step

    def recording(model_output, timestep, sample, **options):
        result = step(model_output, timestep, sample, **options)
        seen.append(result[0])
        return result

    def callback(pipe, index, when, tensors):
        levels.append(unshifted(float(pipe.scheduler.sigmas[1]), prior.shift))
        noisy = given_first(prior.add_noise(clean, noise, levels[0]))
        return {"latents": pipe._pack_latents(noisy.transpose(0, 1)[None])}

    def given_first(latents):
        """With the first frame, which this pipeline is given as clean latents and keeps."""
        if not prior.from_image:
            return latents
        return torch.cat((prior.condition(prompt, context)["image"], latents[1:]))

    pipeline.scheduler.step = recording
    pipeline(
        **({"image": context.reference[:1]} if prior.from_image else {}),
        prompt=prompt,
        negative_prompt="",
        num_frames=prior.frames,
        height=prior.height,
        width=prior.width,
        frame_rate=prior.needs.fps,
        num_inference_steps=2,
        guidance_scale=guidance,
        latents=pipeline._pack_latents(given_first(clean).transpose(0, 1)[None]),
        output_type="latent",
        callback_on_step_end=callback,
    )
    # The last of Euler's steps goes to σ = 0: it ends at the clean estimate.
    last = seen[1] if prior.from_image else pipeline._unpack_latents(seen[1], clean.shape[0], *clean.shape[2:])
    last = last[0].transpose(0, 1)
    last = given_first(torch.cat((last[:1], last))) if prior.from_image else last
    return levels[0], prior.add_noise(clean, noise, levels[0]), last


def unet_estimate(folder, prior, clean, noise, context, prompt, *, guidance):
    from diffusers import AutoencoderKL, DDIMScheduler, TextToVideoSDPipeline, UNet3DConditionModel
    from transformers import AutoTokenizer, CLIPTextModel

    pipeline = TextToVideoSDPipeline(
        vae=AutoencoderKL.from_pretrained(folder / "vae"),
        text_encoder=CLIPTextModel.from_pretrained(folder / "text_encoder"),
        tokenizer=AutoTokenizer.from_pretrained(folder / "tokenizer"),
        unet=UNet3DConditionModel.from_pretrained(folder / "unet"),
        scheduler=DDIMScheduler.from_pretrained(folder / "scheduler"),
    )
    pipeline.set_progress_bar_config(disable=True)
    scheduler, seen = pipeline.scheduler, []
    step = scheduler.step

    def recording(model_output, timestep, sample, **options):
        seen.append(step(model_output, timestep, sample, **options).pred_original_sample)
        return step(model_output, timestep, sample, **options)

    scheduler.step = recording
    scheduler.set_timesteps(2)
    timestep = int(scheduler.timesteps[0])
    t = timestep / 999
    noisy = prior.add_noise(clean, noise, t)
    assert_close(noisy, scheduler.add_noise(clean, noise, torch.tensor([timestep])), atol=1e-5, rtol=1e-4)
    pipeline(
        prompt=prompt,
        num_frames=prior.frames,
        num_inference_steps=2,
        guidance_scale=guidance,
        latents=noisy.transpose(0, 1)[None],
        output_type="latent",
    )
    # The pipeline hands its scheduler one image per frame.
    return t, noisy, seen[0]


def unshifted(sigma: float, shift: float) -> float:
    """t of σ = s t / (1 + (s - 1) t)."""
    return sigma / (shift - (shift - 1) * sigma)


TOYS = {
    "cogvideox-2b": Toy(lambda folder: cogvideox(folder, rotary=False), cogvideox_estimate),
    "cogvideox-5b": Toy(cogvideox, cogvideox_estimate),
    "cogvideox-5b-i2v": Toy(lambda folder: cogvideox(folder, image=True, learned=True), cogvideox_estimate),
    "cogvideox-1.5-5b": Toy(lambda folder: cogvideox(folder, pairs=True), cogvideox_estimate, (17, 32, 48)),
    "cogvideox-1.5-5b-i2v": Toy(
        lambda folder: cogvideox(folder, image=True, pairs=True), cogvideox_estimate, (17, 32, 48)
    ),
    "wan2.1-1.3b": Toy(wan, wan_estimate, (9, 16, 32)),
    "wan2.1-14b": Toy(wan, wan_estimate, (9, 16, 32)),
    "wan2.2-5b": Toy(lambda folder: wan(folder, patches=True), wan_estimate, (9, 32, 64)),
    "wan2.2-a14b": Toy(lambda folder: wan(folder, experts=True), wan_estimate, (9, 16, 32)),
    "ltx-video": Toy(ltx, ltx_estimate, (9, 64, 96)),
    "ltx-video-i2v": Toy(ltx, ltx_estimate, (9, 64, 96)),
    "modelscope": Toy(unet, unet_estimate, (4, 16, 16)),
}
