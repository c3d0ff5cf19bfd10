// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "lastgate/gate_config.hpp"
#include "simd_tables.hpp"
#include "lastgate/robot_model.hpp"
#include "robot/shape_set.hpp"

/// The fast path: eight configurations at once in single precision. It may only say "clear", and only
/// when a distance exceeds what is required by more than its own rounding bound; everything else is
/// left to the double path, which decides.
namespace lastgate::detail {

struct SimdKernels;

/// The frame of the root in all eight lanes. It never moves, so it is written once.
void place_root(const SimdGroup& group) noexcept;

/// A robot's tables for the SIMD code, with its rounding bounds.
class SimdModel {
  public:
    /// Throws std::invalid_argument when the build cannot run here.
    SimdModel(const RobotModel& model, const ShapeSet& shapes, SimdBuild build);

    /// Rewrites the tables after something was attached or detached; never allocates.
    void rebuild(const RobotModel& model, const ShapeSet& shapes) noexcept;

    const SimdKernels& kernels() const noexcept { return *kernels_; }
    const SimdTables& tables() const noexcept { return tables_; }
    std::size_t tail_count() const noexcept { return tail_joint_.size(); }
    /// Bound on the difference of a computed rotation of a body from the true one (Frobenius norm).
    double rotation_error(std::size_t body) const noexcept { return rotation_error_[body]; }

  private:
    void choose_frames(const RobotModel& model) noexcept;
    void bound_rounding(const RobotModel& model) noexcept;
    double point_error(std::size_t body, Vec3 point) const noexcept;
    void write_bodies(const RobotModel& model, const ShapeSet& shapes) noexcept;
    void write_volumes(const RobotModel& model, const ShapeSet& shapes) noexcept;
    void write_rows(const RobotModel& model);
    void write_tails(const RobotModel& model) noexcept;
    void write_movers(const RobotModel& model, const ShapeSet& shapes) noexcept;
    void write_pairs(const ShapeSet& shapes) noexcept;
    void write_tables() noexcept;
    void order_pairs(const RobotModel& model, const ShapeSet& shapes) noexcept;

    const SimdKernels* kernels_;
    SimdTables tables_{};
    std::vector<SimdBody> bodies_;
    std::vector<SimdVolume> volumes_;
    std::vector<SimdPair> pairs_;
    std::vector<SimdBodyPair> body_pairs_;
    std::vector<std::uint16_t> order_;
    std::vector<double> gaps_;
    std::vector<float> reach_;
    std::vector<std::uint16_t> tail_joint_;
    std::vector<std::uint16_t> tail_first_;
    std::vector<std::uint16_t> body_volumes_;
    std::vector<std::uint32_t> body_volume_first_;
    std::vector<SimdMover> movers_;
    std::vector<SimdTurn> turns_;
    std::vector<SimdColumn> columns_;
    std::vector<std::uint16_t> derived_;
    std::vector<std::uint16_t> resting_;
    std::vector<Mat3> in_simd_frame_;      ///< Per body: turns what stands in its frame into the frame that the SIMD code places.
    std::vector<double> joint_sign_;  ///< Per body: of its joint position.
    std::vector<double> rotation_error_;
    std::vector<double> translation_error_;
    std::span<const Volume> last_volumes_;  ///< Valid during rebuild only.
    double extent_m_ = 0.0;  ///< Of every coordinate the SIMD code computes.
    std::uint32_t volume_count_ = 0;
    std::uint32_t effector_count_ = 0;
};

}  // namespace lastgate::detail
