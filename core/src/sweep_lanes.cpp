// SPDX-License-Identifier: Apache-2.0
// The part of a sweep that runs eight rows at once. It says which pairs are clear; the rest is in doubt
// and goes to the double path.
#include <algorithm>
#include <cmath>

#include "sweep.hpp"
#include "lastgate/tolerance.hpp"

namespace lastgate {
namespace {

constexpr double turn_rad = 6.283185307179586476925;

std::size_t group_count_for(std::size_t rows) noexcept { return (rows + lane_count - 1) / lane_count; }

float smallest(const float* lanes) noexcept { return *std::min_element(lanes, lanes + lane_count); }
float largest(const float* lanes) noexcept { return *std::max_element(lanes, lanes + lane_count); }

/// Towards infinity, so that a demand never shrinks by conversion.
float round_up(double value) noexcept { return static_cast<float>(value + std::abs(value) * 1e-6 + 1e-9); }

}  // namespace

float lane_position(const Body& body, double variable) noexcept {
    double position = body.multiplier * variable + body.offset;
    // A single-precision angle must be small to be exact enough (lanes.cpp bounds it for |angle| <= 4).
    if (body.kind == JointKind::revolute && !(std::abs(position) <= 4.0)) position -= turn_rad * std::nearbyint(position / turn_rad);
    return static_cast<float>(position);
}

/// Row 0 has no lane: row 1 covers the whole first segment, every other row half of what is next to it.
void Sweep::fill_lanes(std::size_t group_index) noexcept {
    const LaneGroup group = gate_.lane_group(group_index);
    const auto bodies = gate_.model_->bodies();
    const std::size_t last = gate_.path_rows_;
    for (std::size_t lane = 0; lane < lane_count; ++lane) {
        const std::size_t index = std::min(1 + group_index * lane_count + lane, last);
        const double* before = row(index - 1);
        const double* here = row(index);
        const double* after = row(std::min(index + 1, last));
        const double share_before = index == 1 ? 1.0 : 0.5;
        for (std::size_t body = 1; body < bodies.size(); ++body) {
            const std::size_t variable = bodies[body].dof;
            const double step = std::max(share_before * std::abs(here[variable] - before[variable]), 0.5 * std::abs(after[variable] - here[variable]));
            group.position[body * lane_count + lane] = lane_position(bodies[body], here[variable]);
            group.step[body * lane_count + lane] = static_cast<float>(step + gate_.uncertainty_[variable]);
        }
    }
}

void Sweep::place_lanes() noexcept {
    for (std::size_t index = 0; index < group_count_for(gate_.path_rows_); ++index) {
        fill_lanes(index);
        gate_.lanes_.place(gate_.lane_group(index));
    }
    evaluations_ += static_cast<std::uint32_t>(gate_.path_rows_);
}

void Sweep::shortlist_with_lanes(std::size_t group_count) noexcept {
    gate_.shortlist_.clear();
    std::fill(gate_.body_low_.begin(), gate_.body_low_.end(), 1e30F);
    std::fill(gate_.body_high_.begin(), gate_.body_high_.end(), -1e30F);
    for (std::size_t index = 0; index < group_count; ++index) {
        gate_.lanes_.bound_bodies(gate_.lane_group(index), gate_.body_low_.data(), gate_.body_high_.data());
    }
    const auto balls = gate_.shapes_.balls();
    const float wanted_m = round_up(gate_.config_.world_margin_m + extra_m_ + tolerance::rounding_m + std::max(best_m_, 0.0));
    for (std::size_t body = 0; body < body_count(); ++body) {
        if (!(balls[body].radius_m > 0.0) || gate_.model_->bodies()[body].depth == 0) continue;  // see shortlist_primitives
        const float* low_lanes = gate_.body_low_.data() + body * 3 * lane_count;
        const float* high_lanes = gate_.body_high_.data() + body * 3 * lane_count;
        const float low[3] = {smallest(low_lanes), smallest(low_lanes + 8), smallest(low_lanes + 16)};
        const float high[3] = {largest(high_lanes), largest(high_lanes + 8), largest(high_lanes + 16)};
        const std::uint32_t found = gate_.lanes_.near_primitives(*world_, low, high, wanted_m, gate_.near_.data());
        for (std::uint32_t at = 0; at < found; ++at) gate_.shortlist_.push_back({static_cast<std::uint16_t>(body), gate_.near_[at]});
    }
}

/// Fills the doubt of every entry (body pair, body and obstacle, or effector) for the rows up to `row_last`.
void Sweep::test_lanes(PairKind kind, std::size_t row_last) noexcept {
    const std::size_t group_count = group_count_for(row_last);
    if (kind == PairKind::world) shortlist_with_lanes(group_count);
    const std::size_t entries = kind == PairKind::self    ? gate_.shapes_.body_pairs().size()
                                : kind == PairKind::world ? gate_.shortlist_.size()
                                : kind == PairKind::field ? volume_count() * field_slots
                                                          : gate_.model_->effectors().size();
    lanes_used_ = entries <= capacity::lane_entries_max;
    if (!lanes_used_) return;
    float best[lane_count];
    std::fill_n(best, lane_count, static_cast<float>(best_m_));
    const double base_m = kind == PairKind::self ? gate_.config_.self_margin_m : gate_.config_.world_margin_m;
    const float margin_m = round_up(base_m + extra_m_ + tolerance::rounding_m);
    for (std::size_t index = 0; index < group_count; ++index) {
        const LaneGroup group = gate_.lane_group(index);
        std::uint8_t* doubt = gate_.lane_doubt_.data() + index * capacity::lane_entries_max;
        if (kind == PairKind::self) {
            gate_.lanes_.test_self(group, margin_m, best, doubt);
        } else if (kind == PairKind::world) {
            for (std::size_t entry = 0; entry < entries; ++entry) {
                const auto [body, primitive] = gate_.shortlist_[entry];
                doubt[entry] = gate_.lanes_.test_primitive(group, body, world_->lane_primitive(primitive), margin_m, best);
            }
        } else if (kind == PairKind::field) {
            for (std::size_t entry = 0; entry < entries; ++entry) doubt[entry] = 0;
            test_fields(group, margin_m, true, best, doubt);
        } else {
            const WorkspaceBox& box = *gate_.config_.workspace_box;
            const float inset_m = round_up(extra_m_);
            const float low[3] = {round_up(box.min.x) + inset_m, round_up(box.min.y) + inset_m, round_up(box.min.z) + inset_m};
            const float high[3] = {-round_up(-box.max.x) - inset_m, -round_up(-box.max.y) - inset_m, -round_up(-box.max.z) - inset_m};
            for (std::size_t entry = 0; entry < entries; ++entry) doubt[entry] = gate_.lanes_.test_box(group, entry, low, high);
        }
        group_doubt_[index] = 0;
        for (std::size_t entry = 0; entry < entries; ++entry) group_doubt_[index] |= doubt[entry];
    }
    best_m_ = std::min(best_m_, static_cast<double>(smallest(best)));
}

bool Sweep::row_in_doubt(std::size_t row_index) const noexcept {
    if (!lanes_used_) return true;
    const std::size_t lane = std::max<std::size_t>(row_index, 1) - 1;
    return (group_doubt_[lane / lane_count] >> (lane % lane_count) & 1) != 0;
}

bool Sweep::in_doubt(std::size_t row_index, std::size_t entry) const noexcept {
    if (!lanes_used_) return true;
    const std::size_t lane = std::max<std::size_t>(row_index, 1) - 1;
    return (gate_.lane_doubt_[lane / lane_count * capacity::lane_entries_max + entry] >> (lane % lane_count) & 1) != 0;
}

}  // namespace lastgate
