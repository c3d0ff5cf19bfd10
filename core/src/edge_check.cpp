// SPDX-License-Identifier: Apache-2.0
// Straight joint motions as planners ask about them: the sweep of a chunk without the rules of a chunk.
#include <algorithm>
#include <cmath>
#include <limits>

#include "lastgate/gate.hpp"
#include "sweep.hpp"

namespace lastgate {

bool Gate::place_grippers(std::span<const double> gripper_positions, double* row) noexcept {
    bool inside = true;
    std::size_t gripper = 0;
    std::fill(uncertainty_.begin(), uncertainty_.end(), 0.0);
    for (std::size_t dof = 0; dof < model_->dof_count(); ++dof) {
        const DofSpec& limits = model_->dof(dof);
        if (limits.in_rows) continue;
        if (gripper_positions.empty()) {
            row[dof] = 0.5 * (limits.position_min + limits.position_max);
            uncertainty_[dof] = 0.5 * (limits.position_max - limits.position_min);
            continue;
        }
        row[dof] = gripper_positions[gripper++];
        inside = inside && limits.position_min <= row[dof] && row[dof] <= limits.position_max;
    }
    return inside;
}

namespace {

/// The share of the way that one kind of pair leaves shown; infinity for all of it.
double shown_share(Sweep& sweep, PairKind kind, std::size_t segments) noexcept {
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
    const auto row_dofs = model_->row_dofs();
    const std::size_t width = row_dofs.size();
    const std::size_t variables = model_->variable_count();
    contacts_.clear();
    for (std::size_t edge = 0; edge < count; ++edge) {
        const double* from = starts.data() + edge * width;
        const double* to = ends.data() + edge * width;
        first_contact[edge] = 0.0;
        std::fill_n(path_.data(), variables, 0.0);
        bool inside = place_grippers(gripper_positions, path_.data());
        double widest = 0.0;
        for (std::size_t column = 0; column < width; ++column) {
            const DofSpec& limits = model_->dof(row_dofs[column]);
            // Outside the limits the motion bounds do not hold, and a NaN is inside of nothing.
            inside = inside && limits.position_min <= from[column] && from[column] <= limits.position_max && limits.position_min <= to[column] &&
                     to[column] <= limits.position_max;
            widest = std::max(widest, std::abs(to[column] - from[column]));
        }
        if (!inside || !(step_max > 0.0)) continue;
        const auto segments = static_cast<std::size_t>(std::clamp(std::ceil(widest / step_max), 1.0, static_cast<double>(capacity::rows_max)));
        for (std::size_t row = 0; row <= segments; ++row) {
            double* at = path_.data() + row * variables;
            if (row > 0) std::copy_n(path_.data(), variables, at);
            const double t = static_cast<double>(row) / static_cast<double>(segments);
            // Both ends exactly as they were given.
            for (std::size_t column = 0; column < width; ++column) {
                at[row_dofs[column]] = row == segments ? to[column] : from[column] + t * (to[column] - from[column]);
            }
        }
        path_rows_ = segments;
        Verdict unused{};
        Sweep sweep(*this, unused);
        sweep.set_world(&world);
        sweep.place_rows();
        double shown = shown_share(sweep, PairKind::self, segments);
        if (!world.is_declared_absent()) {
            shown = std::min(shown, shown_share(sweep, PairKind::world, segments));
            if (world.has_fields()) shown = std::min(shown, shown_share(sweep, PairKind::field, segments));
        }
        if (!keep_in_.primitives().empty()) shown = std::min(shown, shown_share(sweep, PairKind::keep_in, segments));
        if (!zones_.primitives().empty()) {
            sweep.set_world(&zones_);
            shown = std::min(shown, shown_share(sweep, PairKind::world, segments));
        }
        first_contact[edge] = shown;
    }
    path_rows_ = 0;
}

}  // namespace lastgate
