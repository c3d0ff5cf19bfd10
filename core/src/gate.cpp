// SPDX-License-Identifier: Apache-2.0
#include "lastgate/gate.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "validation.hpp"

namespace lastgate {
namespace {

constexpr std::size_t cache_line_floats = 16;

std::size_t whole_cache_lines(std::size_t floats) noexcept { return (floats + cache_line_floats - 1) / cache_line_floats * cache_line_floats; }

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

void require_grippers(const RobotModel& model, const GateConfig& config) {
    for (const GripperJointConfig& joint : config.gripper_joints) {
        require(joint.effector < model.effectors().size() && joint.dof < model.dof_count(), "a gripper joint names no joint or end effector");
        require(!model.dof(joint.dof).in_rows, "a gripper joint must not be commanded by joint rows as well");
        const DofSpec& dof = model.dof(joint.dof);
        const auto inside = [&](double position) { return dof.position_min <= position && position <= dof.position_max; };
        require(inside(joint.position_closed) && inside(joint.position_open), "a gripper joint opens or closes beyond its limits");
        const bool channel = std::abs(joint.channel_closed) <= 1e6 && std::abs(joint.channel_open) <= 1e6 && joint.channel_closed != joint.channel_open;
        require(channel, "a gripper channel must have two different finite ends");
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
    const auto& corners = config.footprint_corners;
    const auto within = [](double length_m) noexcept { return std::abs(length_m) <= capacity::robot_extent_m_max; };
    for (const Vec3 corner : corners) require(within(corner.x) && within(corner.y) && corner.z == 0.0, "a corner of the footprint is not finite or beyond any robot");
    const double radius_m = config.footprint_radius_m;
    const bool disc = corners.size() == 1 && radius_m > 0.0 && within(radius_m);
    const bool polygon = corners.size() >= 3 && corners.size() <= capacity::footprint_corners_max && radius_m == 0.0;
    require(corners.empty() || disc || polygon, "the footprint must be a disc with a radius or a polygon of 3 to 64 corners");
}

void require_config(const RobotModel& model, const GateConfig& config) {
    require(config.step_s > 0.0 && config.step_s <= 10.0, "step_s must be positive and at most 10 s");
    require_each_positive(config.velocity_max, model.dof_count(), "velocity limit");
    if (config.acceleration_max) require_each_positive(*config.acceleration_max, model.dof_count(), "acceleration limit");
    if (config.torque_max) require_each_positive(*config.torque_max, model.dof_count(), "effort limit");
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

Gate::Gate(std::shared_ptr<const RobotModel> model, GateConfig config)
    : model_(require_model(std::move(model))), config_(std::move(config)), shapes_(*model_), lanes_(*model_, shapes_, config_.lane_build) {
    require_config(*model_, config_);
    zones_.begin(0, 0.0, true);
    for (const PrimitiveSpec& zone : config_.no_go_zones) zones_.add(zone);
    require(zones_.is_usable() && !zones_.is_overflowing(), "a no-go zone is not a shape with finite, positive sizes and a rotation");
    require(config_.keep_in_zones.size() <= capacity::keep_in_zones_max, "there are more than 16 keep-in zones");
    keep_in_.begin(0, 0.0, true);
    for (const KeepInZone& zone : config_.keep_in_zones) {
        keep_in_.add(zone.shape);
        for (std::size_t link = 0; link < capacity::links_max; ++link) {
            const auto on_link = [link](const Volume& volume) { return volume.link == link; };
            const bool has_volume = std::any_of(model_->volumes().begin(), model_->volumes().end(), on_link);
            require(!zone.links.test(link) || has_volume, "a keep-in zone names a link that has no volume to keep inside");
        }
    }
    require(keep_in_.is_usable(), "a keep-in zone is not a shape with finite, positive sizes and a rotation");
    constexpr std::size_t rows = capacity::rows_max + 1;
    const std::size_t variables = model_->variable_count();
    const std::size_t bodies = model_->bodies().size();
    const std::size_t volumes = model_->volumes().size() + capacity::attached_max;
    path_.resize(rows * variables);
    uncertainty_.resize(variables);
    frames_.resize(rows * bodies);
    cores_.resize(rows * volumes);
    centres_.resize(rows * bodies);
    body_motion_.resize(rows * bodies);
    body_reach_.resize(bodies * capacity::chain_max);
    tails_.resize(bodies * (capacity::chain_max + 1));
    step_.resize(variables);
    row_placed_.resize(rows);
    lane_memory_.resize(lane_placing_size() + capacity::rows_max / lane_count * lane_group_size() + cache_line_floats);
    start_tools_.resize(12 * lane_count * model_->effectors().size());
    lane_placed_.resize(capacity::rows_max / lane_count * bodies);
    lane_groups_.resize(capacity::rows_max / lane_count);
    for (std::size_t index = 0; index < lane_groups_.size(); ++index) place_root(lane_group(index));
    lane_variables_.resize(variables * lane_count);
    lane_doubt_.resize(capacity::rows_max / lane_count * capacity::lane_entries_max);
    sample_.resize(variables);
    sample_frames_.resize(bodies);
    items_.reserve(capacity::items_max);
    arena_.reserve(capacity::items_max);
    shortlist_.resize(bodies * capacity::primitives_max);
    contacts_.reserve(64);  // a robot in contact at more than 64 places is not backing out by itself
    half_width_.resize(variables);
    tube_.resize(256 * 2 * variables);  // every box on the way down to the resolution, in 20 variables
    chunk_closest_.resize(bodies * bodies / 2 + 1);
    batch_closest_.resize(bodies * bodies / 2 + 1);
    forget_closest();
    bound_body_reach();
}

void Gate::bound_body_reach() noexcept {
    std::fill(body_reach_.begin(), body_reach_.end(), 0.0);
    for (const Volume& volume : shapes_.volumes()) {
        double* reach = body_reach_.data() + volume.body * capacity::chain_max;
        for (std::size_t depth = 0; depth < model_->bodies()[volume.body].depth; ++depth) reach[depth] = std::max(reach[depth], volume.reach[depth]);
    }
}

bool Gate::attach(const Attachment& attachment) noexcept {
    if (!shapes_.attach(*model_, attachment)) return false;
    rebuild_lanes();
    return true;
}

bool Gate::detach(std::uint16_t id) noexcept {
    if (!shapes_.detach(*model_, id)) return false;
    rebuild_lanes();
    return true;
}

void Gate::rebuild_lanes() noexcept {
    lanes_.rebuild(*model_, shapes_);
    bound_body_reach();
    forget_closest();  // its indices meant other volumes
}

void Gate::forget_closest() noexcept {
    const LaneTables& tables = lanes_.tables();
    for (std::uint32_t index = 0; index < tables.body_pair_count; ++index) chunk_closest_[index] = batch_closest_[index] = tables.body_pairs[index].first;
    chunk_hint_ = batch_hint_ = LaneHint{};
    chunk_hint_.closest_pair = chunk_closest_.data();
    batch_hint_.closest_pair = batch_closest_.data();
}

std::size_t Gate::lane_placing_size() const noexcept { return whole_cache_lines(4 * lane_count * model_->bodies().size()); }

std::size_t Gate::lane_group_size() const noexcept {
    const std::size_t bodies = model_->bodies().size();
    const std::size_t volumes = model_->volumes().size() + capacity::attached_max;
    const std::size_t floats = lane_count * (15 * bodies + 9 * volumes + 12 * model_->effectors().size() + lanes_.tail_count());
    return whole_cache_lines(floats);
}

LaneGroup Gate::lane_group(std::size_t index) noexcept {
    const std::size_t bodies = model_->bodies().size();
    // From a whole cache line on, so that no load of eight lanes touches two.
    const auto address = reinterpret_cast<std::uintptr_t>(lane_memory_.data());
    const std::size_t skipped = (0 - address / sizeof(float)) % cache_line_floats;
    float* at = lane_memory_.data() + skipped;
    LaneGroup group{};
    group.position = at;
    group.turn = group.position + lane_count * bodies;
    group.step = group.turn + 2 * lane_count * bodies;
    group.frame = at + lane_placing_size() + index * lane_group_size();
    group.centre = group.frame + 12 * lane_count * bodies;
    group.tool = group.centre + 3 * lane_count * bodies;
    group.tail = group.tool + 12 * lane_count * model_->effectors().size();
    group.middle = group.tail + lane_count * lanes_.tail_count();
    group.core = group.middle + 3 * lane_count * (model_->volumes().size() + capacity::attached_max);
    group.placed = lane_placed_.data() + index * bodies;
    return group;
}

Verdict Gate::check(const CheckRequest& request) noexcept {
    Validation validation(*this, request);
    return validation.run();
}

}  // namespace lastgate
