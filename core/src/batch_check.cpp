// SPDX-License-Identifier: Apache-2.0
// Single configurations, eight at once: limits, self, world, no motion.
#include <algorithm>
#include <cmath>
#include <limits>

#include "lastgate/gate.hpp"
#include "lastgate/tolerance.hpp"
#include "sweep.hpp"

namespace lastgate {

/// One call of Gate::check_configurations.
class BatchCheck {
  public:
    BatchCheck(Gate& gate, std::span<const double> gripper_positions, const WorldSnapshot& world) noexcept
        : gate_(gate), gripper_positions_(gripper_positions), world_(world) {}

    /// Up to eight configurations of joint-row width.
    void run(const double* configurations, std::size_t count, std::uint8_t* accepted, double* clearance_m) noexcept;

  private:
    bool unfold(const double* configuration, double* variables) noexcept;
    std::uint8_t test_world(const LaneGroup& group, const WorldSnapshot& world, std::size_t count, float* best) noexcept;
    std::uint8_t test_fields(const LaneGroup& group, float* best) noexcept;
    void decide(const double* variables, std::uint8_t& accepted, double& clearance_m) noexcept;

    Gate& gate_;
    std::span<const double> gripper_positions_;
    const WorldSnapshot& world_;
};

/// A joint row as a full configuration; false outside the limits (NaN included). Grippers nobody placed stand in
/// the middle of their range, and half of it counts as motion.
bool BatchCheck::unfold(const double* configuration, double* variables) noexcept {
    const RobotModel& model = *gate_.model_;
    std::fill_n(variables, model.variable_count(), 0.0);
    const auto dofs = model.row_dofs();
    for (std::size_t column = 0; column < dofs.size(); ++column) variables[dofs[column]] = configuration[column];
    std::size_t gripper = 0;
    bool inside = true;
    for (std::size_t dof = 0; dof < model.dof_count(); ++dof) {
        const DofSpec& limits = model.dof(dof);
        if (!limits.in_rows) {
            variables[dof] = gripper_positions_.empty() ? 0.5 * (limits.position_min + limits.position_max) : gripper_positions_[gripper++];
        }
        inside = inside && limits.position_min <= variables[dof] && variables[dof] <= limits.position_max;
    }
    return inside;
}

/// Only the first `count` lanes differ; the idle ones repeat the last of them.
std::uint8_t BatchCheck::test_world(const LaneGroup& group, const WorldSnapshot& world, std::size_t count, float* best) noexcept {
    const auto balls = gate_.shapes_.balls();
    const auto margin_m = static_cast<float>((gate_.config_.world_margin_m + tolerance::rounding_m) * (1.0 + 1e-6));
    std::uint8_t doubt = 0;
    std::fill(gate_.body_low_.begin(), gate_.body_low_.end(), 1e30F);
    std::fill(gate_.body_high_.begin(), gate_.body_high_.end(), -1e30F);
    gate_.lanes_.bound_bodies(group, gate_.body_low_.data(), gate_.body_high_.data());
    for (std::size_t body = 0; body < balls.size(); ++body) {
        if (!(balls[body].radius_m > 0.0) || gate_.model_->bodies()[body].depth == 0) continue;  // see shortlist_primitives
        float low[3];
        float high[3];
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const std::size_t at = (3 * body + axis) * lane_count;
            low[axis] = *std::min_element(gate_.body_low_.data() + at, gate_.body_low_.data() + at + count);
            high[axis] = *std::max_element(gate_.body_high_.data() + at, gate_.body_high_.data() + at + count);
        }
        const float wanted_m = margin_m + std::max(*std::max_element(best, best + count), 0.0F);
        const std::uint32_t found = gate_.lanes_.near_primitives(world, low, high, wanted_m, gate_.near_.data());
        for (std::uint32_t at = 0; at < found; ++at) {
            doubt |= gate_.lanes_.test_primitive(group, body, world.lane_primitive(gate_.near_[at]), margin_m, best);
        }
    }
    return doubt;
}

std::uint8_t BatchCheck::test_fields(const LaneGroup& group, float* best) noexcept {
    if (world_.field(voxel_slot) == nullptr && world_.field(point_slot) == nullptr) return 0;
    const std::size_t entries = gate_.shapes_.volumes().size() * field_slots;
    std::fill_n(gate_.lane_doubt_.begin(), entries, std::uint8_t{0});
    Verdict unused{};
    Sweep sweep(gate_, unused);
    sweep.set_world(&world_);
    const auto margin_m = static_cast<float>((gate_.config_.world_margin_m + tolerance::rounding_m) * (1.0 + 1e-6));
    sweep.test_fields(group, margin_m, false, best, gate_.lane_doubt_.data());
    std::uint8_t doubt = 0;
    for (std::size_t entry = 0; entry < entries; ++entry) doubt |= gate_.lane_doubt_[entry];
    return doubt;
}

/// The double path for one configuration.
void BatchCheck::decide(const double* variables, std::uint8_t& accepted, double& clearance_m) noexcept {
    std::copy_n(variables, gate_.model_->variable_count(), gate_.path_.data());
    gate_.path_rows_ = 0;
    Verdict unused{};
    Sweep sweep(gate_, unused);
    sweep.set_world(&world_);
    sweep.place_rows();
    clearance_m = sweep.clearance_of_row_alone();
    accepted = sweep.all_shown() ? 1 : 0;
}

void BatchCheck::run(const double* configurations, std::size_t count, std::uint8_t* accepted, double* clearance_m) noexcept {
    const RobotModel& model = *gate_.model_;
    const auto bodies = model.bodies();
    const LaneGroup group = gate_.lane_group(0);
    std::uint8_t outside = 0;
    // Row 0 is the double path's; the unfolded configurations wait in rows 1 to 8.
    double* unfolded = gate_.path_.data() + model.variable_count();
    for (std::size_t lane = 0; lane < count; ++lane) {
        double* variables = unfolded + lane * model.variable_count();
        if (!unfold(configurations + lane * model.row_dofs().size(), variables)) {
            outside = static_cast<std::uint8_t>(outside | (1U << lane));
            std::fill_n(variables, model.variable_count(), 0.0);  // keeps NaN and huge angles out of the lanes
        }
        for (std::size_t body = 1; body < bodies.size(); ++body) {
            group.position[body * lane_count + lane] = lane_position(bodies[body], variables[bodies[body].dof]);
            group.step[body * lane_count + lane] = static_cast<float>(gate_.uncertainty_[bodies[body].dof]);
        }
    }
    for (std::size_t body = 1; body < bodies.size(); ++body) {  // idle lanes repeat the last configuration
        float* position = group.position + body * lane_count;
        float* step = group.step + body * lane_count;
        std::fill(position + count, position + lane_count, position[count - 1]);
        std::fill(step + count, step + lane_count, step[count - 1]);
    }
    gate_.lanes_.place(group);
    float best[lane_count];
    std::fill_n(best, lane_count, 1.0F);
    const auto self_margin_m = static_cast<float>((gate_.config_.self_margin_m + tolerance::rounding_m) * (1.0 + 1e-6));
    std::uint8_t doubt = gate_.shapes_.body_pairs().size() > capacity::lane_entries_max ? 0xFF : 0;
    if (doubt == 0) {
        gate_.lanes_.test_self(group, self_margin_m, best, gate_.lane_doubt_.data());
        for (std::size_t entry = 0; entry < gate_.shapes_.body_pairs().size(); ++entry) doubt |= gate_.lane_doubt_[entry];
    }
    if (!world_.is_declared_absent()) doubt = static_cast<std::uint8_t>(doubt | test_world(group, world_, count, best) | test_fields(group, best));
    if (!gate_.zones_.primitives().empty()) doubt |= test_world(group, gate_.zones_, count, best);
    for (std::size_t lane = 0; lane < count; ++lane) {
        accepted[lane] = 0;
        clearance_m[lane] = -std::numeric_limits<double>::infinity();
        if ((outside >> lane & 1) != 0) continue;
        if ((doubt >> lane & 1) == 0) {
            accepted[lane] = 1;
            clearance_m[lane] = static_cast<double>(best[lane]);
        } else {
            decide(unfolded + lane * model.variable_count(), accepted[lane], clearance_m[lane]);
        }
    }
}

void Gate::check_configurations(std::span<const double> configurations, std::size_t count,
                                std::span<const double> gripper_positions, const WorldSnapshot& world,
                                std::span<std::uint8_t> accepted, std::span<double> clearance_m) noexcept {
    contacts_.clear();
    std::fill(uncertainty_.begin(), uncertainty_.end(), 0.0);
    for (std::size_t dof = 0; dof < model_->dof_count() && gripper_positions.empty(); ++dof) {
        const DofSpec& limits = model_->dof(dof);
        if (!limits.in_rows) uncertainty_[dof] = 0.5 * (limits.position_max - limits.position_min);
    }
    BatchCheck batch(*this, gripper_positions, world);
    const std::size_t width = model_->row_dofs().size();
    for (std::size_t first = 0; first < count; first += lane_count) {
        const std::size_t group = std::min(lane_count, count - first);
        batch.run(configurations.data() + first * width, group, accepted.data() + first, clearance_m.data() + first);
    }
    path_rows_ = 0;
}

}  // namespace lastgate
