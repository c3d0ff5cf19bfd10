// SPDX-License-Identifier: Apache-2.0
// The broad phase: bounding spheres, eight rows at once in single precision. It says which pairs are certified; the rest is unresolved and
// goes to the narrow phase in double.
#include "broad_phase.hpp"

#include <algorithm>

#include "simd/simd_kernels.hpp"
#include "pair_table.hpp"

namespace lastgate::detail {
namespace {

float smallest(const float* lanes) noexcept { return *std::min_element(lanes, lanes + lane_count); }

}  // namespace

float Sweep::simd_margin(PairKind kind) const noexcept { return round_up(needed_distance(whole_margin(kind), 0.0)); }

void Sweep::test_groups(PairKind kind, std::size_t row_last) noexcept {
    const PairFunctions& functions = functions_of(kind);
    const std::size_t group_count = group_count_for(row_last);
    if (functions.shortlist_simd != nullptr) functions.shortlist_simd(*this, group_count);
    uses_simd = functions.entry_count(*this) <= capacity::simd_entries_max;
    if (!uses_simd) return;
    alignas(32) float best[lane_count];
    std::fill_n(best, lane_count, static_cast<float>(min_clearance_m));
    for (std::size_t index = 0; index < group_count; ++index) {
        std::uint8_t* unresolved = workspace.simd_unresolved.data() + index * capacity::simd_entries_max;
        workspace.group_unresolved[index] = functions.test_group(*this, workspace.simd_groups[index], simd_margin(kind), best, unresolved);
    }
    min_clearance_m = std::min(min_clearance_m, static_cast<double>(smallest(best)));
}

void Sweep::query_closest() noexcept {
    alignas(32) float best[lane_count];
    std::fill_n(best, lane_count, static_cast<float>(min_clearance_m));
    const SimdTables& tables = setup.simd.tables();
    for (std::size_t index = 0; index < group_count_for(workspace.path_rows); ++index) {
        setup.simd.kernels().test_hint(tables, workspace.simd_groups[index], world->for_simd(), simd_margin(PairKind::world), true, best,
                                        &workspace.chunk_hint);
    }
    min_clearance_m = std::min(min_clearance_m, static_cast<double>(smallest(best)));
}

bool Sweep::is_row_unresolved(std::size_t row_index) const noexcept {
    if (!uses_simd) return true;
    const std::size_t lane = std::max<std::size_t>(row_index, 1) - 1;
    return (workspace.group_unresolved[lane / lane_count] >> (lane % lane_count) & 1) != 0;
}

bool Sweep::is_unresolved(std::size_t row_index, std::size_t entry) const noexcept {
    if (!uses_simd) return true;
    const std::size_t lane = std::max<std::size_t>(row_index, 1) - 1;
    return (workspace.simd_unresolved[lane / lane_count * capacity::simd_entries_max + entry] >> (lane % lane_count) & 1) != 0;
}

}  // namespace lastgate::detail
