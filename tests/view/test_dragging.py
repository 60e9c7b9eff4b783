"""Dragging in the viewer: the joint goes where it is pulled, pins hold, and undo takes a whole drag back."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

pytest.importorskip("viser")

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.motion.motion import Motion
from kinema.posespace.drag import Drag
from kinema.posespace.pose import Poses
from kinema.posespace.space import PoseSpace
from kinema.rig.kinematics import Rig
from kinema.view.exhibit import Exhibit
from kinema.view.page import Page
from kinema.view.posing import Posing
from kinema.view.server import Address
from kinema.view.viewer import Viewer


@pytest.fixture
def viewer(fox: Character, walk: Motion) -> Iterator[Viewer]:
    shown = Viewer(Exhibit(fox, {"walk": walk}), Page(Address(port=0)), playing=False)
    shown.player.close()
    shown.draw(7)
    yield shown
    shown.close()


def posing_of(viewer: Viewer) -> Posing:
    assert viewer.posing is not None
    return viewer.posing


def places(viewer: Viewer) -> torch.Tensor:
    """Joints as they are drawn in frame 7."""
    viewer.draw(7)
    assert viewer.shown.at is not None
    return viewer.shown.at[..., 3].clone()


def test_a_paw_is_dragged_while_the_others_stand(viewer: Viewer, rig: Rig, walk: Motion) -> None:
    posing, dragging = posing_of(viewer), viewer.dragging
    paw = rig.names.index("front_left_foot")
    assert paw in posing.pinned
    assert len(posing.pinned) == 4
    posing.choose(paw)
    dragging.set_mode("drag")
    assert not posing.gizmo.disable_axes
    assert posing.gizmo.disable_rotations
    before = places(viewer)
    goal = before[paw] + torch.tensor([0.02, 0.08, 0.06])
    for share in np.linspace(0, 1, 8):
        dragging.move((before[paw] + share * (goal - before[paw])).numpy(), "start" if share == 0 else "update")
        viewer.draw(7)
    dragging.move(goal.numpy(), "end")
    after = places(viewer)
    assert float((after[paw] - goal).norm()) < 0.01
    for other in posing.pinned - {paw}:
        assert float((after[other] - before[other]).norm()) < 0.015
    # The root stays over its place on the ground, whatever the clip's heading and travel are.
    torch.testing.assert_close(after[0, [0, 2]], before[0, [0, 2]], atol=1e-5, rtol=0)
    # What is written has it, and one undo takes all events of the drag back.
    torch.testing.assert_close(posing.posed(walk).pose(rig)[7, paw, :, 3] - walk.pose(rig)[7, paw, :, 3],
                               goal - before[paw], atol=0.01, rtol=0)  # fmt: skip
    posing.undo()
    torch.testing.assert_close(places(viewer), before, atol=1e-6, rtol=0)
    assert posing.back.disabled
    assert posing.raised == 0


def test_pins_come_and_go(viewer: Viewer, rig: Rig) -> None:
    posing, dragging = posing_of(viewer), viewer.dragging
    head = rig.names.index("head")
    posing.choose(head)
    dragging.toggle_pin()
    assert head in posing.pinned
    colors = viewer.shown.joints.batched_colors
    assert tuple(colors[min(posing.pinned)]) != tuple(colors[rig.names.index("spine")])
    dragging.toggle_pin()
    assert head not in posing.pinned
    dragging.unpin()
    assert not posing.pinned


def test_sample_and_mirror_are_changes_that_undo_takes_back(viewer: Viewer, rig: Rig) -> None:
    posing, dragging = posing_of(viewer), viewer.dragging
    first = places(viewer)
    dragging.sample()
    sampled = places(viewer)
    assert float((sampled - first).norm(dim=-1).max()) > 0.02
    dragging.mirror()
    mirrored = places(viewer)
    # Seen from a body without heading, x changes its sign and left and right change places.
    partners, heading = dragging.space.body.partners.tolist(), dragging.heading
    local = [(p - p[:1]) @ heading for p in (sampled, mirrored)]
    torch.testing.assert_close(local[1], local[0][partners] * torch.tensor([-1.0, 1.0, 1.0]), atol=2e-3, rtol=0)
    for expected in (sampled, first):
        posing.undo()
        torch.testing.assert_close(places(viewer), expected, atol=1e-5, rtol=0)


def test_what_has_no_pose_space_says_so_in_the_page(fox: Character, rig: Rig, walk: Motion) -> None:
    moved = Motion(walk.root_position, walk.angles, walk.fps, torch.zeros_like(walk.angles))
    viewer = Viewer(Exhibit(fox, {"walk": moved}), Page(Address(port=0)), playing=False)
    try:
        viewer.player.close()
        viewer.draw(0)
        viewer.dragging._try(viewer.dragging.sample)
        assert "away from their places" in viewer.dragging.note.content
        assert not posing_of(viewer).added.any()
    finally:
        viewer.close()


def test_a_place_out_of_reach_is_approached_and_the_miss_said(fox: Character, rig: Rig) -> None:
    space = PoseSpace.of(fox)
    paw, hind = (rig.names.index(f"{name}_foot") for name in ("front_left", "hind_left"))
    drag = Drag.begin(space, Poses.rest(rig), paw, [hind])
    for _ in range(8):
        drag = drag.to((0.0, 3.0, 0.0))
    place = drag.pose.place(rig)[0, paw, :, 3]
    assert drag.miss == pytest.approx(float((place - torch.tensor([0.0, 3.0, 0.0])).norm()), rel=1e-4)
    assert drag.miss > 1.0
    assert bool(drag.pose.rotations.isfinite().all())
    with pytest.raises(KinemaError, match="not finite"):
        drag.to((float("nan"), 0.0, 0.0))
    with pytest.raises(KinemaError, match="joint 99"):
        Drag.begin(space, Poses.rest(rig), 99)
