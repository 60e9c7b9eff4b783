"""A motion as one self-contained page that plays by itself: for notebooks, and to hand to others."""

import contextlib
import html
import math
from dataclasses import dataclass
from pathlib import Path

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.files import write_text
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.view.character import ShownCharacter
from kinema.view.page import Box, Page, travel_path
from kinema.view.server import Address

MOST_FPS = 24.0
"""Every frame is stored, so a higher rate would make the file larger without looking better."""


@dataclass(frozen=True)
class Playback:
    """A page with the recorded motion; a notebook shows it as it is."""

    page: str
    """HTML that needs nothing else, no server and no network."""
    height: int
    """Height in a notebook [px]."""

    def _repr_html_(self) -> str:
        look = f'width="100%" height="{self.height}" style="border:1px solid #ddd;border-radius:4px"'
        return f'<iframe srcdoc="{html.escape(self.page)}" {look}></iframe>'

    def __repr__(self) -> str:
        return f"Playback({len(self.page) / 1e6:.1f} MB of HTML; save it with .save('motion.html'))"

    def save(self, path: Path | str) -> Path:
        """Write the page; any browser opens it."""
        path = Path(path)
        write_text(path, self.page)
        return path


def play(motion: Motion, character: Character, *, height: int = 480) -> Playback:
    """Record one round of the motion on the character as a page, `height` pixels high in a notebook."""
    if character.skeleton is None or character.weights is None:
        raise KinemaError(f"{character.name}: has no rig to play a motion on")
    rig = Rig.from_skeleton(character.skeleton)
    if motion.angles.shape[1] != len(rig.parents):
        raise KinemaError(f"{character.name}: has {len(rig.parents)} joints, the motion {motion.angles.shape[1]}")
    motion = motion.resample(MOST_FPS) if motion.fps > MOST_FPS else motion
    with contextlib.closing(Page(Address(port=0))) as page:
        shown = ShownCharacter(page.server.scene, "/character", character, rig)
        # A power of two leaves zeros in the floats, which makes the file half as large.
        shown.grain = 2.0 ** math.floor(math.log2(shown.size / 4000))
        path = travel_path(rig, motion)
        page.fit(Box.around(shown.travelled_points(motion, path)))
        recorder = page.server.get_scene_serializer()
        for frame in range(len(motion)):
            shown.pose_frame(motion, frame, path[frame])
            page.travel(path[frame])
            recorder.insert_sleep(1 / motion.fps)
        return Playback(recorder.as_html(), height)
