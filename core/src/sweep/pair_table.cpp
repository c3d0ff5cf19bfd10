// SPDX-License-Identifier: Apache-2.0
#include "pair_table.hpp"

#include <array>

namespace lastgate::detail {
namespace {

constexpr std::array table{&self_pairs, &world_pairs, &field_pairs, &workspace_box_pairs, &keep_in_pairs, &zone_pairs};
static_assert(table.size() == static_cast<std::size_t>(PairKind::zone) + 1);

}  // namespace

const PairFunctions& functions_of(PairKind kind) noexcept { return *table[static_cast<std::size_t>(kind)]; }

}  // namespace lastgate::detail
