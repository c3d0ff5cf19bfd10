// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#ifdef __FAST_MATH__
#error "lastgate needs IEEE arithmetic: NaN must compare false, so build without -ffast-math"
#endif

/// Vectors, rotations and the sine, in double. Written out so that every build gives the same bits.
namespace lastgate {

struct Vec3 {
    double x = 0.0;
    double y = 0.0;
    double z = 0.0;
};

constexpr Vec3 operator+(Vec3 a, Vec3 b) noexcept { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
constexpr Vec3 operator-(Vec3 a, Vec3 b) noexcept { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
constexpr Vec3 operator-(Vec3 a) noexcept { return {-a.x, -a.y, -a.z}; }
constexpr Vec3 operator*(double s, Vec3 a) noexcept { return {s * a.x, s * a.y, s * a.z}; }
constexpr double dot(Vec3 a, Vec3 b) noexcept { return a.x * b.x + a.y * b.y + a.z * b.z; }
constexpr Vec3 cross(Vec3 a, Vec3 b) noexcept {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline double norm(Vec3 a) noexcept { return std::sqrt(dot(a, a)); }
inline bool finite(Vec3 a) noexcept { return std::isfinite(a.x) && std::isfinite(a.y) && std::isfinite(a.z); }

/// Rotation stored by columns: the images of the x, y and z axes.
struct Mat3 {
    Vec3 x{1.0, 0.0, 0.0};
    Vec3 y{0.0, 1.0, 0.0};
    Vec3 z{0.0, 0.0, 1.0};
};

constexpr Vec3 operator*(const Mat3& m, Vec3 v) noexcept { return v.x * m.x + v.y * m.y + v.z * m.z; }
constexpr Mat3 operator*(const Mat3& a, const Mat3& b) noexcept { return {a * b.x, a * b.y, a * b.z}; }
constexpr Vec3 transposed_times(const Mat3& m, Vec3 v) noexcept { return {dot(m.x, v), dot(m.y, v), dot(m.z, v)}; }
constexpr Mat3 transposed(const Mat3& m) noexcept {
    return {{m.x.x, m.y.x, m.z.x}, {m.x.y, m.y.y, m.z.y}, {m.x.z, m.y.z, m.z.z}};
}

struct Transform {
    Mat3 rotation;
    Vec3 translation;
};

constexpr Vec3 operator*(const Transform& t, Vec3 p) noexcept { return t.rotation * p + t.translation; }
constexpr Transform operator*(const Transform& a, const Transform& b) noexcept {
    return {a.rotation * b.rotation, a * b.translation};
}
constexpr Vec3 inverse_times(const Transform& t, Vec3 p) noexcept {
    return transposed_times(t.rotation, p - t.translation);
}

/// A straight line between two points, or one point.
struct Segment {
    Vec3 a;
    Vec3 b;
};

/// A distance and the two points that have it.
struct Witness {
    double distance_m;
    Vec3 on_first;
    Vec3 on_second;
};

struct SinCos {
    double sin;
    double cos;
};

/// Sine and cosine for |angle| <= capacity::joint_position_max, within 1 ulp of 1. Our own so that a
/// recorded verdict replays to the same bits on another C library. Reduction by pi/2 in three parts
/// (Cody and Waite), then the minimax polynomials of fdlibm's __kernel_sin and __kernel_cos.
inline SinCos sincos(double angle) noexcept {
    constexpr double two_over_pi = 6.36619772367581382433e-01;
    constexpr double part1 = 1.57079632673412561417e+00;  // first 33 bits of pi/2
    constexpr double part2 = 6.07710050630396597660e-11;  // next 33 bits
    constexpr double part3 = 2.02226624879595063154e-21;  // and the rest
    constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to a whole number
    const double turns = (angle * two_over_pi + magic) - magic;
    const double r = (((angle + 0.0) - turns * part1) - turns * part2) - turns * part3;  // + 0.0: the sine of -0 is 0
    const double z = r * r;
    const double sin_r =
        r + r * z *
                (-1.66666666666666324348e-01 +
                 z * (8.33333333332248946124e-03 +
                      z * (-1.98412698298579493134e-04 +
                           z * (2.75573137070700676789e-06 +
                                z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)))));
    const double cos_r =
        1.0 - 0.5 * z +
        z * z *
            (4.16666666666666019037e-02 +
             z * (-1.38888888888741095749e-03 +
                  z * (2.48015872894767294178e-05 +
                       z * (-2.75573143513906633035e-07 +
                            z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
    const auto quadrant = static_cast<long long>(turns);
    const double sine = (quadrant & 1) != 0 ? cos_r : sin_r;
    const double cosine = (quadrant & 1) != 0 ? sin_r : cos_r;
    return {(quadrant & 2) != 0 ? -sine : sine, ((quadrant + 1) & 2) != 0 ? -cosine : cosine};
}

/// URDF convention: rotation = Rz(yaw) Ry(pitch) Rx(roll).
inline Mat3 rotation_from_rpy(Vec3 rpy) noexcept {
    const auto [sr, cr] = sincos(rpy.x);
    const auto [sp, cp] = sincos(rpy.y);
    const auto [sy, cy] = sincos(rpy.z);
    return {{cy * cp, sy * cp, -sp},
            {cy * sp * sr - sy * cr, sy * sp * sr + cy * cr, cp * sr},
            {cy * sp * cr + sy * sr, sy * sp * cr - cy * sr, cp * cr}};
}

/// Rotation of a unit quaternion.
constexpr Mat3 rotation_from_quaternion(double x, double y, double z, double w) noexcept {
    return {{1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w), 2.0 * (x * z - y * w)},
            {2.0 * (x * y - z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + x * w)},
            {2.0 * (x * z + y * w), 2.0 * (y * z - x * w), 1.0 - 2.0 * (x * x + y * y)}};
}

/// The rotation by |v| about v.
inline Mat3 rotation_from_vector(Vec3 v) noexcept {
    const double angle = norm(v);
    if (!(angle > 1e-12)) return {{1.0, v.z, -v.y}, {-v.z, 1.0, v.x}, {v.y, -v.x, 1.0}};
    const Vec3 a = (1.0 / angle) * v;
    const auto [s, c] = sincos(angle);
    const double k = 1.0 - c;
    return {{c + k * a.x * a.x, k * a.x * a.y + s * a.z, k * a.x * a.z - s * a.y},
            {k * a.x * a.y - s * a.z, c + k * a.y * a.y, k * a.y * a.z + s * a.x},
            {k * a.x * a.z + s * a.y, k * a.y * a.z - s * a.x, c + k * a.z * a.z}};
}

/// Twice the sine of half the angle between two rotations as a vector: zero when equal, and for
/// small angles the rotation vector that takes `from` to `to`, in the common frame.
inline Vec3 rotation_difference(const Mat3& from, const Mat3& to) noexcept {
    return 0.5 * (cross(from.x, to.x) + cross(from.y, to.y) + cross(from.z, to.z));
}

/// The angle between two rotations, 0 … pi.
inline double angle_between(const Mat3& a, const Mat3& b) noexcept {
    const double sine = norm(rotation_difference(a, b));
    const double cosine = 0.5 * (dot(a.x, b.x) + dot(a.y, b.y) + dot(a.z, b.z) - 1.0);
    return std::atan2(sine, cosine);
}

}  // namespace lastgate
