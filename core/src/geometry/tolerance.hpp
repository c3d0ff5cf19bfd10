// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The few lengths that decide between "certified" and "uncertified".
namespace lastgate::tolerance {

/// Added to every required distance before a distance counts as certified. Positions carry at most 1e4 m, a chain
/// at most 40 rotations, so a computed distance is off by less than 1e4 * 40 * 2^-52 = 9e-11 m.
inline constexpr double rounding_m = 1.0e-9;

/// Bisection ends when the volumes move less than this within half an interval. What is then still
/// not certified is within 0.1 mm of a violation, which the promise counts as one.
inline constexpr double resolution_m = 0.9e-4;

/// The sine of the angle between two axes that count as parallel: what rounding leaves of a rotation by a right angle is below it, and it
/// turns nothing by more than rounding does.
inline constexpr double parallel = 1.0e-15;

/// How far a state or world stamp may lie in the future: two clocks of one host disagree by less.
inline constexpr double future_stamp_s = 0.005;

}  // namespace lastgate::tolerance
