// SPDX-License-Identifier: Apache-2.0
#include "points.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace lastgate::fitting {
namespace {

using Bits = std::array<std::uint64_t, 3>;

Bits bits_at(std::span<const double> points, std::size_t index) {
    return {std::bit_cast<std::uint64_t>(points[3 * index]), std::bit_cast<std::uint64_t>(points[3 * index + 1]),
            std::bit_cast<std::uint64_t>(points[3 * index + 2])};
}

/// Mixes all bits of a point into the high ones of a product; the constants are odd and have no pattern.
std::uint64_t mixed(const Bits& bits) {
    std::uint64_t hash = bits[0] * 0x9E3779B97F4A7C15U;
    hash = (hash ^ (hash >> 32U) ^ bits[1]) * 0xC2B2AE3D27D4EB4FU;
    hash = (hash ^ (hash >> 32U) ^ bits[2]) * 0x165667B19E3779F9U;
    return hash ^ (hash >> 32U);
}

}  // namespace

std::vector<std::size_t> distinct(std::span<const double> points) {
    const std::size_t count = points.size() / 3;
    constexpr std::size_t unused = std::numeric_limits<std::size_t>::max();
    // At most half full, so that a free place is always near.
    std::vector<std::size_t> table(std::bit_ceil(std::max<std::size_t>(2 * count, 2)), unused);
    const std::size_t mask = table.size() - 1;
    std::vector<std::size_t> first;
    for (std::size_t i = 0; i < count; ++i) {
        const Bits own = bits_at(points, i);
        std::size_t place = mixed(own) & mask;
        while (table[place] != unused && bits_at(points, table[place]) != own) {
            place = (place + 1) & mask;
        }
        if (table[place] == unused) {
            table[place] = i;
            first.push_back(i);
        }
    }
    return first;
}

}  // namespace lastgate::fitting
