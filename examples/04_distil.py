"""Run the main job from Python: it takes a character and a sentence and writes a folder with clip, film and report."""

import tempfile
from pathlib import Path

from kinema import Motion, Rig, animate, creature, load, write

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    write(folder / "fox.glb", creature("a red fox"))  # or a file of your own
    fox = load(folder / "fox.glb")

    # A tenth of the usual effort; leave the options out for a real clip.
    effort = {"frames": 16, "views": 1, "fit_iterations": 20, "iterations": 4, "physics": False}
    result = animate(fox, "a fox is walking", out=folder / "run", seed=1, **effort)

    losses = [entry["loss"] for entry in result.report["history"] if entry["stage"] == "fit"]
    # The weight of the feet rises in the second half, so only losses of the first can be compared.
    first, middle = losses[0], losses[len(losses) // 2]
    print(f"{result.report['read_as']}: loss {first:.2f} to {middle:.2f}, {result.report['seconds']} s")
    print("files:", *sorted(path.name for path in result.folder.iterdir()))

    clip = load(result.folder / "motion.glb")
    assert clip.skeleton is not None
    played = Motion.from_clip(Rig.from_skeleton(clip.skeleton), clip.clips[-1])

assert result.report["read_as"] == "walk"
assert middle < first
assert len(played) == len(result.motion) == 17, "16 steps and the end of the cycle, which is its beginning"
assert float((played.angles[-1] - played.angles[0]).abs().max()) < 0.01, "it loops"
assert float(played.angles.diff(dim=0).abs().max()) > 0.01, "it moves"
