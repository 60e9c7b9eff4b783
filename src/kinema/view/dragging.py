"""Drag a hand, a foot or the head: the rest of the body follows through the pose space. Pins, samples, mirror image."""

import threading
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.posespace.drag import Drag
from kinema.posespace.pose import Poses, without_heading
from kinema.posespace.space import PoseSpace
from kinema.rig.kinematics import local_rotations
from kinema.rig.limbs import Limbs
from kinema.view.posing import Posing

if TYPE_CHECKING:
    from viser import ViserServer

TURN, MOVE = "turn", "drag"


class Dragging:
    """Controls of the pose space beside those of single joints; changes go through `posing`, which undoes them."""

    def __init__(self, server: "ViserServer", posing: Posing, character: Character, limbs: Limbs | None) -> None:
        self.posing, self.character, self.rig = posing, character, posing.rig
        self.busy, self.drag, self.seed = threading.Lock(), None, 0
        # Feet stay on the ground unless they are taken off it.
        posing.pinned |= {leg.joints[-1] for leg in limbs.legs} if limbs is not None and limbs.ground else set()
        gui = server.gui
        hint = "turn a joint alone, or drag it and let the body follow"
        self.mode = gui.add_button_group("Gizmo", (TURN, MOVE), hint=hint)
        self.pin = gui.add_button_group("Pin", ("joint", "none"), hint="pinned joints stay while another is dragged")
        self.draw = gui.add_button_group("Body", ("sample", "mirror"), hint="another pose of this body; left for right")
        self.note = gui.add_markdown("")
        self.mode.on_click(lambda event: self._try(lambda: self.set_mode(event.target.value)))
        self.pin.on_click(lambda event: self.toggle_pin() if event.target.value == "joint" else self.unpin())
        self.draw.on_click(lambda event: self._try(self.sample if event.target.value == "sample" else self.mirror))

    @cached_property
    def space(self) -> PoseSpace:
        """Loaded when it is first needed; refuses a body that has no poses."""
        if self.posing.own.translation is not None:
            raise KinemaError("this clip moves joints away from their places, which the pose space does not know")
        return PoseSpace.of(self.character)

    @property
    def pose(self) -> Poses:
        """The shown frame as a pose."""
        return Poses.of_motion(self.rig, self.posing.posed(self.posing.own))

    @property
    def heading(self) -> Float[torch.Tensor, "3 3"]:
        """Heading of the shown frame: poses have none."""
        angles = self.posing.posed(self.posing.own).angles
        return without_heading(local_rotations(self.rig, angles)[0, 0])[1]

    def set_mode(self, mode: str) -> None:
        """Let the gizmo turn joints, or drag them."""
        moves = mode == MOVE
        if moves:
            _ = self.space
        self.posing.moves = self.move if moves else None
        gizmo = self.posing.gizmo
        gizmo.disable_axes, gizmo.disable_sliders, gizmo.disable_rotations = not moves, not moves, moves
        self.note.content = "Choose a joint and drag its gizmo; green joints are pinned." if moves else ""

    def move(self, place: Float[np.ndarray, "3"], phase: str = "update") -> None:
        """Drag the chosen joint to a place in the scene; an event that comes while one is solved is left out."""
        if self.posing.joint is None or not self.busy.acquire(blocking=phase == "end"):
            return
        try:
            joint = self.posing.joint
            begins = self.drag is None or self.drag.joint != joint or phase == "start"
            if self.drag is None or begins:
                self.drag = Drag.begin(self.space, self.pose, joint, sorted(self.posing.pinned))
            self.drag = self.drag.to(self._in_space(place))
            far = self.drag.miss > 0.01 * self.space.body.scale
            self.note.content = f"out of reach by {100 * self.drag.miss:.1f} cm" if far else ""
            self.take(self.drag.pose, remember=begins)
            if phase == "end":
                self.drag = None
        finally:
            self.busy.release()

    def take(self, pose: Poses, *, remember: bool = True) -> None:
        """Show a pose in this frame; the whole clip is changed by as much."""
        now = self.posing.posed(self.posing.own).angles[0]
        height = float(pose.height[0] + self.rig.heads[0, 1])
        self.posing.take(pose.angles_near(self.rig, self.heading, now), height, remember=remember)

    def sample(self) -> None:
        """Another pose of this body."""
        self.seed += 1
        self.take(self.space.sample(1, seed=self.seed))

    def mirror(self) -> None:
        """Left and right exchanged."""
        self.take(self.pose.mirrored(self.space.body.partners.tolist()))

    def toggle_pin(self) -> None:
        """Pin the chosen joint, or let it go."""
        if self.posing.joint is not None:
            self.posing.pinned ^= {self.posing.joint}
            self._repin()

    def unpin(self) -> None:
        """Let all joints go."""
        self.posing.pinned.clear()
        self._repin()

    def _repin(self) -> None:
        self.drag = None
        self.posing.choose(self.posing.joint)

    def _in_space(self, place: Float[np.ndarray, "3"]) -> tuple[float, float, float]:
        """A place in the scene as the pose space has it: without heading, the root over its place at rest."""
        at, rest = self.posing.shown.at, self.rig.heads[0]
        assert at is not None
        flat = torch.tensor([1.0, 0.0, 1.0])
        # The dragged pose does not travel, so where the root is over the ground does not change on the way.
        away = torch.from_numpy(np.asarray(place)).float() - flat * at[0, :, 3]
        x, y, z = (self.heading.mT @ away + flat * rest).tolist()
        return x, y, z

    def _try(self, work: Callable[[], Any]) -> None:
        """Say in one line what cannot be done."""
        try:
            work()
        except KinemaError as error:
            self.note.content = str(error)
