// SPDX-License-Identifier: Apache-2.0
// Which robots and rules a gate can be built with.
#include "gate_setup.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "geometry/tolerance.hpp"

namespace lastgate::detail {
namespace {

void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

bool is_positive(double value) noexcept { return value > 0.0 && value <= 1e6; }

void require_positive(const std::optional<double>& value, const char* name) {
    if (value && !is_positive(*value)) throw std::invalid_argument(std::string(name) + " must be positive and at most 1e6");
}

void require_each_positive(const std::vector<double>& values, std::size_t count, const char* name) {
    require(values.size() == count, (std::string(name) + " needs one value per degree of freedom").c_str());
    for (std::size_t index = 0; index < count; ++index) {
        if (!is_positive(values[index])) {
            throw std::invalid_argument("degree of freedom " + std::to_string(index) + ": " + name + " must be positive and at most 1e6");
        }
    }
}

bool is_length(double value) noexcept { return value >= 0.0 && value <= capacity::robot_extent_m_max; }

/// Every command that the gripper range lets pass must lead a finger to a place inside its limits: a finger that was not measured is swept
/// over these alone.
void require_commands_inside(const GripperJointConfig& joint, const DofSpec& dof, const GateConfig& config) {
    if (!config.gripper_range) return;
    for (const double command : {config.gripper_range->min, config.gripper_range->max}) {
        const double share = (command - joint.channel_closed) / (joint.channel_open - joint.channel_closed);
        const double position = joint.position_closed + share * (joint.position_open - joint.position_closed);
        if (dof.position_min - tolerance::rounding_m <= position && position <= dof.position_max + tolerance::rounding_m) continue;
        throw std::invalid_argument("gripper command " + std::to_string(command) + " leads degree of freedom " + std::to_string(joint.dof) + " to " +
                                    std::to_string(position) + ", beyond its limits: narrow gripper_min and gripper_max to the gripper's channel");
    }
}

void require_grippers(const RobotModel& model, const GateConfig& config) {
    for (const GripperJointConfig& joint : config.gripper_joints) {
        require(joint.effector < model.effectors().size() && joint.dof < model.dof_count(), "a gripper joint names no joint or end effector");
        require(!model.dof(joint.dof).in_rows, "a gripper joint must not be commanded by joint rows as well");
        const DofSpec& dof = model.dof(joint.dof);
        const auto inside = [&](double position) { return dof.position_min <= position && position <= dof.position_max; };
        require(inside(joint.position_closed) && inside(joint.position_open), "a gripper joint opens or closes beyond its limits");
        const bool channel = std::abs(joint.channel_closed) <= 1e6 && std::abs(joint.channel_open) <= 1e6 && joint.channel_closed != joint.channel_open;
        require(channel, "a gripper channel must have two different finite ends");
        require_commands_inside(joint, dof, config);
    }
}

/// A mode whose bounds are not declared cannot be enabled.
void require_mode_bounds(const RobotModel& model, const GateConfig& config) {
    const auto enabled = [&](ControlMode mode) { return config.enabled_modes.test(static_cast<std::size_t>(mode)); };
    require(config.enabled_modes.any(), "no control mode is enabled");
    require(!enabled(ControlMode::foot_placement), "FOOT_PLACEMENT cannot be enabled: there is no check for it");
    require(!enabled(ControlMode::joint_torque) || config.torque_max, "JOINT_TORQUE needs an effort limit for every joint");
    const bool effectors = !model.effectors().empty();
    require(!enabled(ControlMode::cartesian_pose) || (effectors && config.workspace_box), "CARTESIAN_POSE needs an end effector and a workspace box");
    require(!enabled(ControlMode::cartesian_delta) || (effectors && config.max_cartesian_step_m && config.max_cartesian_step_rad),
            "CARTESIAN_DELTA needs an end effector, max_cartesian_step_m and max_cartesian_step_rad");
    require(!enabled(ControlMode::cartesian_twist) || (effectors && config.max_ee_speed_m_s && config.max_ee_angular_speed_rad_s),
            "CARTESIAN_TWIST needs an end effector, max_ee_speed_m_s and max_ee_angular_speed_rad_s");
    require(!enabled(ControlMode::body_twist) || (model.mobile_base() && config.max_base_linear_speed_m_s && config.max_base_angular_speed_rad_s),
            "BODY_TWIST needs a mobile base, max_base_linear_speed_m_s and max_base_angular_speed_rad_s");
    require(!enabled(ControlMode::gripper_position) || config.gripper_range, "GRIPPER_POSITION needs a gripper range");
    require(!enabled(ControlMode::composite_mode) || config.gripper_range, "COMPOSITE_MODE needs a gripper range");
}

void require_footprint(const GateConfig& config) {
    const auto& vertices = config.footprint_vertices;
    const auto within = [](double length_m) noexcept { return std::abs(length_m) <= capacity::robot_extent_m_max; };
    for (const Vec3 vertex : vertices) require(within(vertex.x) && within(vertex.y) && vertex.z == 0.0, "a vertex of the footprint is not finite or beyond any robot");
    const double radius_m = config.footprint_radius_m;
    const bool disc = vertices.size() == 1 && radius_m > 0.0 && within(radius_m);
    const bool polygon = vertices.size() >= 3 && vertices.size() <= capacity::footprint_vertices_max && radius_m == 0.0;
    require(vertices.empty() || disc || polygon, "the footprint must be a disc with a radius or a polygon of 3 to 64 vertices");
}

/// Only a degree of freedom that no row moves may lack a deceleration: nothing asks it to stop.
void require_stop(const RobotModel& model, const GateConfig& config) {
    if (!config.stop) return;
    const StopConfig& stop = *config.stop;
    require(stop.kind == StopKind::path || stop.kind == StopKind::joint, "the stop must be of kind path or joint");
    require(stop.reaction_s >= 0.0 && stop.reaction_s <= 10.0, "the reaction time of the stop must be from 0 to 10 s");
    require(stop.deceleration_max.size() == model.dof_count(), "the stop needs one deceleration per degree of freedom");
    for (std::size_t dof = 0; dof < model.dof_count(); ++dof) {
        const double limit = stop.deceleration_max[dof];
        require(is_positive(limit) || (limit == 0.0 && !model.dof(dof).in_rows),
                "the deceleration limit of a degree of freedom that rows move must be positive and at most 1e6");
    }
    require(stop.base_deceleration_m_s2.has_value() == stop.base_angular_deceleration_rad_s2.has_value(), "half the deceleration of a base is missing");
    require_positive(stop.base_deceleration_m_s2, "base_deceleration_m_s2");
    require_positive(stop.base_angular_deceleration_rad_s2, "base_angular_deceleration_rad_s2");
}

void require_config(const RobotModel& model, const GateConfig& config) {
    require(config.step_s > 0.0 && config.step_s <= 10.0, "step_s must be positive and at most 10 s");
    require_each_positive(config.velocity_max, model.dof_count(), "velocity limit");
    if (config.acceleration_max) require_each_positive(*config.acceleration_max, model.dof_count(), "acceleration limit");
    if (config.torque_max) require_each_positive(*config.torque_max, model.dof_count(), "effort limit");
    require_stop(model, config);
    require_positive(config.max_ee_speed_m_s, "max_ee_speed_m_s");
    require_positive(config.max_ee_angular_speed_rad_s, "max_ee_angular_speed_rad_s");
    require_positive(config.max_ee_accel_m_s2, "max_ee_accel_m_s2");
    require_positive(config.max_cartesian_step_m, "max_cartesian_step_m");
    require_positive(config.max_cartesian_step_rad, "max_cartesian_step_rad");
    require_positive(config.max_base_linear_speed_m_s, "max_base_linear_speed_m_s");
    require_positive(config.max_base_angular_speed_rad_s, "max_base_angular_speed_rad_s");
    require_footprint(config);
    if (config.workspace_box) {
        const Vec3 low = config.workspace_box->min;
        const Vec3 high = config.workspace_box->max;
        const bool ordered = finite(low) && finite(high) && low.x < high.x && low.y < high.y && low.z < high.z;
        require(ordered, "the workspace box must be finite with min below max");
        require(!model.effectors().empty(), "a workspace box needs an end effector that stays inside it");
    }
    if (config.gripper_range) {
        const Interval range = *config.gripper_range;
        require(std::abs(range.min) <= 1e6 && std::abs(range.max) <= 1e6 && range.min < range.max, "the gripper range must be finite with min below max");
    }
    require_grippers(model, config);
    require(is_length(config.self_margin_m) && is_length(config.world_margin_m) && is_length(config.cartesian_deviation_m),
            "margins must be from 0 to 100 m");
    require(is_positive(config.state_age_s_max) && is_positive(config.world_age_s_max), "ages must be positive and at most 1e6");
    require(config.evaluations_max >= capacity::rows_max + 1, "evaluations_max must at least cover every row once");
    require_mode_bounds(model, config);
}

std::shared_ptr<const RobotModel> require_model(std::shared_ptr<const RobotModel> model) {
    require(model != nullptr, "a gate needs a robot model");
    return model;
}

}  // namespace

GateSetup::GateSetup(std::shared_ptr<const RobotModel> robot_model, GateConfig gate_config)
    : model(require_model(std::move(robot_model))), config(std::move(gate_config)), shapes(*model), simd(*model, shapes, config.simd_build),
      body_reach(model->bodies().size() * capacity::chain_max) {
    require_config(*model, config);
    zones.begin(0, 0.0, true);
    for (const PrimitiveSpec& zone : config.no_go_zones) zones.add(zone);
    require(zones.is_usable() && !zones.is_overflowing(), "a no-go zone is not a shape with finite, positive sizes and a rotation");
    require(config.keep_in_zones.size() <= capacity::keep_in_zones_max, "there are more than 16 keep-in zones");
    keep_in.begin(0, 0.0, true);
    for (const KeepInZone& zone : config.keep_in_zones) {
        keep_in.add(zone.shape);
        for (std::size_t link = 0; link < capacity::links_max; ++link) {
            const auto on_link = [link](const Volume& volume) { return volume.link == link; };
            const bool has_volume = std::any_of(model->volumes().begin(), model->volumes().end(), on_link);
            require(!zone.links.test(link) || has_volume, "a keep-in zone names a link that has no volume to keep inside");
        }
    }
    require(keep_in.is_usable(), "a keep-in zone is not a shape with finite, positive sizes and a rotation");
    bound_body_reach();
}

void GateSetup::follow_shapes() noexcept {
    simd.rebuild(*model, shapes);
    bound_body_reach();
}

void GateSetup::bound_body_reach() noexcept {
    std::fill(body_reach.begin(), body_reach.end(), 0.0);
    for (const Volume& volume : shapes.volumes()) {
        double* reach = body_reach.data() + volume.body * capacity::chain_max;
        for (std::size_t depth = 0; depth < model->bodies()[volume.body].depth; ++depth) reach[depth] = std::max(reach[depth], volume.reach[depth]);
    }
}

GateState::GateState(std::shared_ptr<const RobotModel> robot_model, GateConfig gate_config)
    : setup(std::move(robot_model), std::move(gate_config)), workspace(*setup.model, setup.simd) {}

}  // namespace lastgate::detail
