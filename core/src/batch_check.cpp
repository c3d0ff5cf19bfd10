// SPDX-License-Identifier: Apache-2.0
// Single configurations, eight at once: limits, self, world, no motion.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "lanes_builds.hpp"
#include "lastgate/gate.hpp"
#include "lastgate/tolerance.hpp"
#include "sweep.hpp"

namespace lastgate {

/// Groups that share one list of obstacles. More would gain less than a hundredth each, and their list would be longer.
constexpr std::size_t batch_groups = 8;
constexpr std::size_t batch_rows = batch_groups * lane_count;
static_assert(batch_rows <= capacity::rows_max, "the gate has memory for the rows of one chunk");

/// One call of Gate::check_configurations.
class BatchCheck {
  public:
    /// `count` configurations will be asked about.
    BatchCheck(Gate& gate, std::span<const double> gripper_positions, const WorldSnapshot& world, std::size_t count) noexcept;

    /// Up to `batch_rows` configurations of joint-row width.
    void run(const double* configurations, std::size_t count, std::uint8_t* accepted, double* clearance_m) noexcept;

  private:
    /// Set bits are lanes outside the limits, or in doubt.
    struct Found {
        alignas(32) float best[lane_count];
        std::uint8_t outside;
        std::uint8_t doubt;
    };

    void place(std::size_t index, const double* configurations, std::size_t count) noexcept;
    void test_self(std::size_t index) noexcept;
    void test_obstacles(std::size_t group_count) noexcept;
    std::uint8_t test_fields(const LaneGroup& group, float* best) noexcept;
    std::uint8_t test_keep_in(const LaneGroup& group, float* best) noexcept;
    void decide(const double* configuration, std::uint8_t& accepted, double& clearance_m) noexcept;

    Gate& gate_;
    const WorldSnapshot& world_;
    const LaneTables& tables_;
    const LaneKernels& kernels_;
    std::array<LaneGroup, batch_groups> groups_;
    std::array<Found, batch_groups> found_;
    const LaneWorld obstacles_;
    const float world_margin_m_;
    const float self_margin_m_;
    const bool looks_;  ///< There is a world to look at.
    bool grippers_inside_ = true;
};

namespace {

/// Towards infinity, so that a demand never shrinks by conversion.
float lane_margin(double margin_m) noexcept { return static_cast<float>((margin_m + tolerance::rounding_m) * (1.0 + 1e-6)); }

}  // namespace

/// Grippers nobody placed stand in the middle of their range, and half of it counts as motion. They are the same for all
/// configurations, and so is all motion.
BatchCheck::BatchCheck(Gate& gate, std::span<const double> gripper_positions, const WorldSnapshot& world, std::size_t count) noexcept
    : gate_(gate), world_(world), tables_(gate.lanes_.tables()), kernels_(gate.lanes_.kernels()), obstacles_(world.for_lanes()),
      world_margin_m_(lane_margin(gate.config_.world_margin_m)), self_margin_m_(lane_margin(gate.config_.self_margin_m)),
      looks_(!world.is_declared_absent()) {
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
    const LaneGroup first = gate.lane_group(0);
    if (std::all_of(gate.uncertainty_.begin(), gate.uncertainty_.end(), [](double size) { return size == 0.0; })) {
        std::fill_n(first.tail, lane_count * tables_.tail_count, 0.0F);
    } else {
        const auto bodies = model.bodies();
        for (std::size_t body = 1; body < bodies.size(); ++body) {
            std::fill_n(first.step + body * lane_count, lane_count, static_cast<float>(gate.uncertainty_[bodies[body].dof]));
        }
        kernels_.sum_tails(tables_, first);
    }
    for (std::size_t index = 0; index < batch_groups && index * lane_count < count; ++index) {
        groups_[index] = gate.lane_group(index);
        groups_[index].step = first.step;
        groups_[index].tail = first.tail;
        kernels_.fill_resting(tables_, groups_[index], gate.lane_variables_.data());
    }
}

std::uint8_t BatchCheck::test_fields(const LaneGroup& group, float* best) noexcept {
    if (!world_.has_fields()) return 0;
    const std::size_t entries = gate_.shapes_.volumes().size() * field_slots;
    std::fill_n(gate_.lane_doubt_.begin(), entries, std::uint8_t{0});
    Verdict unused{};
    Sweep sweep(gate_, unused);
    sweep.set_world(&world_);
    sweep.test_fields(group, world_margin_m_, false, best, gate_.lane_doubt_.data());
    std::uint8_t doubt = 0;
    for (std::size_t entry = 0; entry < entries; ++entry) doubt |= gate_.lane_doubt_[entry];
    return doubt;
}

std::uint8_t BatchCheck::test_keep_in(const LaneGroup& group, float* best) noexcept {
    if (gate_.keep_in_.primitives().empty()) return 0;
    Verdict unused{};
    Sweep sweep(gate_, unused);
    sweep.test_keep_in(group, world_margin_m_, best, gate_.lane_doubt_.data());
    std::uint8_t doubt = 0;
    const std::size_t entries = gate_.shapes_.volumes().size() * gate_.config_.keep_in_zones.size();
    for (std::size_t entry = 0; entry < entries; ++entry) doubt |= gate_.lane_doubt_[entry];
    return doubt;
}

void BatchCheck::place(std::size_t index, const double* configurations, std::size_t count) noexcept {
    const LaneGroup& group = groups_[index];
    const std::uint8_t outside = kernels_.fill_configurations(tables_, group, configurations, count, gate_.lane_variables_.data());
    found_[index].outside = grippers_inside_ ? outside : std::uint8_t{0xFF};
    kernels_.place(tables_, group);
    kernels_.place_balls(tables_, group);
}

void BatchCheck::test_self(std::size_t index) noexcept {
    Found& found = found_[index];
    std::fill_n(found.best, lane_count, 1.0F);
    found.doubt = 0xFF;
    if (gate_.shapes_.body_pairs().size() > capacity::lane_entries_max) return;
    LaneHint& hint = gate_.batch_hint_;
    if (looks_) kernels_.test_hint(tables_, groups_[index], obstacles_, world_margin_m_, false, found.best, &hint);
    found.doubt = kernels_.test_self(tables_, groups_[index], self_margin_m_, false, found.best, gate_.lane_doubt_.data(), &hint);
}

/// Several groups share a list of what may be near any of them; one group finds it on its way.
void BatchCheck::test_obstacles(std::size_t group_count) noexcept {
    LaneHint& hint = gate_.batch_hint_;
    std::uint32_t listed = 0;
    bool shared = group_count > 1;
    if (shared) {
        float best_m = 0.0F;
        for (std::size_t index = 0; index < group_count; ++index) best_m = std::max(best_m, *std::max_element(found_[index].best, found_[index].best + lane_count));
        const float wanted_m = (world_margin_m_ + best_m) * (1.0F + 1e-6F) + 2.0F * tables_.slack;
        listed = kernels_.shortlist(tables_, groups_.data(), group_count, obstacles_, wanted_m, gate_.shortlist_.data());
        shared = listed <= capacity::lane_entries_max;
    }
    for (std::size_t index = 0; index < group_count; ++index) {
        Found& found = found_[index];
        const std::uint8_t doubt =
            shared ? kernels_.test_entries(tables_, groups_[index], obstacles_, gate_.shortlist_.data(), listed, world_margin_m_, false, found.best,
                                           gate_.lane_doubt_.data(), &hint)
                   : kernels_.test_world(tables_, groups_[index], obstacles_, world_margin_m_, found.best, &hint);
        found.doubt = static_cast<std::uint8_t>(found.doubt | doubt | test_fields(groups_[index], found.best));
    }
}

/// The double path for one configuration inside its limits.
void BatchCheck::decide(const double* configuration, std::uint8_t& accepted, double& clearance_m) noexcept {
    for (std::size_t variable = 0; variable < gate_.model_->variable_count(); ++variable) {
        gate_.path_[variable] = gate_.lane_variables_[variable * lane_count];
    }
    for (const std::uint16_t dof : gate_.model_->row_dofs()) gate_.path_[dof] = *configuration++;
    gate_.path_rows_ = 0;
    Verdict unused{};
    Sweep sweep(gate_, unused);
    sweep.set_world(&world_);
    sweep.place_rows();
    clearance_m = sweep.clearance_of_row_alone();
    accepted = sweep.all_shown() ? 1 : 0;
}

void BatchCheck::run(const double* configurations, std::size_t count, std::uint8_t* accepted, double* clearance_m) noexcept {
    const std::size_t width = tables_.column_count;
    const std::size_t group_count = (count + lane_count - 1) / lane_count;
    for (std::size_t index = 0; index < group_count; ++index) {
        const std::size_t first = index * lane_count;
        place(index, configurations + first * width, std::min(lane_count, count - first));
        test_self(index);
    }
    if (looks_) test_obstacles(group_count);
    for (std::size_t index = 0; index < group_count; ++index) {
        Found& found = found_[index];
        found.doubt = static_cast<std::uint8_t>(found.doubt | test_keep_in(groups_[index], found.best));
        if (gate_.zones_.primitives().empty()) continue;
        LaneHint unused;
        found.doubt = static_cast<std::uint8_t>(
            found.doubt | kernels_.test_world(tables_, groups_[index], gate_.zones_.for_lanes(), world_margin_m_, found.best, &unused));
    }
    for (std::size_t row = 0; row < count; ++row) {
        const Found& found = found_[row / lane_count];
        const std::size_t lane = row % lane_count;
        if (lane == 0 && count - row >= lane_count && (found.outside | found.doubt) == 0) {  // most groups are
            for (std::size_t at = 0; at < lane_count; ++at) clearance_m[row + at] = static_cast<double>(found.best[at]);
            std::fill_n(accepted + row, lane_count, std::uint8_t{1});
            row += lane_count - 1;
            continue;
        }
        accepted[row] = 0;
        clearance_m[row] = -std::numeric_limits<double>::infinity();
        if ((found.outside >> lane & 1) != 0) continue;
        if ((found.doubt >> lane & 1) == 0) {
            accepted[row] = 1;
            clearance_m[row] = static_cast<double>(found.best[lane]);
        } else {
            decide(configurations + row * width, accepted[row], clearance_m[row]);
        }
    }
}

void Gate::check_configurations(std::span<const double> configurations, std::size_t count,
                                std::span<const double> gripper_positions, const WorldSnapshot& world,
                                std::span<std::uint8_t> accepted, std::span<double> clearance_m) noexcept {
    contacts_.clear();
    BatchCheck batch(*this, gripper_positions, world, count);
    const std::size_t width = model_->row_dofs().size();
    for (std::size_t first = 0; first < count; first += batch_rows) {
        const std::size_t rows = std::min(batch_rows, count - first);
        batch.run(configurations.data() + first * width, rows, accepted.data() + first, clearance_m.data() + first);
    }
    path_rows_ = 0;
}

}  // namespace lastgate
