// SPDX-License-Identifier: Apache-2.0
// Robots and configurations that cannot be used are refused at construction, with the index and the
// reason, and the ones next to them are built.
#include <cmath>
#include <limits>

#include "require.hpp"
#include "robots.hpp"

using namespace lastgate;
using namespace lastgate::detail;
using namespace lastgate::robots;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

template <typename Change>
RobotModel model_with(const Change& change) {
    RobotModelSpec spec = planar_arm(2);
    change(spec);
    return RobotModel(spec);
}

template <typename Change>
Gate gate_with(const Change& change) {
    GateConfig config = wide_config(mobile_manipulator());
    change(config);
    return make_gate(mobile_manipulator(), config);
}

}  // namespace

TEST(every_robot_of_the_tests_can_be_built_and_armed) {
    for (const RobotModelSpec& spec : {planar_arm(1), planar_arm(3), slider(), panda(), mobile_manipulator(), two_arms()}) {
        const Gate gate = make_gate(spec);
        REQUIRE(gate.model().dof_count() == spec.dofs.size());
    }
}

TEST(link_that_cannot_be_placed_is_refused) {
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.links.clear(); }), "root");
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.links[0].parent = 0; }), "link 0: must be the root");
    for (const std::int32_t dof : {0, 1, 21, -2}) REQUIRE_REFUSED(model_with([=](RobotModelSpec& s) { s.links[0].dof = dof; }), "link 0: is the root, which nothing drives");
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.links[0].kind = JointKind::revolute; }), "link 0: is the root, which nothing drives");
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.links[0].origin_xyz.z = 0.1; }), "link 0: is the root, and its origin must be zero");
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.links[0].origin_rpy.x = not_a_number; }), "link 0: is the root, and its origin must be zero");
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.links[2].parent = -1; }), "second root");
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.links[1].parent = 2; }), "link 1: stands before its parent");
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.links[2].axis = {0, 0, 0.99}; }), "link 2: axis");
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.links[2].axis = {not_a_number, 0, 1}; }), "link 2: axis");
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.links[1].origin_xyz.y = infinity; }), "link 1: origin");
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.links[1].origin_rpy.y = not_a_number; }), "link 1: origin rotation");
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.links[2].dof = 7; }), "link 2");
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.links[2].kind = static_cast<JointKind>(9); }), "unknown joint kind");
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.links[2].multiplier = 0.0; }), "multiplier");
}

TEST(limits_that_are_inverted_equal_or_not_finite_are_refused) {
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.dofs[1] = {1.0, -1.0, true}; }), "degree of freedom 1");
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.dofs[1] = {1.0, 1.0, true}; }), "degree of freedom 1");
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.dofs[0] = {not_a_number, 1.0, true}; }), "degree of freedom 0");
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.dofs[0] = {-1.0, infinity, true}; }), "degree of freedom 0");
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.dofs.push_back({-1.0, 1.0, true}); }), "moves no joint");
}

TEST(volume_without_size_or_place_is_refused) {
    for (const double radius_m : {0.0, -0.1, not_a_number, infinity}) {
        REQUIRE_REFUSED(model_with([&](RobotModelSpec& s) { s.volumes[1].radius_m = radius_m; }), "volume 1: radius");
    }
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.volumes[0].link = 3; }), "volume 0: is on no link");
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.volumes[0].end_b.x = not_a_number; }), "volume 0");
}

TEST(pair_and_effector_that_name_no_link_are_refused) {
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.allowed_pairs.push_back({0, 3}); }), "allowed pair 0");
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.allowed_pairs.push_back({1, 1}); }), "allowed pair 0");
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.effectors[0].link = -1; }), "end effector 0");
}

TEST(robot_over_a_capacity_is_refused_and_one_at_it_is_built) {
    REQUIRE(model_with([](RobotModelSpec& s) { s.volumes.resize(capacity::volumes_max, s.volumes[0]); }).volumes().size() == capacity::volumes_max);
    REQUIRE_REFUSED(model_with([](RobotModelSpec& s) { s.volumes.resize(capacity::volumes_max + 1, s.volumes[0]); }), "volumes_max");
    REQUIRE(RobotModel(planar_arm(capacity::chain_max)).dof_count() == capacity::chain_max);
    REQUIRE_REFUSED(RobotModel(planar_arm(capacity::chain_max + 1)), "chain_max");
    REQUIRE_REFUSED(RobotModel(planar_arm(capacity::dofs_max)), "dofs_max");
}

TEST(number_of_a_configuration_that_is_not_finite_and_positive_is_refused) {
    for (const double bad : {0.0, -1.0, not_a_number, infinity}) {
        REQUIRE_REFUSED(gate_with([&](GateConfig& c) { c.step_s = bad; }), "step_s");
        REQUIRE_REFUSED(gate_with([&](GateConfig& c) { c.velocity_max[3] = bad; }), "degree of freedom 3: velocity limit");
        REQUIRE_REFUSED(gate_with([&](GateConfig& c) { (*c.torque_max)[2] = bad; }), "degree of freedom 2: effort limit");
        REQUIRE_REFUSED(gate_with([&](GateConfig& c) { c.max_ee_speed_m_s = bad; }), "max_ee_speed_m_s");
        REQUIRE_REFUSED(gate_with([&](GateConfig& c) { c.max_cartesian_step_rad = bad; }), "max_cartesian_step_rad");
        REQUIRE_REFUSED(gate_with([&](GateConfig& c) { c.state_age_s_max = bad; }), "ages");
        REQUIRE_REFUSED(gate_with([&](GateConfig& c) { c.world_age_s_max = bad; }), "ages");
    }
    for (const double bad : {-1e-9, not_a_number, infinity}) {
        REQUIRE_REFUSED(gate_with([&](GateConfig& c) { c.self_margin_m = bad; }), "margins");
        REQUIRE_REFUSED(gate_with([&](GateConfig& c) { c.world_margin_m = bad; }), "margins");
    }
    REQUIRE_REFUSED(gate_with([&](GateConfig& c) { c.velocity_max.pop_back(); }), "velocity limit needs one value per degree");
    REQUIRE_REFUSED(gate_with([&](GateConfig& c) { c.evaluations_max = 10; }), "evaluations_max");
}

TEST(box_range_and_zone_that_make_no_sense_are_refused) {
    REQUIRE_REFUSED(gate_with([](GateConfig& c) { c.workspace_box->min.x = 30.0; }), "workspace box");
    REQUIRE_REFUSED(gate_with([](GateConfig& c) { c.workspace_box->max.z = not_a_number; }), "workspace box");
    REQUIRE_REFUSED(gate_with([](GateConfig& c) { c.gripper_range = Interval{1.0, 0.0}; }), "gripper range");
    REQUIRE_REFUSED(gate_with([](GateConfig& c) { c.gripper_joints[0].position_open = 1.0; }), "beyond its limits");
    REQUIRE_REFUSED(gate_with([](GateConfig& c) { c.no_go_zones.push_back(sphere({}, 0.0)); }), "no-go zone");
}

TEST(mode_without_its_bounds_cannot_be_enabled) {
    REQUIRE_REFUSED(gate_with([](GateConfig& c) { c.enabled_modes.reset(); }), "no control mode");
    REQUIRE_REFUSED(gate_with([](GateConfig& c) { c.enabled_modes.set(8); }), "FOOT_PLACEMENT");
    REQUIRE_REFUSED(gate_with([](GateConfig& c) { c.torque_max.reset(); }), "JOINT_TORQUE");
    REQUIRE_REFUSED(gate_with([](GateConfig& c) { c.workspace_box.reset(); }), "CARTESIAN_POSE");
    REQUIRE_REFUSED(gate_with([](GateConfig& c) { c.max_cartesian_step_m.reset(); }), "CARTESIAN_DELTA");
    REQUIRE_REFUSED(gate_with([](GateConfig& c) { c.max_ee_speed_m_s.reset(); }), "CARTESIAN_TWIST");
    REQUIRE_REFUSED(gate_with([](GateConfig& c) { c.max_base_linear_speed_m_s.reset(); }), "BODY_TWIST");
    REQUIRE_REFUSED(gate_with([](GateConfig& c) { c.gripper_range.reset(); }), "GRIPPER_POSITION");
    REQUIRE_REFUSED(Gate(nullptr, GateConfig{}), "robot model");
}

TEST(forward_kinematics_puts_the_tool_where_paper_says) {
    const RobotModel model(planar_arm(2));
    const double configuration[2] = {0.3, 0.5};
    std::vector<Transform> frames(model.bodies().size());
    forward_kinematics(model, configuration, frames);
    const Effector& effector = model.effectors()[0];
    const Vec3 tool = (frames[effector.body] * effector.in_body).translation;
    REQUIRE(std::abs(tool.x - (std::cos(0.3) + std::cos(0.8))) < 1e-12, tool.x);
    REQUIRE(std::abs(tool.y - (std::sin(0.3) + std::sin(0.8))) < 1e-12, tool.y);
}

TEST(sine_and_cosine_agree_with_the_library_over_their_whole_range) {
    for (double angle = -capacity::joint_position_max; angle <= capacity::joint_position_max; angle += 0.37) {
        const auto [s, c] = sincos(angle);
        if (!REQUIRE(std::abs(s - std::sin(angle)) < 1e-15 && std::abs(c - std::cos(angle)) < 1e-15, angle)) return;
    }
}

TEST(unusable_attachment_is_refused_and_changes_nothing) {
    Gate gate = make_gate(panda());
    Attachment held;
    held.id = 1;
    held.volume = {8, 0.02, {}, {}};
    for (const double radius_m : {0.0, -1.0, not_a_number}) {
        Attachment bad = held;
        bad.volume.radius_m = radius_m;
        REQUIRE(!gate.attach(bad), radius_m);
    }
    for (const std::int32_t link : {-1, 99}) {
        Attachment bad = held;
        bad.volume.link = link;
        REQUIRE(!gate.attach(bad), link);
    }
    Attachment nameless = held;
    nameless.id = not_attached;
    REQUIRE(!gate.attach(nameless) && !gate.detach(1));
    REQUIRE(gate.attach(held) && gate.detach(1));
}

TEST_MAIN
