// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attached_solid.hpp"
#include "lastgate/robot_model.hpp"

namespace lastgate::detail {

struct VolumePair {
    std::uint16_t a = 0;
    std::uint16_t b = 0;
};

/// All checked volume pairs between two bodies. `common_depth` joints carry both bodies alike, so
/// only deeper joints change their distance.
struct BodyPair {
    std::uint16_t a = 0;
    std::uint16_t b = 0;
    std::uint16_t common_depth = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

/// A sphere that holds all volumes of a body, in its frame; radius negative when there is none.
struct Sphere {
    Vec3 centre;
    double radius_m = -1.0;
};

/// The volumes in force (the robot's and what it holds), grouped by body, and the pairs to check.
/// Attaching and detaching rearrange pre-sized memory and never allocate.
class ShapeSet {
  public:
    explicit ShapeSet(const RobotModel& model);

    /// False, and nothing changed, when the shape cannot be used or the capacity is spent.
    [[nodiscard]] bool attach(const RobotModel& model, const Attachment& attachment) noexcept;
    /// False when nothing carries that id.
    [[nodiscard]] bool detach(const RobotModel& model, std::uint16_t id) noexcept;

    std::span<const Volume> volumes() const noexcept { return volumes_; }
    std::uint16_t attachment_of(std::size_t volume) const noexcept { return attachment_of_[volume]; }
    /// The solid that a volume stands for; null for a volume of the robot, and for an attached sphere or capsule.
    const SolidInBody* solid_of(std::size_t volume) const noexcept {
        const std::uint16_t index = attachment_index_[volume];
        return index == not_attached || solids_[index].vertex_count == 0 ? nullptr : &solids_[index];
    }
    std::span<const BodyPair> body_pairs() const noexcept { return body_pairs_; }
    std::span<const VolumePair> volume_pairs() const noexcept { return volume_pairs_; }
    std::span<const Sphere> spheres() const noexcept { return spheres_; }
    std::span<const std::uint16_t> volumes_of_body(std::size_t body) const noexcept {
        return {body_volumes_.data() + body_volume_first_[body], body_volume_first_[body + 1] - body_volume_first_[body]};
    }

  private:
    void rebuild(const RobotModel& model) noexcept;
    void place_solid(const RobotModel& model, const Attachment& attachment, SolidInBody& solid) const noexcept;
    void group_by_body(const RobotModel& model) noexcept;
    void enumerate_pairs(const RobotModel& model) noexcept;
    bool pair_checked(const RobotModel& model, std::size_t a, std::size_t b) const noexcept;

    std::vector<Attachment> attachments_;
    std::vector<SolidInBody> solids_;  ///< One per attachment; without vertices where it is a sphere or capsule.
    std::vector<Volume> volumes_;
    std::vector<std::uint16_t> attachment_of_;  ///< Per volume: id, or not_attached.
    std::vector<std::uint16_t> attachment_index_;
    std::vector<BodyPair> body_pairs_;
    std::vector<VolumePair> volume_pairs_;
    std::vector<Sphere> spheres_;
    std::vector<std::uint16_t> body_volumes_;
    std::vector<std::uint32_t> body_volume_first_;
};

}  // namespace lastgate::detail
