// SPDX-License-Identifier: Apache-2.0
// The part of a sweep that runs eight rows at once. It says which pairs are clear; the rest is in doubt
// and goes to the double path.
#include <algorithm>
#include <cmath>

#include "lanes_builds.hpp"
#include "lastgate/tolerance.hpp"
#include "sweep.hpp"

namespace lastgate {
namespace {

std::size_t group_count_for(std::size_t rows) noexcept { return (rows + lane_count - 1) / lane_count; }

float smallest(const float* lanes) noexcept { return *std::min_element(lanes, lanes + lane_count); }

std::uint8_t any_doubt(const std::uint8_t* doubt, std::size_t entries) noexcept {
    std::uint8_t any = 0;
    for (std::size_t entry = 0; entry < entries; ++entry) any |= doubt[entry];
    return any;
}

/// Towards infinity, so that a demand never shrinks by conversion.
float round_up(double value) noexcept { return static_cast<float>(value + std::abs(value) * 1e-6 + 1e-9); }

}  // namespace

/// Row 0 has no lane: its tools are placed in the memory of the first rows, before these are.
void Sweep::place_start_tools() noexcept {
    const LaneKernels& kernels = gate_.lanes_.kernels();
    const LaneTables& tables = gate_.lanes_.tables();
    LaneGroup group = gate_.lane_group(0);
    group.tool = gate_.start_tools_.data();
    kernels.fill_rows(tables, group, gate_.path_.data(), variable_count(), 0, 0, gate_.uncertainty_.data());
    kernels.place(tables, group);
    kernels.place_tools(tables, group);
    ++evaluations_;
}

void Sweep::place_lanes() noexcept {
    const LaneKernels& kernels = gate_.lanes_.kernels();
    const LaneTables& tables = gate_.lanes_.tables();
    for (std::size_t index = 0; index < group_count_for(gate_.path_rows_); ++index) {
        const LaneGroup group = gate_.lane_groups_[index] = gate_.lane_group(index);
        kernels.fill_rows(tables, group, gate_.path_.data(), variable_count(), 1 + index * lane_count, gate_.path_rows_, gate_.uncertainty_.data());
        kernels.place(tables, group);
        kernels.place_balls(tables, group);
        kernels.place_tools(tables, group);
        kernels.sum_tails(tables, group);
    }
    evaluations_ += static_cast<std::uint32_t>(gate_.path_rows_);
}

void Sweep::shortlist_with_lanes(std::size_t group_count) noexcept {
    const float wanted_m = round_up(gate_.config_.world_margin_m + extra_m_ + tolerance::rounding_m + std::max(best_m_, 0.0));
    gate_.shortlist_count_ = gate_.lanes_.kernels().shortlist(gate_.lanes_.tables(), gate_.lane_groups_.data(), group_count, world_->for_lanes(),
                                                              wanted_m, gate_.shortlist_.data());
}

std::uint8_t Sweep::test_group_box(const LaneGroup& group, std::uint8_t* doubt) noexcept {
    const WorkspaceBox& box = *gate_.config_.workspace_box;
    const float inset_m = round_up(extra_m_);
    const float low[3] = {round_up(box.min.x) + inset_m, round_up(box.min.y) + inset_m, round_up(box.min.z) + inset_m};
    const float high[3] = {-round_up(-box.max.x) - inset_m, -round_up(-box.max.y) - inset_m, -round_up(-box.max.z) - inset_m};
    const LaneTables& tables = gate_.lanes_.tables();
    std::uint8_t any = 0;
    for (std::uint32_t entry = 0; entry < tables.effector_count; ++entry) {
        doubt[entry] = gate_.lanes_.kernels().test_box(tables, group, entry, low, high);
        any |= doubt[entry];
    }
    return any;
}

/// Which rows of a group any entry leaves open.
std::uint8_t Sweep::test_group(PairKind kind, std::size_t index, float margin_m, float* best, std::uint8_t* doubt) noexcept {
    const LaneKernels& kernels = gate_.lanes_.kernels();
    const LaneGroup& group = gate_.lane_groups_[index];
    if (kind == PairKind::box) return test_group_box(group, doubt);
    if (kind == PairKind::keep_in) {
        test_keep_in(group, margin_m, best, doubt);
        return any_doubt(doubt, entry_count(kind));
    }
    if (kind == PairKind::self) return kernels.test_self(gate_.lanes_.tables(), group, margin_m, true, best, doubt, &gate_.chunk_hint_);
    if (kind == PairKind::world) {
        LaneHint unused;
        LaneHint* hint = world_ == &gate_.zones_ ? &unused : &gate_.chunk_hint_;
        return kernels.test_entries(gate_.lanes_.tables(), group, world_->for_lanes(), gate_.shortlist_.data(),
                                    static_cast<std::uint32_t>(gate_.shortlist_count_), margin_m, true, best, doubt, hint);
    }
    const std::size_t entries = entry_count(kind);
    std::fill_n(doubt, entries, std::uint8_t{0});
    test_fields(group, margin_m, true, best, doubt);
    return any_doubt(doubt, entries);
}

std::size_t Sweep::entry_count(PairKind kind) const noexcept {
    switch (kind) {
        case PairKind::self: return gate_.shapes_.body_pairs().size();
        case PairKind::world: return gate_.shortlist_count_;
        case PairKind::field: return volume_count() * field_slots;
        case PairKind::keep_in: return volume_count() * gate_.config_.keep_in_zones.size();
        case PairKind::box: break;
    }
    return gate_.model_->effectors().size();
}

float Sweep::lane_margin(PairKind kind) const noexcept {
    const double base_m = kind == PairKind::self ? gate_.config_.self_margin_m : gate_.config_.world_margin_m;
    return round_up(base_m + extra_m_ + tolerance::rounding_m);
}

/// Fills the doubt of every entry (body pair, body and obstacle, or effector) for the rows up to `row_last`.
void Sweep::test_lanes(PairKind kind, std::size_t row_last) noexcept {
    const std::size_t group_count = group_count_for(row_last);
    if (kind == PairKind::world) shortlist_with_lanes(group_count);
    lanes_used_ = entry_count(kind) <= capacity::lane_entries_max;
    if (!lanes_used_) return;
    alignas(32) float best[lane_count];
    std::fill_n(best, lane_count, static_cast<float>(best_m_));
    for (std::size_t index = 0; index < group_count; ++index) {
        group_doubt_[index] = test_group(kind, index, lane_margin(kind), best, gate_.lane_doubt_.data() + index * capacity::lane_entries_max);
    }
    best_m_ = std::min(best_m_, static_cast<double>(smallest(best)));
}

void Sweep::look_at_closest() noexcept {
    alignas(32) float best[lane_count];
    std::fill_n(best, lane_count, static_cast<float>(best_m_));
    const LaneTables& tables = gate_.lanes_.tables();
    for (std::size_t index = 0; index < group_count_for(gate_.path_rows_); ++index) {
        gate_.lanes_.kernels().test_hint(tables, gate_.lane_groups_[index], world_->for_lanes(), lane_margin(PairKind::world), true, best, &gate_.chunk_hint_);
    }
    best_m_ = std::min(best_m_, static_cast<double>(smallest(best)));
}

void Sweep::test_tool_steps(std::size_t effector, double move_m, double turn_rad, std::uint8_t* open) noexcept {
    const LaneTables& tables = gate_.lanes_.tables();
    const LaneVolume& tool = tables.volumes[tables.volume_count + effector];
    // Two positions are off by their error each. Two rotations by the angle t differ by 2 sqrt(2) sin(t / 2) in the Frobenius
    // norm; each is off by its rounding bound, and the sum of nine squares by a few roundings.
    const auto shown_m = static_cast<float>(move_m - 2.0 * static_cast<double>(tool.error));
    const double chord = 2.8284271247461903 * sincos(0.5 * std::min(turn_rad, 3.141592653589793)).sin;
    const auto shown_chord = static_cast<float>(chord - 2.0 * gate_.lanes_.rotation_error(tool.body) - 1e-5 * chord);
    for (std::size_t index = 0; index < group_count_for(gate_.path_rows_); ++index) {
        const float* const before = index == 0 ? gate_.start_tools_.data() : gate_.lane_groups_[index - 1].tool;
        const std::size_t at = 12 * lane_count * effector;
        open[index] = gate_.lanes_.kernels().test_tool_steps(before + at, gate_.lane_groups_[index].tool + at, shown_m, shown_chord);
    }
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
