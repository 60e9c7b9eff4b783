"""Built-in creatures of every family, stripped of their rigs: what is found, and where the joints lie."""

from dataclasses import replace

import numpy as np
import pytest
import trimesh

from kinema.asset.character import Character, Mesh, Skeleton
from kinema.create.creatures import creature
from kinema.evaluate.rig_distance import rig_distance
from kinema.rig.anatomy import Anatomy
from kinema.rig.embed.branches import find_branches
from kinema.rig.embed.embed import auto_rig, embed
from kinema.rig.embed.legs import place_legs, straight_knees, toe_tips
from kinema.rig.embed.medial import pack_balls
from kinema.rig.embed.tree import _Limb, _word, grow
from kinema.rig.hinges import leg_hinges
from kinema.rig.limbs import find_limbs
from kinema.rig.weights import bone_heat

slow = pytest.mark.slow
FAMILIES = [
    # species, plan, legs, arms, wings, fins, most J2J x 100
    ("human", "biped", 2, 2, 0, 0, 3.0),
    ("fox", "quadruped", 4, 0, 0, 0, 4.0),
    ("eagle", "bird", 2, 0, 2, 0, 3.5),
    pytest.param("dragon", "winged", 4, 0, 2, 0, 3.5, marks=slow),
    ("ant", "hexapod", 6, 0, 0, 0, 4.0),
    pytest.param("spider", "octopod", 8, 0, 0, 0, 4.5, marks=slow),
    ("shark", "fish", 0, 0, 0, 2, 4.0),
    pytest.param("manta", "ray", 0, 0, 0, 2, 5.0, marks=slow),
    ("snake", "snake", 0, 0, 0, 0, 3.0),
    pytest.param("raptor", "biped", 2, 2, 0, 0, 4.5, marks=slow),
    pytest.param("corgi", "quadruped", 4, 0, 0, 0, 4.5, marks=slow),
    pytest.param("crab", "crab", 8, 2, 0, 0, 5.0, marks=slow),
]


@pytest.mark.parametrize(("name", "plan", "legs", "arms", "wings", "fins", "most"), FAMILIES)
def test_a_family_is_found_with_its_limbs(
    name: str, plan: str, legs: int, arms: int, wings: int, fins: int, most: float
) -> None:
    animal = creature(name)
    found = embed(animal.mesh)
    assert found.plan == plan
    bare = Character(name, animal.mesh)
    assert 100 * rig_distance(replace(bare, skeleton=found.skeleton), animal).j2j < most
    rigged = bone_heat.rig_character(bare, found.skeleton)
    counts = find_limbs(replace(rigged, roles=found.roles)).counts
    assert (counts["legs"], counts["arms"], counts["wings"], counts["fins"]) == (legs, arms, wings, fins)
    # Names are certain enough for whoever reads the written file without the roles.
    assert find_limbs(rigged).counts["legs"] == legs


def test_what_was_found_is_said_in_one_line() -> None:
    fox = auto_rig(Character("fox", creature("fox", detail="low").mesh))
    assert fox.skeleton is not None
    line = fox.changes[-1]
    assert line.startswith(f"no rig: quadruped, {len(fox.skeleton.names)} joints, confidence 0.")
    assert line.endswith("; kinema rig to see and change it")


def star(arms: int) -> Mesh:
    """A ball on the ground with arms of 1 m in the plane z = 0, one of them up: no animal."""
    parts = [trimesh.creation.icosphere(subdivisions=3, radius=0.25)]
    for k in range(arms):
        angle = np.pi / 2 + 2 * np.pi * k / arms
        way = np.array([np.cos(angle), np.sin(angle), 0.0])
        parts.append(trimesh.creation.capsule(height=1.0, radius=0.08))
        parts[-1].apply_transform(trimesh.geometry.align_vectors([0, 0, 1], way))
        parts[-1].apply_translation(0.6 * way)
    solid = trimesh.util.concatenate(parts)
    vertices = np.asarray(solid.vertices)
    return Mesh(vertices - [0, vertices[:, 1].min(), 0], np.asarray(solid.faces), np.ones_like(vertices))


def test_a_tree_has_a_branch_for_each_arm_of_a_star() -> None:
    mesh = star(5)
    balls = pack_balls(mesh)
    branches = find_branches(balls)
    assert len(branches) == 5
    tips = np.array([balls.centers[branch.balls[-1]] for branch in branches])
    # Arms end 1.1 m and a cap from the middle.
    middle = np.array([0.0, mesh.vertices[:, 1].max() - 1.18, 0.0])
    np.testing.assert_allclose(np.linalg.norm(tips - middle, axis=1), 1.1, atol=0.12)
    tree = grow(mesh, balls, branches)
    heads = tree.skeleton.heads
    assert all(p < k for k, p in enumerate(tree.skeleton.parents))
    assert len(set(tree.skeleton.names)) == len(heads)
    # Every joint lies in the flesh.
    assert (np.linalg.norm(heads[:, None] - balls.centers[None], axis=2) - balls.radii).min(axis=1).max() < 0.05
    left = [name for name in tree.skeleton.names if name.startswith("left")]
    assert len(left) >= 4
    assert {name.replace("left", "right") for name in left} <= set(tree.skeleton.names)


def test_a_limb_that_ends_where_it_begins_is_no_limb() -> None:
    """cube_character_male_2 of the library has such a bump, and its rig ended in a traceback."""
    mesh = star(5)
    balls = pack_balls(mesh)
    branches = find_branches(balls)
    tip = branches[1].balls[-1]
    line = np.array([[*balls.centers[tip], 5.0], [*balls.centers[tip], 5.0]])  # thicker than it is long
    assert _word(mesh, balls, _Limb(1, line, partner=2), branches, 2.0) == "extra"


def test_flat_limbs_that_bear_a_raised_body_are_legs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinema.rig.embed.tree._word", lambda *_: "flat")

    def legs(height: float) -> int:
        parts = [trimesh.creation.icosphere(subdivisions=4, radius=0.4).apply_translation([0, height, 0])]
        for side in (-1.0, 1.0):
            out = np.array([0.9 * side, height, 0])
            parts.append(trimesh.creation.cylinder(radius=0.08, segment=[[0.3 * side, height, 0], out]))
            parts.append(trimesh.creation.cylinder(radius=0.08, segment=[out, out * [1, 0, 1]]))
        solid = trimesh.util.concatenate(parts)
        mesh = Mesh(np.asarray(solid.vertices), np.asarray(solid.faces), np.ones_like(solid.vertices))
        balls = pack_balls(mesh, symmetric=True)
        return len(grow(mesh, balls, find_branches(balls)).roles["legs"])

    assert legs(1.1) == 2
    assert legs(0.4) == 0  # it lies on the ground by itself


def centipede(pairs: int) -> Mesh:
    """A chain of balls with pairs of thin, arched legs, as in no table; a path from a foot runs along the trunk."""
    places = np.linspace(0.9, -0.9, pairs)
    parts = [trimesh.creation.icosphere(subdivisions=2, radius=0.12).apply_translation([0, 0.2, 1.05])]
    for z in places:
        parts.append(trimesh.creation.icosphere(subdivisions=2, radius=0.11).apply_translation([0, 0.16, z]))
        for side in (1.0, -1.0):
            hip, knee, foot = np.array([[0.08, 0.16, z], [0.3, 0.26, z], [0.45, 0.02, z]]) * [side, 1, 1]
            parts.append(trimesh.creation.cylinder(radius=0.025, segment=[hip, knee], sections=10))
            parts.append(trimesh.creation.cylinder(radius=0.02, segment=[knee, foot], sections=10))
    parts.append(trimesh.creation.cylinder(radius=0.09, segment=[[0, 0.16, -0.9], [0, 0.16, 1.05]], sections=16))
    solid = trimesh.util.concatenate(parts).subdivide()
    vertices = np.asarray(solid.vertices) - [0, float(solid.vertices[:, 1].min()), 0]
    return Mesh(vertices, np.asarray(solid.faces), np.ones_like(vertices))


def test_a_centipede_has_a_trunk_and_all_its_legs() -> None:
    rigged = auto_rig(Character("centipede", centipede(8)))
    limbs = find_limbs(rigged)
    assert (len(limbs.legs), limbs.body) == (16, "crawler")
    assert {len(leg.joints) for leg in limbs.legs} <= {2, 3}
    assert rigged.skeleton is not None
    heads = rigged.skeleton.heads
    trunk = heads[[j for j, name in enumerate(rigged.skeleton.names) if not name.startswith(("left", "right"))]]
    # It can bend: hips hang on what is near to them, not all on one joint.
    hips = heads[[leg.joints[0] for leg in limbs.legs]]
    assert np.abs(hips[:, None, 2] - trunk[None, :, 2]).min(axis=1).max() < 0.25


def test_what_is_said_to_be_a_snake_has_no_limbs() -> None:
    mesh = centipede(4)
    assert find_limbs(auto_rig(Character("bug", mesh))).legs
    found = embed(mesh, "snake")
    assert found.plan == "snake"
    assert not any(found.roles[role] for role in ("legs", "arms", "wings", "fins"))


def test_knees_that_lie_aside_are_put_in_line_and_their_hinges_fold_ahead_and_back() -> None:
    places = {"upper": [0.19, 0.37, -0.02], "lower": [0.166, 0.258, -0.002], "foot": [0.214, 0.075, -0.012]}
    at = {f"left_leg_{part}": np.array(place) for part, place in places.items()}
    axes, _ = leg_hinges(np.array(list(at.values())), front=False)
    assert abs(axes[0][0]) > 0.9
    moved = straight_knees(at)
    assert list(moved) == ["left_leg_lower"]
    share = (0.37 - 0.258) / (0.37 - 0.075)
    np.testing.assert_allclose(moved["left_leg_lower"], [0.19 + share * 0.024, 0.258, -0.002])
    # The leg of a lizard reaches aside, and so does its knee.
    assert not straight_knees(at | {"left_leg_foot": np.array([0.5, 0.075, -0.012])})


def test_feet_of_bipeds_reach_to_the_ends_of_their_boots() -> None:
    places = {"upper": [0.2, 0.4, 0.0], "foot": [0.2, 0.08, 0.0], "end": [0.2, 0.02, 0.03]}
    at = {f"left_leg_{part}": np.array(place) for part, place in places.items()} | {"hips": np.array([0, 0.4, 0.0])}
    boot = np.array([[x, y, z] for x in (0.1, 0.3) for y in (0.0, 0.05) for z in (-0.1, 0.25)])
    np.testing.assert_allclose(toe_tips(at, boot)["left_leg_end"], [0.2, 0.024, 0.25])
    assert not toe_tips(at | {"left_leg_end": np.array([0.2, 0.02, 0.2])}, boot)
    # The hem of a robe is no boot.
    assert not toe_tips(at, boot * [1, 1, 3])


def toy(leg: float) -> Mesh:
    """A body of two boxes on four square legs of a width of 0.2 m and the given length [m], facing +Z."""
    boxes = [((0.6, 0.6, 1.2), (0, leg + 0.3, 0)), ((0.5, 0.5, 0.5), (0, leg + 0.6, 0.8))]
    return in_boxes(boxes + [((0.2, leg, 0.2), (x, leg / 2, z)) for x in (-0.2, 0.2) for z in (-0.45, 0.45)])


def toy_person() -> Mesh:
    """A figure of boxes: square legs of 0.4 m, a trunk as long, arms stretched out, a head."""
    boxes = [((0.5, 0.4, 0.25), (0, 0.6, 0)), ((0.35, 0.35, 0.35), (0, 0.97, 0.02))]
    boxes += [((0.2, 0.4, 0.2), (x, 0.2, 0.0)) for x in (-0.15, 0.15)]
    return in_boxes(boxes + [((0.4, 0.15, 0.15), (x, 0.7, 0.0)) for x in (-0.45, 0.45)])


def in_boxes(boxes: list[tuple[tuple[float, ...], tuple[float, ...]]]) -> Mesh:
    """Boxes of sizes at places."""
    parts = [trimesh.creation.box(extents=size, transform=trimesh.transformations.translation_matrix(at))
             for size, at in boxes]  # fmt: skip
    solid = trimesh.util.concatenate(parts)
    vertices = np.asarray(solid.vertices)
    return Mesh(vertices, np.asarray(solid.faces), np.ones_like(vertices))


def test_feet_are_counted_and_their_legs_measured() -> None:
    feet = pack_balls(toy(0.4), symmetric=True).feet
    assert len(feet.tops) == 4
    np.testing.assert_allclose(feet.lengths, 0.4, atol=0.05)
    np.testing.assert_allclose(feet.radii, 0.2 / np.sqrt(np.pi), rtol=0.15)
    np.testing.assert_allclose(np.abs(feet.tops[:, [0, 2]]), [[0.2, 0.45]] * 4, atol=0.03)
    assert len(pack_balls(star(5)).feet.tops) == 2


def test_legs_that_are_short_blocks_are_one_bone() -> None:
    found = embed(toy(0.4))
    assert found.plan == "quadruped"
    legs = [name for name in found.skeleton.names if name.startswith(("hind", "front"))]
    assert sorted(legs) == sorted(found.roles["legs"]) == sorted(
        f"{end}_{side}_upper" for end in ("hind", "front") for side in ("left", "right")
    )  # fmt: skip
    for name in legs:
        place = found.skeleton.heads[found.skeleton.names.index(name)]
        want = (0.2 if "left" in name else -0.2, 0.4, 0.45 if "front" in name else -0.45)
        np.testing.assert_allclose(place, want, atol=0.06)
    assert "head" in found.skeleton.names
    # A long one has a knee.
    assert "hind_left_lower" in embed(toy(1.2), "quadruped").skeleton.names


def test_a_figure_of_blocks_has_limbs_of_one_bone() -> None:
    found = embed(toy_person(), "biped")
    places = dict(zip(found.skeleton.names, found.skeleton.heads))
    assert set(places) == {"hips", "head", *(f"{s}_{limb}_upper" for s in ("left", "right") for limb in ("leg", "arm"))}
    np.testing.assert_allclose(places["left_leg_upper"], (0.15, 0.4, 0), atol=0.06)
    np.testing.assert_allclose(places["right_arm_upper"], (-0.2, 0.7, 0), atol=0.08)
    np.testing.assert_allclose(places["head"], (0, 0.8, 0), atol=0.08)


@pytest.mark.parametrize(("name", "plan", "arms", "wings"), [("chicken", "bird", 0, 2), ("t-rex", "biped", 2, 0)])
def test_a_level_body_on_two_legs_without_arms_is_a_bird(name: str, plan: str, arms: int, wings: int) -> None:
    found = embed(creature(name, detail="low").mesh)
    assert found.plan == plan
    assert (len(found.roles["arms"]), len(found.roles["wings"])) == (arms, wings)
    assert len(found.roles["legs"]) == 2


def test_shoulders_of_a_toy_are_where_its_arms_are() -> None:
    def person(y: float) -> Skeleton:
        legs = [((0.2, 0.35, 0.25), (x, 0.175, 0)) for x in (-0.15, 0.15)]
        body = [((0.5, 0.5, 0.3), (0, 0.6, 0)), ((0.9, 0.6, 0.5), (0, 1.15, 0))]
        return embed(in_boxes([*legs, *body, ((1.3, 0.18, 0.2), (0, y, 0))]), "biped").skeleton

    for y in (0.55, 0.72):
        found = person(y)
        assert "left_arm_lower" not in found.names
        assert abs(found.heads[found.names.index("left_arm_upper"), 1] - y) < 0.06
        assert 0.03 < found.heads[found.names.index("head"), 1] - y < 0.2


def test_a_big_head_turns_about_the_lower_end_of_its_skull() -> None:
    legs = [((0.2, 0.9, 0.25), (x, 0.45, 0)) for x in (-0.15, 0.15)]
    body = [((0.5, 0.5, 0.3), (0, 1.1, 0)), ((0.15, 0.2, 0.15), (0, 1.4, 0)), ((0.8, 0.8, 0.8), (0, 1.85, 0))]
    found = embed(in_boxes([*legs, *body, ((1.8, 0.12, 0.12), (0, 1.25, 0))]), "biped").skeleton
    neck, head = (found.heads[found.names.index(name), 1] for name in ("neck", "head"))
    # The ball in the head lies between 1.45 and 2.25.
    assert 1.3 < head < 1.55
    assert 1.1 < neck < head


def test_hind_legs_bend_forward_at_the_knee_and_back_at_the_hock() -> None:
    found = embed(creature("horse", detail="low").mesh)
    places = dict(zip(found.skeleton.names, found.skeleton.heads))
    hip, knee, hock, fetlock = (places[f"hind_left_{part}"] for part in ("upper", "lower", "foot", "toes"))
    assert hip[1] > knee[1] > hock[1] > fetlock[1] > 0
    assert knee[2] > hip[2] + (hip[1] - knee[1]) / (hip[1] - hock[1]) * (hock[2] - hip[2])
    assert hock[2] < knee[2]
    assert hock[2] < fetlock[2]


def test_a_rule_of_a_leg_counts_only_where_a_foot_stands() -> None:
    balls = pack_balls(toy(1.2), symmetric=True)
    top = np.max(balls.feet.tops[:, 1])
    at = {f"front_left_{part}": np.array([0.2, 0.1, 0.45]) for part in ("upper", "lower", "foot", "end")}
    at["chest"] = np.array([0.0, 10.0, 0.45])
    placed = place_legs(at, balls)
    assert set(placed) == {f"front_left_{part}" for part in ("upper", "lower", "foot")}
    # Half of the place and half of the rule: 1.4 heights of the leg's top.
    np.testing.assert_allclose(placed["front_left_upper"][1], (0.1 + 1.4 * top) / 2, rtol=1e-9)
    low = place_legs(at | {"chest": np.array([0.0, 0.7 * top, 0.45])}, balls)
    np.testing.assert_allclose(low["front_left_upper"][1], (0.1 + 0.7 * top) / 2, rtol=1e-9)
    assert place_legs({name: place + [0, 0, 2.0] for name, place in at.items()}, balls) == {}


def test_fingers_reach_as_far_as_the_mesh_does() -> None:
    human = creature("human", detail="low").mesh
    found = embed(human, "biped")
    side = [name for name in found.skeleton.names if name.startswith("left_fingers")]
    assert side == ["left_fingers_1", "left_fingers_2", "left_fingers_3"]
    hand = found.skeleton.heads[found.skeleton.names.index("left_hand")]
    tip = found.skeleton.tails[found.skeleton.names.index("left_fingers_3")]
    way = (tip - hand) / np.linalg.norm(tip - hand)
    near = human.vertices[np.linalg.norm(human.vertices - tip, axis=1) < 0.1 * np.ptp(human.vertices[:, 1])]
    assert abs(((near - tip) @ way).max()) < 0.01 * np.ptp(human.vertices[:, 1])


def test_joints_of_a_fish_lie_apart_from_nose_to_tail() -> None:
    found = embed(creature("trout", detail="low").mesh)
    assert found.plan == "fish"
    axis = [j for j, name in enumerate(found.skeleton.names) if name in ("head", "body") or name.startswith("tail")]
    ahead = np.sort(found.skeleton.heads[axis, 2])
    assert len(axis) == 6
    assert np.diff(ahead).min() > 0.06 * np.ptp(creature("trout", detail="low").mesh.vertices[:, 2])


def test_a_mirrored_or_crouched_body_keeps_its_plan() -> None:
    fox = creature("fox", detail="low")
    mirrored = Mesh(fox.mesh.vertices * [-1, 1, 1], fox.mesh.faces[:, ::-1], fox.mesh.colors)
    found, image = embed(fox.mesh), embed(mirrored)
    assert found.plan == image.plan == "quadruped"
    # Left is at +X whatever the mesh was made from.
    for one in (found, image):
        places = dict(zip(one.skeleton.names, one.skeleton.heads))
        assert places["front_left_upper"][0] > places["front_right_upper"][0]
    inside_out = Mesh(fox.mesh.vertices, fox.mesh.faces[:, ::-1], fox.mesh.colors)
    assert embed(inside_out).plan == "quadruped"


def test_a_large_mesh_has_the_weights_of_its_coarse_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    fox = creature("fox")
    assert fox.skeleton is not None
    fine = bone_heat.rig_character(Character("fox", fox.mesh), fox.skeleton)
    monkeypatch.setattr(bone_heat, "LARGE", 3000)
    assert len(bone_heat.coarse_mesh(fox.mesh).vertices) <= 3000
    carried = bone_heat.rig_character(Character("fox", fox.mesh), fox.skeleton)
    assert fine.weights is not None
    assert carried.weights is not None
    np.testing.assert_allclose(carried.weights.sum(axis=1), 1)
    assert np.abs(fine.weights - carried.weights).sum(axis=1).mean() < 0.15
    assert (fine.weights.argmax(axis=1) == carried.weights.argmax(axis=1)).mean() > 0.9


def test_anatomy_of_a_large_mesh_is_that_of_its_coarse_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    from kinema.rig import anatomy

    fox = creature("fox")
    fine = Anatomy.of(fox)
    monkeypatch.setattr(anatomy, "LARGE", 2500)
    assert len(anatomy.coarse(fox).mesh.vertices) <= 2500
    coarse = Anatomy.of(fox)
    assert coarse.limbs.counts == fine.limbs.counts
    np.testing.assert_allclose(coarse.cuboids.volumes.sum(), fine.cuboids.volumes.sum(), rtol=0.1)
