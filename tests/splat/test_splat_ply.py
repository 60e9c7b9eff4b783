import contextlib

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from kinema.errors import KinemaError
from kinema.splat.ply import read_ply, write_ply
from kinema.splat.splats import Splats


def cloud(count: int, harmonics: int, seed: int = 0) -> Splats:
    g = torch.Generator().manual_seed(seed)
    sizes = ((count, 3), (count, 3), (count, 4), (count,), (count, harmonics, 3))
    return Splats(*(torch.randn(size, generator=g) for size in sizes))


@pytest.mark.parametrize("harmonics", [1, 4, 9, 16])
def test_what_is_written_is_read(tmp_path, harmonics):
    splats = cloud(7, harmonics)
    write_ply(tmp_path / "a.ply", splats)
    back = read_ply(tmp_path / "a.ply")
    for name in ("centers", "scales_log", "wxyz", "opacity_logit", "sh"):
        assert torch.equal(getattr(back, name), getattr(splats, name))
    assert [path.name for path in tmp_path.iterdir()] == ["a.ply"]


def test_layout_is_that_of_other_programs(tmp_path):
    """Read by a parser that is not ours: 62 floats per Gaussian, colours one channel after the other."""
    import trimesh

    splats = cloud(5, 16)
    write_ply(tmp_path / "a.ply", splats)
    raw = trimesh.load(tmp_path / "a.ply").metadata["_ply_raw"]["vertex"]
    assert len(raw["properties"]) == 62
    data = raw["data"]
    assert_close(torch.from_numpy(data["f_rest_16"].copy()).squeeze(-1), splats.sh[:, 2, 1])
    assert_close(torch.from_numpy(data["rot_0"].copy()).squeeze(-1), splats.wxyz[:, 0])


def test_text_and_big_endian(tmp_path):
    splats = cloud(3, 1)
    write_ply(tmp_path / "a.ply", splats)
    data = (tmp_path / "a.ply").read_bytes()
    start = data.index(b"end_header\n") + 11
    table = np.frombuffer(data[start:], "<f4").reshape(3, -1)
    big = data[:start].replace(b"little", b"big") + table.astype(">f4").tobytes()
    text = data[:start].replace(b"binary_little_endian", b"ascii")
    text += "\n".join(" ".join(repr(float(v)) for v in row) for row in table).encode()
    for version in (big, text):
        (tmp_path / "b.ply").write_bytes(version)
        assert_close(read_ply(tmp_path / "b.ply").sh, splats.sh)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"ply\n", b"png\n", "is not a .ply file"),
        (b"end_header\n", b"", "does not end"),
        (b"property float opacity\n", b"property float opaque\n", "it has no opacity"),
        (b"element vertex 3\n", b"element vertex 4\n", "ends after 3 of 4"),
        (b"element vertex 3\n", b"element vertex -3\n", "line 3"),
        (b"element vertex 3\n", b"element face 3\n", "begins with face"),
        (b"property float x\n", b"property list uchar int x\n", "line 4"),
        (b"property float nx\n", b"property float x\n", "twice"),
        (b"format binary_little_endian 1.0\n", b"", "no format"),
    ],
)
def test_malformed_files_are_named(tmp_path, old, new, message):
    write_ply(tmp_path / "a.ply", cloud(3, 1))
    data = (tmp_path / "a.ply").read_bytes()
    assert old in data
    (tmp_path / "a.ply").write_bytes(data.replace(old, new, 1))
    with pytest.raises(KinemaError, match=message) as caught:
        read_ply(tmp_path / "a.ply")
    assert "a.ply" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_that_are_none_are_refused(tmp_path):
    splats = cloud(3, 4)
    splats.centers[1, 2] = torch.nan
    write_ply(tmp_path / "a.ply", splats)
    with pytest.raises(KinemaError, match="x is not finite in 1 of 3"):
        read_ply(tmp_path / "a.ply")
    with pytest.raises(KinemaError, match="cannot be read"):
        read_ply(tmp_path / "b.ply")


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_damaged_bytes_never_crash(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("ply") / "a.ply"
    write_ply(path, cloud(3, 1))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content[: data.draw(st.integers(0, len(content)))]))
    # Anything but our own error fails the test.
    with contextlib.suppress(KinemaError):
        read_ply(path)


@pytest.mark.parametrize(
    ("name", "count", "harmonics"), [("Unicorn_Stuffy_sh0", 49602, 1), ("combined_SPZv3", 1566, 4)]
)
def test_captured_clouds(shared_data, tmp_path, name, count, harmonics):
    splats = read_ply(shared_data / "reference" / "splats" / f"{name}.ply")
    assert splats.sh.shape == (count, harmonics, 3)
    write_ply(tmp_path / "again.ply", splats)
    again = read_ply(tmp_path / "again.ply")
    assert torch.equal(again.sh, splats.sh)
    assert torch.equal(again.wxyz, splats.wxyz)
