"""Write frames to files: MP4, GIF, PNG contact sheets and folders of PNG frames, several of them in one pass."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from kinema.errors import KinemaError
from kinema.files import check_output, make_folder, replacing

Frames = UInt8[np.ndarray, "frames h w channels"]


def to_bytes(video: Float[Tensor, "frames channels h w"]) -> Frames:
    """Scale [0, 1] to 0–255, rounded."""
    scaled = (video.detach().clamp(0, 1) * 255 + 0.5).to(torch.uint8)
    return scaled.permute(0, 2, 3, 1).contiguous().cpu().numpy()


def check_video_output(path: Path) -> None:
    """Raise before the work if a video cannot be written there: a file's folder must exist, a folder is made."""
    suffix = path.suffix.lower()
    if suffix not in ("", *WRITERS):
        raise KinemaError(f"{path}: cannot write {suffix}; give .mp4, .gif, .png, or a folder for single frames")
    if suffix:
        check_output(path)
    elif path.exists() and not path.is_dir():
        raise KinemaError(f"{path}: is a file; give a folder for single frames")


def write_video(
    outputs: Path | Sequence[Path], chunks: Iterable[Float[Tensor, "frames channels h w"]] | Tensor, *, fps: float
) -> None:
    """Write one video, in chunks if it is long, to every output: .mp4, .gif, .png (a contact sheet) or a folder."""
    paths = [outputs] if isinstance(outputs, Path) else outputs
    for path in paths:
        check_video_output(path)
    count = 0
    with ExitStack() as files:
        writers = [files.enter_context(WRITERS.get(path.suffix.lower(), _folder)(path, fps)) for path in paths]
        for chunk in [chunks] if isinstance(chunks, Tensor) else chunks:
            frames = to_bytes(chunk)
            for write in writers:
                write(frames)
            count += len(frames)
        if count == 0:
            raise KinemaError(f"{paths[0]}: there are no frames to write")


def contact_sheet(
    frames: Frames, *, columns: int = 6, rows: int = 4, gap: int = 2
) -> UInt8[np.ndarray, "sheet_h sheet_w channels"]:
    """Arrange up to rows × columns evenly picked frames, with the first and last, in reading order on white."""
    total, height, width, channels = frames.shape
    count = min(total, rows * columns)
    columns = min(columns, count)
    rows = -(-count // columns)
    sheet = np.full((rows * (height + gap) - gap, columns * (width + gap) - gap, channels), 255, np.uint8)
    for place, frame in enumerate(torch.linspace(0, total - 1, count).round().long().tolist()):
        y, x = place // columns * (height + gap), place % columns * (width + gap)
        sheet[y : y + height, x : x + width] = frames[frame]
    return sheet


@contextmanager
def _mp4(path: Path, fps: float) -> Iterator[Callable[[Frames], None]]:
    """H.264 in MP4, playable everywhere. Odd sizes grow by a row or column, which the format wants even."""
    import imageio_ffmpeg

    try:
        program = imageio_ffmpeg.get_ffmpeg_exe()
    except RuntimeError as error:
        raise KinemaError(f"{path}: no ffmpeg to write it with ({error})") from None
    process: subprocess.Popen[bytes] | None = None
    # Messages go to a file: a pipe that nobody reads would block the encoder once it is full.
    with tempfile.TemporaryFile() as messages, replacing(path) as partial:

        def finish(process: "subprocess.Popen[bytes]") -> None:
            process.communicate()
            if process.returncode != 0:
                messages.seek(0)
                said = messages.read().decode(errors="replace").strip().splitlines() or ["it said nothing"]
                raise KinemaError(f"{path}: ffmpeg failed with code {process.returncode} ({said[-1]})")

        def write(frames: Frames) -> None:
            nonlocal process
            if process is None:
                size = f"{frames.shape[2]}x{frames.shape[1]}"
                raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-r", f"{fps:g}", "-i", "-"]
                encoder = ["-c:v", "libx264", "-crf", "17", "-preset", "medium", "-pix_fmt", "yuv420p"]
                even = ["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-movflags", "+faststart", "-f", "mp4"]
                command = [program, "-hide_banner", "-loglevel", "error", "-y", *raw, *encoder, *even, str(partial)]
                process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=messages)
            assert process.stdin is not None
            try:
                process.stdin.write(frames[..., :3].tobytes())
            except BrokenPipeError:
                finish(process)

        try:
            yield write
            if process is not None:
                finish(process)
        finally:
            if process is not None and process.poll() is None:
                process.kill()
                process.communicate()


@contextmanager
def _gif(path: Path, fps: float) -> Iterator[Callable[[Frames], None]]:
    """An endless GIF with one palette per frame. Browsers show no frame for less than 20 ms."""
    from PIL import Image

    pictures: list[Image.Image] = []
    yield lambda frames: pictures.extend(Image.fromarray(np.ascontiguousarray(frame[..., :3])) for frame in frames)
    # GIF counts in hundredths of a second: spread the rounding, so that the length stays right.
    ends = np.round(np.arange(len(pictures) + 1) * 100 / fps)
    durations = [int(10 * step) for step in np.maximum(np.diff(ends), 2)]
    options = {"save_all": True, "append_images": pictures[1:], "duration": durations, "loop": 0, "disposal": 1}
    with replacing(path) as partial:
        pictures[0].save(partial, format="GIF", **options)


@contextmanager
def _sheet(path: Path, fps: float) -> Iterator[Callable[[Frames], None]]:
    """A contact sheet, with transparency if the frames have four channels."""
    from PIL import Image

    chunks: list[Frames] = []
    yield chunks.append
    with replacing(path) as partial:
        Image.fromarray(contact_sheet(np.concatenate(chunks))).save(partial, format="PNG")


@contextmanager
def _folder(folder: Path, fps: float) -> Iterator[Callable[[Frames], None]]:
    """frame_00000.png and so on, in a folder that is made; the further frames of a longer video are removed."""
    from PIL import Image

    new, count = not folder.exists(), 0
    make_folder(folder)
    try:
        # Apart until all are there: half a set would be taken for a whole one.
        with tempfile.TemporaryDirectory(dir=folder, suffix=".part") as partial:

            def write(frames: Frames) -> None:
                nonlocal count
                for frame in frames:
                    Image.fromarray(frame).save(f"{partial}/frame_{count:05d}.png")
                    count += 1

            yield write
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


WRITERS = {".mp4": _mp4, ".gif": _gif, ".png": _sheet}
"""Context managers by suffix; each gives a function that takes the next frames."""
