// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "lastgate/capacity.hpp"
#include "lastgate/lane_tables.hpp"

#define LASTGATE_LANE_KERNELS(build)                                                                                          \
    namespace lastgate::build {                                                                                               \
    void place(const LaneTables& tables, const LaneGroup& group) noexcept;                                                    \
    void test_self(const LaneTables& tables, const LaneGroup& group, float margin_m, float* best_m, std::uint8_t* doubt) noexcept; \
    std::uint8_t test_primitive(const LaneTables& tables, const LaneGroup& group, std::uint32_t body, const std::uint16_t* volumes, \
                                std::uint32_t volume_count, const LanePrimitive& primitive, float margin_m, float* best_m) noexcept; \
    std::uint8_t test_box(const LaneTables& tables, const LaneGroup& group, std::uint32_t effector, const float* low, const float* high) noexcept; \
    void bound_bodies(const LaneTables& tables, const LaneGroup& group, float* low, float* high) noexcept; \
    std::uint32_t near_boxes(const float* bounds, std::uint32_t count, const float* low, const float* high, float wanted_m, \
                             std::uint16_t* found) noexcept; \
    }

LASTGATE_LANE_KERNELS(lanes_generic)
LASTGATE_LANE_KERNELS(lanes_avx2)

#undef LASTGATE_LANE_KERNELS
