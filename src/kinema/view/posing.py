"""Pose a joint by hand, with a gizmo in the scene or three sliders: their angles are added to the motion's own."""

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.geometry.transforms import matrix_to_quaternion, quaternion_to_matrix
from kinema.motion.motion import Motion
from kinema.rig.ik import joint_angles
from kinema.rig.kinematics import Rig
from kinema.view.character import Pose, ShownCharacter

if TYPE_CHECKING:
    from viser import ViserServer

NO_JOINT = "(click or choose a joint)"
LABELS, ROOT_LABELS = ("Flexion", "Abduction", "Twist"), ("Yaw", "Roll", "Pitch")
ONE_CHANGE_SECONDS = 1.0
"""Pause after which moving the same control is another change: a drag sends dozens of events."""
MOST_CHANGES = 200
"""Changes that can be undone."""


class Posing:
    """Angles added by hand, and their controls. `changed` is called after every change."""

    def __init__(self, server: "ViserServer", shown: ShownCharacter, rig: Rig, *, changed: Callable[[], None]) -> None:
        self.shown, self.rig, self.changed = shown, rig, changed
        self.added = torch.zeros(len(rig.parents), 3)
        self.raised = 0.0
        """Height added to the root [m]."""
        self.joint: int | None = None
        self.dragging = False
        self.pinned: set[int] = set()
        """Joints that stay where they are while another one is dragged."""
        self.moves: Callable[[Float[np.ndarray, "3"], str], None] | None = None
        """Called with the gizmo's place and the phase of its movement where it moves joints; None: it turns them."""
        self.earlier: list[tuple[Float[Tensor, "joints 3"], float]] = []
        """The added angles and height before each change."""
        self.touched: tuple[object, float] = (None, 0.0)
        """The control that was moved last, and when [s]."""
        self.own = Motion.rest(rig, frames=1, fps=1.0)
        """The motion's own frame that is shown."""
        gui = server.gui
        self.choice = gui.add_dropdown("Joint", (NO_JOINT, *rig.names), initial_value=NO_JOINT)
        turn = {"min": -180, "max": 180, "step": 1, "initial_value": 0, "disabled": True}
        self.sliders = [gui.add_slider(f"{label} °", **turn) for label in LABELS]
        self.reset = gui.add_button_group("Reset", ("joint", "all"))
        self.back = gui.add_button("Undo", disabled=True, hint="Ctrl+Z")
        self.back.on_click(lambda _: self.undo())
        gui.add_command("Undo the last change of the pose", hotkey="Z", modifier="cmd/ctrl").on_trigger(
            lambda _: self.undo()
        )
        look = {"line_width": 3.5, "disable_axes": True, "disable_sliders": True, "depth_test": False, "visible": False}
        self.gizmo = server.scene.add_transform_controls(f"{shown.name}/gizmo", 0.16 * shown.size, **look)
        numbers: dict[str, int | None] = {NO_JOINT: None} | {name: joint for joint, name in enumerate(rig.names)}
        self.choice.on_update(lambda event: self.choose(numbers[event.target.value]))
        for axis, slider in enumerate(self.sliders):
            slider.on_update(lambda event, axis=axis: self._slide(event, axis))
        self.reset.on_click(lambda event: self.clear(everything=event.target.value == "all"))
        self.gizmo.on_update(self._drag)

        @shown.joints.on_click
        def _(event: Any) -> None:
            if event.instance_index is not None:
                self.choice.value = rig.names[event.instance_index]

    def pose(self, motion: Motion, frame: int) -> Motion:
        """A frame with what was added."""
        self.own = motion[frame : frame + 1]
        return self.posed(self.own)

    def posed(self, motion: Motion) -> Motion:
        """The whole clip with what was added."""
        up = self.raised * torch.tensor([0.0, 1.0, 0.0])
        return replace(motion, root_position=motion.root_position + up, angles=motion.angles + self.added)

    def take(self, angles: Float[Tensor, "joints 3"], height: float, *, remember: bool) -> None:
        """Add what brings the shown frame to angles and a height of the root [m]; all of a drag is one change."""
        if remember:
            self._remember(None)
        self.added = angles - self.own.angles[0]
        self.raised = height - float(self.own.root_position[0, 1])
        self._tell()

    def place_gizmo(self, T_scene_joint: Pose) -> None:
        """Put the gizmo on the chosen joint; while it is dragged it keeps its orientation."""
        if self.joint is not None and not (self.dragging and self.moves):
            self.gizmo.position = T_scene_joint[self.joint, :, 3].numpy()
        if self.joint is not None and not self.dragging:
            self.gizmo.wxyz = matrix_to_quaternion(T_scene_joint[self.joint, :, :3]).numpy()

    def choose(self, joint: int | None) -> None:
        self.joint = joint
        labels = ROOT_LABELS if joint == 0 else LABELS
        for slider, label in zip(self.sliders, labels, strict=True):
            slider.label, slider.disabled = f"{label} °", joint is None
        self.gizmo.visible = joint is not None
        self.shown.mark(joint, self.pinned)
        self._tell()

    def turn(self, R_world_joint: Float[Tensor, "3 3"]) -> None:
        """Turn the chosen joint to a world orientation in the frame that is shown."""
        at = self.shown.at
        if self.joint is None or at is None:
            return
        parent = self.rig.parents[self.joint]
        R_world_parent = at[parent, :, :3] if parent >= 0 else torch.eye(3)
        added = joint_angles(self.rig, self.joint, R_world_parent, R_world_joint) - self.own.angles[0, self.joint]
        self._remember(("turn", self.joint))
        self.added[self.joint] = torch.remainder(added + math.pi, 2 * math.pi) - math.pi
        self._tell()

    def _drag(self, event: Any) -> None:
        if event.client is not None:
            self.dragging = event.phase != "end"
            if self.moves is not None:
                self.moves(np.asarray(self.gizmo.position), event.phase)
            else:
                self.turn(quaternion_to_matrix(torch.from_numpy(np.asarray(self.gizmo.wxyz)).float()))

    def _slide(self, event: Any, axis: int) -> None:
        if event.client is not None and self.joint is not None:
            self._remember((axis, self.joint))
            self.added[self.joint, axis] = math.radians(float(event.target.value))
            self.changed()

    def clear(self, *, everything: bool) -> None:
        """Take back the angles added to the chosen joint, or to all."""
        self._remember(None)
        if everything:
            self.added, self.raised = torch.zeros_like(self.added), 0.0
        elif self.joint is not None:
            self.added[self.joint] = 0
        self._tell()

    def undo(self) -> None:
        """Take back the last change, of whichever joint."""
        if self.earlier:
            (self.added, self.raised), self.touched = self.earlier.pop(), (None, 0.0)
            self.back.disabled = not self.earlier
            self._tell()

    def _remember(self, control: tuple[object, int] | None) -> None:
        """Keep the angles for `undo`, once for each uninterrupted movement of a control."""
        before, when = self.touched
        self.touched = control, time.monotonic()
        if control is None or control != before or time.monotonic() - when > ONE_CHANGE_SECONDS:
            self.earlier = [*self.earlier[-MOST_CHANGES + 1 :], (self.added.clone(), self.raised)]
            self.back.disabled = False

    def _tell(self) -> None:
        """Set the sliders to the angles, and say that they changed."""
        degrees = torch.rad2deg(self.added[self.joint]) if self.joint is not None else torch.zeros(3)
        for slider, value in zip(self.sliders, degrees.tolist(), strict=True):
            slider.value = round(value)
        self.changed()
