// SPDX-License-Identifier: Apache-2.0
// Single configurations, eight at once: limits, self, world, no motion.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "simd/simd_kernels.hpp"
#include "lastgate/gate.hpp"
#include "sweep/clearance.hpp"
#include "sweep/pair_table.hpp"
#include "sweep/pairs/field.hpp"
#include "sweep/pairs/keep_in.hpp"
#include "sweep/sweep.hpp"

namespace lastgate::detail {

/// Groups that share one list of obstacles. More would gain less than a hundredth each, and their list would be longer.
constexpr std::size_t batch_groups = 8;
constexpr std::size_t batch_rows = batch_groups * lane_count;
static_assert(batch_rows <= capacity::rows_max, "the gate has memory for the rows of one chunk");

/// One call of Gate::check_configurations.
class BatchCheck {
  public:
    /// `count` configurations will be asked about.
    BatchCheck(GateState& gate, std::span<const double> gripper_positions, const WorldSnapshot& world, std::size_t count) noexcept;

    /// Up to `batch_rows` configurations of joint-row width.
    void run(const double* configurations, std::size_t count, std::uint8_t* accepted, double* clearance_m) noexcept;

    /// Of one configuration; see Gate::explain_configuration.
    Violation explain(const double* configuration) noexcept;

  private:
    /// Set bits are lanes outside the limits, or unresolved.
    struct Found {
        alignas(32) float best[lane_count];
        std::uint8_t outside;
        std::uint8_t unresolved;
    };

    void place(std::size_t index, const double* configurations, std::size_t count) noexcept;
    void test_self(std::size_t index) noexcept;
    void test_obstacles(std::size_t group_count) noexcept;
    std::uint8_t test_fields(const SimdGroup& group, float* best) noexcept;
    std::uint8_t test_keep_in(const SimdGroup& group, float* best) noexcept;
    void decide(const double* configuration, std::uint8_t& accepted, double& clearance_m) noexcept;
    Sweep place_alone(const double* configuration) noexcept;
    Violation outside_limits(const double* configuration) const noexcept;

    const GateSetup& setup_;
    SweepWorkspace& workspace_;
    const WorldSnapshot& world_;
    const SimdTables& tables_;
    const SimdKernels& kernels_;
    std::array<SimdGroup, batch_groups> groups_;
    std::array<Found, batch_groups> found_;
    const SimdWorld obstacles_;
    const float world_margin_m_;
    const float self_margin_m_;
    const bool has_world_;  ///< There is a world to check.
    bool grippers_inside_ = true;
};

namespace {

/// Towards infinity, so that a required distance never shrinks by conversion.
float simd_margin(double margin_m) noexcept { return static_cast<float>(needed_distance(margin_m, 0.0) * (1.0 + 1e-6)); }

}  // namespace

/// Grippers that were not placed stand in the middle of their range, and half of it counts as motion. They are the same for all
/// configurations, and so is all motion.
BatchCheck::BatchCheck(GateState& gate, std::span<const double> gripper_positions, const WorldSnapshot& world, std::size_t count) noexcept
    : setup_(gate.setup), workspace_(gate.workspace), world_(world), tables_(gate.setup.simd.tables()), kernels_(gate.setup.simd.kernels()), obstacles_(world.for_simd()),
      world_margin_m_(simd_margin(gate.setup.config.world_margin_m)), self_margin_m_(simd_margin(gate.setup.config.self_margin_m)),
      has_world_(!world.is_declared_absent()) {
    const RobotModel& model = *gate.setup.model;
    std::fill(gate.workspace.uncertainty.begin(), gate.workspace.uncertainty.end(), 0.0);
    std::fill(gate.workspace.simd_variables.begin(), gate.workspace.simd_variables.end(), 0.0);
    std::size_t gripper = 0;
    for (std::size_t dof = 0; dof < model.dof_count(); ++dof) {
        const DofSpec& limits = model.dof(dof);
        if (limits.in_rows) continue;
        if (gripper_positions.empty()) gate.workspace.uncertainty[dof] = 0.5 * (limits.position_max - limits.position_min);
        const double position = gripper_positions.empty() ? 0.5 * (limits.position_min + limits.position_max) : gripper_positions[gripper++];
        const bool inside = limits.position_min <= position && position <= limits.position_max;
        grippers_inside_ = grippers_inside_ && inside;
        std::fill_n(gate.workspace.simd_variables.data() + dof * lane_count, lane_count, inside ? position : 0.0);
    }
    const SimdGroup first = gate.workspace.simd_group(0);
    if (std::all_of(gate.workspace.uncertainty.begin(), gate.workspace.uncertainty.end(), [](double size) { return size == 0.0; })) {
        std::fill_n(first.tail, lane_count * tables_.tail_count, 0.0F);
    } else {
        const auto bodies = model.bodies();
        for (std::size_t body = 1; body < bodies.size(); ++body) {
            std::fill_n(first.step + body * lane_count, lane_count, static_cast<float>(gate.workspace.uncertainty[bodies[body].dof]));
        }
        kernels_.sum_tails(tables_, first);
    }
    for (std::size_t index = 0; index < batch_groups && index * lane_count < count; ++index) {
        groups_[index] = gate.workspace.simd_group(index);
        groups_[index].step = first.step;
        groups_[index].tail = first.tail;
        kernels_.fill_resting(tables_, groups_[index], gate.workspace.simd_variables.data());
    }
}

std::uint8_t BatchCheck::test_fields(const SimdGroup& group, float* best) noexcept {
    if (!world_.has_fields()) return 0;
    Sweep sweep(setup_, workspace_, &world_);
    return detail::test_fields(sweep, group, world_margin_m_, false, best, workspace_.simd_unresolved.data());
}

std::uint8_t BatchCheck::test_keep_in(const SimdGroup& group, float* best) noexcept {
    if (setup_.keep_in.primitives().empty()) return 0;
    Sweep sweep(setup_, workspace_, &world_);
    return detail::test_keep_in(sweep, group, world_margin_m_, best, workspace_.simd_unresolved.data());
}

void BatchCheck::place(std::size_t index, const double* configurations, std::size_t count) noexcept {
    const SimdGroup& group = groups_[index];
    const std::uint8_t outside = kernels_.fill_configurations(tables_, group, configurations, count, workspace_.simd_variables.data());
    found_[index].outside = grippers_inside_ ? outside : std::uint8_t{0xFF};
    kernels_.place(tables_, group);
    kernels_.place_spheres(tables_, group);
}

void BatchCheck::test_self(std::size_t index) noexcept {
    Found& found = found_[index];
    std::fill_n(found.best, lane_count, 1.0F);
    found.unresolved = 0xFF;
    if (setup_.shapes.body_pairs().size() > capacity::simd_entries_max) return;
    SimdHint& hint = workspace_.batch_hint;
    if (has_world_) kernels_.test_hint(tables_, groups_[index], obstacles_, world_margin_m_, false, found.best, &hint);
    found.unresolved = kernels_.test_self(tables_, groups_[index], self_margin_m_, false, found.best, workspace_.simd_unresolved.data(), &hint);
}

/// Several groups share a list of what may be near any of them; one group finds it on its way.
void BatchCheck::test_obstacles(std::size_t group_count) noexcept {
    SimdHint& hint = workspace_.batch_hint;
    std::uint32_t listed = 0;
    bool shared = group_count > 1;
    if (shared) {
        float min_clearance_m = 0.0F;
        for (std::size_t index = 0; index < group_count; ++index) min_clearance_m = std::max(min_clearance_m, *std::max_element(found_[index].best, found_[index].best + lane_count));
        const float wanted_m = (world_margin_m_ + min_clearance_m) * (1.0F + 1e-6F) + 2.0F * tables_.slack;
        listed = kernels_.shortlist(tables_, groups_.data(), group_count, obstacles_, wanted_m, workspace_.shortlist.data());
        shared = listed <= capacity::simd_entries_max;
    }
    for (std::size_t index = 0; index < group_count; ++index) {
        Found& found = found_[index];
        const std::uint8_t unresolved =
            shared ? kernels_.test_entries(tables_, groups_[index], obstacles_, workspace_.shortlist.data(), listed, world_margin_m_, false, found.best,
                                           workspace_.simd_unresolved.data(), &hint)
                   : kernels_.test_world(tables_, groups_[index], obstacles_, world_margin_m_, found.best, &hint);
        found.unresolved = static_cast<std::uint8_t>(found.unresolved | unresolved | test_fields(groups_[index], found.best));
    }
}

/// One configuration inside its limits as row 0 of a path, for the double path.
Sweep BatchCheck::place_alone(const double* configuration) noexcept {
    for (std::size_t variable = 0; variable < setup_.model->variable_count(); ++variable) {
        workspace_.path[variable] = workspace_.simd_variables[variable * lane_count];
    }
    for (const std::uint16_t dof : setup_.model->row_dofs()) workspace_.path[dof] = *configuration++;
    workspace_.path_rows = 0;
    Sweep sweep(setup_, workspace_, &world_);
    sweep.place_rows();
    return sweep;
}

void BatchCheck::decide(const double* configuration, std::uint8_t& accepted, double& clearance_m) noexcept {
    Sweep sweep = place_alone(configuration);
    clearance_m = sweep.clearance_of_row_alone();
    accepted = sweep.all_certified() ? 1 : 0;
}

Violation BatchCheck::outside_limits(const double* configuration) const noexcept {
    Violation violation;
    violation.code = ViolationCode::joint_position_limit;
    violation.subject_kind = SubjectKind::dof;
    violation.row = 0;
    for (std::size_t dof = 0; dof < setup_.model->dof_count(); ++dof) {
        const DofSpec& limits = setup_.model->dof(dof);
        violation.subject = static_cast<std::uint32_t>(dof);
        violation.value = limits.in_rows ? *configuration++ : workspace_.simd_variables[dof * lane_count];
        violation.limit_min = limits.position_min;
        violation.limit_max = limits.position_max;
        if (!(limits.position_min <= violation.value && violation.value <= limits.position_max)) break;
    }
    return violation;
}

Violation BatchCheck::explain(const double* configuration) noexcept {
    place(0, configuration, 1);
    if ((found_[0].outside & 1) != 0) return outside_limits(configuration);
    Sweep sweep = place_alone(configuration);
    PairKind kind = PairKind::self;
    (void)sweep.clearance_of_row_alone(&kind);
    if (sweep.all_certified()) return {};
    const Item& item = workspace_.items.front();
    Finding finding;
    finding.item = {item.key, item.a, item.b, 0.0, sweep.required(kind, item.a, item.b)};
    finding.witness = sweep.measure(kind, finding.item, sweep.frames_of_row(0), finding.item.required_m);
    finding.obstacle = sweep.last_obstacle;
    Violation violation;
    functions_of(kind).describe(sweep, finding, violation);
    violation.row = 0;
    violation.distance_m = violation.value = finding.witness.distance_m;
    violation.margin_m = violation.limit_min = finding.item.required_m;
    violation.witness_a = finding.witness.on_first;
    violation.witness_b = finding.witness.on_second;
    return violation;
}

void BatchCheck::run(const double* configurations, std::size_t count, std::uint8_t* accepted, double* clearance_m) noexcept {
    const std::size_t width = tables_.column_count;
    const std::size_t group_count = (count + lane_count - 1) / lane_count;
    for (std::size_t index = 0; index < group_count; ++index) {
        const std::size_t first = index * lane_count;
        place(index, configurations + first * width, std::min<std::size_t>(lane_count, count - first));
        test_self(index);
    }
    if (has_world_) test_obstacles(group_count);
    for (std::size_t index = 0; index < group_count; ++index) {
        Found& found = found_[index];
        found.unresolved = static_cast<std::uint8_t>(found.unresolved | test_keep_in(groups_[index], found.best));
        if (setup_.zones.primitives().empty()) continue;
        SimdHint unused;
        found.unresolved = static_cast<std::uint8_t>(
            found.unresolved | kernels_.test_world(tables_, groups_[index], setup_.zones.for_simd(), world_margin_m_, found.best, &unused));
    }
    for (std::size_t row = 0; row < count; ++row) {
        const Found& found = found_[row / lane_count];
        const std::size_t lane = row % lane_count;
        if (lane == 0 && count - row >= lane_count && (found.outside | found.unresolved) == 0) {  // most groups are
            for (std::size_t at = 0; at < lane_count; ++at) clearance_m[row + at] = static_cast<double>(found.best[at]);
            std::fill_n(accepted + row, lane_count, std::uint8_t{1});
            row += lane_count - 1;
            continue;
        }
        accepted[row] = 0;
        clearance_m[row] = -std::numeric_limits<double>::infinity();
        if ((found.outside >> lane & 1) != 0) continue;
        if ((found.unresolved >> lane & 1) == 0) {
            accepted[row] = 1;
            clearance_m[row] = static_cast<double>(found.best[lane]);
        } else {
            decide(configurations + row * width, accepted[row], clearance_m[row]);
        }
    }
}

}  // namespace lastgate::detail

namespace lastgate {

using namespace detail;


void Gate::check_configurations(std::span<const double> configurations, std::size_t count,
                                std::span<const double> gripper_positions, const WorldSnapshot& world,
                                std::span<std::uint8_t> accepted, std::span<double> clearance_m) noexcept {
    state_->workspace.start_contacts.clear();
    detail::BatchCheck batch(*state_, gripper_positions, world, count);
    const std::size_t width = model().row_dofs().size();
    for (std::size_t first = 0; first < count; first += detail::batch_rows) {
        const std::size_t rows = std::min(detail::batch_rows, count - first);
        batch.run(configurations.data() + first * width, rows, accepted.data() + first, clearance_m.data() + first);
    }
    state_->workspace.path_rows = 0;
}

Violation Gate::explain_configuration(std::span<const double> configuration, std::span<const double> gripper_positions, const WorldSnapshot& world) noexcept {
    state_->workspace.start_contacts.clear();
    detail::BatchCheck batch(*state_, gripper_positions, world, 1);
    const Violation violation = batch.explain(configuration.data());
    state_->workspace.path_rows = 0;
    return violation;
}

}  // namespace lastgate
