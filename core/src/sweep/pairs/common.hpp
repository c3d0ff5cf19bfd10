// SPDX-License-Identifier: Apache-2.0
// What several kinds of pair share.
#pragma once

#include "simd/simd_kernels.hpp"
#include "sweep/broad_phase.hpp"
#include "sweep/convex_refine.hpp"
#include "sweep/pair_table.hpp"
#include "sweep/reachable_set.hpp"

namespace lastgate::detail {

/// A body that no joint carries cannot be moved by any command, so its contact with what it stands on says nothing about the chunk.
inline bool is_moved(const Sweep& sweep, std::size_t body) noexcept { return sweep.setup.model->bodies()[body].depth > 0; }

inline double world_margin(const GateConfig& config) noexcept { return config.world_margin_m; }

/// A volume against something that stands still.
inline double motion_of_first(const Sweep& sweep, const OpenItem& item, std::span<const double> step) noexcept {
    return sweep.motion_of_volume(item.a, 0, step);
}

inline bool first_has_hulls(const Sweep& sweep, const OpenItem& item) noexcept { return sweep.has_hulls(item.a); }

/// The distance of two capsule axes becomes that of the volumes around them.
inline Witness subtract_radii(Witness witness, double radius_a, double radius_b) noexcept {
    const Vec3 apart = witness.on_second - witness.on_first;
    // A core below the face of a half-space has its nearest point behind it: outwards is the other way.
    const double length = witness.distance_m < 0.0 ? -norm(apart) : norm(apart);
    if (length != 0.0) {
        witness.on_first = witness.on_first + (radius_a / length) * apart;
        witness.on_second = witness.on_second - (radius_b / length) * apart;
    }
    witness.distance_m -= radius_a + radius_b;
    return witness;
}

inline std::uint8_t any_unresolved(const std::uint8_t* unresolved, std::size_t entries) noexcept {
    std::uint8_t any = 0;
    for (std::size_t entry = 0; entry < entries; ++entry) any |= unresolved[entry];
    return any;
}

/// The volume that violates: its link, or what it is attached as.
inline void describe_volume(const Sweep& sweep, std::uint16_t volume, ViolationCode code, Violation& violation) noexcept {
    const std::uint16_t held = sweep.setup.shapes.attachment_of(volume);
    violation.code = code;
    violation.subject_kind = held == not_attached ? SubjectKind::link : SubjectKind::attached;
    violation.subject = held == not_attached ? std::uint32_t{sweep.setup.shapes.volumes()[volume].link} : std::uint32_t{held};
}

}  // namespace lastgate::detail
