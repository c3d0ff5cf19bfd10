// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd_tables.hpp"

namespace lastgate::detail {

/// One SIMD build. What each function does is said where it is written (simd_robot.hpp, simd_world.hpp).
struct SimdKernels {
    void (*fill_rows)(const SimdTables&, const SimdGroup&, const double* path, std::size_t width, std::size_t first, std::size_t last,
                      const double* uncertainty) noexcept;
    void (*fill_boxes)(const SimdTables&, const SimdGroup&, const double* centres, const double* halves, std::size_t width, std::size_t first,
                       std::size_t last, const double* uncertainty) noexcept;
    void (*fill_resting)(const SimdTables&, const SimdGroup&, const double* variables) noexcept;
    std::uint8_t (*fill_configurations)(const SimdTables&, const SimdGroup&, const double* rows, std::size_t count, double* variables) noexcept;
    void (*place)(const SimdTables&, const SimdGroup&) noexcept;
    void (*place_spheres)(const SimdTables&, const SimdGroup&) noexcept;
    void (*place_tools)(const SimdTables&, const SimdGroup&) noexcept;
    void (*place_axes)(const SimdTables&, const SimdGroup&, std::uint32_t body) noexcept;
    void (*sum_tails)(const SimdTables&, const SimdGroup&) noexcept;
    std::uint8_t (*test_self)(const SimdTables&, const SimdGroup&, float margin_m, bool together, float* min_clearance_m, std::uint8_t* unresolved,
                              SimdHint*) noexcept;
    void (*test_hint)(const SimdTables&, const SimdGroup&, const SimdWorld&, float margin_m, bool together, float* min_clearance_m,
                      const SimdHint*) noexcept;
    std::uint8_t (*test_world)(const SimdTables&, const SimdGroup&, const SimdWorld&, float margin_m, float* min_clearance_m, SimdHint*) noexcept;
    std::uint32_t (*shortlist)(const SimdTables&, const SimdGroup*, std::size_t group_count, const SimdWorld&, float wanted_m,
                               BodyPrimitive* found) noexcept;
    std::uint8_t (*test_entries)(const SimdTables&, const SimdGroup&, const SimdWorld&, const BodyPrimitive* entries, std::uint32_t count,
                                 float margin_m, bool together, float* min_clearance_m, std::uint8_t* unresolved, SimdHint*) noexcept;
    void (*query_field)(const float* first, const float* second, const float* needed_m, float radius_m, const float* min_clearance_m, SimdFieldQuery*) noexcept;
    std::uint8_t (*settle)(const SimdFieldQuery&, float distance_m, const float* min_clearance_m) noexcept;
    std::uint8_t (*test_box)(const SimdTables&, const SimdGroup&, std::uint32_t effector, const float* low, const float* high) noexcept;
    std::uint8_t (*test_tool_steps)(const float* before, const float* here, float move_m, float turn_chord) noexcept;
};

namespace simd_generic {
extern const SimdKernels kernels;
}
namespace simd_avx2 {
extern const SimdKernels kernels;
}
namespace simd_neon {
extern const SimdKernels kernels;
}

}  // namespace lastgate::detail
