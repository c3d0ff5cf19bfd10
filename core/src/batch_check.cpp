// SPDX-License-Identifier: Apache-2.0
// Single configurations, eight at once: limits, self, world, no motion.
#include <algorithm>
#include <cmath>
#include <limits>

#include "lanes_builds.hpp"
#include "lastgate/gate.hpp"
#include "lastgate/tolerance.hpp"
#include "sweep.hpp"

namespace lastgate {

/// One call of Gate::check_configurations.
class BatchCheck {
  public:
    BatchCheck(Gate& gate, std::span<const double> gripper_positions, const WorldSnapshot& world) noexcept;

    /// Up to eight configurations of joint-row width.
    void run(const double* configurations, std::size_t count, std::uint8_t* accepted, double* clearance_m) noexcept;

  private:
    std::uint8_t test_group(float* best) noexcept;
    std::uint8_t test_fields(float* best) noexcept;
    std::uint8_t test_keep_in(float* best) noexcept;
    void decide(std::size_t lane, std::uint8_t& accepted, double& clearance_m) noexcept;

    Gate& gate_;
    const WorldSnapshot& world_;
    const LaneTables tables_;
    const LaneGroup group_;
    const float world_margin_m_;
    const float self_margin_m_;
    bool grippers_inside_ = true;
};

namespace {

/// Towards infinity, so that a demand never shrinks by conversion.
float lane_margin(double margin_m) noexcept { return static_cast<float>((margin_m + tolerance::rounding_m) * (1.0 + 1e-6)); }

}  // namespace

/// Grippers nobody placed stand in the middle of their range, and half of it counts as motion. They are the same for all
/// configurations, and so is all motion.
BatchCheck::BatchCheck(Gate& gate, std::span<const double> gripper_positions, const WorldSnapshot& world) noexcept
    : gate_(gate), world_(world), tables_(gate.lanes_.tables()), group_(gate.lane_group(0)), world_margin_m_(lane_margin(gate.config_.world_margin_m)),
      self_margin_m_(lane_margin(gate.config_.self_margin_m)) {
    const RobotModel& model = *gate.model_;
    std::fill(gate.uncertainty_.begin(), gate.uncertainty_.end(), 0.0);
    std::fill(gate.lane_variables_.begin(), gate.lane_variables_.end(), 0.0);
    std::size_t gripper = 0;
    for (std::size_t dof = 0; dof < model.dof_count(); ++dof) {
        const DofSpec& limits = model.dof(dof);
        if (limits.in_rows) continue;
        if (gripper_positions.empty()) gate.uncertainty_[dof] = 0.5 * (limits.position_max - limits.position_min);
        const double position = gripper_positions.empty() ? 0.5 * (limits.position_min + limits.position_max) : gripper_positions[gripper++];
        const bool inside = limits.position_min <= position && position <= limits.position_max;
        grippers_inside_ = grippers_inside_ && inside;
        std::fill_n(gate.lane_variables_.data() + dof * lane_count, lane_count, inside ? position : 0.0);
    }
    const auto bodies = model.bodies();
    for (std::size_t body = 1; body < bodies.size(); ++body) {
        std::fill_n(group_.step + body * lane_count, lane_count, static_cast<float>(gate.uncertainty_[bodies[body].dof]));
    }
    gate.lanes_.kernels().fill_resting(tables_, group_, gate.lane_variables_.data());
    gate.lanes_.kernels().sum_tails(tables_, group_);
}

std::uint8_t BatchCheck::test_fields(float* best) noexcept {
    if (!world_.has_fields()) return 0;
    const std::size_t entries = gate_.shapes_.volumes().size() * field_slots;
    std::fill_n(gate_.lane_doubt_.begin(), entries, std::uint8_t{0});
    Verdict unused{};
    Sweep sweep(gate_, unused);
    sweep.set_world(&world_);
    sweep.test_fields(group_, world_margin_m_, false, best, gate_.lane_doubt_.data());
    std::uint8_t doubt = 0;
    for (std::size_t entry = 0; entry < entries; ++entry) doubt |= gate_.lane_doubt_[entry];
    return doubt;
}

std::uint8_t BatchCheck::test_keep_in(float* best) noexcept {
    if (gate_.keep_in_.primitives().empty()) return 0;
    Verdict unused{};
    Sweep sweep(gate_, unused);
    sweep.test_keep_in(group_, world_margin_m_, best, gate_.lane_doubt_.data());
    std::uint8_t doubt = 0;
    const std::size_t entries = gate_.shapes_.volumes().size() * gate_.config_.keep_in_zones.size();
    for (std::size_t entry = 0; entry < entries; ++entry) doubt |= gate_.lane_doubt_[entry];
    return doubt;
}

/// Set bits are lanes in doubt.
std::uint8_t BatchCheck::test_group(float* best) noexcept {
    if (gate_.shapes_.body_pairs().size() > capacity::lane_entries_max) return 0xFF;
    const LaneKernels& kernels = gate_.lanes_.kernels();
    LaneHint& hint = gate_.batch_hint_;
    const bool look = !world_.is_declared_absent();
    const LaneWorld world = world_.for_lanes();
    if (look) kernels.test_hint(tables_, group_, world, world_margin_m_, false, best, &hint);
    std::uint8_t doubt = kernels.test_self(tables_, group_, self_margin_m_, false, best, gate_.lane_doubt_.data(), &hint);
    if (look) doubt = static_cast<std::uint8_t>(doubt | kernels.test_world(tables_, group_, world, world_margin_m_, best, &hint) | test_fields(best));
    doubt = static_cast<std::uint8_t>(doubt | test_keep_in(best));
    if (gate_.zones_.primitives().empty()) return doubt;
    LaneHint unused;
    return static_cast<std::uint8_t>(doubt | kernels.test_world(tables_, group_, gate_.zones_.for_lanes(), world_margin_m_, best, &unused));
}

/// The double path for one configuration.
void BatchCheck::decide(std::size_t lane, std::uint8_t& accepted, double& clearance_m) noexcept {
    for (std::size_t variable = 0; variable < gate_.model_->variable_count(); ++variable) {
        gate_.path_[variable] = gate_.lane_variables_[variable * lane_count + lane];
    }
    gate_.path_rows_ = 0;
    Verdict unused{};
    Sweep sweep(gate_, unused);
    sweep.set_world(&world_);
    sweep.place_rows();
    clearance_m = sweep.clearance_of_row_alone();
    accepted = sweep.all_shown() ? 1 : 0;
}

void BatchCheck::run(const double* configurations, std::size_t count, std::uint8_t* accepted, double* clearance_m) noexcept {
    const LaneKernels& kernels = gate_.lanes_.kernels();
    const std::uint8_t rows_outside = kernels.fill_configurations(tables_, group_, configurations, count, gate_.lane_variables_.data());
    const std::uint8_t outside = grippers_inside_ ? rows_outside : std::uint8_t{0xFF};
    kernels.place(tables_, group_);
    kernels.place_balls(tables_, group_);
    alignas(32) float best[lane_count];
    std::fill_n(best, lane_count, 1.0F);
    const std::uint8_t doubt = test_group(best);
    for (std::size_t lane = 0; lane < count; ++lane) {
        accepted[lane] = 0;
        clearance_m[lane] = -std::numeric_limits<double>::infinity();
        if ((outside >> lane & 1) != 0) continue;
        if ((doubt >> lane & 1) == 0) {
            accepted[lane] = 1;
            clearance_m[lane] = static_cast<double>(best[lane]);
        } else {
            decide(lane, accepted[lane], clearance_m[lane]);
        }
    }
}

void Gate::check_configurations(std::span<const double> configurations, std::size_t count,
                                std::span<const double> gripper_positions, const WorldSnapshot& world,
                                std::span<std::uint8_t> accepted, std::span<double> clearance_m) noexcept {
    contacts_.clear();
    BatchCheck batch(*this, gripper_positions, world);
    const std::size_t width = model_->row_dofs().size();
    for (std::size_t first = 0; first < count; first += lane_count) {
        const std::size_t group = std::min(lane_count, count - first);
        batch.run(configurations.data() + first * width, group, accepted.data() + first, clearance_m.data() + first);
    }
    path_rows_ = 0;
}

}  // namespace lastgate
