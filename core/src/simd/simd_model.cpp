// SPDX-License-Identifier: Apache-2.0
#include "simd_model.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "simd_kernels.hpp"

namespace lastgate::detail {
namespace {

/// Unit roundoff of single precision.
constexpr double u = 1.0 / 16777216.0;

/// A joint turns a frame with errors of at most: 12 u for the product with the constant (four roundings
/// per entry, nine entries, in the Frobenius norm), and 40 u for the plane rotation, whose sine and
/// cosine are off by at most 8 u (4 u from rounding the angle, 4 u from the polynomial). 64 leaves room.
constexpr double rotation_error_per_joint = 64.0 * u;

/// Roundings of one transformed point, relative to the largest coordinate on the way: nine products and
/// sums of constants that are themselves rounded. Eight covers them.
constexpr double point_roundings = 8.0 * u;

/// Roundings of one distance, relative to the extent of the robot: differences, dot products and a unit
/// direction that is a few u long or short (simd_math.hpp counts them).
constexpr double distance_roundings = 64.0 * u;

/// Roundings of a point as seen from a body, and of its distance from a capsule axis there, relative to that distance: a difference, three
/// dot products, a share of the way and a root. What is relative to the arm of the core is in the error of its volume.
constexpr double length_roundings = 32.0 * u;

/// Motion sums add up to 40 positive products; each rounds once, and so do reach and step.
constexpr double motion_slack = 1.0 + 1e-5;

float round_up(double value) noexcept { return static_cast<float>(value * (1.0 + 4.0 * u)); }

/// A capsule axis shorter than this is checked in its first end only; its half length is in its bound.
constexpr double shortest_axis_m = 1e-9;

void write3(float* to, Vec3 v) noexcept {
    to[0] = static_cast<float>(v.x);
    to[1] = static_cast<float>(v.y);
    to[2] = static_cast<float>(v.z);
}

#if defined(__x86_64__)
/// By CPUID and XGETBV, because the table behind `__builtin_cpu_supports` is not in every compiler's run-time library.
bool machine_has_avx2() noexcept {
    constexpr unsigned osxsave_and_avx = (1U << 27U) | (1U << 28U);
    constexpr unsigned sse_and_avx_registers = 6U;  // kept by the operating system between threads
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & osxsave_and_avx) != osxsave_and_avx) return false;
    __asm__("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
    if ((eax & sse_and_avx_registers) != sse_and_avx_registers) return false;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx & (1U << 5U)) != 0;
}
#endif

/// Null where the program does not contain the build or the machine cannot run it.
const SimdKernels* kernels_of(SimdBuild build) noexcept {
    if (build == SimdBuild::generic) return &simd_generic::kernels;
#if defined(__x86_64__)
    if (build == SimdBuild::avx2 && machine_has_avx2()) return &simd_avx2::kernels;
#elif defined(__aarch64__)
    if (build == SimdBuild::neon) return &simd_neon::kernels;
#endif
    return nullptr;
}

const SimdKernels* require_kernels(SimdBuild build) {
    const SimdKernels* kernels = kernels_of(build);
    if (kernels == nullptr) throw std::invalid_argument("this machine cannot run the chosen SIMD build");
    return kernels;
}

/// An entry this small turns a frame by a thousandth of what `rotation_error_per_joint` allows.
constexpr double straight = 1e-9;

/// Which axis a vector is parallel to, or `simd_dense`, or `simd_zero`.
std::uint8_t axis_of(Vec3 v) noexcept {
    const double parts[3] = {v.x, v.y, v.z};
    std::uint8_t axis = simd_zero;
    for (std::uint8_t index = 0; index < 3; ++index) {
        if (std::abs(parts[index]) <= straight) continue;
        if (axis != simd_zero) return simd_dense;
        axis = index;
    }
    return axis;
}

}  // namespace

void place_root(const SimdGroup& group) noexcept {
    std::fill_n(group.frame, frame_stride, 0.0F);
    for (std::size_t axis = 0; axis < 3; ++axis) std::fill_n(group.frame + (vector_stride + lane_count) * axis, lane_count, 1.0F);
}

SimdModel::SimdModel(const RobotModel& model, const ShapeSet& shapes, SimdBuild build) : kernels_(require_kernels(build)) {
    const std::size_t body_count = model.bodies().size();
    const std::size_t volume_count = model.volumes().size() + capacity::attached_max;
    bodies_.resize(body_count);
    volumes_.reserve(volume_count + model.effectors().size());
    pairs_.reserve(volume_count * (volume_count - 1) / 2);
    body_pairs_.reserve(body_count * body_count / 2 + 1);
    order_.reserve(body_count * body_count / 2 + 1);
    gaps_.reserve(body_count * body_count / 2 + 1);
    std::size_t tails = 0;
    for (const Body& body : model.bodies()) tails += body.depth + std::size_t{1};
    reach_.reserve(tails);
    tail_joint_.reserve(tails);
    tail_first_.resize(body_count);
    body_volumes_.reserve(volume_count);
    body_volume_first_.resize(body_count + 1);
    movers_.reserve(body_count);
    in_simd_frame_.resize(body_count);
    joint_sign_.resize(body_count);
    rotation_error_.resize(body_count);
    translation_error_.resize(body_count);
    turns_.reserve(body_count * body_count / 2 + 1);
    choose_frames(model);
    write_rows(model);
    rebuild(model, shapes);
}

/// A body's own frame is P Q J, with the frame P that the SIMD code places for its parent, a constant Q, and what the
/// joint does: J turns about z, or only slides. Where z is an axis of P, J by the angle t is as good as a turn R of P
/// about that axis, by t or -t: P Q J = P R Q. So the SIMD code places P R, which leaves one axis of P as it is and
/// turns two, and what stands in the body is turned by Q once, here. What slides keeps all axes of P.
void SimdModel::choose_frames(const RobotModel& model) noexcept {
    in_simd_frame_[0] = Mat3{};
    joint_sign_[0] = 1.0;
    for (std::size_t index = 1; index < in_simd_frame_.size(); ++index) {
        const Body& body = model.bodies()[index];
        const Mat3 constant = in_simd_frame_[body.parent] * body.in_parent.rotation;
        const bool slides = body.kind == JointKind::prismatic;
        in_simd_frame_[index] = slides || axis_of(constant.z) < simd_zero ? constant : Mat3{};
        const bool opposite = constant.z.x + constant.z.y + constant.z.z < 0.0;
        joint_sign_[index] = !slides && axis_of(constant.z) < simd_zero && opposite ? -1.0 : 1.0;
    }
}

/// Most joints turn by what their column says. Mimic joints that follow it in another way come after it, and joints without a command are
/// placed once for all configurations.
void SimdModel::write_rows(const RobotModel& model) {
    std::vector<bool> follows(model.bodies().size(), false);
    for (const std::uint16_t dof : model.row_dofs()) {
        const DofSpec& limits = model.dof(dof);
        SimdColumn column{limits.position_min, limits.position_max, dof, 0, 0, 1.0F};
        for (std::size_t index = 1; index < model.bodies().size(); ++index) {
            const Body& body = model.bodies()[index];
            if (body.dof != dof) continue;
            follows[index] = true;
            if (column.body != 0 || body.multiplier != 1.0 || body.offset != 0.0) {
                derived_.push_back(static_cast<std::uint16_t>(index));
                continue;
            }
            column.body = static_cast<std::uint16_t>(index);
            column.sign = static_cast<float>(joint_sign_[index]);
            column.wrapped = body.kind != JointKind::prismatic && !(limits.position_min >= -simd_angle_max && limits.position_max <= simd_angle_max) ? 1 : 0;
        }
        columns_.push_back(column);
    }
    for (std::size_t index = 1; index < model.bodies().size(); ++index) {
        if (!follows[index]) resting_.push_back(static_cast<std::uint16_t>(index));
    }
}

/// Follows errors down the tree: a rotation error turns every offset below it.
void SimdModel::bound_rounding(const RobotModel& model) noexcept {
    std::array<double, capacity::bodies_max> extent{};
    rotation_error_[0] = translation_error_[0] = 0.0;
    extent_m_ = 1.0;
    for (std::size_t index = 1; index < model.bodies().size(); ++index) {
        const Body& body = model.bodies()[index];
        const std::size_t parent = body.parent;
        double offset_m = norm(body.in_parent.translation);
        if (body.kind == JointKind::prismatic && body.dof < model.dof_count()) {
            const DofSpec& dof = model.dof(body.dof);
            const double range = std::max(std::abs(dof.position_min), std::abs(dof.position_max)) + 0.2;
            offset_m += std::abs(body.multiplier) * range + std::abs(body.offset);
        } else if (body.kind == JointKind::prismatic) {
            offset_m += capacity::base_travel_m_max;  // the virtual base
        }
        extent[index] = extent[parent] + offset_m;
        rotation_error_[index] = rotation_error_[parent] + rotation_error_per_joint;
        translation_error_[index] = translation_error_[parent] + rotation_error_[index] * offset_m + point_roundings * extent[index];
        extent_m_ = std::max(extent_m_, extent[index]);
    }
    for (const Volume& volume : last_volumes_) {
        extent_m_ = std::max(extent_m_, extent[volume.body] + std::max(norm(volume.end_a), norm(volume.end_b)));
    }
    for (const Effector& effector : model.effectors()) extent_m_ = std::max(extent_m_, extent[effector.body] + norm(effector.in_body.translation));
}

double SimdModel::point_error(std::size_t body, Vec3 point) const noexcept {
    const double arm_m = norm(point);
    return translation_error_[body] + rotation_error_[body] * arm_m + point_roundings * (extent_m_ + arm_m);
}

void SimdModel::write_bodies(const RobotModel& model, const ShapeSet& shapes) noexcept {
    for (std::size_t index = 0; index < bodies_.size(); ++index) {
        const Body& from = model.bodies()[index];
        const Sphere& sphere = shapes.spheres()[index];
        SimdBody& body = bodies_[index];
        const Mat3 rotation = in_simd_frame_[from.parent] * from.in_parent.rotation;
        write3(body.rotation, rotation.x);
        write3(body.rotation + 3, rotation.y);
        write3(body.rotation + 6, rotation.z);
        body.joint_axis = axis_of(rotation.z);
        const Vec3 translation = in_simd_frame_[from.parent] * from.in_parent.translation;
        write3(body.translation, translation);
        body.translation_axis = axis_of(translation);
        write3(body.sphere_centre, in_simd_frame_[index] * sphere.centre);
        const double slack_m = point_error(index, sphere.centre) + distance_roundings * extent_m_;
        body.sphere_radius = round_up(std::max(sphere.radius_m, 0.0) + slack_m);
        const double turned = rotation_error_[index] + length_roundings;
        body.shrink = static_cast<float>(1.0 - turned - u);
        body.grow = round_up(1.0 / static_cast<double>(body.shrink));
        body.parent = from.parent;
        body.variable = from.dof;
        body.multiplier = joint_sign_[index] * from.multiplier;
        body.offset = joint_sign_[index] * from.offset;
        body.prismatic = from.kind == JointKind::prismatic ? 1 : 0;
    }
}

void SimdModel::write_volumes(const RobotModel& model, const ShapeSet& shapes) noexcept {
    volumes_.clear();
    for (const Volume& from : shapes.volumes()) {
        SimdVolume volume{};
        write3(volume.ends, in_simd_frame_[from.body] * from.end_a);
        write3(volume.ends + 3, in_simd_frame_[from.body] * from.end_b);
        write3(volume.middle, in_simd_frame_[from.body] * (0.5 * (from.end_a + from.end_b)));
        volume.radius = round_up(from.radius_m);
        volume.error = round_up(std::max(point_error(from.body, from.end_a), point_error(from.body, from.end_b)) + distance_roundings * extent_m_);
        const double length = norm(from.end_b - from.end_a);
        volume.half_length = round_up(0.5 * length);
        volume.length2 = static_cast<float>(length * length);
        volume.inverse_length2 = length > shortest_axis_m ? static_cast<float>(1.0 / (length * length)) : 0.0F;
        const Vec3 axis = in_simd_frame_[from.body] * (from.end_b - from.end_a);
        write3(volume.axis, axis);
        write3(volume.axis_share, static_cast<double>(volume.inverse_length2) * axis);
        volume.body = from.body;
        volumes_.push_back(volume);
    }
    volume_count_ = static_cast<std::uint32_t>(volumes_.size());
    for (const Effector& from : model.effectors()) {
        SimdVolume tool{};
        write3(tool.ends, in_simd_frame_[from.body] * from.in_body.translation);
        write3(tool.ends + 3, in_simd_frame_[from.body] * from.in_body.translation);
        tool.error = round_up(point_error(from.body, from.in_body.translation) + distance_roundings * extent_m_);
        tool.body = from.body;
        volumes_.push_back(tool);
    }
    effector_count_ = static_cast<std::uint32_t>(model.effectors().size());
    body_volumes_.clear();
    for (std::size_t body = 0; body < bodies_.size(); ++body) {
        body_volume_first_[body] = static_cast<std::uint32_t>(body_volumes_.size());
        for (const std::uint16_t volume : shapes.volumes_of_body(body)) body_volumes_.push_back(volume);
    }
    body_volume_first_[bodies_.size()] = static_cast<std::uint32_t>(body_volumes_.size());
}

/// One list per body: a joint's reach for each depth of its chain, closed by an entry without joint.
void SimdModel::write_tails(const RobotModel& model) noexcept {
    reach_.clear();
    tail_joint_.clear();
    for (std::size_t body = 0; body < bodies_.size(); ++body) {
        tail_first_[body] = static_cast<std::uint16_t>(tail_joint_.size());
        const auto chain = model.chain(body);
        for (std::size_t depth = 0; depth < chain.size(); ++depth) {
            double reach = 0.0;
            for (const Volume& volume : last_volumes_) {
                if (volume.body == body) reach = std::max(reach, volume.reach[depth]);
            }
            for (const Effector& effector : model.effectors()) {
                if (effector.body == body) reach = std::max(reach, effector.reach[depth]);
            }
            reach_.push_back(round_up(reach * motion_slack));
            tail_joint_.push_back(chain[depth]);
        }
        reach_.push_back(0.0F);
        tail_joint_.push_back(0);
    }
}

/// What no joint carries cannot be moved by any command, so its contact with what it stands on says nothing about a chunk.
void SimdModel::write_movers(const RobotModel& model, const ShapeSet& shapes) noexcept {
    movers_.clear();
    for (std::uint32_t body = 0; body < bodies_.size(); ++body) {
        if (shapes.volumes_of_body(body).empty() || model.bodies()[body].depth == 0) continue;
        movers_.push_back({body, vector_stride * body, lane_count * tail_first_[body], bodies_[body].sphere_radius});
    }
}

void SimdModel::write_pairs(const ShapeSet& shapes) noexcept {
    pairs_.clear();
    body_pairs_.clear();
    for (const BodyPair& from : shapes.body_pairs()) {
        SimdBodyPair bodies{};
        bodies.a = from.a;
        bodies.b = from.b;
        bodies.tail_a = static_cast<std::uint16_t>(tail_first_[from.a] + from.common_depth);
        bodies.tail_b = static_cast<std::uint16_t>(tail_first_[from.b] + from.common_depth);
        bodies.first = static_cast<std::uint32_t>(pairs_.size());
        bodies.count = from.count;
        bodies.sphere_reach = round_up(static_cast<double>(bodies_[from.a].sphere_radius) + static_cast<double>(bodies_[from.b].sphere_radius));
        for (std::uint32_t index = from.first; index < from.first + from.count; ++index) {
            const VolumePair pair = shapes.volume_pairs()[index];
            const SimdVolume& a = volumes_[pair.a];
            const SimdVolume& b = volumes_[pair.b];
            const double reach = static_cast<double>(a.radius) + static_cast<double>(b.radius) + static_cast<double>(a.error) + static_cast<double>(b.error);
            const double halves = static_cast<double>(a.half_length) + static_cast<double>(b.half_length);
            pairs_.push_back({pair.a, pair.b, round_up(reach), round_up(reach + halves)});
        }
        body_pairs_.push_back(bodies);
    }
}

/// A small clearance found early lets the bounds skip everything farther away. The middle of the joint
/// ranges is as good a guess as any of what is usually close, and the same for every check.
void SimdModel::order_pairs(const RobotModel& model, const ShapeSet& shapes) noexcept {
    std::array<double, capacity::dofs_max> middle{};
    std::array<Transform, capacity::bodies_max> frames;
    for (std::size_t dof = 0; dof < model.dof_count(); ++dof) middle[dof] = 0.5 * (model.dof(dof).position_min + model.dof(dof).position_max);
    forward_kinematics(model, middle.data(), frames);
    order_.clear();
    gaps_.clear();
    for (std::size_t index = 0; index < body_pairs_.size(); ++index) {
        const SimdBodyPair& pair = body_pairs_[index];
        const Sphere& a = shapes.spheres()[pair.a];
        const Sphere& b = shapes.spheres()[pair.b];
        gaps_.push_back(norm(frames[pair.a] * a.centre - frames[pair.b] * b.centre) - a.radius_m - b.radius_m);
        order_.push_back(static_cast<std::uint16_t>(index));
    }
    std::sort(order_.begin(), order_.end(), [this](std::uint16_t a, std::uint16_t b) { return gaps_[a] < gaps_[b] || (gaps_[a] == gaps_[b] && a < b); });
    turns_.clear();
    for (const std::uint16_t index : order_) {
        const SimdBodyPair& pair = body_pairs_[index];
        turns_.push_back({24U * pair.a, 24U * pair.b, 8U * pair.tail_a, 8U * pair.tail_b, pair.sphere_reach, index});
    }
}

void SimdModel::rebuild(const RobotModel& model, const ShapeSet& shapes) noexcept {
    last_volumes_ = shapes.volumes();
    bound_rounding(model);
    write_bodies(model, shapes);
    write_volumes(model, shapes);
    write_tails(model);
    write_movers(model, shapes);
    write_pairs(shapes);
    order_pairs(model, shapes);
    write_tables();
}

void SimdModel::write_tables() noexcept {
    SimdTables& tables = tables_;
    tables.bodies = bodies_.data();
    tables.volumes = volumes_.data();
    tables.pairs = pairs_.data();
    tables.body_pairs = body_pairs_.data();
    tables.turns = turns_.data();
    tables.reach = reach_.data();
    tables.tail_joint = tail_joint_.data();
    tables.tail_first = tail_first_.data();
    tables.body_volumes = body_volumes_.data();
    tables.body_volume_first = body_volume_first_.data();
    tables.movers = movers_.data();
    tables.columns = columns_.data();
    tables.derived = derived_.data();
    tables.resting = resting_.data();
    tables.column_count = static_cast<std::uint32_t>(columns_.size());
    tables.derived_count = static_cast<std::uint32_t>(derived_.size());
    tables.resting_count = static_cast<std::uint32_t>(resting_.size());
    tables.body_count = static_cast<std::uint32_t>(bodies_.size());
    tables.volume_count = volume_count_;
    tables.body_pair_count = static_cast<std::uint32_t>(body_pairs_.size());
    tables.tail_count = static_cast<std::uint32_t>(tail_joint_.size());
    tables.effector_count = effector_count_;
    tables.mover_count = static_cast<std::uint32_t>(movers_.size());
    tables.slack = round_up(32.0 * u * extent_m_);
}

}  // namespace lastgate::detail

namespace lastgate {

SimdBuild best_simd_build() noexcept {
    for (const SimdBuild build : {SimdBuild::avx2, SimdBuild::neon}) {
        if (has_simd_build(build)) return build;
    }
    return SimdBuild::generic;
}

bool has_simd_build(SimdBuild build) noexcept { return detail::kernels_of(build) != nullptr; }

}  // namespace lastgate
