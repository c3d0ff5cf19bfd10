// SPDX-License-Identifier: Apache-2.0
// From the indices of a verdict to the names that people wrote: once, for the kernel and, bound, for Python.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config.hpp"
#include "lastgate/capacity.hpp"
#include "lastgate/verdict.hpp"
#include "latch.hpp"
#include "violation_entry.hpp"

namespace lastgate::kernel {

/// Names that come with a world rather than with the robot.
struct WorldNames {
    std::string world_id;
    std::string frame_id;  ///< That it was given in.
    std::vector<std::string> object_id;
    std::uint32_t obstacle_count = 0;  ///< The first so many may be touched by declaration; zones follow, which may not.
    // Where the cells that verdicts count lie in the whole map.
    std::uint32_t floor_first_column = 0;
    std::uint32_t floor_first_row = 0;
    std::uint32_t floor_columns = 0;
    bool declared_absent = false;
};

/// What the robot holds, by the number under which the gate knows it; empty where nothing is.
using AttachedNames = std::array<ShortText<200>, capacity::attached_max>;
using AttachedViews = std::array<std::string_view, capacity::attached_max>;

/// What a chunk says about itself, as far as names need it.
struct ChunkNames {
    std::size_t control_mode = 0;
    std::string_view ee_name;
    std::string_view frame_id;
    std::span<const double> flat;
    std::size_t width = 0;
};

/// All that names are found in.
struct NameSources {
    const KernelConfig& config;
    const ChunkNames& chunk;
    const WorldNames* world;  ///< Null where there is none.
    const AttachedViews& attached;
};

/// What collides: two parts of the robot, or one with something else.
enum class CollisionKind : std::uint8_t { nothing = 0, self = 1, world = 2 };

/// A violation with names instead of indices. The views point into the sources, and into `NameMemory`.
struct NamedViolation {
    ViolationCode code = ViolationCode::not_checked;
    CollisionKind collision_kind = CollisionKind::nothing;
    std::uint32_t step = none;
    std::string_view subject;
    std::string_view against;
    double value = 0.0;
    double limit_min = 0.0;
    double limit_max = 0.0;
    std::string_view unit;
    std::string_view detail;  ///< What the numbers do not say.
    std::optional<double> segment_t;
    std::optional<double> first_contact_t;
    std::optional<Vec3> witness_a;
    std::optional<Vec3> witness_b;
    std::string_view world_id;
    std::optional<double> world_age_s;
    std::optional<Vec3> measured_xyz;
    std::optional<WorkspaceBox> box;
};

/// Where names that are made up, and the detail, are written.
struct NameMemory {
    std::array<char, 64> subject;
    std::array<char, 64> against;
    std::array<char, 480> detail;
};

/// Names what a rejected verdict is about.
NamedViolation name_violation(const Verdict& verdict, const NameSources& sources, NameMemory& memory) noexcept;

/// What happened in one sentence, with both numbers and their unit; cut where the memory ends.
std::string_view write_sentence(const NamedViolation& violation, std::span<char> memory) noexcept;

}  // namespace lastgate::kernel
