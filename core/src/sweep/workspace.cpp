// SPDX-License-Identifier: Apache-2.0
#include "workspace.hpp"

namespace lastgate::detail {
namespace {

constexpr std::size_t cache_line_floats = 16;

std::size_t whole_cache_lines(std::size_t floats) noexcept { return (floats + cache_line_floats - 1) / cache_line_floats * cache_line_floats; }

}  // namespace

SweepWorkspace::SweepWorkspace(const RobotModel& model, const SimdModel& simd)
    : body_count_(model.bodies().size()), volume_count_(model.volumes().size() + capacity::attached_max), effector_count_(model.effectors().size()),
      tail_count_(simd.tail_count()) {
    constexpr std::size_t rows = capacity::path_rows_max + 1;
    constexpr std::size_t groups = capacity::path_rows_max / lane_count;
    const std::size_t variables = model.variable_count();
    path.resize(rows * variables);
    uncertainty.resize(variables);
    row_time_s.resize(rows);
    running_start.resize(variables);
    stop_centre.resize(rows * variables);
    stop_half.resize(rows * variables);
    braking_s.resize(rows);
    row_placed.resize(rows);
    frames.resize(rows * body_count_);
    axes.resize(rows * volume_count_);
    centres.resize(rows * body_count_);
    body_motion.resize(rows * body_count_);
    tails.resize(body_count_ * (capacity::chain_max + 1));
    for (auto* step :
         {&row_half_step, &segment_step, &to_before, &to_after, &no_step, &probe_step, &probe_half, &tool_step, &half_width})
        step->resize(variables);
    sample.resize(variables);
    sample_frames.resize(body_count_);
    items.reserve(capacity::items_max);
    arena.reserve(capacity::items_max);
    boxes.resize(256 * 2 * variables);  // every box on the way down to the resolution, in 20 variables
    start_contacts.reserve(64);         // a robot in contact at more than 64 places is not backing out by itself
    touched.reserve(capacity::touched_max);
    shortlist.resize(body_count_ * capacity::primitives_max);
    simd_memory.resize(simd_placing_size() + groups * simd_group_size() + cache_line_floats);
    start_tools.resize(12 * lane_count * effector_count_);
    simd_placed.resize(groups * body_count_);
    simd_groups.resize(groups);
    for (std::size_t index = 0; index < groups; ++index) place_root(simd_group(index));
    simd_variables.resize(variables * lane_count);
    simd_unresolved.resize(groups * capacity::simd_entries_max);
    chunk_closest.resize(body_count_ * body_count_ / 2 + 1);
    batch_closest.resize(body_count_ * body_count_ / 2 + 1);
    forget_closest(simd.tables());
}

void SweepWorkspace::forget_closest(const SimdTables& tables) noexcept {
    for (std::uint32_t index = 0; index < tables.body_pair_count; ++index) chunk_closest[index] = batch_closest[index] = tables.body_pairs[index].first;
    chunk_hint = batch_hint = SimdHint{};
    chunk_hint.closest_pair = chunk_closest.data();
    batch_hint.closest_pair = batch_closest.data();
}

std::size_t SweepWorkspace::simd_placing_size() const noexcept { return whole_cache_lines(4 * lane_count * body_count_); }

std::size_t SweepWorkspace::simd_group_size() const noexcept {
    return whole_cache_lines(lane_count * (15 * body_count_ + 9 * volume_count_ + 12 * effector_count_ + tail_count_));
}

SimdGroup SweepWorkspace::simd_group(std::size_t index) noexcept {
    // From a whole cache line on, so that no load of eight lanes touches two.
    const auto address = reinterpret_cast<std::uintptr_t>(simd_memory.data());
    const std::size_t skipped = (0 - address / sizeof(float)) % cache_line_floats;
    float* at = simd_memory.data() + skipped;
    SimdGroup group{};
    group.position = at;
    group.turn = group.position + lane_count * body_count_;
    group.step = group.turn + 2 * lane_count * body_count_;
    group.frame = at + simd_placing_size() + index * simd_group_size();
    group.centre = group.frame + 12 * lane_count * body_count_;
    group.tool = group.centre + 3 * lane_count * body_count_;
    group.tail = group.tool + 12 * lane_count * effector_count_;
    group.middle = group.tail + lane_count * tail_count_;
    group.capsule_axis = group.middle + 3 * lane_count * volume_count_;
    group.placed = simd_placed.data() + index * body_count_;
    return group;
}

}  // namespace lastgate::detail
