import subprocess

import numpy as np
import pytest
import torch
from PIL import Image
from torch.testing import assert_close

from kinema.asset.character import Character, Mesh, Skeleton
from kinema.errors import KinemaError
from kinema.motion.motion import Motion
from kinema.render.show import FilmOptions, render_character
from kinema.render.video import contact_sheet, to_bytes, write_video
from kinema.rig.kinematics import Rig


def clip(frames: int = 7, height: int = 30, width: int = 41) -> torch.Tensor:
    """A bright bar that walks over a slope of colours; odd size."""
    x = torch.linspace(0, 1, width).expand(frames, 3, height, width).clone()
    for k in range(frames):
        x[k, :, :, 5 * k : 5 * k + 5] = torch.tensor([1.0, 0.2, 0.2])[:, None, None]
    return x


def decode(path, height: int, width: int) -> np.ndarray:
    import imageio_ffmpeg

    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", "-i", str(path)]
    raw = subprocess.run([*command, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"], capture_output=True, check=True).stdout
    return np.frombuffer(raw, dtype=np.uint8).reshape(-1, height, width, 3)


def test_mp4_holds_the_frames_in_order(tmp_path):
    video = clip()
    write_video(tmp_path / "out.mp4", (video[k : k + 3] for k in range(0, 7, 3)), fps=24.0)
    back = decode(tmp_path / "out.mp4", 30, 42)
    assert len(back) == 7
    error = back[:, :, :41].astype(float) - to_bytes(video)
    assert np.sqrt((error**2).mean()) < 12
    assert [path.name for path in tmp_path.iterdir()] == ["out.mp4"]


def test_gif_plays_as_long_as_the_video(tmp_path):
    write_video(tmp_path / "out.gif", clip(), fps=30.0)
    with Image.open(tmp_path / "out.gif") as gif:
        durations = []
        for frame in range(gif.n_frames):
            gif.seek(frame)
            durations.append(gif.info["duration"])
        assert gif.size == (41, 30)
    assert len(durations) == 7
    assert sum(durations) == pytest.approx(7000 / 30, abs=10)


def test_sheet_shows_first_and_last_frame_in_reading_order(tmp_path):
    video = torch.arange(10.0)[:, None, None, None].expand(10, 3, 4, 5) / 10
    frames = to_bytes(video)
    sheet = contact_sheet(frames, columns=3, rows=2, gap=1)
    assert sheet.shape == (9, 17, 3)
    picked = [sheet[y, x, 0] for y in (0, 5) for x in (0, 6, 12)]
    assert picked == [frames[k, 0, 0, 0] for k in (0, 2, 4, 5, 7, 9)]
    assert (sheet[4] == 255).all()
    write_video(tmp_path / "sheet.png", video, fps=24.0)
    with Image.open(tmp_path / "sheet.png") as written:
        assert written.size == (6 * 7 - 2, 2 * 6 - 2)


def test_one_pass_writes_all_outputs(tmp_path):
    asked = []

    def chunks():
        for k in range(0, 7, 3):
            asked.append(k)
            yield clip()[k : k + 3]

    outputs = [tmp_path / name for name in ("film.mp4", "film.gif", "sheet.png", "frames")]
    write_video(outputs, chunks(), fps=24.0)
    assert asked == [0, 3, 6]
    for path in outputs:
        alone = tmp_path / f"alone{path.suffix}"
        write_video(alone, clip(), fps=24.0)
        for one, other in zip(*(sorted(p.iterdir()) if p.is_dir() else [p] for p in (path, alone)), strict=True):
            assert one.read_bytes() == other.read_bytes()


def test_errors_are_one_line_and_leave_nothing_behind(tmp_path):
    with pytest.raises(KinemaError, match=r"cannot write \.avi"):
        write_video(tmp_path / "out.avi", clip(), fps=24.0)
    with pytest.raises(KinemaError, match="no frames"):
        write_video(tmp_path / "out.mp4", [], fps=24.0)
    with pytest.raises(KinemaError, match="ffmpeg failed"):
        write_video(tmp_path / "out.mp4", clip(), fps=-1.0)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_said_before_the_work(tmp_path):
    def never():
        raise AssertionError("asked for a frame")
        yield

    (tmp_path / "file").touch()
    empty = Character("empty", Mesh(np.zeros((0, 3)), np.zeros((0, 3), int), np.zeros((0, 3))))  # nothing to work on
    for name, word in (("no/out.mp4", "there is no folder"), ("out.avi", r"\.avi"), ("file", "is a file")):
        with pytest.raises(KinemaError, match=word):
            write_video(tmp_path / name, never(), fps=24.0)
        with pytest.raises(KinemaError, match=word):
            render_character(empty, None, tmp_path / name)
    # The folder of single frames is the result itself, and is made with those above it.
    write_video(tmp_path / "new" / "frames", clip(), fps=24.0)
    assert len(list((tmp_path / "new" / "frames").iterdir())) == len(clip())


def rod() -> Character:
    import trimesh

    box = trimesh.creation.box((0.2, 1.0, 0.3))
    vertices = np.asarray(box.vertices) + [0, 0.5, 0]
    share = np.clip(vertices[:, 1:2], 0, 1)
    skeleton = Skeleton(("a", "b"), (-1, 0), np.array([[0.0, 0, 0], [0, 0.5, 0]]), np.array([[0.0, 0.5, 0], [0, 1, 0]]))
    mesh = Mesh(vertices, np.asarray(box.faces), np.full((8, 3), 0.2))
    return Character("rod", mesh, skeleton, np.concatenate((1 - share, share), -1))


def test_a_film_of_a_character_moves_and_a_still_one_turns(tmp_path):
    character = rod()
    assert character.skeleton is not None
    rig = Rig.from_skeleton(character.skeleton)
    motion = Motion.rest(rig, frames=4, fps=24.0)
    motion.angles[:, 1, 0] = torch.linspace(0, 1, 4)
    options = FilmOptions(width=32, height=24, count=500, turn=5, transparent=True, light=0.0)
    for name, what, frames in (("moves", motion, 4), ("turns", None, 5)):
        render_character(character, what, tmp_path / name, options=options)
        files = sorted((tmp_path / name).iterdir())
        assert [file.name for file in files] == [f"frame_{k:05d}.png" for k in range(frames)]
        pictures = [np.asarray(Image.open(file)) for file in files]
        assert pictures[0].shape == (24, 32, 4)
        assert (pictures[0] != pictures[-1]).any()
        # Where it is opaque it has the mesh's colour; the corner is clear.
        inside = pictures[0][pictures[0][..., 3] > 250]
        assert len(inside) > 10
        assert_close(inside[:, :3].astype(float), np.full((len(inside), 3), 51.0), atol=2, rtol=0)
        assert pictures[0][0, 0, 3] == 0
    render_character(character, motion[:2], tmp_path / "moves", options=options)
    assert len(list((tmp_path / "moves").iterdir())) == 2


def test_a_film_of_a_loop_does_not_show_its_first_pose_twice(tmp_path):
    """Players repeat films; single frames are those of the motion."""
    character = rod()
    assert character.skeleton is not None
    motion = Motion.rest(Rig.from_skeleton(character.skeleton), frames=5, fps=10.0)
    motion.angles[:, 1, 0] = torch.tensor([0.0, 0.5, 1.0, 0.5, 0.0])
    options = FilmOptions(width=32, height=24, count=500)
    render_character(character, motion, tmp_path / "loop.gif", options=options)
    with Image.open(tmp_path / "loop.gif") as gif:
        assert gif.n_frames == 4
    render_character(character, motion, tmp_path / "frames", options=options)
    assert len(list((tmp_path / "frames").iterdir())) == 5


def test_a_film_needs_what_it_shows(tmp_path):
    bare = Character("bare", rod().mesh)
    assert rod().skeleton is not None
    motion = Motion.rest(Rig.from_skeleton(rod().skeleton), frames=2, fps=24.0)
    with pytest.raises(KinemaError, match="bare: has no skin weights"):
        render_character(bare, motion, tmp_path / "a.mp4", options=FilmOptions(count=100))
    with pytest.raises(KinemaError, match="only PNG keeps transparency"):
        render_character(bare, None, tmp_path / "a.mp4", options=FilmOptions(transparent=True))


def test_frames_appear_all_or_none(tmp_path):
    def broken(error):
        yield torch.zeros(2, 3, 4, 6)
        raise error

    for error, told in (
        (OSError(28, "No space left on device"), KinemaError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ):
        with pytest.raises(told):
            write_video(tmp_path / "new", broken(error), fps=24.0)
        assert not (tmp_path / "new").exists()
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "frame_00007.png").write_bytes(b"of a longer film")
    with pytest.raises(KinemaError, match=r"old: cannot be written \(No space left on device\)"):
        write_video(tmp_path / "old", broken(OSError(28, "No space left on device")), fps=24.0)
    assert [path.name for path in (tmp_path / "old").iterdir()] == ["frame_00007.png"]
    write_video(tmp_path / "old", torch.zeros(2, 3, 4, 6), fps=24.0)
    assert sorted(path.name for path in (tmp_path / "old").iterdir()) == ["frame_00000.png", "frame_00001.png"]
