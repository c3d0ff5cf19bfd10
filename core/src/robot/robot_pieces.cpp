// SPDX-License-Identifier: Apache-2.0
// The convex pieces of a robot model: checked, placed in their bodies, and matched with the volumes they refine.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "geometry/convex.hpp"
#include "lastgate/robot_model.hpp"

namespace lastgate {
namespace {

[[noreturn]] void refuse(std::size_t index, const char* why) {
    throw std::invalid_argument("piece " + std::to_string(index) + ": " + why);
}

void require_piece(const PieceSpec& piece, std::size_t index, std::size_t link_count) {
    if (piece.link < 0 || static_cast<std::size_t>(piece.link) >= link_count) refuse(index, "is on no link");
    if (!(piece.radius_m >= 0.0 && piece.radius_m <= capacity::robot_extent_m_max)) refuse(index, "radius must be from 0 to 100 m");
    if (piece.corners.empty() || piece.corners.size() > capacity::piece_corners_max) refuse(index, "needs 1 to 256 corners");
    for (const Vec3 corner : piece.corners) {
        const bool inside = std::abs(corner.x) <= capacity::robot_extent_m_max && std::abs(corner.y) <= capacity::robot_extent_m_max &&
                            std::abs(corner.z) <= capacity::robot_extent_m_max;
        if (!inside) refuse(index, "is not finite or beyond 100 m");
    }
}

}  // namespace

void RobotModel::place_pieces(const RobotModelSpec& spec) {
    piece_first_.assign(spec.links.size() + 1, 0);
    std::size_t on_link = 0;
    for (std::size_t index = 0; index < spec.pieces.size(); ++index) {
        const PieceSpec& from = spec.pieces[index];
        require_piece(from, index, spec.links.size());
        const bool same_link = index > 0 && spec.pieces[index - 1].link == from.link;
        if (index > 0 && spec.pieces[index - 1].link > from.link) refuse(index, "stands after a piece of a later link");
        on_link = same_link ? on_link + 1 : 1;
        if (on_link > capacity::pieces_per_link_max) refuse(index, "is one more on its link than capacity::pieces_per_link_max");
        const auto link = static_cast<std::size_t>(from.link);
        Piece piece;
        piece.body = link_body_[link];
        piece.link = static_cast<std::uint16_t>(link);
        piece.radius_m = from.radius_m;
        piece.corner_first = static_cast<std::uint32_t>(corner_x_.size());
        piece.corner_count = static_cast<std::uint32_t>(from.corners.size());
        Vec3 low{1e300, 1e300, 1e300};
        Vec3 high{-1e300, -1e300, -1e300};
        for (const Vec3 in_link : from.corners) {
            const Vec3 corner = link_in_body_[link] * in_link;
            corner_x_.push_back(corner.x);
            corner_y_.push_back(corner.y);
            corner_z_.push_back(corner.z);
            low = {std::min(low.x, corner.x), std::min(low.y, corner.y), std::min(low.z, corner.z)};
            high = {std::max(high.x, corner.x), std::max(high.y, corner.y), std::max(high.z, corner.z)};
            // A point between two corners strays no farther from an axis than the farther of the two.
            std::array<double, capacity::chain_max> reach{};
            bound_reach(piece.body, corner, corner, reach);
            for (std::size_t depth = 0; depth < reach.size(); ++depth) piece.reach[depth] = std::max(piece.reach[depth], reach[depth]);
        }
        piece.centre = 0.5 * (low + high);
        for (std::size_t at = piece.corner_first; at < corner_x_.size(); ++at) {
            piece.sphere_radius_m = std::max(piece.sphere_radius_m, norm(Vec3{corner_x_[at], corner_y_[at], corner_z_[at]} - piece.centre));
        }
        piece.sphere_radius_m += piece.radius_m;
        pieces_.push_back(piece);
    }
    for (std::size_t link = 0, at = 0; link <= spec.links.size(); ++link) {
        while (at < pieces_.size() && pieces_[at].link < link) ++at;
        piece_first_[link] = static_cast<std::uint32_t>(at);
    }
}

/// A point of a link that lies in a volume also lies in a piece, and that piece meets the volume: what a volume
/// stands for is contained in the pieces it meets.
void RobotModel::match_pieces() {
    constexpr double slack_m = 1e-6;  // far above any rounding: a piece too many is only a little slower
    static_assert(capacity::pieces_max <= 65536);
    met_pieces_.clear();
    met_first_.assign(1, 0);
    for (const Volume& volume : volumes_) {
        const double x[2] = {volume.end_a.x, volume.end_b.x};
        const double y[2] = {volume.end_a.y, volume.end_b.y};
        const double z[2] = {volume.end_a.z, volume.end_b.z};
        for (std::uint32_t at = piece_first_[volume.link]; at < piece_first_[volume.link + std::size_t{1}]; ++at) {
            const detail::ConvexDistance apart = detail::convex_distance(corners(pieces_[at]), {x, y, z, 2}, Transform{}, {});
            if (apart.lower_m > volume.radius_m + pieces_[at].radius_m + slack_m) continue;
            met_pieces_.push_back(static_cast<std::uint16_t>(at));
        }
        met_first_.push_back(static_cast<std::uint32_t>(met_pieces_.size()));
    }
}

detail::ConvexView RobotModel::corners(const Piece& piece) const noexcept {
    return {corner_x_.data() + piece.corner_first, corner_y_.data() + piece.corner_first, corner_z_.data() + piece.corner_first, piece.corner_count};
}

}  // namespace lastgate
