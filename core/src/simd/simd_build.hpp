// SPDX-License-Identifier: Apache-2.0
// The kernels of one instruction set.
#pragma once

#include "simd_batch.hpp"
#include "simd_kernels.hpp"

namespace lastgate::detail::LASTGATE_SIMD_ISA {

const SimdKernels kernels{
    .fill_rows = fill_rows,
    .fill_boxes = fill_boxes,
    .fill_resting = fill_resting,
    .fill_configurations = fill_configurations,
    .place = place,
    .place_spheres = place_spheres,
    .place_tools = place_tools,
    .place_axes = place_axes,
    .sum_tails = sum_tails,
    .test_self = test_self,
    .test_hint = test_hint,
    .test_world = test_world,
    .shortlist = shortlist,
    .test_entries = test_entries,
    .query_field = query_field,
    .settle = settle,
    .test_box = test_box,
    .test_tool_steps = test_tool_steps,
};

}  // namespace lastgate::detail::LASTGATE_SIMD_ISA
