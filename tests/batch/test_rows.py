"""The file of a batch: options by column, one key per content, mistakes with their line."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kinema.batch.animate import animate_command
from kinema.batch.key import files_of, key_of
from kinema.batch.rows import columns, read_jobs
from kinema.cli.parse import parse
from kinema.distill.config import Animate
from kinema.errors import KinemaError


def written(tmp_path: Path, name: str, text: str) -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_columns_are_the_options_of_animate(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "jobs.csv",
        "asset,prompt,seed,preset,physics,as,video-size,speed,ground,up,fit_iterations,quantize\n"
        "a red fox,a fox is walking,3,fast,no,walk,9 64 96,1.5,none,+z,5,int8\n"
        '"my, wolf",it walks,,,,,,,0.25,,,\n',
    )
    first, second = read_jobs(path)
    config = first.content
    assert (config.seed, config.preset, config.physics, config.as_motion) == (3, "fast", False, "walk")
    assert (config.video_size, config.speed, config.fit_iterations) == ((9, 64, 96), 1.5, 5)
    assert (config.reading.ground, config.reading.up, config.quantize) == ("none", "+z", "int8")
    assert second.content.reading.ground == 0.25
    assert second.content == Animate("my, wolf", "it walks", reading=second.content.reading)
    assert [job.lines for job in (first, second)] == [(2,), (3,)]
    assert {"seed", "preset", "skeleton", "as_motion"} < columns().keys()
    assert not {"out", "resume", "overwrite", "more", "reading", "making", "naming"} & columns().keys()


def test_options_of_makers_and_names_are_columns_too(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "jobs.csv",
        "asset,prompt,with,image,most-faces,names,root-bone\na pug,it walks,shap-e,pug.png,900,unreal,yes\n",
    )
    (job,) = read_jobs(path)
    making, naming = job.content.making, job.content.naming
    assert (making.maker, making.image, making.most_faces) == ("shap-e", Path("pug.png"), 900)
    assert (naming.names, naming.root_bone) == ("unreal", True)
    # The process that does the job is told all of it.
    assert parse(animate_command(job, tmp_path / "new")[3:]).command.job == replace(job.content, out=tmp_path / "new")


def test_lists_in_toml_are_combinations(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "jobs.toml",
        'preset = "fast"\nseed = [0, 1]\n\n[[job]]\nasset = ["a fox", "a wolf"]\nprompt = ["it walks", "it runs"]\n'
        '[[job]]\nasset = "a cat"\nprompt = "it walks"\nseed = 7\nvideo_size = [9, 64, 96]\n'
        '[[job]]\nasset = "a cat"\nprompt = "it walks"\nseed = 7\nvideo_size = [[9, 64, 96], [9, 32, 48]]\n',
    )
    jobs = read_jobs(path)
    assert len(jobs) == 2 * 2 * 2 + 2
    assert {(j.content.asset, j.content.prompt, j.content.seed) for j in jobs[:8]} == {
        (asset, prompt, seed) for asset in ("a fox", "a wolf") for prompt in ("it walks", "it runs") for seed in (0, 1)
    }
    assert [job.content.video_size for job in jobs[8:]] == [(9, 64, 96), (9, 32, 48)]
    # The same job in two places is one, and knows both.
    assert [job.lines for job in jobs[7:]] == [(4,), (7, 12), (12,)]
    assert all(job.content.preset == "fast" for job in jobs)
    assert len(read_jobs(written(tmp_path, "grid.toml", 'asset = "a fox"\nprompt = ["it walks", "it runs"]\n'))) == 2


def test_a_row_that_cannot_be_read_is_a_failed_job_with_its_line(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "jobs.csv",
        "asset,prompt,seed,physics,preset\na fox,it walks,x,,\na fox,,1,,\na fox,it walks,1,maybe,\n"
        "a fox,it walks,1,,quick\na fox,it walks,1,,fast,more\na fox,it walks,1,,\n",
    )
    jobs = read_jobs(path)
    assert [job.lines for job in jobs] == [(k,) for k in range(2, 8)]
    said = [job.mistake for job in jobs]
    assert said[0] == "the row: seed is 'x', not a whole number"
    assert said[1] == "a job needs an asset and a prompt"
    assert said[2] == "the row: physics is 'maybe', not true or false"
    assert "preset is 'quick', not" in said[3]
    assert "more cells than there are columns" in said[4]
    assert said[5] == ""
    assert len({job.key for job in jobs}) == 6


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("jobs.csv", "asset,prompt,sed\n", "'sed' is not an option of kinema animate; did you mean seed?"),
        ("jobs.csv", "asset,prompt,out\n", "'out' is not an option"),
        ("jobs.csv", "asset,prompt,more\n", "'more' is not an option"),
        ("jobs.csv", "asset,prompt,fit-iterations,fit_iterations\n", "has the column 'fit-iterations' twice"),
        ("jobs.csv", "asset,prompt\n", "has no jobs"),
        ("jobs.csv", "asset,prompt\nfox,a\0b\n", "cannot be read (line 2"),
        ("jobs.toml", "asset = \n", "cannot be read"),
        ("jobs.toml", 'job = "x"\n', "write each job as a table"),
        ("jobs.toml", "job = " + "[" * 100_000, "cannot be read"),
        ("jobs.toml", "seed = " + "9" * 5000, "cannot be read"),
        ("jobs.toml", "".join(f"o{k} = [0, 1, 2]\n" for k in range(40)), "1.22e+19 combinations"),
        ("jobs.txt", "", "not '.txt'"),
    ],
)
def test_a_file_that_is_no_batch_is_one_line(name: str, text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(KinemaError, match=f"{name}: ") as caught:
        read_jobs(written(tmp_path, name, text))
    assert said in str(caught.value)
    with pytest.raises(KinemaError, match="no such file"):
        read_jobs(tmp_path / "nowhere.csv")


def test_the_key_is_that_of_the_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = written(tmp_path, "a.glb", "bytes"), written(tmp_path, "b.glb", "bytes")
    base = Animate(str(a), "it walks")
    assert key_of(base) == key_of(Animate(str(b), "it walks", out=Path("x"), checkpoint_seconds=1.0))
    others = [
        Animate(str(a), "it runs"), Animate(str(a), "it walks", seed=1), Animate(str(a), "it walks", physics=False),
        Animate(str(written(tmp_path, "c.glb", "other bytes")), "it walks"), Animate("a fox", "it walks"),
        Animate("a wolf", "it walks"),
    ]  # fmt: skip
    assert len({key_of(config) for config in (base, *others)}) == 7
    before = key_of(base)
    monkeypatch.setattr("kinema.__version__", "999")
    assert key_of(base) != before


def test_a_gltf_counts_with_the_files_that_it_names(tmp_path: Path) -> None:
    parts = {"buffers": [{"uri": "my%20mesh.bin"}], "images": [{"uri": "data:image/png;base64,"}, {"bufferView": 0}]}
    path = written(tmp_path, "fox.gltf", json.dumps(parts))
    bytes_before = written(tmp_path, "my mesh.bin", "1")
    assert files_of(path) == [path, bytes_before]
    before = key_of(Animate(str(path), "it walks"))
    bytes_before.write_text("2")
    assert key_of(Animate(str(path), "it walks")) != before
    assert files_of("a red fox " * 500) == []
    # Jobs travel with their files: those from elsewhere stay where they are.
    model = tmp_path / "model"
    model.mkdir()
    (model / "link.bin").symlink_to(bytes_before)
    uris = ["../my%20mesh.bin", "link.bin", str(bytes_before), "a\0b"]
    stray = written(model, "fox.gltf", json.dumps({"buffers": [{"uri": uri} for uri in uris]}))
    assert files_of(stray) == [stray]
    assert files_of(written(model, "deep.gltf", "[" * 100_000)) == [model / "deep.gltf"]
