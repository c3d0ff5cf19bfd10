# SPDX-License-Identifier: Apache-2.0
"""Declared contacts against sampling every segment 2,000 times.

Reference, per volume and obstacle and instant, in NumPy: the pair keeps its margin; or it is declared, does not
overlap, and the volume lies in the region whole. Accepted: that holds at every sample, to 1e-9 m, and a contact is
reported as used only if a margin was not kept (to the 0.1 mm of the promise), and always if it was broken. Rejected:
some instant is within 0.1 mm of breaking it.
"""

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import lastgate as lg
from oracles import library
from oracles.brute_force import SAMPLES
from oracles.field_cases import draw_field_case
from oracles.sweep_cases import Setup, jump, make_case, short_steps
from oracles.sweep_checker import BAND_M, MISSED_M

CHUNKS = 60
MARGIN_M = 0.03


def draw_contact(rng, setup, path, primitives, field):
    """Returns a contact for some links with what the path passes, in a region that holds part of the path."""
    volumes = setup.brute_without_world.volumes
    a, b = setup.brute_without_world.capsule_axes(
        setup.brute_without_world.frames_at(path[0], path[-1], rng.uniform(size=1))
    )
    number = int(rng.integers(len(volumes)))
    links = sorted({v.link for v in volumes if v is volumes[number] or rng.random() < 0.5})
    size = np.abs(a[number] - b[number]).max() + rng.uniform(0.2, 3.0)
    return lg.DeclaredContact(
        name="contact",
        links=links,
        objects=[] if field else [p.object_id for p in primitives],
        points=field,
        region=lg.BoxShape(size_xyz_m=(size, size, size)),
        region_pose=lg.Pose6D(
            xyz=tuple(((a[number, 0] + b[number, 0]) / 2).tolist()),
            quat_xyzw=tuple(Rotation.random(random_state=rng).as_quat().tolist()),
        ),
        expires_s=1e6,
    )


def evaluated(brute, contact, start, end, t):
    """Returns the least distance beyond the margin, the same with the contact counted, and when that is."""
    a, b = brute.capsule_axes(brute.frames_at(start, end, t))
    rotation = Rotation.from_quat(contact.region_pose.quat_xyzw).as_matrix()
    half = np.array(contact.region.size_xyz_m) / 2
    plain_m, with_contact_m, when = np.inf, np.inf, 0.0
    for i, j in brute.world_pairs:
        volume = brute.volumes[i]
        distance = brute.distance("world", (i, j), a, b)
        plain = distance - MARGIN_M
        counted = plain
        if volume.link in contact.links:
            local = [(ends[i] - np.array(contact.region_pose.xyz)) @ rotation for ends in (a, b)]
            depth = np.minimum(*((half - np.abs(p)).min(axis=-1) for p in local)) - volume.radius_m
            counted = np.maximum(plain, np.minimum(distance, depth))
        plain_m = min(plain_m, float(plain.min()))
        if counted.min() < with_contact_m:
            with_contact_m, when = float(counted.min()), float(t[counted.argmin()])
    return plain_m, with_contact_m, when


def refined(brute, contact, start, end):
    """Returns the least of 2,000 samples, and of 200 more around it."""
    plain_m, with_contact_m, when = evaluated(brute, contact, start, end, np.linspace(0.0, 1.0, SAMPLES))
    width = 1.0 / (SAMPLES - 1)
    finer = evaluated(
        brute, contact, start, end, np.clip(np.linspace(when - width, when + width, 201), 0.0, 1.0)
    )
    return min(plain_m, finer[0]), min(with_contact_m, finer[1])


ROBOTS = {
    "one joint": library.one_joint_arm,
    "planar 3R": lambda: library.planar_arm((0.4, 0.3, 0.25)),
    "scara": library.scara,
}


@pytest.mark.parametrize("field", [False, True], ids=["objects", "points"])
@pytest.mark.parametrize("name", ROBOTS)
def test_contact_counts_where_it_is_declared_and_nowhere_else(name, field):
    setup = Setup(ROBOTS[name](), world_margin_m=MARGIN_M)
    # Obstacles are drawn to graze the volumes themselves, so that the margin is broken by most paths.
    touching = Setup(ROBOTS[name]())
    seen = dict.fromkeys(("used", "unused", "rejected"), 0)
    for index in range(CHUNKS):
        rng = np.random.default_rng([20260614, list(ROBOTS).index(name), field, index])
        path = (jump, short_steps)[index % 2]
        if field:
            case = draw_field_case(rng, touching, path, fields="points")
            world = case.world
        else:
            case = make_case(rng, touching, path, grazing=1.0, clutter=0.3, draws=4)
            named = [p.model_copy(update={"object_id": f"thing{i}"}) for i, p in enumerate(case.primitives)]
            world = lg.World(primitives=named, stamp_s=0.0)
        if not case.primitives:
            continue
        primitives = world.primitives or case.primitives
        contact = draw_contact(rng, setup, case.path, primitives, field)
        rows, _ = setup.rows_of(case.path)
        verdict = setup.gate.check(
            lg.ActionChunk(rows[1:]),
            state=lg.RobotState(positions=rows[0], stamp_s=0.0),
            world=world,
            now_s=0.0,
            declared_contacts=[contact],
        )
        brute = setup.brute(primitives)
        found = [refined(brute, contact, *pair) for pair in itertools.pairwise(case.path)]
        plain_m, with_contact_m = (min(column) for column in zip(*found, strict=True))
        label = f"{name} #{index}"
        if verdict.accepted:
            assert with_contact_m >= -MISSED_M, f"{label}: MISSED by {-with_contact_m:.3e} m"
            used = verdict.contacts_used == ("contact",)
            assert used or plain_m >= -MISSED_M, f"{label}: the margin was broken and nothing reported"
            assert not used or plain_m <= BAND_M, f"{label}: reported as used, the margin was kept"
            assert verdict.min_clearance_m <= with_contact_m + MISSED_M
            seen["used" if used else "unused"] += 1
            continue
        (violation,) = verdict.violations
        assert verdict.contacts_used == ()
        if violation.code != "world_collision":
            assert violation.code in ("self_collision", "budget_exceeded")
            continue
        assert found[violation.step][1] <= BAND_M, (
            f"{label}: FALSE REJECTION, {found[violation.step][1]:.3e} m"
        )
        assert all(with_contact >= -MISSED_M for _, with_contact in found[: violation.step])
        seen["rejected"] += 1
    print(f"{name}: {seen}")
    assert min(seen["used"], seen["rejected"]) >= 5
