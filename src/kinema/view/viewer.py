"""`kinema view`: a character and its motions on a page in the browser."""

import contextlib
import re
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kinema.errors import KinemaError
from kinema.export.write import write
from kinema.motion.loop import closes
from kinema.motion.motion import Motion
from kinema.rig.limbs import Limbs, find_limbs
from kinema.view.character import ShownCharacter, relative_to
from kinema.view.contacts import Contacts
from kinema.view.dragging import Dragging
from kinema.view.exhibit import Exhibit
from kinema.view.page import Box, Page, travel_path
from kinema.view.player import Player
from kinema.view.posing import Posing
from kinema.view.server import Address

DOWNLOADS = ("GLB", "BVH", "NPZ")
"""Formats of a posed clip; `kinema convert CHARACTER OUT --motion FILE` makes the others from it."""
CURSOR_SECONDS = 0.1
"""Time between two moves of the plot's cursor: a plot is text that the browser has to parse anew."""


class Viewer:
    """The page of one exhibit."""

    def __init__(self, exhibit: Exhibit, page: Page, *, playing: bool = True) -> None:
        self.exhibit, self.rig = exhibit, exhibit.rig
        rest = {"rest pose": Motion.rest(self.rig, frames=1, fps=24.0)} if self.rig is not None else {}
        self.names = tuple(exhibit.motions or rest)
        self.motions: dict[str, Motion] = {} if exhibit.motions else rest
        """Motions that were loaded."""
        self.page, self.server = page, page.server
        page.title = exhibit.title or exhibit.character.name
        self.shown = ShownCharacter(self.server.scene, "/character", exhibit.character, self.rig)
        self.second: ShownCharacter | None = None
        self.contacts: Contacts | None = None
        self.plot, self.plotted = "", 0.0
        self.limbs: Limbs | None = None
        if self.rig is not None:
            with contextlib.suppress(KinemaError):
                self.limbs = find_limbs(exhibit.character)
        self.clip = next(iter(self.names), "")
        self.path = np.zeros((1, 3))
        self._panel(playing=playing)
        self._take(self.clip)
        self.box = self._box()
        self.page.fit(self.box)
        self.player.thread.start()

    @property
    def motion(self) -> Motion | None:
        if self.clip and self.clip not in self.motions:
            self.motions[self.clip] = self.exhibit.motion(self.clip)
        return self.motions.get(self.clip)

    def update(self, motion: Motion) -> None:
        """Exchange the values of the clip while it plays."""
        with self.player.lock:
            self.motions[self.clip] = motion
            self._load(rewind=False)

    def offer_before(self, before: Motion) -> None:
        """Let the page compare with the motion before physics."""
        self.exhibit = replace(self.exhibit, before=before)
        self.compare.visible = True

    def close(self) -> None:
        self.player.close()
        self.page.close()

    def _panel(self, *, playing: bool) -> None:
        gui, title = self.server.gui, self.exhibit.title[:200].replace("\n", " ")
        # Escape the markdown in a name.
        gui.add_markdown("**" + re.sub(r"([\\`*_{}\[\]()<>#+\-.!|])", r"\\\1", title) + "**")
        self.facts = gui.add_markdown("")
        if len(self.names) > 1:
            self.clips = gui.add_dropdown("Clip", self.names, initial_value=self.clip)
            self.clips.on_update(lambda event: self._take(event.target.value))
        self.player = Player(self.server, self.page.pages, draw=self.draw, playing=playing)
        with gui.add_folder("Show"):
            self.mesh = gui.add_checkbox("Mesh", True)
            self.splats = gui.add_checkbox("Splats", False, hint="the Gaussians that the video prior sees")
            self.skeleton = gui.add_checkbox("Skeleton", False, disabled=self.rig is None)
            self.ground = gui.add_checkbox("Ground", True)
            self.follow = gui.add_checkbox("Follow", True, hint="hold the character, let the ground pass under it")
            hint = "the motion as distilled, beside the one after physics"
            self.compare = gui.add_checkbox("Before physics", False, hint=hint, visible=self.exhibit.before is not None)
        for choice in (self.mesh, self.splats, self.skeleton):
            choice.on_update(lambda _: self.show())
        self.ground.on_update(lambda _: setattr(self.page.ground, "visible", self.ground.value))
        self.follow.on_update(lambda _: self.player.refresh())
        self.compare.on_update(lambda _: self.show_before())
        self.feet_folder = gui.add_folder("Feet on the ground", visible=False)
        with self.feet_folder:
            self.feet = gui.add_html("")
        self.posing = None
        if self.rig is not None:
            with gui.add_folder("Pose", expand_by_default=False):
                self.posing = Posing(self.server, self.shown, self.rig, changed=self._posed)
                self.dragging = Dragging(self.server, self.posing, self.exhibit.character, self.limbs)
                self.download = gui.add_button_group("Download", DOWNLOADS, hint="the whole clip as it is posed")
                self.download.on_click(self._download)

    def _posed(self) -> None:
        assert self.posing is not None
        if self.posing.joint is not None and not self.skeleton.value:
            self.skeleton.value = True
        if self.posing.dragging:
            self.player.play(False)
        self.player.refresh()

    def show(self) -> None:
        """Show what the checkboxes say."""
        with self.player.lock, self.server.atomic():
            for shown in filter(None, (self.shown, self.second)):
                shown.show(mesh=self.mesh.value, splats=self.splats.value, skeleton=self.skeleton.value)
        self.player.refresh()

    def _take(self, name: str) -> None:
        """Play another clip."""
        with self.player.lock:
            self.clip = name
            self._load(rewind=True)

    def _load(self, *, rewind: bool) -> None:
        motion = self.motion
        if motion is None or self.rig is None:
            self.facts.content = f"{len(self.exhibit.character.mesh.faces)} faces, no skeleton"
            return
        length = f"{len(motion)} frames, {motion.fps:g} fps" if len(motion) > 1 else "rest pose"
        self.facts.content = f"{length}, {len(self.rig.parents)} joints"
        self.path = travel_path(self.rig, motion)
        self.contacts = Contacts.of(self.rig, self.limbs, motion) if self.limbs is not None else None
        self.plot = self.contacts.plot() if self.contacts is not None else ""
        self.feet_folder.visible = self.contacts is not None
        self.player.load(len(motion), motion.fps, rewind=rewind, loops=closes(motion))

    def show_before(self) -> None:
        """Show the motion before physics at the left, the one after at the right."""
        if self.exhibit.before is None or self.rig is None:
            return
        with self.player.lock, self.server.atomic():
            self.box = self._box()
            if self.compare.value and self.second is None:
                self.second = ShownCharacter(self.server.scene, "/before", self.exhibit.character, self.rig)
                top = self.box.center + [0, 0.62 * self.box.extent[1], 0]
                self.label = self.server.scene.add_label("/character/label", "after physics", position=top)
                self.server.scene.add_label("/before/label", "before physics", position=top)
                self.shown.node.position = self.box.beside()
            elif not self.compare.value and self.second is not None:
                self.second.node.remove()
                self.label.remove()
                self.second, self.shown.node.position = None, np.zeros(3)
        self.show()
        self.page.aim(self.box.with_second() if self.second is not None else self.box)

    def file_of_motion(self, suffix: str) -> tuple[str, bytes]:
        """Name and content of a file with the clip as it is posed; a GLB holds the character and this clip alone."""
        assert self.motion is not None
        assert self.posing is not None
        name = re.sub(r"[^\w. -]", "_", f"{self.exhibit.character.name}_{self.clip}")[:80] + suffix
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"motion{suffix}"
            character, motion = self.exhibit.character, self.posing.posed(self.motion)
            write(path, character, motion, name=self.clip, keep_clips=False)
            return name, path.read_bytes()

    def _download(self, event: Any) -> None:
        if event.client is None:
            return
        try:
            event.client.send_file_download(*self.file_of_motion("." + event.target.value.lower()))
        except KinemaError as error:
            event.client.add_notification("This motion cannot be written", str(error), color="red")

    def draw(self, frame: int) -> None:
        """Draw one frame: the character, its ground, the gizmo, the motion before physics and the plot's cursor."""
        motion, before = self.motion, self.exhibit.before
        if motion is None or self.rig is None or self.posing is None:
            self.shown.pose(None)
            return
        T_world_joint = self.posing.pose(motion, frame).pose(self.rig)[0].detach()
        origin = self.path[min(frame, len(self.path) - 1) if self.follow.value else 0]
        T_scene_joint = relative_to(origin, T_world_joint)
        self.shown.pose(T_scene_joint)
        # In a loop the ground goes on where the character does not jump back.
        self.page.travel(origin + self.player.loops * self.player.rounds * (self.path[-1] - self.path[0]))
        self.posing.place_gizmo(T_scene_joint)
        if self.second is not None and before is not None:
            self.second.pose_frame(before, min(frame, len(before) - 1), origin)
        if self.contacts is not None and time.monotonic() - self.plotted > CURSOR_SECONDS:
            self.plotted = time.monotonic()
            self.feet.content = self.contacts.page(self.plot, frame)

    def _box(self) -> Box:
        """The box around the character in all frames, without its travel."""
        motion, vertices = self.motion, self.exhibit.character.mesh.vertices
        return Box.around(vertices.astype(float) if motion is None else self.shown.travelled_points(motion, self.path))


def serve(exhibit: Exhibit, address: Address, *, announce: Callable[[str], None]) -> None:
    """Show until Ctrl-C; `announce` gets the address to open."""
    stop, main = threading.Event(), threading.current_thread() is threading.main_thread()
    with contextlib.closing(Page(address)) as page:
        player = Viewer(exhibit, page).player
        # A KeyboardInterrupt may fall into a callback of somebody else's and be lost there; a flag is not.
        before = signal.signal(signal.SIGINT, lambda *_: stop.set()) if main else None
        try:
            announce(page.url)
            while not stop.wait(0.2):
                pass
        except KeyboardInterrupt:
            pass  # the one way to end it is no failure
        finally:
            if main:
                signal.signal(signal.SIGINT, before)
            player.close()
