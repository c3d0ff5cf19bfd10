// SPDX-License-Identifier: Apache-2.0
#include "lastgate/robot_model.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace lastgate {
namespace {

[[noreturn]] void refuse(const char* what, std::size_t index, const char* why) {
    throw std::invalid_argument(std::string(what) + " " + std::to_string(index) + ": " + why);
}

bool within(Vec3 v, double bound) noexcept {
    return std::abs(v.x) <= bound && std::abs(v.y) <= bound && std::abs(v.z) <= bound;
}

/// The rotation whose z axis is `axis`. One that leans by 1e-8 also has a z of exactly 1.
Mat3 frame_with_z(Vec3 axis) noexcept {
    if (axis.x == 0.0 && axis.y == 0.0 && axis.z == 1.0) return Mat3{};
    const Vec3 other = std::abs(axis.z) < 0.9 ? Vec3{0.0, 0.0, 1.0} : Vec3{1.0, 0.0, 0.0};
    Vec3 x = cross(other, axis);
    x = (1.0 / norm(x)) * x;
    return {x, cross(axis, x), axis};
}

void require_link(const LinkSpec& link, std::size_t index, std::size_t dof_count) {
    if (link.parent < 0) refuse("link", index, "is a second root; every link but the first needs a parent");
    if (static_cast<std::size_t>(link.parent) >= index) refuse("link", index, "stands before its parent");
    if (!within(link.origin_xyz, capacity::robot_extent_m_max)) refuse("link", index, "origin is not finite or beyond 100 m");
    if (!within(link.origin_rpy, 100.0)) refuse("link", index, "origin rotation is not finite or beyond 100 rad");
    if (link.kind == JointKind::fixed) {
        if (link.dof != -1) refuse("link", index, "a fixed joint cannot be driven");
        return;
    }
    if (link.kind != JointKind::revolute && link.kind != JointKind::prismatic) refuse("link", index, "unknown joint kind");
    if (link.dof < 0 || static_cast<std::size_t>(link.dof) >= dof_count) refuse("link", index, "is driven by no degree of freedom");
    if (!(std::abs(norm(link.axis) - 1.0) <= 1e-6)) refuse("link", index, "axis is not a unit vector");
    const bool finite_gain = std::abs(link.multiplier) <= 1e3 && std::abs(link.offset) <= capacity::joint_position_max;
    if (!finite_gain || link.multiplier == 0.0) refuse("link", index, "mimic multiplier or offset cannot be used");
}

/// The root is where everything is measured from: nothing drives it, and it stands nowhere else.
void require_root(const LinkSpec& root) {
    const auto is_zero = [](const Vec3& v) { return v.x == 0.0 && v.y == 0.0 && v.z == 0.0; };
    if (root.parent != -1) refuse("link", 0, "must be the root");
    if (root.kind != JointKind::fixed || root.dof != -1) refuse("link", 0, "is the root, which nothing drives");
    if (!is_zero(root.origin_xyz) || !is_zero(root.origin_rpy)) refuse("link", 0, "is the root, and its origin must be zero");
}

void require_dofs(const RobotModelSpec& spec) {
    std::vector<std::uint8_t> driven(spec.dofs.size(), 0);
    for (const LinkSpec& link : spec.links) {
        if (link.dof >= 0) driven[static_cast<std::size_t>(link.dof)] = 1;
    }
    for (std::size_t index = 0; index < spec.dofs.size(); ++index) {
        const DofSpec& dof = spec.dofs[index];
        const bool ordered = -capacity::joint_position_max <= dof.position_min && dof.position_min < dof.position_max &&
                             dof.position_max <= capacity::joint_position_max;
        if (!ordered) refuse("degree of freedom", index, "limits are not finite, ordered and within 1e4");
        if (driven[index] == 0) refuse("degree of freedom", index, "moves no joint");
    }
}

}  // namespace

RobotModel::RobotModel(const RobotModelSpec& spec) : dofs_(spec.dofs), mobile_base_(spec.mobile_base) {
    if (spec.links.empty()) throw std::invalid_argument("a robot needs at least its root link");
    if (spec.links.size() > capacity::links_max) throw std::invalid_argument("more links than capacity::links_max");
    if (spec.dofs.empty()) throw std::invalid_argument("a robot needs at least one degree of freedom");
    if (spec.dofs.size() + 3 > capacity::dofs_max) throw std::invalid_argument("more degrees of freedom than capacity::dofs_max");
    if (spec.volumes.size() > capacity::volumes_max) throw std::invalid_argument("more volumes than capacity::volumes_max");
    if (spec.hulls.size() > capacity::hulls_max) throw std::invalid_argument("more convex hulls than capacity::hulls_max");
    if (spec.effectors.size() > capacity::effectors_max) throw std::invalid_argument("more end effectors than capacity::effectors_max");
    require_root(spec.links[0]);
    for (std::size_t index = 1; index < spec.links.size(); ++index) require_link(spec.links[index], index, spec.dofs.size());
    require_dofs(spec);
    for (std::size_t index = 0; index < dofs_.size(); ++index) {
        if (dofs_[index].in_rows) row_dofs_.push_back(static_cast<std::uint16_t>(index));
    }
    if (row_dofs_.empty()) throw std::invalid_argument("no degree of freedom is commanded by joint rows");
    fold_links(spec);
    place_volumes(spec);
    place_hulls(spec);
    match_hulls();

    allowed_.assign(spec.links.size() * spec.links.size(), 0);
    for (std::size_t index = 0; index < spec.allowed_pairs.size(); ++index) {
        const LinkPair pair = spec.allowed_pairs[index];
        const auto count = static_cast<std::int32_t>(spec.links.size());
        if (pair.a < 0 || pair.b < 0 || pair.a >= count || pair.b >= count || pair.a == pair.b) {
            refuse("allowed pair", index, "does not name two links of the robot");
        }
        const auto a = static_cast<std::size_t>(pair.a);
        const auto b = static_cast<std::size_t>(pair.b);
        allowed_[a * spec.links.size() + b] = allowed_[b * spec.links.size() + a] = 1;
    }
}

void RobotModel::fold_links(const RobotModelSpec& spec) {
    bodies_.push_back(Body{});
    if (mobile_base_) {
        // x, y, then yaw: turning does not change the directions in which the base is pushed.
        const auto first = static_cast<std::uint16_t>(spec.dofs.size());
        const Mat3 x_as_z{{0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}, {1.0, 0.0, 0.0}};
        const Mat3 y_as_z{{0.0, 0.0, 1.0}, {1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}};
        bodies_.push_back({0, JointKind::prismatic, first, 1, 1.0, 0.0, {x_as_z, {}}});
        bodies_.push_back({1, JointKind::prismatic, static_cast<std::uint16_t>(first + 1), 2, 1.0, 0.0,
                           {transposed(x_as_z) * y_as_z, {}}});
        bodies_.push_back({2, JointKind::revolute, static_cast<std::uint16_t>(first + 2), 3, 1.0, 0.0, {transposed(y_as_z), {}}});
    }
    link_body_.push_back(static_cast<std::uint16_t>(bodies_.size() - 1));
    link_in_body_.push_back(Transform{});
    for (std::size_t index = 1; index < spec.links.size(); ++index) {
        const LinkSpec& link = spec.links[index];
        const auto parent = static_cast<std::size_t>(link.parent);
        const Transform joint_in_body = link_in_body_[parent] * Transform{rotation_from_rpy(link.origin_rpy), link.origin_xyz};
        if (link.kind == JointKind::fixed) {
            link_body_.push_back(link_body_[parent]);
            link_in_body_.push_back(joint_in_body);
            continue;
        }
        const Vec3 unit_axis = (1.0 / norm(link.axis)) * link.axis;
        const Mat3 axis_frame = frame_with_z(unit_axis);
        const std::uint16_t parent_body = link_body_[parent];
        const auto depth = static_cast<std::uint16_t>(bodies_[parent_body].depth + 1);
        if (depth > capacity::chain_max) refuse("link", index, "sits deeper than capacity::chain_max joints");
        if (bodies_.size() >= capacity::bodies_max) refuse("link", index, "is one moving joint more than capacity::bodies_max");
        bodies_.push_back({parent_body, link.kind, static_cast<std::uint16_t>(link.dof), depth, link.multiplier, link.offset,
                           {joint_in_body.rotation * axis_frame, joint_in_body.translation}});
        link_body_.push_back(static_cast<std::uint16_t>(bodies_.size() - 1));
        link_in_body_.push_back({transposed(axis_frame), {}});
    }
    chains_.assign(bodies_.size() * capacity::chain_max, 0);
    for (std::size_t body = 1; body < bodies_.size(); ++body) {
        std::size_t at = body;
        for (std::size_t depth = bodies_[body].depth; depth > 0; --depth) {
            chains_[body * capacity::chain_max + depth - 1] = static_cast<std::uint16_t>(at);
            at = bodies_[at].parent;
        }
    }
}

void RobotModel::place_volumes(const RobotModelSpec& spec) {
    for (std::size_t index = 0; index < spec.volumes.size(); ++index) {
        const VolumeSpec& from = spec.volumes[index];
        if (from.link < 0 || static_cast<std::size_t>(from.link) >= spec.links.size()) refuse("volume", index, "is on no link");
        if (!(from.radius_m > 0.0 && from.radius_m <= capacity::robot_extent_m_max)) refuse("volume", index, "radius must be positive and at most 100 m");
        if (!within(from.end_a, capacity::robot_extent_m_max) || !within(from.end_b, capacity::robot_extent_m_max)) {
            refuse("volume", index, "is not finite or beyond 100 m");
        }
        const auto link = static_cast<std::size_t>(from.link);
        Volume volume;
        volume.body = link_body_[link];
        volume.link = static_cast<std::uint16_t>(link);
        volume.radius_m = from.radius_m;
        volume.end_a = link_in_body_[link] * from.end_a;
        volume.end_b = link_in_body_[link] * from.end_b;
        bound_reach(volume.body, volume.end_a, volume.end_b, volume.reach);
        volumes_.push_back(volume);
    }
    for (std::size_t index = 0; index < spec.effectors.size(); ++index) {
        const EffectorSpec& from = spec.effectors[index];
        if (from.link < 0 || static_cast<std::size_t>(from.link) >= spec.links.size()) refuse("end effector", index, "is on no link");
        if (!within(from.tool_xyz, capacity::robot_extent_m_max) || !within(from.tool_rpy, 100.0)) {
            refuse("end effector", index, "tool frame is not finite");
        }
        const auto link = static_cast<std::size_t>(from.link);
        Effector effector;
        effector.body = link_body_[link];
        effector.link = static_cast<std::uint16_t>(link);
        effector.in_body = link_in_body_[link] * Transform{rotation_from_rpy(from.tool_rpy), from.tool_xyz};
        bound_reach(effector.body, effector.in_body.translation, effector.in_body.translation, effector.reach);
        effectors_.push_back(effector);
    }
}

std::uint16_t RobotModel::common_depth(std::size_t body_a, std::size_t body_b) const noexcept {
    const auto a = chain(body_a);
    const auto b = chain(body_b);
    std::size_t depth = 0;
    while (depth < a.size() && depth < b.size() && a[depth] == b[depth]) ++depth;
    return static_cast<std::uint16_t>(depth);
}

namespace {

/// Where a point can be, seen from further and further up the chain.
struct ReachableSphere {
    Vec3 centre;
    double radius_m = 0.0;
};

/// The smallest sphere around an arc of half angle `half` that `sphere` sweeps about the z axis, its
/// middle at angle `middle`. Beyond a half turn the sphere around the circle is as small.
ReachableSphere swept_about_z(const ReachableSphere& sphere, double middle, double half) noexcept {
    const double from_axis = std::sqrt(sphere.centre.x * sphere.centre.x + sphere.centre.y * sphere.centre.y);
    constexpr double quarter_turn = 1.5707963267948966;
    if (!(half < quarter_turn)) return {{0.0, 0.0, sphere.centre.z}, sphere.radius_m + from_axis};
    const auto [s, c] = sincos(middle);
    const auto [sin_half, cos_half] = sincos(half);
    const Vec3 turned{c * sphere.centre.x - s * sphere.centre.y, s * sphere.centre.x + c * sphere.centre.y, sphere.centre.z};
    return {{cos_half * turned.x, cos_half * turned.y, turned.z}, sphere.radius_m + from_axis * sin_half};
}

/// Joints may be measured slightly outside their limits while they recover; the bounds cover that.
constexpr double limit_slack = 0.2;

}  // namespace

void RobotModel::bound_reach(std::size_t body, Vec3 end_a, Vec3 end_b,
                             std::array<double, capacity::chain_max>& reach) const noexcept {
    reach.fill(0.0);
    for (const Vec3 end : {end_a, end_b}) {
        ReachableSphere sphere{end, 0.0};
        std::size_t at = body;
        for (std::size_t depth = bodies_[body].depth; depth > 0; --depth) {
            const Body& joint = bodies_[at];
            const bool is_base = joint.dof >= dofs_.size();
            const double lower = is_base ? -1e3 : dofs_[joint.dof].position_min - limit_slack;
            const double upper = is_base ? 1e3 : dofs_[joint.dof].position_max + limit_slack;
            const double middle = joint.multiplier * 0.5 * (lower + upper) + joint.offset;
            const double half = std::abs(joint.multiplier) * 0.5 * (upper - lower);
            double bound = 1.0;
            if (joint.kind == JointKind::revolute) {
                bound = std::sqrt(sphere.centre.x * sphere.centre.x + sphere.centre.y * sphere.centre.y) + sphere.radius_m;
                sphere = swept_about_z(sphere, middle, half);
            } else {
                sphere.centre.z += middle;
                sphere.radius_m += half;
            }
            // The relative slack covers the rounding of this very computation.
            const double gain = std::abs(joint.multiplier) * bound * (1.0 + 1e-12);
            reach[depth - 1] = std::max(reach[depth - 1], gain);
            sphere.centre = joint.in_parent * sphere.centre;
            at = joint.parent;
        }
    }
}

}  // namespace lastgate
