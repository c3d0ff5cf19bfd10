// SPDX-License-Identifier: Apache-2.0
// Robots for tests, fuzzing and benchmarks, from numbers: no file, no Python.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "lastgate/gate.hpp"

namespace lastgate::robots {

inline constexpr double half_pi = 1.5707963267948966;

inline constexpr std::array<double, 7> panda_home{0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785};

inline void add_joint(RobotModelSpec& spec, std::int32_t parent, JointKind kind, Vec3 xyz, Vec3 rpy, Vec3 axis, double lower, double upper) {
    LinkSpec link;
    link.parent = parent;
    link.kind = kind;
    link.dof = static_cast<std::int32_t>(spec.dofs.size());
    link.origin_xyz = xyz;
    link.origin_rpy = rpy;
    link.axis = axis;
    spec.links.push_back(link);
    spec.dofs.push_back({lower, upper, true});
}

inline std::int32_t last_link(const RobotModelSpec& spec) { return static_cast<std::int32_t>(spec.links.size()) - 1; }

/// `joints` turning in one plane, each link 1 m long along x with a sphere of 5 cm at its end; nothing
/// else, so that clearances can be computed on paper.
inline RobotModelSpec planar_arm(std::size_t joints) {
    RobotModelSpec spec;
    spec.links.push_back({});
    for (std::size_t joint = 0; joint < joints; ++joint) {
        add_joint(spec, last_link(spec), JointKind::revolute, {joint == 0 ? 0.0 : 1.0, 0.0, 0.0}, {}, {0.0, 0.0, 1.0}, -3.2, 3.2);
        spec.volumes.push_back({last_link(spec), 0.05, {1.0, 0.0, 0.0}, {1.0, 0.0, 0.0}});
    }
    spec.effectors.push_back({last_link(spec), {1.0, 0.0, 0.0}, {}});
    return spec;
}

/// A slide along x with a sphere, 10 m of travel.
inline RobotModelSpec slider() {
    RobotModelSpec spec;
    spec.links.push_back({});
    add_joint(spec, 0, JointKind::prismatic, {}, {}, {1.0, 0.0, 0.0}, -5.0, 5.0);
    spec.volumes.push_back({1, 0.05, {}, {}});
    spec.effectors.push_back({1, {}, {}});
    return spec;
}

/// Appends a seven-joint arm of the Panda's proportions with one or two capsules per link; returns its hand.
inline std::int32_t append_panda(RobotModelSpec& spec, std::int32_t root, Vec3 base) {
    struct Row {
        Vec3 xyz;
        double roll, lower, upper, radius_m;
        Vec3 a, b;
    };
    const Row rows[7] = {
        {{base.x, base.y, base.z + 0.333}, 0.0, -2.8973, 2.8973, 0.07, {0.0, 0.0, -0.25}, {0.0, 0.0, -0.05}},
        {{}, -half_pi, -1.7628, 1.7628, 0.07, {0.0, 0.0, -0.05}, {0.0, 0.0, 0.05}},
        {{0.0, -0.316, 0.0}, half_pi, -2.8973, 2.8973, 0.07, {0.0, 0.0, -0.2}, {0.0, 0.0, -0.05}},
        {{0.0825, 0.0, 0.0}, half_pi, -3.0718, -0.0698, 0.07, {0.0, 0.0, -0.05}, {0.0, 0.0, 0.05}},
        {{-0.0825, 0.384, 0.0}, -half_pi, -2.8973, 2.8973, 0.06, {0.0, 0.0, -0.3}, {0.0, 0.06, -0.06}},
        {{}, half_pi, -0.0175, 3.7525, 0.055, {0.0, 0.0, -0.04}, {0.0, 0.0, 0.04}},
        {{0.088, 0.0, 0.0}, half_pi, -2.8973, 2.8973, 0.05, {0.0, 0.0, -0.03}, {0.0, 0.0, 0.08}},
    };
    std::int32_t parent = root;
    for (const Row& row : rows) {
        add_joint(spec, parent, JointKind::revolute, row.xyz, {row.roll, 0.0, 0.0}, {0.0, 0.0, 1.0}, row.lower, row.upper);
        const std::int32_t link = last_link(spec);
        spec.volumes.push_back({link, row.radius_m, row.a, row.b});
        spec.allowed_pairs.push_back({parent, link});
        // At the wrist and the shoulder three axes meet: next but one neighbours overlap by design.
        if (parent != root) spec.allowed_pairs.push_back({spec.links[static_cast<std::size_t>(parent)].parent, link});
        parent = link;
    }
    LinkSpec hand;
    hand.parent = parent;
    hand.origin_xyz = {0.0, 0.0, 0.107};
    hand.origin_rpy = {0.0, 0.0, -0.5 * half_pi};
    spec.links.push_back(hand);
    const std::int32_t hand_link = last_link(spec);
    spec.volumes.push_back({hand_link, 0.04, {0.0, -0.07, 0.03}, {0.0, 0.07, 0.03}});
    for (std::int32_t up = 0, link = parent; up < 3; ++up) {
        spec.allowed_pairs.push_back({link, hand_link});
        link = spec.links[static_cast<std::size_t>(link)].parent;
    }
    spec.effectors.push_back({hand_link, {0.0, 0.0, 0.1034}, {}});
    return hand_link;
}

/// Two fingers, the second following the first; not commanded by joint rows.
inline void append_fingers(RobotModelSpec& spec, std::int32_t hand) {
    for (const double side : {1.0, -1.0}) {
        LinkSpec finger;
        finger.parent = hand;
        finger.kind = JointKind::prismatic;
        finger.dof = static_cast<std::int32_t>(spec.dofs.size()) - (side > 0.0 ? 0 : 1);
        finger.origin_xyz = {0.0, 0.0, 0.0584};
        finger.axis = {0.0, side, 0.0};
        spec.links.push_back(finger);
        if (side > 0.0) spec.dofs.push_back({0.0, 0.04, false});
        spec.volumes.push_back({last_link(spec), 0.012, {0.0, side * 0.013, 0.02}, {0.0, side * 0.013, 0.045}});
        for (std::int32_t link = last_link(spec) - 1; link >= hand - 3; --link) spec.allowed_pairs.push_back({link, last_link(spec)});
    }
}

inline RobotModelSpec panda() {
    RobotModelSpec spec;
    spec.links.push_back({});
    spec.volumes.push_back({0, 0.08, {-0.09, 0.0, 0.06}, {-0.05, 0.0, 0.06}});
    append_panda(spec, 0, {});
    return spec;
}

/// The arm with its gripper on a base that drives: every control mode that can be enabled, is.
inline RobotModelSpec mobile_manipulator() {
    RobotModelSpec spec;
    spec.mobile_base = true;
    spec.links.push_back({});
    spec.volumes.push_back({0, 0.2, {-0.1, 0.0, 0.2}, {0.1, 0.0, 0.2}});
    append_fingers(spec, append_panda(spec, 0, {0.0, 0.0, 0.3}));
    spec.allowed_pairs.push_back({0, 2});
    return spec;
}

/// Two arms 1.2 m apart on one torso.
inline RobotModelSpec two_arms() {
    RobotModelSpec spec;
    spec.links.push_back({});
    spec.volumes.push_back({0, 0.1, {0.0, -0.4, 0.0}, {0.0, 0.4, 0.0}});
    append_panda(spec, 0, {0.0, -0.6, 0.0});
    append_panda(spec, 0, {0.0, 0.6, 0.0});
    return spec;
}

/// The same robot with every volume as a convex hull too, `thinner_m` thinner.
inline RobotModelSpec with_hulls(RobotModelSpec spec, double thinner_m = 0.0) {
    for (std::int32_t link = 0; link < static_cast<std::int32_t>(spec.links.size()); ++link) {
        for (const VolumeSpec& volume : spec.volumes) {
            if (volume.link == link) spec.hulls.push_back({link, volume.radius_m - thinner_m, {volume.end_a, volume.end_b}});
        }
    }
    return spec;
}

/// The eight vertices of a box around a point.
inline std::vector<Vec3> box_vertices(Vec3 centre, Vec3 half) {
    std::vector<Vec3> vertices;
    for (const double x : {-1.0, 1.0}) {
        for (const double y : {-1.0, 1.0}) {
            for (const double z : {-1.0, 1.0}) vertices.push_back({centre.x + x * half.x, centre.y + y * half.y, centre.z + z * half.z});
        }
    }
    return vertices;
}

/// Limits for all modes the robot can have, wide enough that tests narrow what they are about.
inline GateConfig wide_config(const RobotModelSpec& spec, double step_s = 0.02) {
    GateConfig config;
    config.simd_build = best_simd_build();
    config.step_s = step_s;
    config.velocity_max.assign(spec.dofs.size(), 2.5);
    config.torque_max.emplace(spec.dofs.size(), 80.0);
    config.workspace_box = WorkspaceBox{{-20.0, -20.0, -20.0}, {20.0, 20.0, 20.0}};
    config.max_ee_speed_m_s = 3.0;
    config.max_ee_angular_speed_rad_s = 6.0;
    config.max_cartesian_step_m = 0.05;
    config.max_cartesian_step_rad = 0.2;
    config.gripper_range = Interval{0.0, 0.08};
    config.state_age_s_max = 0.2;
    config.world_age_s_max = 0.5;
    if (spec.mobile_base) {
        config.max_base_linear_speed_m_s = 1.0;
        config.max_base_angular_speed_rad_s = 1.0;
    }
    for (std::size_t dof = 0; dof < spec.dofs.size(); ++dof) {
        if (!spec.dofs[dof].in_rows) config.gripper_joints.push_back({0, static_cast<std::uint16_t>(dof), 0.0, 0.04, 0.0, 0.08});
    }
    config.enabled_modes.set();
    config.enabled_modes.reset(static_cast<std::size_t>(ControlMode::foot_placement));
    if (!spec.mobile_base) config.enabled_modes.reset(static_cast<std::size_t>(ControlMode::body_twist));
    return config;
}

inline Gate make_gate(const RobotModelSpec& spec, const GateConfig& config) {
    return Gate(std::make_shared<const RobotModel>(spec), config);
}

inline Gate make_gate(const RobotModelSpec& spec) { return make_gate(spec, wide_config(spec)); }

inline PrimitiveSpec sphere(Vec3 centre, double radius_m) {
    PrimitiveSpec spec;
    spec.kind = PrimitiveKind::sphere;
    spec.radius_m = radius_m;
    spec.in_base.translation = centre;
    return spec;
}

inline PrimitiveSpec box(Vec3 centre, Vec3 half_extents_m) {
    PrimitiveSpec spec;
    spec.kind = PrimitiveKind::box;
    spec.half_extents_m = half_extents_m;
    spec.in_base.translation = centre;
    return spec;
}

inline WorldSnapshot make_world(std::span<const PrimitiveSpec> obstacles, double stamp_s = 1.0) {
    WorldSnapshot world;
    world.begin(7, stamp_s, true);
    for (const PrimitiveSpec& obstacle : obstacles) world.add(obstacle);
    return world;
}

inline WorldSnapshot no_world() {
    WorldSnapshot world;
    world.declare_absent();
    return world;
}

/// A request at time 1 s with a state measured then; spans point into the caller's arrays.
inline CheckRequest make_request(ControlMode mode, std::span<const double> rows, std::size_t width, std::span<const double> positions,
                                 const WorldSnapshot& world) {
    CheckRequest request;
    request.chunk.control_mode = static_cast<std::size_t>(mode);
    request.chunk.width = width;
    request.chunk.row_count = width == 0 ? 0 : rows.size() / width;
    request.chunk.flat = rows;
    request.chunk.effector = 0;
    request.chunk.frame = CartesianFrame::base;
    request.state.positions = positions;
    request.state.stamp_s = 1.0;
    request.state.given = true;
    request.world = &world;
    request.now_s = 1.0;
    return request;
}

}  // namespace lastgate::robots
