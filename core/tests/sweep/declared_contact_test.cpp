// SPDX-License-Identifier: Apache-2.0
// Declared contact: as close as touching, only there, only then, only for that pair, and never unasked.
#include <cmath>
#include <limits>

#include "require.hpp"
#include "robots.hpp"
#include "world/obstacle_field.hpp"

using namespace lastgate;
using namespace lastgate::robots;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// A slide with a sphere of 5 cm, a margin of 10 cm, and a cup whose surface is at x = 0.5.
struct Scene {
    GateConfig config = [] {
        GateConfig made = wide_config(slider(), 1.0);
        made.velocity_max = {100.0};
        made.max_ee_speed_m_s = 100.0;
        made.world_margin_m = 0.1;
        return made;
    }();
    Gate gate = make_gate(slider(), config);
    WorldSnapshot world;
    DeclaredContact contact;

    Scene() {
        world.begin(3, 1.0, true);
        world.add(sphere({0.6, 0.0, 0.0}, 0.1));
        world.add(sphere({-3.0, 0.0, 0.0}, 0.1));
        contact.links.set(1);
        contact.obstacles.set(0);
        contact.region = box({0.5, 0.0, 0.0}, {0.25, 0.2, 0.2});  // from x = 0.25
        contact.expires_s = 100.0;
    }
    Verdict slide(std::initializer_list<double> rows, std::initializer_list<DeclaredContact> contacts, double from = 0.0, bool recovery = false) {
        const std::vector<double> flat(rows);
        const std::vector<DeclaredContact> declared(contacts);
        const double start[1] = {from};
        CheckRequest request = make_request(ControlMode::joint_position, flat, 1, start, world);
        request.contacts = declared;
        request.recovery = recovery;
        return gate.check(request);
    }
};

}  // namespace

TEST(margin_may_shrink_to_touching_and_no_further) {
    Scene scene;
    // Without the contact the sphere stops at 0.5 - 0.05 - 0.1; with it at 0.5 - 0.05.
    REQUIRE(scene.slide({0.3498}, {}).accepted == 1);
    REQUIRE(scene.slide({0.3502}, {}).violation.code == ViolationCode::world_collision);
    const Verdict touching = scene.slide({0.4498}, {scene.contact});
    REQUIRE(touching.accepted == 1 && touching.contacts_used == 1 && touching.certified_rows == 1);
    REQUIRE(touching.min_clearance_m >= 0.0 && touching.min_clearance_m <= 0.0002, touching.min_clearance_m);
    const Verdict pressing = scene.slide({0.4502}, {scene.contact});
    REQUIRE(pressing.accepted == 0 && pressing.violation.code == ViolationCode::world_collision && pressing.contacts_used == 0);
    REQUIRE(pressing.violation.margin_m == 0.0 && pressing.violation.distance_m < 0.0, pressing.violation.margin_m, pressing.violation.distance_m);
}

TEST(contact_that_was_not_needed_is_not_reported) {
    Scene scene;
    // Half a metre in one row: only bisection shows that the margin is kept all the way.
    for (const double to : {0.1, 0.3, 0.3498}) {
        const Verdict verdict = scene.slide({to}, {scene.contact});
        REQUIRE(verdict.accepted == 1 && verdict.contacts_used == 0, to, verdict.contacts_used);
    }
    DeclaredContact idle = scene.contact;
    idle.obstacles.reset();
    idle.obstacles.set(1);
    const Verdict verdict = scene.slide({0.44}, {idle, scene.contact});
    REQUIRE(verdict.accepted == 1 && verdict.contacts_used == 2, verdict.contacts_used);
}

TEST(volume_must_lie_inside_the_region_whole) {
    Scene scene;
    // At 0.36 the sphere reaches back to 0.31 and is inside the margin.
    DeclaredContact ends_short = scene.contact;
    ends_short.region = box({0.5, 0.0, 0.0}, {0.18, 0.2, 0.2});  // from x = 0.32
    REQUIRE(scene.slide({0.36}, {scene.contact}).accepted == 1);
    REQUIRE(scene.slide({0.36}, {ends_short}).accepted == 0);
    // Inside at the last row is not enough: on the way there the margin was broken outside the region.
    REQUIRE(scene.slide({0.44}, {ends_short}).accepted == 0);
    DeclaredContact thin = scene.contact;
    thin.region = box({0.5, 0.0, 0.0}, {0.25, 0.049, 0.2});
    REQUIRE(scene.slide({0.44}, {thin}).accepted == 0);
}

TEST(other_pairs_keep_their_margin) {
    Scene scene;
    DeclaredContact other_link = scene.contact;
    other_link.links.reset();
    other_link.links.set(0);
    REQUIRE(scene.slide({0.4}, {other_link}).accepted == 0);
    DeclaredContact other_obstacle = scene.contact;
    other_obstacle.obstacles.reset();
    other_obstacle.obstacles.set(1);
    REQUIRE(scene.slide({0.4}, {other_obstacle}).accepted == 0);
    // A second obstacle at the same place was not declared.
    scene.world.add(sphere({0.6, 0.0, 0.0}, 0.1));
    REQUIRE(scene.slide({0.4}, {scene.contact}).accepted == 0);
}

TEST(attached_object_needs_its_own_contact) {
    Scene scene;
    Attachment held;
    held.id = 2;
    held.volume = {1, 0.05, {}, {}};
    held.touch.set(1);
    REQUIRE(scene.gate.attach(held));
    REQUIRE(scene.slide({0.4}, {scene.contact}).accepted == 0);
    DeclaredContact for_attached = scene.contact;
    for_attached.links.reset();
    for_attached.held.set(2);
    const Verdict both = scene.slide({0.4}, {scene.contact, for_attached});
    REQUIRE(both.accepted == 1 && both.contacts_used == 3, both.contacts_used);
    REQUIRE(scene.slide({0.4502}, {scene.contact, for_attached}).accepted == 0);
}

TEST(zones_are_never_declared_away) {
    Scene scene;
    scene.config.no_go_zones.push_back(sphere({0.6, 0.0, 0.0}, 0.1));
    Gate zoned = make_gate(slider(), scene.config);
    const double row[1] = {0.4};
    const double start[1] = {0.0};
    CheckRequest request = make_request(ControlMode::joint_position, row, 1, start, scene.world);
    request.contacts = {&scene.contact, 1};
    const Verdict verdict = zoned.check(request);
    REQUIRE(verdict.accepted == 0 && verdict.violation.against_kind == AgainstKind::zone && verdict.contacts_used == 0);
}

TEST(rows_after_the_expiry_keep_the_margin) {
    Scene scene;  // rows are one second apart, the check happens at 1 s
    DeclaredContact short_lived = scene.contact;
    short_lived.expires_s = 3.5;
    REQUIRE(scene.slide({0.3, 0.44, 0.3}, {scene.contact}).accepted == 1);
    REQUIRE(scene.slide({0.44, 0.3}, {short_lived}).accepted == 1);
    // The third row is reached at 4 s; the sphere leaves the margin only then.
    const Verdict late = scene.slide({0.3, 0.44, 0.3}, {short_lived});
    REQUIRE(late.accepted == 0 && late.violation.row == 2 && late.violation.margin_m == 0.1, late.violation.row, late.violation.margin_m);
    // Steps that rely on a declared contact are not certified.
    REQUIRE(late.certified_rows == 1, late.certified_rows);
    for (const double expires_s : {0.999, 1.5, -5.0}) {
        short_lived.expires_s = expires_s;
        REQUIRE(scene.slide({0.44, 0.3}, {short_lived}).accepted == 0, expires_s);
    }
}

TEST(contact_with_a_field_counts_like_one_with_an_obstacle) {
    Scene scene;
    scene.world.begin(3, 1.0, true);
    const double point[3] = {0.5, 0.0, 0.0};
    scene.world.set_field(point_slot, std::make_shared<const ObstacleField>(ObstacleField::from_points(point)), 1.0);
    DeclaredContact with_points = scene.contact;
    with_points.obstacles.reset();
    with_points.fields.set(point_slot);
    REQUIRE(scene.slide({0.4498}, {}).accepted == 0);
    const Verdict touching = scene.slide({0.4498}, {with_points});
    REQUIRE(touching.accepted == 1 && touching.contacts_used == 1);
    REQUIRE(scene.slide({0.4502}, {with_points}).accepted == 0);
    DeclaredContact with_voxels = with_points;
    with_voxels.fields.reset(point_slot);
    with_voxels.fields.set(voxel_slot);
    REQUIRE(scene.slide({0.4498}, {with_voxels}).accepted == 0);
}

TEST(recovery_still_has_to_move_apart) {
    Scene scene;
    REQUIRE(scene.slide({0.44}, {scene.contact}, 0.4).accepted == 1);
    REQUIRE(scene.slide({0.44}, {scene.contact}, 0.4, true).accepted == 0);
    REQUIRE(scene.slide({0.38}, {scene.contact}, 0.4, true).accepted == 1);
}

TEST(declaration_that_cannot_be_used_rejects) {
    Scene scene;
    const auto rejected = [&](DeclaredContact contact) {
        const Verdict verdict = scene.slide({0.1}, {contact});
        return verdict.accepted == 0 && verdict.stage == 9 && verdict.violation.code == ViolationCode::declared_contact;
    };
    REQUIRE(scene.slide({0.1}, {scene.contact}).accepted == 1);
    DeclaredContact bad = scene.contact;
    bad.expires_s = not_a_number;
    REQUIRE(rejected(bad));
    bad.expires_s = std::numeric_limits<double>::infinity();
    REQUIRE(rejected(bad));
    for (const Vec3 half : {Vec3{not_a_number, 1.0, 1.0}, Vec3{0.0, 1.0, 1.0}, Vec3{1.0, -1.0, 1.0}}) {
        bad = scene.contact;
        bad.region.half_extents_m = half;
        REQUIRE(rejected(bad), half.x);
    }
    bad = scene.contact;
    bad.region.in_base.translation.z = not_a_number;
    REQUIRE(rejected(bad));
    bad = scene.contact;
    bad.region.in_base.rotation.x = {2.0, 0.0, 0.0};
    REQUIRE(rejected(bad));
    bad = scene.contact;
    bad.region.kind = PrimitiveKind::sphere;
    bad.region.radius_m = 1.0;
    REQUIRE(rejected(bad));
    bad = scene.contact;
    bad.links.reset();
    REQUIRE(rejected(bad));
    bad = scene.contact;
    bad.obstacles.reset();
    REQUIRE(rejected(bad));
    bad = scene.contact;
    bad.links.set(2);
    REQUIRE(rejected(bad));
    bad = scene.contact;
    bad.held.set(0);
    REQUIRE(rejected(bad));
    bad = scene.contact;
    bad.obstacles.set(2);
    REQUIRE(rejected(bad));
    const double row[1] = {0.1};
    const double start[1] = {0.0};
    CheckRequest request = make_request(ControlMode::joint_position, row, 1, start, scene.world);
    const std::vector<DeclaredContact> many(capacity::declared_contacts_max + 1, scene.contact);
    request.contacts = std::span(many).first(capacity::declared_contacts_max);
    REQUIRE(scene.gate.check(request).accepted == 1);
    request.contacts = many;
    REQUIRE(scene.gate.check(request).violation.code == ViolationCode::declared_contact);
}

TEST_MAIN
