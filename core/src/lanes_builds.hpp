// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "lastgate/capacity.hpp"
#include "lastgate/lane_tables.hpp"

#define LASTGATE_LANE_BUILD(build)        \
    namespace lastgate::build {           \
    extern const LaneKernels kernels;     \
    }

namespace lastgate {

/// One build of the lanes. What each function does is said where it is written (lanes_kernel.inc, lanes_world.inc).
struct LaneKernels {
    void (*fill_rows)(const LaneTables&, const LaneGroup&, const double* path, std::size_t width, std::size_t first, std::size_t last,
                      const double* uncertainty) noexcept;
    void (*fill_resting)(const LaneTables&, const LaneGroup&, const double* variables) noexcept;
    std::uint8_t (*fill_configurations)(const LaneTables&, const LaneGroup&, const double* rows, std::size_t count, double* variables) noexcept;
    void (*place)(const LaneTables&, const LaneGroup&) noexcept;
    void (*place_balls)(const LaneTables&, const LaneGroup&) noexcept;
    void (*place_tools)(const LaneTables&, const LaneGroup&) noexcept;
    void (*place_cores)(const LaneTables&, const LaneGroup&, std::uint32_t body) noexcept;
    void (*sum_tails)(const LaneTables&, const LaneGroup&) noexcept;
    std::uint8_t (*test_self)(const LaneTables&, const LaneGroup&, float margin_m, bool together, float* best_m, std::uint8_t* doubt,
                              LaneHint*) noexcept;
    void (*test_hint)(const LaneTables&, const LaneGroup&, const LaneWorld&, float margin_m, bool together, float* best_m,
                      const LaneHint*) noexcept;
    std::uint8_t (*test_world)(const LaneTables&, const LaneGroup&, const LaneWorld&, float margin_m, float* best_m, LaneHint*) noexcept;
    std::uint32_t (*shortlist)(const LaneTables&, const LaneGroup*, std::size_t group_count, const LaneWorld&, float wanted_m,
                               BodyPrimitive* found) noexcept;
    std::uint8_t (*test_entries)(const LaneTables&, const LaneGroup&, const LaneWorld&, const BodyPrimitive* entries, std::uint32_t count,
                                 float margin_m, bool together, float* best_m, std::uint8_t* doubt, LaneHint*) noexcept;
    void (*look_at_field)(const float* first, const float* second, const float* needed_m, float radius_m, const float* best_m, LaneFieldLook*) noexcept;
    std::uint8_t (*settle)(const LaneFieldLook&, float distance_m, const float* best_m) noexcept;
    std::uint8_t (*test_box)(const LaneTables&, const LaneGroup&, std::uint32_t effector, const float* low, const float* high) noexcept;
    std::uint8_t (*test_tool_steps)(const float* before, const float* here, float move_m, float turn_chord) noexcept;
};

}  // namespace lastgate

LASTGATE_LANE_BUILD(lanes_generic)
LASTGATE_LANE_BUILD(lanes_avx2)
LASTGATE_LANE_BUILD(lanes_neon)

#undef LASTGATE_LANE_BUILD
