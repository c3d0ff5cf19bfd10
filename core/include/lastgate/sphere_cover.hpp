// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lastgate/robot_model.hpp"

namespace lastgate {

/// Spheres fixed to the links of a robot, kept by coordinate. Built once, then only read, from any thread.
class SphereCover {
  public:
    /// `xyzr_in_link` holds four numbers per sphere, `link` its link, in ascending order. Throws std::invalid_argument
    /// for a link that does not exist or numbers that are not finite.
    SphereCover(std::shared_ptr<const RobotModel> model, std::span<const double> xyzr_in_link, std::span<const std::uint16_t> link);

    const RobotModel& model() const noexcept { return *model_; }
    std::size_t sphere_count() const noexcept { return x_.size(); }
    /// The first sphere of a link; that of the link after the last is the number of spheres.
    std::uint32_t sphere_first(std::size_t link) const noexcept { return sphere_first_[link]; }

    /// The spheres (x y z radius) of one placed robot. Each grows by what its joints may be off: `uncertainty` per
    /// variable.
    void place(std::span<const Transform> frames, std::span<const double> uncertainty, double* xyzr) const noexcept;

    /// Never above the distance of two links by their placed spheres, if it is below `cutoff_m`; otherwise `cutoff_m`.
    /// Negative when spheres overlap.
    double distance_of_links(const double* xyzr, std::size_t link_a, std::size_t link_b, double cutoff_m) const noexcept;

  private:
    std::shared_ptr<const RobotModel> model_;
    std::vector<double> x_;  ///< In the frame of the body.
    std::vector<double> y_;
    std::vector<double> z_;
    std::vector<double> radius_;
    std::vector<std::uint16_t> body_;
    std::vector<double> reach_;  ///< spheres x chain_max; see Volume.
    std::vector<std::uint32_t> sphere_first_;
};

}  // namespace lastgate
