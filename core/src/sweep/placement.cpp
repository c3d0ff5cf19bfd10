// SPDX-License-Identifier: Apache-2.0
// Where the bodies stand: in all rows by SIMD, in single rows and between them in double.
#include <algorithm>
#include <cmath>

#include "simd/simd_kernels.hpp"
#include "sweep.hpp"

namespace lastgate::detail {
namespace {

/// How much of a row stands in double.
constexpr std::uint8_t row_frames = 1;
constexpr std::uint8_t row_axes = 2;

}  // namespace

void Sweep::place_rows() noexcept {
    std::fill_n(workspace.row_placed.begin(), workspace.path_rows + 1, std::uint8_t{0});
    const SimdKernels& kernels = setup.simd.kernels();
    const SimdTables& tables = setup.simd.tables();
    for (std::size_t index = 0; index < group_count_for(workspace.path_rows); ++index) {
        const SimdGroup group = workspace.simd_groups[index] = workspace.simd_group(index);
        kernels.fill_rows(tables, group, workspace.path.data(), variable_count(), 1 + index * lane_count, workspace.path_rows,
                          workspace.uncertainty.data());
        kernels.place(tables, group);
        kernels.place_spheres(tables, group);
        kernels.place_tools(tables, group);
        kernels.sum_tails(tables, group);
    }
    evaluations += static_cast<std::uint32_t>(workspace.path_rows);
}

/// Row 0 has no lane: its tools are placed in the memory of the first rows, before these are.
void Sweep::place_start_tools() noexcept {
    const SimdKernels& kernels = setup.simd.kernels();
    const SimdTables& tables = setup.simd.tables();
    SimdGroup group = workspace.simd_group(0);
    group.tool = workspace.start_tools.data();
    kernels.fill_rows(tables, group, workspace.path.data(), variable_count(), 0, 0, workspace.uncertainty.data());
    kernels.place(tables, group);
    kernels.place_tools(tables, group);
    ++evaluations;
}

const Transform* Sweep::frames_of_row(std::size_t row_index) noexcept {
    Transform* frames = workspace.frames.data() + row_index * body_count();
    if (workspace.row_placed[row_index] == 0) {
        workspace.row_placed[row_index] = row_frames;
        forward_kinematics(*setup.model, row(row_index), {frames, body_count()});
        ++evaluations;
    }
    return frames;
}

void Sweep::place_axes(std::size_t row_index) noexcept {
    const Transform* frames = frames_of_row(row_index);
    if (workspace.row_placed[row_index] == row_axes) return;
    workspace.row_placed[row_index] = row_axes;
    Segment* axes = workspace.axes.data() + row_index * (setup.model->volumes().size() + capacity::attached_max);
    for (std::size_t index = 0; index < volume_count(); ++index) axes[index] = axis_in_base(index, frames);
    const auto spheres = setup.shapes.spheres();
    Vec3* centres = workspace.centres.data() + row_index * body_count();
    for (std::size_t body = 0; body < body_count(); ++body) centres[body] = frames[body] * spheres[body].centre;
}

void Sweep::place_box(std::span<const double> centre, std::span<const double> half) noexcept {
    forward_kinematics(*setup.model, centre.data(), workspace.sample_frames);
    // The frames of row 0 stay as they are; its axes are placed again when they are asked for.
    workspace.row_placed[0] = std::min(workspace.row_placed[0], row_frames);
    const auto spheres = setup.shapes.spheres();
    for (std::size_t body = 0; body < body_count(); ++body) workspace.centres[body] = workspace.sample_frames[body] * spheres[body].centre;
    bound_row_motion(0, half);
}

void Sweep::sample_segment(std::size_t segment, double t) noexcept {
    ++evaluations;
    const double* from = row(segment - 1);
    const double* to = row(segment);
    for (std::size_t variable = 0; variable < variable_count(); ++variable) {
        workspace.sample[variable] = from[variable] + t * (to[variable] - from[variable]);
    }
    forward_kinematics(*setup.model, workspace.sample.data(), workspace.sample_frames);
}

const Transform* Sweep::frames_between(std::size_t segment, double t) noexcept {
    if (is_budget_spent()) return nullptr;
    sample_segment(segment, t);
    return workspace.sample_frames.data();
}

void Sweep::measure_segment_step(std::size_t segment) noexcept {
    for (std::size_t variable = 0; variable < variable_count(); ++variable) {
        const double moved = row(segment)[variable] - row(segment - 1)[variable];
        workspace.segment_step[variable] = std::abs(moved);
        workspace.to_before[variable] = -moved;
        workspace.to_after[variable] = moved;
    }
}

PathInterval Sweep::interval_around_row(std::size_t row_index) noexcept {
    const double* at = row(row_index);
    for (std::size_t variable = 0; variable < variable_count(); ++variable) {
        workspace.to_before[variable] = row_index > 0 ? row(row_index - 1)[variable] - at[variable] : 0.0;
        workspace.to_after[variable] =
            row_index < workspace.path_rows ? row(row_index + 1)[variable] - at[variable] : 0.0;
    }
    return {frames_of_row(row_index), workspace.to_before, workspace.to_after, 0.5};
}

}  // namespace lastgate::detail
