// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "lastgate/lane_tables.hpp"
#include "lastgate/robot_model.hpp"
#include "lastgate/shape_set.hpp"
#include "lastgate/world_snapshot.hpp"

/// The fast path: eight configurations at once in single precision. It may only say "clear", and only
/// when a distance exceeds what is demanded by more than its own rounding bound; everything else is
/// left to the double path, which decides.
namespace lastgate {

/// The fastest build this machine can run.
LaneBuild best_lane_build() noexcept;

/// A robot's tables for the lanes, with its rounding bounds.
class LaneModel {
  public:
    LaneModel(const RobotModel& model, const ShapeSet& shapes, LaneBuild build);

    /// Rewrites the tables after something was attached or detached; never allocates.
    void rebuild(const RobotModel& model, const ShapeSet& shapes) noexcept;

    /// Poses, cores and motion of one group from its joint positions and steps.
    void place(const LaneGroup& group) const noexcept;
    /// Tests body pairs; bit k of `doubt[p]` is set when configuration k does not clear pair p by
    /// `margin_m` plus motion. `best_m` enters and leaves as the smallest spare distance per lane.
    void test_self(const LaneGroup& group, float margin_m, float* best_m, std::uint8_t* doubt) const noexcept;
    /// The same for one body and one obstacle.
    std::uint8_t test_primitive(const LaneGroup& group, std::size_t body, const LanePrimitive& primitive, float margin_m,
                                float* best_m) const noexcept;

    /// Bit k is set when the tool point of an effector is not shown inside the box for configuration k.
    std::uint8_t test_box(const LaneGroup& group, std::size_t effector, const float* low, const float* high) const noexcept;
    /// Widens `low` and `high` (bodies x 3 x 8) by everything the balls touch in this group.
    void bound_bodies(const LaneGroup& group, float* low, float* high) const noexcept;

    /// Which obstacles come within `wanted_m` of a box; `found` has room for all of them.
    std::uint32_t near_primitives(const WorldSnapshot& world, const float* low, const float* high, float wanted_m,
                                  std::uint16_t* found) const noexcept;

    LaneTables tables() const noexcept;
    LaneBuild build() const noexcept { return build_; }
    std::size_t tail_count() const noexcept { return tail_joint_.size(); }

  private:
    void bound_rounding(const RobotModel& model) noexcept;
    double point_error(std::size_t body, Vec3 point) const noexcept;
    void write_bodies(const RobotModel& model, const ShapeSet& shapes) noexcept;
    void write_volumes(const RobotModel& model, const ShapeSet& shapes) noexcept;
    void write_tails(const RobotModel& model) noexcept;
    void write_pairs(const ShapeSet& shapes) noexcept;
    void order_pairs(const RobotModel& model, const ShapeSet& shapes) noexcept;

    LaneBuild build_;
    std::vector<LaneBody> bodies_;
    std::vector<LaneVolume> volumes_;
    std::vector<LanePair> pairs_;
    std::vector<LaneBodyPair> body_pairs_;
    std::vector<std::uint16_t> order_;
    std::vector<double> gaps_;
    std::vector<float> reach_;
    std::vector<std::uint16_t> tail_joint_;
    std::vector<std::uint16_t> tail_first_;
    std::vector<std::uint16_t> body_volumes_;
    std::vector<std::uint32_t> body_volume_first_;
    std::vector<double> rotation_error_;
    std::vector<double> translation_error_;
    std::span<const Volume> last_volumes_;  ///< Valid during rebuild only.
    double extent_m_ = 0.0;
    std::uint32_t volume_count_ = 0;
    std::uint32_t effector_count_ = 0;
};

}  // namespace lastgate
