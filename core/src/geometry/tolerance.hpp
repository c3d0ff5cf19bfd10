// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The few lengths that decide between "certified" and "uncertified".
namespace lastgate::tolerance {

/// Added to every required distance before a distance counts as certified. Positions carry at most 1e4 m, a chain
/// at most 40 rotations, so a computed distance is off by less than 1e4 * 40 * 2^-52 = 9e-11 m.
/// Measured, not proved: Gappa bounds one step at 1e4 m by 1.1e-11 m per coordinate (proofs/gappa), forty steps by 4.4e-10 m.
inline constexpr double rounding_m = 1.0e-9;

/// Taken off every distance along a fixed direction, besides `rounding_m`. The joints of an interval turn and slide by at most
/// `directional_way_max` together, so what positions of 1e4 m and axes of 40 rotations are off by moves a support point by less than
/// 1e4 * 1.75 * (40 * 2^-52 + 40 * 2^-53) + 9e-11 = 4e-10 m as part of `move`, by 1e4 * 1.75 * 60 * 2^-53 + 9e-11 = 2.1e-10 m as part of
/// `turn`, and a direction that is a unit vector to 4 * 2^-53 by 1e-11 m; twice that for two shapes is below 1.3e-9 m.
inline constexpr double directional_rounding_m = 2.0e-9;

/// Radians and metres that the joints between two shapes may move in half an interval for the second derivative to be used: farther the
/// parabola is worth nothing against the length of the motion, and its rounding would have no bound.
inline constexpr double directional_way_max = 1.0;

/// Taken off the distance from a cylinder, whose nearest point is found by halving. The halves end within 1e-12 m; the slope that
/// steers them is off by what rounding leaves of a direction, which is worth less than 1e-11 m where coordinates are below 100 m and
/// 2e-10 m at 1e4 m (docs/concepts/cylinders.md).
inline constexpr double cylinder_m = 5.0e-10;

/// Bisection ends when the volumes move less than this within half an interval. What is then still
/// not certified is within 0.1 mm of a violation, which the promise counts as one.
inline constexpr double resolution_m = 0.9e-4;

/// The sine of the angle between two axes that count as parallel: what rounding leaves of a rotation by a right angle is below it, and it
/// turns nothing by more than rounding does.
inline constexpr double parallel = 1.0e-15;

/// How far a state or world stamp may lie in the future: two clocks of one host disagree by less.
inline constexpr double future_stamp_s = 0.005;

}  // namespace lastgate::tolerance
