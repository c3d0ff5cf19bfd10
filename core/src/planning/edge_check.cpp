// SPDX-License-Identifier: Apache-2.0
// Straight joint motions as planners ask about them: the sweep of a chunk without the rules of a chunk.
#include <algorithm>
#include <cmath>
#include <limits>

#include "lastgate/gate.hpp"
#include "sweep/sweep.hpp"

namespace lastgate {

using namespace detail;

namespace {

using detail::Finding;
using detail::GateState;
using detail::Outcome;
using detail::PairKind;
using detail::Sweep;

/// Where the joints stand that rows do not command, written to a row of the path. One that was not placed stands in the middle of its range, and
/// half of it is uncertain. False when one is outside its range.
bool place_grippers(GateState& gate, std::span<const double> gripper_positions, double* row) noexcept {
    const RobotModel& model = *gate.setup.model;
    std::vector<double>& uncertainty = gate.workspace.uncertainty;
    bool inside = true;
    std::size_t gripper = 0;
    std::fill(uncertainty.begin(), uncertainty.end(), 0.0);
    for (std::size_t dof = 0; dof < model.dof_count(); ++dof) {
        const DofSpec& limits = model.dof(dof);
        if (limits.in_rows) continue;
        if (gripper_positions.empty()) {
            row[dof] = 0.5 * (limits.position_min + limits.position_max);
            uncertainty[dof] = 0.5 * (limits.position_max - limits.position_min);
            continue;
        }
        row[dof] = gripper_positions[gripper++];
        inside = inside && limits.position_min <= row[dof] && row[dof] <= limits.position_max;
    }
    return inside;
}

/// The share of the way that one kind of pair leaves certified; infinity for all of it.
double certified_share(Sweep& sweep, PairKind kind, std::size_t segments) noexcept {
    Finding finding;
    const Outcome outcome = sweep.run(kind, segments, finding);
    if (outcome == Outcome::clear) return std::numeric_limits<double>::infinity();
    // What was never told apart may be anywhere.
    if (finding.segment == none || finding.segment == 0) return 0.0;
    const double into_segment = outcome == Outcome::violated ? finding.first_contact_t : 0.0;
    return (static_cast<double>(finding.segment - 1) + into_segment) / static_cast<double>(segments);
}

}  // namespace

void Gate::check_edges(std::span<const double> starts, std::span<const double> ends, std::size_t count, std::span<const double> gripper_positions,
                       const WorldSnapshot& world, double step_max, std::span<double> first_contact) noexcept {
    const auto row_dofs = model().row_dofs();
    const std::size_t width = row_dofs.size();
    const std::size_t variables = model().variable_count();
    detail::SweepWorkspace& workspace = state_->workspace;
    const detail::GateSetup& setup = state_->setup;
    workspace.start_contacts.clear();
    for (std::size_t edge = 0; edge < count; ++edge) {
        const double* from = starts.data() + edge * width;
        const double* to = ends.data() + edge * width;
        first_contact[edge] = 0.0;
        std::fill_n(workspace.path.data(), variables, 0.0);
        bool inside = place_grippers(*state_, gripper_positions, workspace.path.data());
        double widest = 0.0;
        for (std::size_t column = 0; column < width; ++column) {
            const DofSpec& limits = model().dof(row_dofs[column]);
            // Outside the limits the motion bounds do not hold, and a NaN is inside of nothing.
            inside = inside && limits.position_min <= from[column] && from[column] <= limits.position_max && limits.position_min <= to[column] &&
                     to[column] <= limits.position_max;
            widest = std::max(widest, std::abs(to[column] - from[column]));
        }
        if (!inside || !(step_max > 0.0)) continue;
        const auto segments = static_cast<std::size_t>(std::clamp(std::ceil(widest / step_max), 1.0, static_cast<double>(capacity::rows_max)));
        for (std::size_t row = 0; row <= segments; ++row) {
            double* at = workspace.path.data() + row * variables;
            if (row > 0) std::copy_n(workspace.path.data(), variables, at);
            const double t = static_cast<double>(row) / static_cast<double>(segments);
            // Both ends exactly as they were given.
            for (std::size_t column = 0; column < width; ++column) {
                at[row_dofs[column]] = row == segments ? to[column] : from[column] + t * (to[column] - from[column]);
            }
        }
        workspace.path_rows = segments;
        Sweep sweep(setup, workspace, &world);
        sweep.place_rows();
        double certified = certified_share(sweep, PairKind::self, segments);
        if (!world.is_declared_absent()) {
            certified = std::min(certified, certified_share(sweep, PairKind::world, segments));
            if (world.has_fields()) certified = std::min(certified, certified_share(sweep, PairKind::field, segments));
        }
        if (!setup.keep_in.primitives().empty()) certified = std::min(certified, certified_share(sweep, PairKind::keep_in, segments));
        if (!setup.zones.primitives().empty()) certified = std::min(certified, certified_share(sweep, PairKind::zone, segments));
        first_contact[edge] = certified;
    }
    workspace.path_rows = 0;
}

}  // namespace lastgate
