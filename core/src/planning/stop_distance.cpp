// SPDX-License-Identifier: Apache-2.0
// How far each joint still travels in a stop: for people and drivers, after the verdict.
#include <algorithm>
#include <array>
#include <cmath>

#include "checks/gate_setup.hpp"
#include "lastgate/gate.hpp"

namespace lastgate {
namespace {

using detail::SweepWorkspace;

/// The last digits of a few sums: what is reported is never below what a driver would add up.
constexpr double rounded_up = 1.0 + 1e-12;

/// The way of one joint along the path, added up whichever way it goes.
class Travel {
  public:
    Travel(const SweepWorkspace& workspace, std::size_t dof, std::size_t variables) : workspace_(workspace) {
        for (std::size_t row = 1; row <= workspace.path_rows; ++row) {
            const bool follows_running = row == 1 && workspace.lead_rows > 0;
            const double from = follows_running ? workspace.running_start[dof] : workspace.path[(row - 1) * variables + dof];
            until_[row] = until_[row - 1] + std::abs(workspace.path[row * variables + dof] - from);
        }
    }

    /// Up to an instant of the path; beyond its end the joint rests.
    double until(double time_s) const noexcept {
        const double* const times = workspace_.row_time_s.data();
        const auto row = static_cast<std::size_t>(std::upper_bound(times, times + workspace_.path_rows + 1, time_s) - times);
        if (row > workspace_.path_rows) return until_[workspace_.path_rows];
        const double share = (time_s - times[row - 1]) / (times[row] - times[row - 1]);
        return until_[row - 1] + share * (until_[row] - until_[row - 1]);
    }

    double between(double from_s, double to_s) const noexcept { return until(to_s) - until(from_s); }

  private:
    const SweepWorkspace& workspace_;
    std::array<double, capacity::path_rows_max + 1> until_{};
};

/// The way of a stop is straight between instants at which it begins or ends at a row, so its longest begins at one of these.
double longest_along_path(const SweepWorkspace& workspace, const Travel& travel, double reaction_s) noexcept {
    double longest = 0.0;
    for (std::size_t segment = 1; segment <= workspace.motion_rows; ++segment) {
        const double low_s = workspace.row_time_s[segment - 1];
        const double high_s = workspace.row_time_s[segment];
        const double advance_s = reaction_s + 0.5 * workspace.braking_s[segment];
        longest = std::max({longest, travel.between(low_s, low_s + advance_s), travel.between(high_s, high_s + advance_s)});
        for (std::size_t row = segment; row <= workspace.path_rows; ++row) {
            const double start_s = workspace.row_time_s[row] - advance_s;
            if (start_s >= high_s) break;
            if (start_s > low_s) longest = std::max(longest, travel.between(start_s, workspace.row_time_s[row]));
        }
    }
    return longest;
}

}  // namespace

void Gate::stop_distance(std::span<double> per_column) const noexcept {
    const SweepWorkspace& workspace = state_->workspace;
    const GateConfig& settings = config();
    const auto dofs = model().row_dofs();
    std::fill(per_column.begin(), per_column.end(), 0.0);
    if (!settings.stop) return;
    const StopConfig& stop = *settings.stop;
    const auto alone = [&](double speed, std::size_t dof) noexcept { return speed * (stop.reaction_s + 0.5 * speed / stop.deceleration_max[dof]); };
    const bool along_path = workspace.stops_along_path;
    for (std::size_t column = 0; column < std::min(per_column.size(), dofs.size()); ++column) {
        const std::size_t dof = dofs[column];
        double farthest = 0.0;
        if (workspace.motion_rows == 0) {
            farthest = alone(settings.velocity_max[dof], dof);
        } else if (along_path) {
            farthest = longest_along_path(workspace, Travel(workspace, dof, model().variable_count()), stop.reaction_s);
        } else {
            const Travel travel(workspace, dof, model().variable_count());
            for (std::size_t segment = 1; segment <= workspace.motion_rows; ++segment) {
                const double low_s = workspace.row_time_s[segment - 1];
                const double high_s = workspace.row_time_s[segment];
                if (high_s > low_s) farthest = std::max(farthest, alone(travel.between(low_s, high_s) / (high_s - low_s), dof));
            }
        }
        per_column[column] = farthest * rounded_up;
    }
}

}  // namespace lastgate
