import numpy as np
import pytest
import torch
from torch.testing import assert_close

from kinema.asset.character import Character, Mesh, Skeleton
from kinema.create.creatures import creature
from kinema.errors import KinemaError
from kinema.geometry.nearest import SurfaceTree
from kinema.geometry.surface import sample_surface
from kinema.rig.kinematics import Rig, forward_kinematics
from kinema.rig.limbs import find_limbs
from kinema.skin import Skin, blend, skin_points
from kinema.splat.colors import canonical_colors, surface_colors
from kinema.splat.cover import INSET, SPREAD
from kinema.splat.pose import native_scene, pose_splats, pose_splats_torch
from kinema.splat.splats import Splats
from kinema.splat.transfer import splat_character, transfer_weights


def square_mesh(**look) -> Mesh:
    """The unit square in the ground plane, two triangles."""
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 0, 1]])
    return Mesh(corners, np.array([[0, 2, 1], [0, 3, 2]]), look.pop("colors", np.ones((4, 3))), **look)


def sphere_mesh() -> Mesh:
    import trimesh

    ball = trimesh.creation.icosphere(3)
    return Mesh(np.asarray(ball.vertices), np.asarray(ball.faces), (np.asarray(ball.vertices) + 1) / 2)


def bent_character() -> Character:
    """A ball with two joints whose weights pass linearly from one to the other."""
    mesh = sphere_mesh()
    share = (mesh.vertices[:, 1:2] + 1) / 2
    skeleton = Skeleton(("a", "b"), (-1, 0), np.array([[0.0, -1, 0], [0, 0, 0]]), np.array([[0.0, 0, 0], [0, 1, 0]]))
    return Character("ball", mesh, skeleton, np.concatenate((1 - share, share), -1))


def test_every_face_gets_its_share_of_samples_within_one():
    mesh = sphere_mesh()
    samples = sample_surface(mesh.vertices, mesh.faces, 5000, rng=np.random.default_rng(0))
    corners = mesh.vertices[mesh.faces]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=-1)
    share = 5000 * area / area.sum()
    assert (np.abs(np.bincount(samples.face, minlength=len(area)) - share) < 1 + 1e-9).all()
    assert_close(samples.barycentric.sum(-1), np.ones(5000))
    assert (samples.barycentric >= 0).all()


def test_gaussians_are_flat_even_and_on_the_surface():
    splats, anchors = Splats.from_mesh(sphere_mesh(), 2000, rng=np.random.default_rng(0))
    assert len(splats) == len(anchors) == 2000
    radius = splats.centers.norm(dim=-1)
    # A ball of diameter 2: they lie INSET times that under the surface, and a flat patch bulges a little less.
    assert (((1 - 2 * INSET) - radius).abs() < 0.01).all()
    # The thin axis is the normal, which on a ball is the centre's direction.
    thin = torch.linalg.eigh(splats.covariances)[1][:, :, 0]
    assert ((thin * splats.centers / radius[:, None]).sum(-1).abs() > 0.99).all()
    # The total of the patches' 4 pi s1 s2 is the area (SPREAD² wider).
    area = 4 * torch.pi * splats.scales_log[:, :2].sum(-1).exp()
    assert area.std() / area.mean() < 0.3
    assert_close(area.sum() / SPREAD**2, torch.tensor(4 * torch.pi), rtol=0.1, atol=0)


def test_color_is_vertex_color_times_texture():
    texture = np.zeros((2, 2, 4), dtype=np.uint8)
    texture[..., 3] = 255
    texture[:, 1, 0] = 255
    uv = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    mesh = square_mesh(
        colors=np.full((4, 3), 0.5), uv=uv, textures=(texture,), face_texture=np.zeros(2, dtype=np.int64)
    )
    points = SurfaceTree.from_triangles(mesh.vertices, mesh.faces).nearest(
        np.array([[0.25, 0.0, 0.5], [0.75, 0.0, 0.5], [0.5, 0.3, 0.5]])
    )
    rgba = surface_colors(mesh, points)
    # Texel centres are at u = 0.25 and 0.75; half way between them both count the same.
    assert_close(rgba, np.array([[0, 0, 0, 1], [0.5, 0, 0, 1], [0.25, 0, 0, 1]]))


def test_holes_in_the_texture_get_no_gaussians():
    texture = np.full((1, 8, 4), 255, dtype=np.uint8)
    texture[:, :4, 3] = 0
    uv = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    mesh = square_mesh(uv=uv, textures=(texture,), face_texture=np.zeros(2, dtype=np.int64))
    splats, _ = Splats.from_mesh(mesh, 400, rng=np.random.default_rng(0))
    assert ((splats.centers[:, 0] > 0.5) & (splats.centers[:, 0] < 1)).all()


def test_hidden_surfaces_get_few_gaussians():
    outer = sphere_mesh()
    inner = outer.vertices * 0.9
    both = Mesh(
        np.concatenate((outer.vertices, inner)),
        np.concatenate((outer.faces, outer.faces + len(inner))),
        np.ones((2 * len(inner), 3)),
    )
    splats, _ = Splats.from_mesh(both, 2000, rng=np.random.default_rng(0))
    inside = float((splats.centers.norm(dim=-1) < 0.93).float().mean())
    # Its share is 0.15 · 0.9² / (1 + 0.15 · 0.9²) = 0.108 instead of 0.45 by area.
    assert inside == pytest.approx(0.108, abs=0.02)


def test_nothing_to_sample_is_one_line():
    empty = Mesh(np.zeros((3, 3)), np.array([[0, 1, 2]]), np.ones((3, 3)))
    nothing = Mesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64), np.zeros((0, 3)))
    for mesh, count in ((empty, 10), (nothing, 10), (sphere_mesh(), 0)):
        with pytest.raises(KinemaError, match="no surface"):
            Splats.from_mesh(mesh, count, rng=np.random.default_rng(0))


def test_weights_follow_the_surface_exactly():
    character = bent_character()
    _, places = Splats.from_mesh(character.mesh, 500, rng=np.random.default_rng(0))
    on_surface = torch.from_numpy(places.interpolate(character.mesh.faces, character.mesh.vertices))
    exact = transfer_weights(character, places)
    searched = transfer_weights(character, on_surface)

    def share(skin):
        return (skin.weights * (skin.joints == 1)).sum(-1)

    # The weight field is linear in y, hence so is its barycentric interpolation.
    assert_close(share(exact), ((on_surface[:, 1] + 1) / 2).float(), atol=1e-6, rtol=0)
    assert_close(share(searched), share(exact), atol=1e-5, rtol=0)


def test_points_of_a_face_stay_on_the_skinned_face():
    character = bent_character()
    assert character.skeleton is not None
    rig = Rig.from_skeleton(character.skeleton)
    places = sample_surface(character.mesh.vertices, character.mesh.faces, 400, rng=np.random.default_rng(0))
    on_surface = torch.from_numpy(places.interpolate(character.mesh.faces, character.mesh.vertices)).float()
    T = forward_kinematics(rig, rig.heads[:1], torch.tensor([[[0.3, -0.2, 0.5], [1.2, 0.4, -0.7]]]))
    corners = torch.from_numpy(character.mesh.vertices).float()
    posed = skin_points(blend(Skin.from_character(character), rig, T), corners)[0].double().numpy()
    truth = torch.from_numpy(places.interpolate(character.mesh.faces, posed)).float()
    skin = transfer_weights(character, places)
    some = torch.zeros(400, 4) + torch.tensor([1.0, 0, 0, 0])
    splats = Splats(on_surface, torch.full((400, 3), -3.0), some, torch.zeros(400), torch.zeros(400, 1, 3))
    assert_close(pose_splats(splats, skin, rig, T).centers[0], truth, atol=2e-6, rtol=0)
    # Plain blending of the weights misses the flat faces by a part of their size.
    assert (pose_splats(splats, Skin(skin.joints, skin.weights), rig, T).centers[0] - truth).norm(dim=-1).max() > 1e-3


def test_posing_has_the_right_gradient():
    character = bent_character()
    splats, skin = splat_character(character, 12, rng=np.random.default_rng(0))
    splats = splats.to(dtype=torch.float64)
    assert skin.rest_offsets is not None
    skin = Skin(skin.joints, skin.weights.double(), skin.rest_offsets.double())
    assert character.skeleton is not None
    rig = Rig.from_skeleton(character.skeleton, dtype=torch.float64)

    def run(root, angles, centers, scales_log, wxyz):
        moved = Splats(centers, scales_log, wxyz, splats.opacity_logit, splats.sh)
        posed = pose_splats(moved, skin, rig, forward_kinematics(rig, root, angles))
        return posed.centers, posed.covariances

    g = torch.Generator().manual_seed(0)
    root = torch.randn(2, 3, generator=g, dtype=torch.float64, requires_grad=True)
    angles = torch.randn(2, 2, 3, generator=g, dtype=torch.float64, requires_grad=True)
    rest = [x.clone().requires_grad_() for x in (splats.centers, splats.scales_log, splats.wxyz)]
    assert torch.autograd.gradcheck(run, (root, angles, *rest), fast_mode=True)


@pytest.mark.skipif(native_scene() is None, reason="native/scene was not built")
def test_native_posing_is_its_twin():
    character = bent_character()
    splats, skin = splat_character(character, 300, rng=np.random.default_rng(0))
    assert character.skeleton is not None
    rig = Rig.from_skeleton(character.skeleton)
    g = torch.Generator().manual_seed(0)
    root, angles = torch.randn(5, 3, generator=g), torch.randn(5, 2, 3, generator=g)
    u, v = torch.randn(5, 300, 3, generator=g), torch.randn(5, 300, 3, 3, generator=g)
    results = []
    for function in (pose_splats, pose_splats_torch):
        inputs = [x.clone().requires_grad_() for x in (root, angles)]
        posed = function(splats, skin, rig, forward_kinematics(rig, inputs[0], inputs[1]))
        loss = (posed.centers * u).sum() + (posed.covariances * v).sum()
        results.append((posed.centers, posed.covariances, *torch.autograd.grad(loss, inputs)))
    for native, twin in zip(*results, strict=True):
        assert_close(native, twin, rtol=1e-4, atol=1e-5 * float(twin.detach().abs().max()))


def test_a_rigid_motion_rotates_covariances():
    character = bent_character()
    splats, skin = splat_character(character, 50, rng=np.random.default_rng(0))
    assert character.skeleton is not None
    rig = Rig.from_skeleton(character.skeleton)
    angles = torch.zeros(1, 2, 3)
    angles[0, 0, 0] = torch.pi / 2
    posed = pose_splats(splats, skin, rig, forward_kinematics(rig, rig.heads[:1], angles))
    # A yaw of 90 degrees about the vertical axis: (x, y, z) -> (z, y, -x).
    turn = torch.tensor([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    assert_close(posed.centers[0], splats.centers @ turn.mT, atol=1e-6, rtol=0)
    assert_close(posed.covariances[0], turn @ splats.covariances @ turn.mT, atol=1e-6, rtol=0)


def test_canonical_colors_tell_left_from_right_and_front_from_back():
    ball = Character("ball", sphere_mesh())
    feet = torch.tensor([[1.0, -1, 1], [-1, -1, 1], [1, -1, -1], [-1, -1, -1]])
    assert_close(canonical_colors(ball, feet), torch.tensor([[1.0, 0, 1], [0, 0, 1], [1, 0, 0], [0, 0, 0]]))
    assert_close(canonical_colors(ball, torch.zeros(1, 3)), torch.full((1, 3), 0.5), atol=0.01, rtol=0)


def test_legs_of_any_body_differ_in_red():
    """Also between the stretched arms of a person, or of a knight with sword and shield."""
    for words in ("fox", "human", "ostrich"):
        character = creature(words)
        assert character.skeleton is not None
        legs = find_limbs(character).legs
        knees = torch.tensor(np.array([character.skeleton.heads[leg.joints[1]] for leg in legs])).float()
        red = canonical_colors(character, knees)[:, 0]
        assert all((value > 0.8) if leg.side > 0 else (value < 0.2) for leg, value in zip(legs, red)), (words, red)
