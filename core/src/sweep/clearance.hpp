// SPDX-License-Identifier: Apache-2.0
// The inequality that every accepted motion rests on. It is written here and nowhere else.
#pragma once

#include "geometry/tolerance.hpp"

namespace lastgate::detail {

/// Whether a pair may touch: shapes may not, a tool may touch the workspace box from inside.
enum class Touching : bool { forbidden = false, allowed = true };

/// What a distance must exceed at an instant so that the pair keeps its required distance while it moves.
inline constexpr double needed_distance(double required_m, double motion_m) noexcept { return required_m + motion_m + tolerance::rounding_m; }

/// Whether a distance measured at one instant proves that the pair keeps its required distance as long as that distance changes by at most
/// `motion_m` (Schwarzer, Saha and Latombe 2005, "Adaptive dynamic collision checking for single and multiple articulated robots in complex
/// environments", with the error of the arithmetic added). Never true for a NaN.
inline constexpr bool certified(double distance_m, double required_m, double motion_m, Touching touching = Touching::forbidden) noexcept {
    return touching == Touching::allowed ? distance_m >= required_m + motion_m : distance_m > needed_distance(required_m, motion_m);
}

/// Whether the required distance is not kept at the instant itself. True for a NaN.
inline constexpr bool violated(double distance_m, double required_m, Touching touching = Touching::forbidden) noexcept {
    return touching == Touching::allowed ? !(distance_m >= required_m) : !(distance_m > required_m);
}

}  // namespace lastgate::detail
