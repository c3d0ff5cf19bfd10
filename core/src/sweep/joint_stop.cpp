// SPDX-License-Identifier: Apache-2.0
// Stops in which every joint brakes alone: a family of configurations with two parameters, the moment at which the stop is asked for and the
// time since then. docs/concepts/certified-stop.md has the derivation.
#include <algorithm>
#include <array>
#include <cmath>

#include "geometry/tolerance.hpp"
#include "pair_table.hpp"
#include "reachable_set.hpp"
#include "simd/simd_kernels.hpp"

namespace lastgate::detail {
namespace {

/// A part of the family: shares of the segment in which the stop is asked for, and seconds since.
struct Part {
    double share_low = 0.0;
    double share_high = 1.0;
    double since_low_s = 0.0;
    double since_high_s = 0.0;
};

/// The stops asked for in one segment.
class StopFamily {
  public:
    StopFamily(const Sweep& sweep, std::size_t segment) noexcept : sweep_(sweep), segment_(segment), stop_(*sweep.setup.config.stop) {
        for (std::size_t variable = 0; variable < sweep.variable_count(); ++variable) {
            const double speed = std::abs(velocity(variable));
            if (speed > 0.0) longest_s_ = std::max(longest_s_, stop_.reaction_s + speed / stop_.deceleration_max[variable]);
        }
    }

    double longest_s() const noexcept { return longest_s_; }
    double velocity(std::size_t variable) const noexcept { return sweep_.stop_velocity(segment_, variable); }
    double from(std::size_t variable) const noexcept { return sweep_.row(segment_ - 1)[variable]; }
    double to(std::size_t variable) const noexcept { return sweep_.row(segment_)[variable]; }

    /// The way of a joint since the stop was asked for: on at its speed, then less and less of it. Grows with the time.
    double travelled(std::size_t variable, double since_s) const noexcept {
        const double speed = std::abs(velocity(variable));
        if (speed == 0.0) return 0.0;
        const double deceleration = stop_.deceleration_max[variable];
        const double braking_s = std::min(std::max(since_s - stop_.reaction_s, 0.0), speed / deceleration);
        return speed * std::min(since_s, stop_.reaction_s) + braking_s * (speed - 0.5 * deceleration * braking_s);
    }

    /// The configuration in the middle of a part, and how far each variable strays from it within the part.
    void place(const Part& part, double* centre, double* half) const noexcept {
        const double share = 0.5 * (part.share_low + part.share_high);
        const double since_s = 0.5 * (part.since_low_s + part.since_high_s);
        for (std::size_t variable = 0; variable < sweep_.variable_count(); ++variable) {
            const double moved = to(variable) - from(variable);
            const double middle = travelled(variable, since_s);
            const double strayed = std::max(travelled(variable, part.since_high_s) - middle, middle - travelled(variable, part.since_low_s));
            centre[variable] = from(variable) + share * moved + std::copysign(middle, velocity(variable));
            half[variable] = 0.5 * (part.share_high - part.share_low) * std::abs(moved) + strayed;
        }
    }

    /// Halves a part where it moves the joints more: along the segment or along the stop.
    void split(const Part& part, Part& earlier, Part& later) const noexcept {
        double along_segment = 0.0;
        double along_stop = 0.0;
        for (std::size_t variable = 0; variable < sweep_.variable_count(); ++variable) {
            along_segment += (part.share_high - part.share_low) * std::abs(to(variable) - from(variable));
            along_stop += travelled(variable, part.since_high_s) - travelled(variable, part.since_low_s);
        }
        earlier = later = part;
        if (along_segment >= along_stop) earlier.share_high = later.share_low = 0.5 * (part.share_low + part.share_high);
        else earlier.since_high_s = later.since_low_s = 0.5 * (part.since_low_s + part.since_high_s);
    }

  private:
    const Sweep& sweep_;
    std::size_t segment_;
    const StopConfig& stop_;
    double longest_s_ = 0.0;
};

}  // namespace

double Sweep::stop_velocity(std::size_t segment, std::size_t variable) const noexcept {
    const double duration_s = workspace.row_time_s[segment] - workspace.row_time_s[segment - 1];
    const double from = segment == 1 && workspace.lead_rows > 0 ? workspace.running_start[variable] : row(segment - 1)[variable];
    const double moved = row(segment)[variable] - from;
    return moved == 0.0 ? 0.0 : moved / duration_s;
}

double Sweep::stop_travel(std::size_t segment, std::size_t variable) const noexcept {
    const double speed = std::abs(stop_velocity(segment, variable));
    if (speed == 0.0) return 0.0;
    const StopConfig& stop = *setup.config.stop;
    return speed * (stop.reaction_s + 0.5 * speed / stop.deceleration_max[variable]);
}

void Sweep::place_stops(std::size_t segment_last) noexcept {
    const std::size_t variables = variable_count();
    for (std::size_t segment = 1; segment <= segment_last; ++segment) {
        double* centre = workspace.stop_centre.data() + segment * variables;
        double* half = workspace.stop_half.data() + segment * variables;
        for (std::size_t variable = 0; variable < variables; ++variable) {
            const double from = row(segment - 1)[variable];
            const double to = row(segment)[variable];
            const double way = std::copysign(stop_travel(segment, variable), stop_velocity(segment, variable));
            const double low = std::min(from, to) + std::min(way, 0.0);
            const double high = std::max(from, to) + std::max(way, 0.0);
            centre[variable] = 0.5 * (low + high);
            half[variable] = 0.5 * (high - low);
        }
    }
    const SimdKernels& kernels = setup.simd.kernels();
    const SimdTables& tables = setup.simd.tables();
    for (std::size_t index = 0; index < group_count_for(segment_last); ++index) {
        const SimdGroup group = workspace.simd_groups[index] = workspace.simd_group(index);
        kernels.fill_boxes(tables, group, workspace.stop_centre.data(), workspace.stop_half.data(), variables, 1 + index * lane_count, segment_last,
                           workspace.uncertainty.data());
        kernels.place(tables, group);
        kernels.place_spheres(tables, group);
        kernels.place_tools(tables, group);
        kernels.sum_tails(tables, group);
    }
    evaluations += static_cast<std::uint32_t>(segment_last);
}

Outcome Sweep::run_stops(PairKind kind, std::size_t segment_last, Finding& finding) noexcept {
    test_groups(kind, segment_last);
    for (std::size_t segment = 1; segment <= segment_last; ++segment) {
        if (!is_row_unresolved(segment)) continue;
        const Outcome outcome = bisect_stops(kind, segment, finding);
        if (outcome != Outcome::clear) return outcome;
    }
    return Outcome::clear;
}

/// Halves the family of one segment, earlier halves first, until every part is certified or one is not to be.
Outcome Sweep::bisect_stops(PairKind kind, std::size_t segment, Finding& finding) noexcept {
    const PairFunctions& functions = functions_of(kind);
    const std::size_t variables = variable_count();
    const StopFamily family(*this, segment);
    place_box({workspace.stop_centre.data() + segment * variables, variables}, {workspace.stop_half.data() + segment * variables, variables});
    if (functions.shortlist != nullptr) functions.shortlist(*this, 0);
    std::array<Part, 2 * capacity::depth_max + 2> open;
    std::size_t open_count = 0;
    open[open_count++] = {0.0, 1.0, 0.0, family.longest_s()};
    while (open_count > 0) {
        if (is_budget_spent()) return Outcome::budget;
        ++evaluations;
        const Part part = open[--open_count];
        family.place(part, workspace.sample.data(), workspace.probe_half.data());
        forward_kinematics(*setup.model, workspace.sample.data(), workspace.sample_frames);
        bound_row_motion(0, workspace.probe_half);
        // A declared contact counts for a stop when it outlasts the whole of it.
        BoxTest test(*this, kind, workspace.probe_half, workspace.motion_rows + 1);
        if (!functions.find_uncertified(*this, test)) continue;
        if (test.violated_here || test.item.motion_m <= tolerance::resolution_m) {
            const double share = 0.5 * (part.share_low + part.share_high);
            finding = {static_cast<std::uint32_t>(segment), test.item, share, part.share_low, test.witness, last_obstacle};
            return Outcome::violated;
        }
        if (open_count + 2 > open.size()) return Outcome::budget;
        Part earlier;
        Part later;
        family.split(part, earlier, later);
        open[open_count++] = later;
        open[open_count++] = earlier;
    }
    return Outcome::clear;
}

}  // namespace lastgate::detail
