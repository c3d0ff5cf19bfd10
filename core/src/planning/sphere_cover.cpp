// SPDX-License-Identifier: Apache-2.0
#include "lastgate/planning.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>


namespace lastgate {

SphereCover::SphereCover(std::shared_ptr<const RobotModel> model, std::span<const double> xyzr_in_link, std::span<const std::uint16_t> link)
    : model_(std::move(model)), sphere_first_(model_->link_count() + 1, 0) {
    if (xyzr_in_link.size() != 4 * link.size()) throw std::invalid_argument("spheres need four numbers each");
    for (std::size_t index = 0; index < link.size(); ++index) {
        const double* sphere = xyzr_in_link.data() + 4 * index;
        const auto refuse = [&](const char* why) { throw std::invalid_argument("sphere " + std::to_string(index) + ": " + why); };
        if (link[index] >= model_->link_count()) refuse("is on no link");
        if (index > 0 && link[index] < link[index - 1]) refuse("stands after a sphere of a later link");
        for (int axis = 0; axis < 4; ++axis) {
            if (!(std::abs(sphere[axis]) <= capacity::robot_extent_m_max)) refuse("is not finite or beyond 100 m");
        }
        if (!(sphere[3] >= 0.0)) refuse("has a negative radius");
        const Vec3 centre = model_->link_in_body(link[index]) * Vec3{sphere[0], sphere[1], sphere[2]};
        x_.push_back(centre.x);
        y_.push_back(centre.y);
        z_.push_back(centre.z);
        radius_.push_back(sphere[3]);
        body_.push_back(model_->body_of_link(link[index]));
        std::array<double, capacity::chain_max> reach{};
        model_->bound_reach(body_.back(), centre, centre, reach);
        reach_.insert(reach_.end(), reach.begin(), reach.end());
        ++sphere_first_[link[index] + std::size_t{1}];
    }
    for (std::size_t at = 1; at < sphere_first_.size(); ++at) sphere_first_[at] += sphere_first_[at - 1];
}

void SphereCover::place(std::span<const Transform> frames, std::span<const double> uncertainty, double* xyzr) const noexcept {
    const bool certain = std::all_of(uncertainty.begin(), uncertainty.end(), [](double width) { return width == 0.0; });
    for (std::size_t index = 0; index < x_.size(); ++index, xyzr += 4) {
        const Vec3 centre = frames[body_[index]] * Vec3{x_[index], y_[index], z_[index]};
        double grow_m = 0.0;
        if (!certain) {
            const auto chain = model_->chain(body_[index]);
            for (std::size_t depth = 0; depth < chain.size(); ++depth) {
                grow_m += uncertainty[model_->bodies()[chain[depth]].dof] * reach_[index * capacity::chain_max + depth];
            }
        }
        xyzr[0] = centre.x;
        xyzr[1] = centre.y;
        xyzr[2] = centre.z;
        xyzr[3] = radius_[index] + grow_m;
    }
}

double SphereCover::distance_of_links(const double* xyzr, std::size_t link_a, std::size_t link_b, double cutoff_m) const noexcept {
    double min_clearance_m = cutoff_m;
    for (std::uint32_t a = sphere_first_[link_a]; a < sphere_first_[link_a + 1]; ++a) {
        const double* first = xyzr + std::size_t{4} * a;
        for (std::uint32_t b = sphere_first_[link_b]; b < sphere_first_[link_b + 1]; ++b) {
            const double* second = xyzr + std::size_t{4} * b;
            const Vec3 apart{second[0] - first[0], second[1] - first[1], second[2] - first[2]};
            const double reach_m = min_clearance_m + first[3] + second[3] + CollisionEnvironment::distance_slack_m;
            const double squared = dot(apart, apart);
            // Most pairs are far: a square root less for each.
            if (reach_m > 0.0 && squared >= reach_m * reach_m) continue;
            min_clearance_m = std::min(min_clearance_m, std::sqrt(squared) - first[3] - second[3] - CollisionEnvironment::distance_slack_m);
        }
    }
    return min_clearance_m;
}

}  // namespace lastgate
