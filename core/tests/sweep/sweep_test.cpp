// SPDX-License-Identifier: Apache-2.0
// The sweep on cases computed on paper: margins, first and last segment, between the steps, allowed
// pairs, touching, attached objects, budget. One-metre planar links with a sphere of 5 cm at the end.
#include <cmath>
#include <limits>

#include "geometry/tolerance.hpp"
#include "require.hpp"
#include "robots.hpp"

using namespace lastgate;
using namespace lastgate::robots;

namespace {

constexpr double pi = 3.141592653589793;

/// A gate that takes steps of any size within a second, so that rows can be far apart.
Gate jumping_gate(const RobotModelSpec& spec, double self_margin_m = 0.0, double world_margin_m = 0.0) {
    GateConfig config = wide_config(spec, 1.0);
    config.velocity_max.assign(spec.dofs.size(), 20.0);
    config.max_ee_speed_m_s = 100.0;
    config.max_ee_angular_speed_rad_s = 100.0;
    config.self_margin_m = self_margin_m;
    config.world_margin_m = world_margin_m;
    return make_gate(spec, config);
}

Vec3 on_circle(double radius_m, double angle) { return {radius_m * std::cos(angle), radius_m * std::sin(angle), 0.0}; }

struct Turn {
    Gate gate;
    WorldSnapshot world;
    std::vector<double> rows;
    double from[1];

    Turn(double start, std::vector<double> to, PrimitiveSpec obstacle, double margin_m = 0.0)
        : gate(jumping_gate(planar_arm(1), 0.0, margin_m)), world(make_world({&obstacle, 1})), rows(std::move(to)), from{start} {}
    Verdict check() { return gate.check(make_request(ControlMode::joint_position, rows, 1, from, world)); }
};

bool world_rejected(const Verdict& verdict) { return verdict.accepted == 0 && verdict.violation.code == ViolationCode::world_collision; }

}  // namespace

TEST(thin_pole_between_two_steps_is_found_wherever_it_stands) {
    for (int index = 1; index < 200; ++index) {
        const double angle = 0.08 + (pi - 0.16) * index / 200.0;
        Turn turn(0.0, {pi}, sphere(on_circle(1.0, angle), 0.002));
        const Verdict verdict = turn.check();
        REQUIRE(world_rejected(verdict), angle);
        const double contact = (angle - 2.0 * std::asin(0.052 / 2.0)) / pi;
        REQUIRE(verdict.violation.first_contact_t <= contact + 1e-12, angle, verdict.violation.first_contact_t, contact);
        REQUIRE(verdict.violation.distance_m <= 1e-4, angle, verdict.violation.distance_m);
    }
}

TEST(thin_pole_just_out_of_reach_is_passed) {
    for (int index = 1; index < 200; ++index) {
        const double angle = 0.08 + (pi - 0.16) * index / 200.0;
        Turn turn(0.0, {pi}, sphere(on_circle(1.0 + 0.052 + 0.0002, angle), 0.002));
        REQUIRE(turn.check().accepted == 1, angle);
    }
}

TEST(sweep_decides_within_a_tenth_of_a_millimetre) {
    for (const double gap_m : {-1e-3, -1e-6, 0.0}) {
        Turn turn(0.0, {pi}, sphere(on_circle(1.052 + gap_m, 1.0), 0.002));
        REQUIRE(world_rejected(turn.check()), gap_m);
    }
    for (const double gap_m : {1.01e-4, 1e-3}) {
        Turn turn(0.0, {pi}, sphere(on_circle(1.052 + gap_m, 1.0), 0.002));
        REQUIRE(turn.check().accepted == 1, gap_m);
    }
}

TEST(contact_in_the_first_segment_is_found) {
    Turn turn(0.0, {1.0, 1.1, 1.2}, sphere(on_circle(1.0, 0.5), 0.01));
    const Verdict verdict = turn.check();
    REQUIRE(world_rejected(verdict) && verdict.violation.row == 0 && verdict.certified_rows == 0, verdict.violation.row);
}

TEST(contact_at_the_measured_state_is_found_even_if_every_row_leaves_it) {
    Turn turn(0.0, {1.0, 1.1, 1.2}, sphere(on_circle(1.0, 0.0), 0.01));
    REQUIRE(world_rejected(turn.check()));
}

TEST(contact_in_the_last_segment_is_found) {
    Turn turn(0.0, {0.1, 0.2, 1.2}, sphere(on_circle(1.0, 0.7), 0.01));
    const Verdict verdict = turn.check();
    REQUIRE(world_rejected(verdict) && verdict.violation.row == 2 && verdict.certified_rows == 2, verdict.violation.row, verdict.certified_rows);
}

TEST(contact_of_the_last_row_alone_is_found) {
    Turn turn(0.0, {0.1, 0.2, 0.3}, sphere(on_circle(1.0, 0.3 + 2.0 * std::asin(0.06 / 2.0) - 1e-4), 0.01));
    REQUIRE(world_rejected(turn.check()));
    Turn shorter(0.0, {0.1, 0.2}, sphere(on_circle(1.0, 0.3 + 2.0 * std::asin(0.06 / 2.0) - 1e-4), 0.01));
    REQUIRE(shorter.check().accepted == 1);
}

TEST(one_row_chunk_is_swept_from_the_measured_state) {
    Turn turn(-0.5, {0.5}, sphere(on_circle(1.0, 0.0), 0.001));
    REQUIRE(world_rejected(turn.check()));
}

TEST(touching_counts_as_contact_and_a_tenth_of_a_millimetre_does_not) {
    // Numbers that are exact in binary, so that the distance is exactly zero.
    Gate gate = jumping_gate(slider());
    const double from[1] = {0.0};
    const double rows[1] = {0.0};
    PrimitiveSpec touching = box({0.05 + 0.25, 0.0, 0.0}, {0.25, 1.0, 1.0});
    const WorldSnapshot in_contact = make_world({&touching, 1});
    REQUIRE(world_rejected(gate.check(make_request(ControlMode::joint_position, rows, 1, from, in_contact))));
    touching.in_base.translation.x += 1e-4;
    const WorldSnapshot apart = make_world({&touching, 1});
    REQUIRE(gate.check(make_request(ControlMode::joint_position, rows, 1, from, apart)).accepted == 1);
}

TEST(margin_is_required_beyond_touching) {
    for (const double margin_m : {0.0, 0.01, 0.05}) {
        Turn closer(0.0, {0.5}, sphere(on_circle(1.0 + 0.06 + margin_m - 0.002, 0.25), 0.01), margin_m);
        REQUIRE(world_rejected(closer.check()), margin_m);
        Turn farther(0.0, {0.5}, sphere(on_circle(1.0 + 0.06 + margin_m + 0.002, 0.25), 0.01), margin_m);
        const Verdict verdict = farther.check();
        REQUIRE(verdict.accepted == 1, margin_m);
        REQUIRE(verdict.min_clearance_m <= 0.002 + 1e-9 && verdict.min_clearance_m >= 0.0, verdict.min_clearance_m);
    }
}

TEST(self_margin_is_required_beyond_touching) {
    // Folding the second link by `bend` puts its sphere 2 cos(bend / 2) from the first link's axis … on
    // paper: |tip - sphere 1| = 1 always, so the pair checked is tip against a sphere at the root.
    RobotModelSpec spec = planar_arm(2);
    spec.volumes.push_back({0, 0.05, {}, {}});
    const double from[2] = {0.0, 2.0};
    for (const double margin_m : {0.0, 0.02, 0.06}) {
        Gate gate = jumping_gate(spec, margin_m);
        const WorldSnapshot world = no_world();
        // Tip and root are 2 |sin(gap / 2)| apart when the elbow is bent to pi - gap.
        const auto bend_for = [](double distance_m) { return pi - 2.0 * std::asin(distance_m / 2.0); };
        const double closer[2] = {0.0, bend_for(0.1 + margin_m - 0.002)};
        const double farther[2] = {0.0, bend_for(0.1 + margin_m + 0.002)};
        const Verdict rejected = gate.check(make_request(ControlMode::joint_position, closer, 2, from, world));
        REQUIRE(rejected.accepted == 0 && rejected.violation.code == ViolationCode::self_collision, margin_m);
        REQUIRE(rejected.violation.subject == 0 && rejected.violation.against == 2, rejected.violation.subject, rejected.violation.against);
        const Verdict accepted = gate.check(make_request(ControlMode::joint_position, farther, 2, from, world));
        REQUIRE(accepted.accepted == 1, margin_m, static_cast<int>(accepted.violation.code));
    }
}

TEST(allowed_pair_is_not_checked_and_the_others_are) {
    RobotModelSpec spec = planar_arm(2);
    spec.volumes.push_back({0, 0.05, {}, {}});
    const double from[2] = {0.0, 2.0};
    const double folded[2] = {0.0, 3.14};
    const WorldSnapshot world = no_world();
    Gate strict = jumping_gate(spec);
    REQUIRE(strict.check(make_request(ControlMode::joint_position, folded, 2, from, world)).violation.code == ViolationCode::self_collision);
    spec.allowed_pairs.push_back({0, 2});
    Gate lenient = jumping_gate(spec);
    REQUIRE(lenient.check(make_request(ControlMode::joint_position, folded, 2, from, world)).accepted == 1);
    spec.allowed_pairs.back() = {0, 1};
    Gate other = jumping_gate(spec);
    REQUIRE(other.check(make_request(ControlMode::joint_position, folded, 2, from, world)).violation.code == ViolationCode::self_collision);
}

TEST(prismatic_joint_passing_a_pole_is_found) {
    Gate gate = jumping_gate(slider());
    const double from[1] = {-4.0};
    const double rows[1] = {4.0};
    for (int index = 0; index < 100; ++index) {
        const PrimitiveSpec pole = sphere({-3.9 + 7.8 * index / 99.0, 0.05, 0.0}, 0.001);
        const WorldSnapshot world = make_world({&pole, 1});
        REQUIRE(world_rejected(gate.check(make_request(ControlMode::joint_position, rows, 1, from, world))), index);
    }
}

TEST(turn_of_half_a_circle_in_each_of_two_joints_meets_what_lies_at_full_stretch) {
    // Reach bounds must use the distance from each joint's own axis: at mid turn the tip is 2 m out.
    Gate gate = jumping_gate(planar_arm(2));
    const double from[2] = {-1.0, -1.0};
    const double rows[2] = {1.0, 1.0};
    const PrimitiveSpec pole = sphere({2.04, 0.0, 0.0}, 0.001);
    const WorldSnapshot world = make_world({&pole, 1});
    REQUIRE(world_rejected(gate.check(make_request(ControlMode::joint_position, rows, 2, from, world))));
}

TEST(joint_axis_along_the_link_has_no_reach_and_across_it_has_all_of_it) {
    // A sphere one metre up on an axis that points at it does not move; on a tilted one it does.
    for (const bool across : {false, true}) {
        RobotModelSpec spec;
        spec.links.push_back({});
        add_joint(spec, 0, JointKind::revolute, {}, {}, across ? Vec3{1.0, 0.0, 0.0} : Vec3{0.0, 0.0, 1.0}, -3.2, 3.2);
        spec.volumes.push_back({1, 0.05, {0.0, 0.0, 1.0}, {0.0, 0.0, 1.0}});
        const RobotModel model(spec);
        REQUIRE(across ? model.volumes()[0].reach[0] >= 1.0 : model.volumes()[0].reach[0] < 1e-9, across, model.volumes()[0].reach[0]);
        if (!across) continue;
        GateConfig config = wide_config(spec, 1.0);
        config.velocity_max = {20.0};
        config.workspace_box.reset();
        config.enabled_modes = 1;
        Gate gate = make_gate(spec, config);
        const double from[1] = {-1.5};
        const double rows[1] = {1.5};
        for (int index = 0; index < 100; ++index) {
            const double angle = -1.4 + 2.8 * index / 99.0;
            const PrimitiveSpec pole = sphere({0.0, -std::sin(angle), std::cos(angle)}, 0.002);
            const WorldSnapshot world = make_world({&pole, 1});
            REQUIRE(world_rejected(gate.check(make_request(ControlMode::joint_position, rows, 1, from, world))), angle);
        }
    }
}

TEST(tool_that_leaves_the_box_between_two_steps_is_found) {
    GateConfig config = wide_config(planar_arm(1), 1.0);
    config.velocity_max = {20.0};
    config.max_ee_speed_m_s = 100.0;
    config.max_ee_angular_speed_rad_s = 100.0;
    config.workspace_box = WorkspaceBox{{-2.0, -2.0, -1.0}, {0.9, 2.0, 1.0}};
    Gate gate = make_gate(planar_arm(1), config);
    const WorldSnapshot world = no_world();
    const double from[1] = {-1.0};
    const double through[1] = {1.0};
    const Verdict verdict = gate.check(make_request(ControlMode::joint_position, through, 1, from, world));
    REQUIRE(verdict.accepted == 0 && verdict.violation.code == ViolationCode::workspace_box && verdict.stage == 8);
    const double inside[1] = {-2.0};
    REQUIRE(gate.check(make_request(ControlMode::joint_position, inside, 1, from, world)).accepted == 1);
}

TEST(attached_object_collides_and_what_it_may_touch_does_not) {
    RobotModelSpec spec = planar_arm(2);
    Gate gate = jumping_gate(spec);
    const double from[2] = {0.0, 0.0};
    const double rows[2] = {0.5, 0.0};
    const PrimitiveSpec pole = sphere(on_circle(2.4, 0.3), 0.01);
    const WorldSnapshot world = make_world({&pole, 1});
    const CheckRequest request = make_request(ControlMode::joint_position, rows, 2, from, world);
    REQUIRE(gate.check(request).accepted == 1);
    Attachment stick;
    stick.id = 5;
    stick.volume = {2, 0.02, {0.0, 0.0, 0.0}, {1.5, 0.0, 0.0}};  // held at the elbow, where link 1 ends
    REQUIRE(gate.attach(stick));
    const Verdict touching = gate.check(request);
    REQUIRE(touching.violation.code == ViolationCode::self_collision && touching.violation.against_kind == AgainstKind::attached);
    REQUIRE(gate.detach(5));
    stick.touch.set(1);
    REQUIRE(gate.attach(stick));
    const Verdict verdict = gate.check(request);
    REQUIRE(world_rejected(verdict) && verdict.violation.subject_kind == SubjectKind::attached && verdict.violation.subject == 5);
    REQUIRE(gate.detach(5) && gate.check(request).accepted == 1);
}

TEST(spent_budget_rejects_and_more_budget_accepts) {
    // Passing 0.15 mm beside many poles takes thousands of queries.
    std::vector<PrimitiveSpec> poles;
    for (int index = 0; index < 60; ++index) poles.push_back(sphere(on_circle(1.052 + 1.5e-4, 0.05 * index), 0.002));
    const WorldSnapshot world = make_world(poles);
    const double from[1] = {0.0};
    const double rows[1] = {3.0};
    GateConfig config = wide_config(planar_arm(1), 1.0);
    config.velocity_max = {20.0};
    config.max_ee_speed_m_s = 100.0;
    config.max_ee_angular_speed_rad_s = 100.0;
    config.evaluations_max = 300;
    Gate poor = make_gate(planar_arm(1), config);
    const Verdict rejected = poor.check(make_request(ControlMode::joint_position, rows, 1, from, world));
    REQUIRE(rejected.accepted == 0 && rejected.violation.code == ViolationCode::budget_exceeded, static_cast<int>(rejected.violation.code));
    REQUIRE(rejected.evaluations <= 300 + 64, rejected.evaluations);
    config.evaluations_max = 1000000;
    Gate rich = make_gate(planar_arm(1), config);
    const Verdict accepted = rich.check(make_request(ControlMode::joint_position, rows, 1, from, world));
    REQUIRE(accepted.accepted == 1, static_cast<int>(accepted.violation.code), accepted.evaluations);
    REQUIRE(accepted.evaluations > 300, accepted.evaluations);
}

TEST(single_configurations_agree_with_their_distances) {
    Gate gate = jumping_gate(planar_arm(1), 0.0, 0.01);
    const PrimitiveSpec pole = sphere(on_circle(1.0, 1.0), 0.01);
    const WorldSnapshot world = make_world({&pole, 1});
    const double configurations[5] = {0.0, 1.0, 0.9, 4.0, std::numeric_limits<double>::quiet_NaN()};
    std::uint8_t accepted[5] = {9, 9, 9, 9, 9};
    double clearance_m[5];
    gate.check_configurations(configurations, 5, {}, world, accepted, clearance_m);
    REQUIRE(accepted[0] == 1 && accepted[1] == 0 && accepted[2] == 1 && accepted[3] == 0 && accepted[4] == 0);
    // Never above the truth, and not far below it.
    const auto bounds = [](double found, double truth) { return found <= truth + 1e-12 && found >= truth - 1e-4; };
    REQUIRE(bounds(clearance_m[0], 2.0 * std::sin(0.5) - 0.07), clearance_m[0]);
    REQUIRE(bounds(clearance_m[2], 2.0 * std::sin(0.05) - 0.07), clearance_m[2]);
    REQUIRE(clearance_m[1] < 0.0 && std::isinf(clearance_m[3]) && std::isinf(clearance_m[4]));
}

TEST_MAIN
