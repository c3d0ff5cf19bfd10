// SPDX-License-Identifier: Apache-2.0
// What a kind of pair is, to everything else. A new kind is one file of `pairs/`, a name in PairKind and a line in pair_table.cpp.
#pragma once

#include "clearance.hpp"
#include "sweep.hpp"

namespace lastgate::detail {

class ConvexRefinement;
class BoxTest;
struct PlacedShape;

/// A row that is scanned, and how far each variable strays from it while the row speaks for the path.
struct RowScan {
    std::size_t row = 0;
    std::span<const double> step;
    PathInterval interval{};
};

struct PairFunctions {
    Touching touching = Touching::forbidden;  ///< What may be touched has no clearance to report.

    /// The margin that the configuration asks for.
    double (*margin_m)(const GateConfig& config) noexcept = nullptr;
    /// Never smaller than the change of the pair's distance when each variable moves by `step`.
    double (*motion)(const Sweep& sweep, const OpenItem& item, std::span<const double> step) noexcept = nullptr;
    /// Distance of the pair by its volumes. `within_m`: a field tells distances exactly up to this, and otherwise that there is nothing.
    Witness (*measure)(Sweep& sweep, const OpenItem& item, const Transform* frames, double within_m) noexcept = nullptr;

    /// Places what a volume is compared with, for the directional bound; false where it has no one shape. Null where the motion bound decides
    /// alone: a field lies on all sides, and what must stay inside a zone is measured against its outside.
    bool (*place_second)(const Sweep& sweep, const OpenItem& item, const Transform* frames,
                         PlacedShape& second) noexcept = nullptr;

    // Broad phase: bounding spheres.
    /// Which bodies can come near which obstacles at all during the rows up to `row_last`, in double; null where everything is listed anyway.
    void (*shortlist)(Sweep& sweep, std::size_t row_last) noexcept = nullptr;
    /// The same by SIMD.
    void (*shortlist_simd)(Sweep& sweep, std::size_t group_count) noexcept = nullptr;
    /// How many entries the broad phase resolves one by one.
    std::size_t (*entry_count)(const Sweep& sweep) noexcept = nullptr;
    /// Eight rows at once: which of them any entry leaves unresolved. `best` is lowered by what is certified.
    std::uint8_t (*test_group)(Sweep& sweep, const SimdGroup& group, float margin_m, float* best, std::uint8_t* unresolved) noexcept = nullptr;

    // Narrow phase.
    /// Notes what one row cannot certify. True when the row itself violates.
    bool (*scan_row)(Sweep& sweep, const RowScan& scan) noexcept = nullptr;
    /// Asks about the pairs that a box of configurations may bring too close until one is not certified; false when there is none.
    bool (*find_uncertified)(Sweep& sweep, BoxTest& test) noexcept = nullptr;

    // Narrow phase by convex hulls; null where volumes decide alone.
    bool (*has_hulls)(const Sweep& sweep, const OpenItem& item) noexcept = nullptr;
    void (*compare_hulls)(ConvexRefinement& refinement, const PlacedShape& shape) noexcept = nullptr;

    /// Who violates against what, in the words of a verdict.
    void (*describe)(const Sweep& sweep, const Finding& finding, Violation& violation) noexcept = nullptr;
};

extern const PairFunctions self_pairs;
extern const PairFunctions world_pairs;
extern const PairFunctions field_pairs;
extern const PairFunctions workspace_box_pairs;
extern const PairFunctions keep_in_pairs;
extern const PairFunctions zone_pairs;

const PairFunctions& functions_of(PairKind kind) noexcept;

}  // namespace lastgate::detail
