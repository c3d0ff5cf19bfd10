// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lastgate::detail {

/// What a pair consists of: two volumes; a volume and an obstacle; a volume and a field (`b` is its slot); a tool and its box; a volume and
/// the zone it stays inside; a volume and a zone it stays out of. One file of `pairs/` each; the numbers count the table in pair_table.cpp.
enum class PairKind : std::uint8_t { self, world, field, box, keep_in, zone };

}  // namespace lastgate::detail
