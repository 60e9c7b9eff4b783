"""Videos and pictures to files: MP4 and GIF, contact sheets, and PNG sequences with transparency."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from kinema.errors import KinemaError
from kinema.files import check_output, make_folder, replacing

Chunks = Iterable[Float[Tensor, "frames channels height width"]]
"""A video in pieces, so that a long one need never be held as a whole."""


def to_bytes(video: Float[Tensor, "frames channels h w"]) -> UInt8[np.ndarray, "frames h w channels"]:
    """[0, 1] to 0–255, rounded."""
    scaled = (video.detach().clamp(0, 1) * 255 + 0.5).to(torch.uint8)
    return scaled.permute(0, 2, 3, 1).contiguous().cpu().numpy()


def check_video_output(path: Path) -> None:
    """Say before the work that a video cannot be written there: a file's folder must exist, one of frames is made."""
    suffix = path.suffix.lower()
    if suffix not in ("", ".mp4", ".gif", ".png"):
        raise KinemaError(f"{path}: cannot write {suffix}; give .mp4, .gif, .png, or a folder for single frames")
    if suffix:
        check_output(path)
    elif path.exists() and not path.is_dir():
        raise KinemaError(f"{path}: is a file; give a folder for single frames")


def write_video(path: Path, chunks: Chunks | Tensor, *, fps: float) -> None:
    """Write .mp4, .gif, .png (a contact sheet), or, without a suffix, a folder of numbered PNG files."""
    check_video_output(path)
    pieces = [chunks] if isinstance(chunks, Tensor) else chunks
    suffix = path.suffix.lower()
    if suffix == ".mp4":
        write_mp4(path, pieces, fps=fps)
    elif suffix == ".gif":
        write_gif(path, pieces, fps=fps)
    elif suffix == ".png":
        write_png(path, contact_sheet(torch.cat(list(pieces))))
    else:
        write_frames(path, pieces)


def write_mp4(path: Path, chunks: Chunks, *, fps: float) -> None:
    """H.264 in MP4, playable everywhere. Odd sizes grow by a row or column, which the format wants even."""
    import imageio_ffmpeg

    pieces = iter(chunks)
    first = _first(path, pieces)
    _, _, height, width = first.shape
    try:
        program = imageio_ffmpeg.get_ffmpeg_exe()
    except RuntimeError as error:
        raise KinemaError(f"{path}: no ffmpeg to write it with ({error})") from None
    partial = path.with_name(path.name + ".part")
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{fps:g}", "-i", "-"]
    encoder = ["-c:v", "libx264", "-crf", "17", "-preset", "medium", "-pix_fmt", "yuv420p"]
    even = ["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-movflags", "+faststart", "-f", "mp4"]
    command = [program, "-hide_banner", "-loglevel", "error", "-y", *raw, *encoder, *even, str(partial)]
    # Messages go to a file: a pipe that nobody reads would block the encoder once it is full.
    with tempfile.TemporaryFile() as messages:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=messages) as process:
            assert process.stdin is not None
            try:
                for piece in _chain(first, pieces):
                    process.stdin.write(to_bytes(piece[:, :3]).tobytes())
                process.stdin.close()
            except BrokenPipeError:
                pass
            except BaseException:
                process.kill()
                partial.unlink(missing_ok=True)
                raise
            code = process.wait()
        if code != 0:
            messages.seek(0)
            said = messages.read().decode(errors="replace").strip().splitlines()
            partial.unlink(missing_ok=True)
            raise KinemaError(f"{path}: ffmpeg failed with code {code} ({said[-1] if said else 'it said nothing'})")
    partial.replace(path)


def write_gif(path: Path, chunks: Chunks, *, fps: float) -> None:
    """An endless GIF with one palette per frame. Browsers show no frame for less than 20 ms."""
    from PIL import Image

    pieces = iter(chunks)
    first = _first(path, pieces)
    pictures = [Image.fromarray(frame) for piece in _chain(first, pieces) for frame in to_bytes(piece[:, :3])]
    # GIF counts in hundredths of a second: spread the rounding, so that the length stays right.
    ends = np.round(np.arange(len(pictures) + 1) * 100 / fps)
    durations = [int(10 * step) for step in np.maximum(np.diff(ends), 2)]
    options = {"save_all": True, "append_images": pictures[1:], "duration": durations, "loop": 0, "disposal": 1}
    with replacing(path) as partial:
        pictures[0].save(partial, format="GIF", **options)


def write_png(path: Path, picture: Float[Tensor, "channels h w"]) -> None:
    """One picture, with transparency if it has four channels."""
    from PIL import Image

    with replacing(path) as partial:
        Image.fromarray(to_bytes(picture[None])[0]).save(partial, format="PNG")


def write_frames(folder: Path, chunks: Chunks) -> None:
    """frame_00000.png and so on, in a folder that is made; what a longer video left there before is removed."""
    from PIL import Image

    new = not folder.exists()
    make_folder(folder)
    count = 0
    try:
        # Apart until all are there: half a set would be taken for a whole one.
        with tempfile.TemporaryDirectory(dir=folder, suffix=".part") as partial:
            for piece in chunks:
                for frame in piece:
                    Image.fromarray(to_bytes(frame[None])[0]).save(f"{partial}/frame_{count:05d}.png")
                    count += 1
            if count == 0:
                raise KinemaError(f"{folder}: there are no frames to write")
            for path in Path(partial).iterdir():
                path.replace(folder / path.name)
    except BaseException as error:
        if new:
            shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise KinemaError(f"{folder}: cannot be written ({error.strerror or error})") from None
        raise
    for old in folder.glob("frame_*.png"):
        if old.stem[6:].isdigit() and int(old.stem[6:]) >= count:
            old.unlink()


def contact_sheet(
    video: Float[Tensor, "frames channels h w"], *, columns: int = 6, rows: int = 4, gap: int = 2
) -> Float[Tensor, "channels sheet_h sheet_w"]:
    """Up to rows × columns frames, evenly picked, first and last among them, in reading order on white."""
    frames, channels, height, width = video.shape
    count = min(frames, rows * columns)
    if count == 0:
        raise KinemaError("a contact sheet needs at least one frame")
    columns = min(columns, count)
    rows = -(-count // columns)
    picked = torch.linspace(0, frames - 1, count).round().long()
    sheet = video.new_ones(channels, rows * (height + gap) - gap, columns * (width + gap) - gap)
    for place, frame in enumerate(picked.tolist()):
        y, x = place // columns * (height + gap), place % columns * (width + gap)
        sheet[:, y : y + height, x : x + width] = video[frame].detach()
    return sheet


def _first(path: Path, pieces: Iterator[Tensor]) -> Tensor:
    first = next(pieces, None)
    if first is None or len(first) == 0:
        raise KinemaError(f"{path}: there are no frames to write")
    return first


def _chain(first: Tensor, rest: Iterator[Tensor]) -> Iterator[Tensor]:
    yield first
    yield from rest
