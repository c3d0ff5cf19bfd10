// SPDX-License-Identifier: Apache-2.0
// Every control mode: what it accepts, what it rejects, and that no mode escapes the sweeps.
#include <cmath>
#include <limits>

#include "mode_chunks.hpp"
#include "require.hpp"
#include "world/obstacle_field.hpp"

using namespace lastgate;
using namespace lastgate::robots;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

struct Mobile {
    Gate gate = make_gate(mobile_manipulator());
    std::vector<ModeChunk> chunks = mode_chunks(gate.model());
    WorldSnapshot empty = make_world({});
    double fingers[1] = {0.02};

    CheckRequest request(ControlMode mode, std::span<const double> rows, std::size_t width, const WorldSnapshot& world) {
        CheckRequest made = make_request(mode, rows, width, panda_home, world);
        made.state.gripper_positions = fingers;
        return made;
    }
    Verdict check(const ModeChunk& chunk, const std::vector<double>& rows, const WorldSnapshot& world) {
        return gate.check(request(chunk.mode, rows, chunk.width, world));
    }
};

int number(ControlMode mode) { return static_cast<int>(mode); }

}  // namespace

TEST(there_is_a_chunk_for_every_mode) {
    Mobile mobile;
    REQUIRE(mobile.chunks.size() == control_mode_count);
    for (std::size_t index = 0; index < mobile.chunks.size(); ++index) REQUIRE(static_cast<std::size_t>(mobile.chunks[index].mode) == index);
}

TEST(small_motion_is_accepted_in_every_mode_but_foot_placement) {
    Mobile mobile;
    for (const ModeChunk& chunk : mobile.chunks) {
        if (chunk.mode == ControlMode::foot_placement) continue;
        const Verdict verdict = mobile.check(chunk, chunk.accepted, mobile.empty);
        REQUIRE(verdict.accepted == 1, number(chunk.mode), verdict.stage, static_cast<int>(verdict.violation.code), verdict.violation.value);
        REQUIRE(verdict.certified_rows == chunk.accepted.size() / chunk.width, number(chunk.mode));
        REQUIRE(verdict.min_clearance_m >= 0.0 && std::isfinite(verdict.min_clearance_m), number(chunk.mode));
    }
}

TEST(row_beyond_its_limit_is_rejected_in_every_mode) {
    Mobile mobile;
    for (const ModeChunk& chunk : mobile.chunks) {
        const Verdict verdict = mobile.check(chunk, chunk.rejected, mobile.empty);
        REQUIRE(verdict.accepted == 0, number(chunk.mode));
        REQUIRE(verdict.violation.code == chunk.code, number(chunk.mode), static_cast<int>(verdict.violation.code));
    }
}

TEST(nan_is_rejected_in_every_mode_and_every_element) {
    Mobile mobile;
    for (const ModeChunk& chunk : mobile.chunks) {
        for (std::size_t element = 0; element < chunk.accepted.size(); ++element) {
            std::vector<double> rows = chunk.accepted;
            rows[element] = not_a_number;
            const Verdict verdict = mobile.check(chunk, rows, mobile.empty);
            REQUIRE(verdict.accepted == 0 && verdict.violation.code == ViolationCode::nan_in_action, number(chunk.mode), element);
        }
    }
}

TEST(obstacle_in_the_hand_is_found_in_every_mode) {
    Mobile mobile;
    const Vec3 tool = tool_at_home(mobile.gate.model()).translation;
    const PrimitiveSpec obstacle = sphere({tool.x, tool.y, tool.z + 0.1}, 0.02);
    const WorldSnapshot blocked = make_world({&obstacle, 1});
    for (const ModeChunk& chunk : mobile.chunks) {
        if (chunk.mode == ControlMode::foot_placement) continue;
        const Verdict verdict = mobile.check(chunk, chunk.accepted, blocked);
        REQUIRE(verdict.accepted == 0, number(chunk.mode));
        REQUIRE(verdict.violation.code == ViolationCode::world_collision, number(chunk.mode), static_cast<int>(verdict.violation.code));
    }
}

TEST(no_go_zone_holds_in_every_mode_whatever_the_world_says) {
    const RobotModelSpec spec = mobile_manipulator();
    const Vec3 tool = tool_at_home(RobotModel(spec)).translation;
    GateConfig config = wide_config(spec);
    config.no_go_zones.push_back(sphere({tool.x, tool.y, tool.z + 0.1}, 0.02));
    Mobile mobile;
    Gate zoned = make_gate(spec, config);
    const WorldSnapshot absent = no_world();
    for (const ModeChunk& chunk : mobile.chunks) {
        if (chunk.mode == ControlMode::foot_placement) continue;
        const Verdict verdict = zoned.check(mobile.request(chunk.mode, chunk.accepted, chunk.width, absent));
        REQUIRE(verdict.accepted == 0 && verdict.violation.against_kind == AgainstKind::zone, number(chunk.mode));
    }
}

TEST(attached_object_counts_in_every_mode_against_obstacles_points_and_the_robot_itself) {
    const RobotModelSpec spec = mobile_manipulator();
    Gate gate = make_gate(spec);
    Mobile mobile;
    const Transform tool = tool_at_home(gate.model());
    const Vec3 below = tool * Vec3{0.0, 0.0, 0.3};  // the tool points along its z
    const PrimitiveSpec below_tool = sphere(below, 0.02);
    const WorldSnapshot obstacle = make_world({&below_tool, 1});
    WorldSnapshot cloud = make_world({});
    const double point[3] = {below.x, below.y, below.z};
    cloud.set_field(point_slot, std::make_shared<const ObstacleField>(ObstacleField::from_points(point)), 1.0);
    const auto hand = static_cast<std::int32_t>(gate.model().link_count() - 3);
    Attachment stick;
    stick.id = 0;
    stick.volume = {hand, 0.02, {0.0, 0.0, 0.16}, {0.0, 0.0, 0.42}};
    for (std::size_t link = 5; link < gate.model().link_count(); ++link) stick.touch.set(link);
    Attachment boom = stick;  // reaches back to the shoulder, which may not be touched
    const Vec3 shoulder = inverse_times(tool, {0.0, 0.0, 0.55});
    boom.volume.end_a = {0.0, 0.0, 0.16};
    boom.volume.end_b = shoulder + Vec3{0.0, 0.0, 0.1034};
    for (const ModeChunk& chunk : mobile.chunks) {
        if (chunk.mode == ControlMode::foot_placement) continue;
        for (const WorldSnapshot* world : {&obstacle, &static_cast<const WorldSnapshot&>(cloud)}) {
            const CheckRequest request = mobile.request(chunk.mode, chunk.accepted, chunk.width, *world);
            REQUIRE(gate.check(request).accepted == 1, number(chunk.mode));
            REQUIRE(gate.attach(stick));
            const Verdict verdict = gate.check(request);
            REQUIRE(verdict.violation.code == ViolationCode::world_collision && verdict.violation.subject_kind == SubjectKind::attached, number(chunk.mode),
                    static_cast<int>(verdict.violation.code));
            REQUIRE(gate.detach(0));
        }
        const CheckRequest request = mobile.request(chunk.mode, chunk.accepted, chunk.width, mobile.empty);
        REQUIRE(gate.check(request).accepted == 1, number(chunk.mode));
        REQUIRE(gate.attach(boom));
        const Verdict verdict = gate.check(request);
        REQUIRE(verdict.violation.code == ViolationCode::self_collision, number(chunk.mode), static_cast<int>(verdict.violation.code));
        REQUIRE(gate.detach(0));
    }
}

TEST(keep_in_zone_holds_in_every_mode_whatever_the_world_says) {
    const RobotModelSpec spec = mobile_manipulator();
    const Vec3 tool = tool_at_home(RobotModel(spec)).translation;
    Mobile mobile;
    const WorldSnapshot absent = no_world();
    GateConfig roomy = wide_config(spec);
    roomy.keep_in_zones.push_back({box({0.0, 0.0, 1.0}, {3.0, 3.0, 3.0}), {}});
    GateConfig tight = wide_config(spec);
    tight.keep_in_zones.push_back({box({tool.x - 3.0, 0.0, 1.0}, {3.0, 3.0, 3.0}), {}});  // its wall runs through the tool
    Gate in_roomy = make_gate(spec, roomy);
    Gate in_tight = make_gate(spec, tight);
    for (const ModeChunk& chunk : mobile.chunks) {
        if (chunk.mode == ControlMode::foot_placement) continue;
        const CheckRequest request = mobile.request(chunk.mode, chunk.accepted, chunk.width, absent);
        REQUIRE(in_roomy.check(request).accepted == 1, number(chunk.mode));
        const Verdict verdict = in_tight.check(request);
        REQUIRE(verdict.accepted == 0 && verdict.violation.code == ViolationCode::keep_in_zone, number(chunk.mode), static_cast<int>(verdict.violation.code));
        REQUIRE(verdict.violation.against_kind == AgainstKind::keep_in_zone && verdict.violation.against == 0, number(chunk.mode));
    }
}

TEST(declared_contact_counts_in_every_mode_until_it_expires) {
    const RobotModelSpec spec = mobile_manipulator();
    const Vec3 tool = tool_at_home(RobotModel(spec)).translation;
    GateConfig config = wide_config(spec);
    config.world_margin_m = 0.05;
    Gate gate = make_gate(spec, config);
    Mobile mobile;
    // Below the fingers: within the margin of whatever is near, never touched.
    const PrimitiveSpec table = box({tool.x, tool.y, tool.z - 0.07}, {0.06, 0.06, 0.02});
    const WorldSnapshot world = make_world({&table, 1});
    DeclaredContact contact;
    contact.links.set();
    for (std::size_t link = gate.model().link_count(); link < capacity::links_max; ++link) contact.links.reset(link);
    contact.obstacles.set(0);
    contact.region = box({tool.x, tool.y, tool.z}, {1.0, 1.0, 1.0});
    contact.expires_s = 10.0;
    for (const ModeChunk& chunk : mobile.chunks) {
        // A torque can lead the whole arm anywhere; the test after this one has an arm for it.
        if (chunk.mode == ControlMode::foot_placement || chunk.mode == ControlMode::joint_torque) continue;
        CheckRequest request = mobile.request(chunk.mode, chunk.accepted, chunk.width, world);
        Verdict verdict = gate.check(request);
        REQUIRE(verdict.accepted == 0 && verdict.violation.code == ViolationCode::world_collision, number(chunk.mode), static_cast<int>(verdict.violation.code));
        request.contacts = {&contact, 1};
        verdict = gate.check(request);
        REQUIRE(verdict.accepted == 1 && verdict.contacts_used == 1, number(chunk.mode), verdict.violation.distance_m, verdict.violation.margin_m);
        DeclaredContact expired = contact;
        expired.expires_s = 0.999;
        request.contacts = {&expired, 1};
        verdict = gate.check(request);
        REQUIRE(verdict.accepted == 0 && verdict.contacts_used == 0 && verdict.violation.code == ViolationCode::world_collision, number(chunk.mode));
    }
}

TEST(declared_contact_counts_for_everything_a_torque_can_lead_to) {
    RobotModelSpec spec = planar_arm(1);
    GateConfig config = wide_config(spec);
    config.world_margin_m = 0.2;
    Gate gate = make_gate(spec, config);
    const double positions[1] = {0.0};
    const double torque[1] = {1.0};  // within 0.02 s the joint moves 0.05 rad, the sphere at its end 5 cm
    const PrimitiveSpec cup = sphere({1.0, 0.2, 0.0}, 0.05);
    const WorldSnapshot world = make_world({&cup, 1});
    DeclaredContact contact;
    contact.links.set(1);
    contact.obstacles.set(0);
    contact.region = box({1.0, 0.0, 0.0}, {0.2, 0.2, 0.2});
    contact.expires_s = 1.02;
    CheckRequest request = make_request(ControlMode::joint_torque, torque, 1, positions, world);
    REQUIRE(gate.check(request).accepted == 0);
    request.contacts = {&contact, 1};
    REQUIRE(gate.check(request).accepted == 1 && gate.check(request).contacts_used == 1);
    contact.region = box({1.0, 0.0, 0.0}, {0.2, 0.08, 0.2});
    REQUIRE(gate.check(request).accepted == 0);
    contact.region = box({1.0, 0.0, 0.0}, {0.2, 0.2, 0.2});
    contact.expires_s = 1.019;
    REQUIRE(gate.check(request).accepted == 0);
}

TEST(velocity_rows_are_integrated_and_stop_at_position_limits) {
    Gate gate = make_gate(planar_arm(2));
    const WorldSnapshot world = no_world();
    const double positions[2] = {3.15, 0.0};
    const std::vector<double> slow(2 * 10, 0.1);
    REQUIRE(gate.check(make_request(ControlMode::joint_velocity, slow, 2, positions, world)).accepted == 1);
    const std::vector<double> fast(2 * 10, 0.5);
    const Verdict verdict = gate.check(make_request(ControlMode::joint_velocity, fast, 2, positions, world));
    REQUIRE(verdict.accepted == 0 && verdict.violation.code == ViolationCode::joint_position_limit);
    REQUIRE(verdict.violation.row == 5, verdict.violation.row);  // 3.15 + 6 * 0.01 > 3.2
}

TEST(torque_is_rejected_where_the_velocity_limits_could_lead_into_an_obstacle) {
    Gate gate = make_gate(planar_arm(1));
    const double positions[1] = {0.0};
    const std::vector<double> torque(4, 1.0);  // within 4 * 0.02 s the joint can move 0.2 rad
    const PrimitiveSpec within = sphere({std::cos(0.18), std::sin(0.18), 0.0}, 0.01);
    const PrimitiveSpec beyond = sphere({std::cos(-0.30), std::sin(-0.30), 0.0}, 0.01);
    const WorldSnapshot near_world = make_world({&within, 1});
    const WorldSnapshot far_world = make_world({&beyond, 1});
    REQUIRE(gate.check(make_request(ControlMode::joint_torque, torque, 1, positions, near_world)).violation.code == ViolationCode::world_collision);
    REQUIRE(gate.check(make_request(ControlMode::joint_torque, torque, 1, positions, far_world)).accepted == 1);
}

TEST(cartesian_rows_without_effector_or_frame_are_rejected) {
    Mobile mobile;
    for (const std::size_t index : {std::size_t{4}, std::size_t{5}, std::size_t{6}}) {
        const ModeChunk& chunk = mobile.chunks[index];
        CheckRequest request = mobile.request(chunk.mode, chunk.accepted, chunk.width, mobile.empty);
        request.chunk.effector = none;
        REQUIRE(mobile.gate.check(request).violation.code == ViolationCode::cartesian_frame, index);
        request.chunk.effector = 0;
        request.chunk.frame = CartesianFrame::unknown;
        REQUIRE(mobile.gate.check(request).violation.code == ViolationCode::cartesian_frame, index);
    }
}

TEST(resolved_cartesian_pose_is_where_the_tool_ends) {
    Mobile mobile;
    const ModeChunk& pose = mobile.chunks[4];
    REQUIRE(mobile.check(pose, pose.accepted, mobile.empty).accepted == 1);
    const std::size_t variables = mobile.gate.model().variable_count();
    const auto path = mobile.gate.path();
    REQUIRE(path.size() == 3 * variables);
    std::vector<Transform> frames(mobile.gate.model().bodies().size());
    forward_kinematics(mobile.gate.model(), path.data() + 2 * variables, frames);
    const Effector& effector = mobile.gate.model().effectors()[0];
    const Vec3 reached = (frames[effector.body] * effector.in_body).translation;
    const Vec3 wanted{pose.accepted[11], pose.accepted[12], pose.accepted[13]};
    REQUIRE(norm(reached - wanted) < 1e-4, norm(reached - wanted));
}

TEST(pose_the_arm_cannot_reach_is_rejected) {
    Mobile mobile;
    std::vector<double> rows = mobile.chunks[4].accepted;
    rows[11] = 5.0;
    const Verdict verdict = mobile.check(mobile.chunks[4], rows, mobile.empty);
    REQUIRE(verdict.accepted == 0, static_cast<int>(verdict.violation.code));
}

TEST(base_drives_into_what_stands_in_its_way_and_is_rejected) {
    Mobile mobile;
    const std::vector<double> drive = repeated(50, {0.5, 0.0, 0.0, 0.0, 0.0, 0.0});  // 0.5 m forward
    const PrimitiveSpec wall = box({0.8, 0.0, 0.5}, {0.1, 1.0, 0.5});
    const PrimitiveSpec behind = box({-1.5, 0.0, 0.5}, {0.1, 1.0, 0.5});
    const WorldSnapshot blocked = make_world({&wall, 1});
    const WorldSnapshot open = make_world({&behind, 1});
    REQUIRE(mobile.gate.check(mobile.request(ControlMode::body_twist, drive, 6, blocked)).violation.code == ViolationCode::world_collision);
    REQUIRE(mobile.gate.check(mobile.request(ControlMode::body_twist, drive, 6, open)).accepted == 1);
}

TEST(base_that_would_lift_or_tip_is_rejected) {
    Mobile mobile;
    for (const std::size_t column : {std::size_t{2}, std::size_t{3}, std::size_t{4}}) {
        std::vector<double> rows(6, 0.0);
        rows[column] = 1e-6;
        REQUIRE(mobile.gate.check(mobile.request(ControlMode::body_twist, rows, 6, mobile.empty)).accepted == 0, column);
    }
}

TEST(unknown_fingers_count_as_anywhere_in_their_range) {
    Mobile mobile;
    const Transform tool = tool_at_home(mobile.gate.model());
    // Beside the finger, where only an open one would be.
    const PrimitiveSpec beside = sphere(tool * Vec3{0.0, 0.013 + 0.04, -0.02}, 0.01);
    const WorldSnapshot world = make_world({&beside, 1});
    const std::vector<double> still(panda_home.begin(), panda_home.end());
    CheckRequest request = mobile.request(ControlMode::joint_position, still, 7, world);
    mobile.fingers[0] = 0.0;
    const Verdict closed = mobile.gate.check(request);
    REQUIRE(closed.accepted == 1, static_cast<int>(closed.violation.code));
    request.state.gripper_positions = {};
    const Verdict unknown = mobile.gate.check(request);
    REQUIRE(unknown.accepted == 0 && (unknown.unchecked & static_cast<std::uint32_t>(Unchecked::gripper_state)) != 0);
}

TEST(stale_fingers_are_rejected_even_when_every_joint_is_fresh) {
    Mobile mobile;
    const std::vector<double> still(panda_home.begin(), panda_home.end());
    CheckRequest request = mobile.request(ControlMode::joint_position, still, 7, mobile.empty);
    const double stamps[7] = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
    request.state.stamps_s = stamps;
    REQUIRE(mobile.gate.check(request).accepted == 1);
    for (const double stamp_s : {0.7, not_a_number}) {
        request.state.stamp_s = stamp_s;
        const Verdict verdict = mobile.gate.check(request);
        REQUIRE(verdict.accepted == 0 && verdict.violation.code == ViolationCode::state_unavailable, stamp_s);
    }
}

TEST_MAIN
