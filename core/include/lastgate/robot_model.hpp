// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <vector>

#include "lastgate/capacity.hpp"
#include "lastgate/math.hpp"

namespace lastgate {

namespace detail {
struct ConvexView;
}

enum class JointKind : std::uint8_t { fixed = 0, revolute = 1, prismatic = 2 };

/// One link and the joint that carries it. Link 0 is the root; its joint fields are ignored.
struct LinkSpec {
    std::int32_t parent = -1;  ///< Index of an earlier link; -1 for the root only.
    JointKind kind = JointKind::fixed;
    std::int32_t dof = -1;  ///< Which degree of freedom drives the joint; -1 for a fixed one.
    double multiplier = 1.0;  ///< Joint position = multiplier * dof position + offset; not 1, 0 for a mimic joint.
    double offset = 0.0;
    Vec3 origin_xyz;
    Vec3 origin_rpy;
    Vec3 axis{0.0, 0.0, 1.0};
};

struct DofSpec {
    double position_min = 0.0;
    double position_max = 0.0;
    bool in_rows = true;  ///< False for a gripper joint, which joint rows do not command.
};

/// A sphere (both ends equal) or a capsule on a link.
struct VolumeSpec {
    std::int32_t link = 0;
    double radius_m = 0.0;
    Vec3 end_a;
    Vec3 end_b;
};

/// Every point within `radius_m` of the convex hull of some vertices. The hulls of a link together contain it.
struct HullSpec {
    std::int32_t link = 0;
    double radius_m = 0.0;
    std::vector<Vec3> vertices;
};

struct EffectorSpec {
    std::int32_t link = 0;
    Vec3 tool_xyz;
    Vec3 tool_rpy;
};

struct LinkPair {
    std::int32_t a = 0;
    std::int32_t b = 0;
};

/// Everything a robot model is made of, by index; names live outside the core.
struct RobotModelSpec {
    std::vector<LinkSpec> links;
    std::vector<DofSpec> dofs;
    std::vector<VolumeSpec> volumes;
    std::vector<HullSpec> hulls;  ///< By link, in ascending order; a link without any is known by its volumes alone.
    std::vector<EffectorSpec> effectors;
    std::vector<LinkPair> allowed_pairs;
    bool mobile_base = false;  ///< Adds the base as three virtual degrees of freedom (x, y, yaw) after the others.
};

/// A rigid body: what remains of the links when fixed joints are folded. Its frame has the joint
/// axis as z, so that forward kinematics multiplies one constant and one plane rotation per joint.
struct Body {
    std::uint16_t parent = 0;
    JointKind kind = JointKind::fixed;
    std::uint16_t dof = 0;
    std::uint16_t depth = 0;  ///< Moving joints between the root and this body, its own included.
    double multiplier = 1.0;
    double offset = 0.0;
    Transform in_parent;  ///< At joint position zero.
};

/// A sphere or capsule in its body's frame. `reach` bounds how far any point of its capsule axis lies from
/// the axis of each joint above it, over all positions of the joints in between: the factor by which
/// joint motion becomes motion of the shape (1 for a prismatic joint).
struct Volume {
    std::uint16_t body = 0;
    std::uint16_t link = 0;
    double radius_m = 0.0;
    Vec3 end_a;
    Vec3 end_b;
    std::array<double, capacity::chain_max> reach{};
};

/// A convex hull in its body's frame, with the same motion bounds as a volume's axis.
struct Hull {
    std::uint16_t body = 0;
    std::uint16_t link = 0;
    double radius_m = 0.0;
    std::uint32_t vertex_first = 0;
    std::uint32_t vertex_count = 0;
    Vec3 centre;  ///< Of a sphere that holds it.
    double sphere_radius_m = 0.0;
    std::array<double, capacity::chain_max> reach{};
};

/// A point that belongs to an end effector, with the same motion bounds as a volume's axis.
struct Effector {
    std::uint16_t body = 0;
    std::uint16_t link = 0;
    Transform in_body;
    std::array<double, capacity::chain_max> reach{};
};

/// Joints, shapes and allowed pairs of one robot; immutable, shared by gates.
class RobotModel {
  public:
    /// Validates everything and throws std::invalid_argument that says which link, joint or volume
    /// (by index) cannot be used, and why.
    explicit RobotModel(const RobotModelSpec& spec);

    std::size_t dof_count() const noexcept { return dofs_.size(); }
    /// Degrees of freedom plus the virtual base.
    std::size_t variable_count() const noexcept { return dofs_.size() + (mobile_base_ ? 3 : 0); }
    bool mobile_base() const noexcept { return mobile_base_; }
    /// The degrees of freedom that joint rows command, in order.
    std::span<const std::uint16_t> row_dofs() const noexcept { return row_dofs_; }
    const DofSpec& dof(std::size_t index) const noexcept { return dofs_[index]; }

    std::span<const Body> bodies() const noexcept { return bodies_; }
    std::span<const Volume> volumes() const noexcept { return volumes_; }
    std::span<const Effector> effectors() const noexcept { return effectors_; }
    std::span<const Hull> hulls() const noexcept { return hulls_; }
    detail::ConvexView vertices(const Hull& hull) const noexcept;
    /// The first hull of a link.
    std::uint32_t hull_first(std::size_t link) const noexcept { return hull_first_[link]; }
    /// Which hulls of its link a volume of the robot meets, in ascending order; none when the link has no hulls.
    std::span<const std::uint16_t> hulls_of_volume(std::size_t volume) const noexcept {
        if (volume >= volumes_.size()) return {};
        return {met_hulls_.data() + met_first_[volume], met_hulls_.data() + met_first_[volume + 1]};
    }
    /// Bodies from the root's first child down to `body`; entry k carries the joint of depth k + 1.
    std::span<const std::uint16_t> chain(std::size_t body) const noexcept {
        return {chains_.data() + body * capacity::chain_max, bodies_[body].depth};
    }
    std::size_t link_count() const noexcept { return link_body_.size(); }
    std::uint16_t body_of_link(std::size_t link) const noexcept { return link_body_[link]; }
    const Transform& link_in_body(std::size_t link) const noexcept { return link_in_body_[link]; }
    /// How many joints from the root carry both bodies.
    std::uint16_t common_depth(std::size_t body_a, std::size_t body_b) const noexcept;
    bool pair_allowed(std::size_t link_a, std::size_t link_b) const noexcept {
        return allowed_[link_a * link_body_.size() + link_b] != 0;
    }

    /// Reach of a segment fixed to `body`, written to `reach`; see Volume.
    void bound_reach(std::size_t body, Vec3 end_a, Vec3 end_b, std::array<double, capacity::chain_max>& reach) const noexcept;

  private:
    void fold_links(const RobotModelSpec& spec);
    void place_volumes(const RobotModelSpec& spec);
    void place_hulls(const RobotModelSpec& spec);
    void match_hulls();

    std::vector<DofSpec> dofs_;
    std::vector<std::uint16_t> row_dofs_;
    std::vector<Body> bodies_;
    std::vector<Volume> volumes_;
    std::vector<Effector> effectors_;
    std::vector<Hull> hulls_;
    std::vector<std::uint32_t> hull_first_;
    std::vector<std::uint16_t> met_hulls_;  ///< By volume; those of volume k start at `met_first_[k]`.
    std::vector<std::uint32_t> met_first_;
    std::vector<double> vertex_x_;
    std::vector<double> vertex_y_;
    std::vector<double> vertex_z_;
    std::vector<std::uint16_t> chains_;
    std::vector<std::uint16_t> link_body_;
    std::vector<Transform> link_in_body_;
    std::vector<std::uint8_t> allowed_;
    bool mobile_base_ = false;
};

/// The frame of every body at one configuration (variable_count() numbers).
void forward_kinematics(const RobotModel& model, const double* configuration, std::span<Transform> frames) noexcept;

/// Marks a volume that belongs to the robot itself rather than to something it holds.
inline constexpr std::uint16_t not_attached = 0xFFFF;

/// A convex solid in a frame of its own on a link: the hull of some vertices, or of discs of one radius around them, square to local z. Two such
/// discs are the ends of a cylinder. Without vertices there is no solid.
struct AttachedSolid {
    Transform in_link;
    double disc_m = 0.0;
    std::uint32_t vertex_count = 0;
    std::array<Vec3, capacity::hull_vertices_max> vertices{};
};

/// A solid by six numbers of its frame on the link (x y z, roll pitch yaw) and three per vertex; without vertices where those do not fit.
AttachedSolid make_attached_solid(std::span<const double> origin_xyz_rpy, double disc_m, std::span<const double> vertices_m) noexcept;

/// A sphere or capsule that contains a solid, in the frame of the link. The radius is negative where there is none.
VolumeSpec cover_of(const AttachedSolid& solid, std::int32_t link) noexcept;

/// Something held that moves with a link: a sphere or capsule or, where it has vertices, a solid.
struct Attachment {
    std::uint16_t id = not_attached;  ///< Chosen by the caller; several shapes may share one.
    VolumeSpec volume;                ///< Of a solid only the link is read: its volume is worked out.
    std::bitset<capacity::links_max> touch;  ///< Links it may touch.
    AttachedSolid solid;
};

}  // namespace lastgate
