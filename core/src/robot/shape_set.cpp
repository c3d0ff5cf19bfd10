// SPDX-License-Identifier: Apache-2.0
#include "shape_set.hpp"

#include <algorithm>
#include <cmath>

#include "lastgate/world_snapshot.hpp"

namespace lastgate::detail {

ShapeSet::ShapeSet(const RobotModel& model) {
    const std::size_t volume_count = model.volumes().size() + capacity::attached_max;
    const std::size_t body_count = model.bodies().size();
    attachments_.reserve(capacity::attached_max);
    solids_.resize(capacity::attached_max);
    volumes_.reserve(volume_count);
    attachment_of_.reserve(volume_count);
    attachment_index_.reserve(volume_count);
    volume_pairs_.reserve(volume_count * (volume_count - 1) / 2);
    body_pairs_.reserve(body_count * body_count / 2 + 1);
    spheres_.reserve(body_count);
    body_volumes_.reserve(volume_count);
    body_volume_first_.reserve(body_count + 1);
    rebuild(model);
}

namespace {

/// NaN is inside nothing. A frame must turn and not scale: then every vertex is where the caller says.
bool is_usable(const AttachedSolid& solid) noexcept {
    if (solid.vertex_count > capacity::hull_vertices_max || !(solid.disc_m >= 0.0 && solid.disc_m <= capacity::robot_extent_m_max)) return false;
    PrimitiveSpec frame;
    frame.kind = PrimitiveKind::half_space;
    frame.in_base = solid.in_link;
    if (!is_usable(frame)) return false;
    for (std::uint32_t index = 0; index < solid.vertex_count; ++index) {
        const Vec3 p = solid.vertices[index];
        const bool inside = std::abs(p.x) <= capacity::robot_extent_m_max && std::abs(p.y) <= capacity::robot_extent_m_max &&
                            std::abs(p.z) <= capacity::robot_extent_m_max;
        if (!inside) return false;
    }
    return true;
}

}  // namespace

bool ShapeSet::attach(const RobotModel& model, const Attachment& attachment) noexcept {
    const AttachedSolid& solid = attachment.solid;
    const VolumeSpec volume = solid.vertex_count > 0 ? cover_of(solid, attachment.volume.link) : attachment.volume;
    const auto inside = [](Vec3 p) noexcept {
        return std::abs(p.x) <= capacity::robot_extent_m_max && std::abs(p.y) <= capacity::robot_extent_m_max &&
               std::abs(p.z) <= capacity::robot_extent_m_max;
    };
    const bool usable = attachment.id != not_attached && volume.link >= 0 &&
                        static_cast<std::size_t>(volume.link) < model.link_count() && volume.radius_m > 0.0 &&
                        volume.radius_m <= capacity::robot_extent_m_max && inside(volume.end_a) && inside(volume.end_b) && is_usable(solid);
    if (!usable || attachments_.size() >= capacity::attached_max) return false;
    attachments_.push_back(attachment);
    attachments_.back().volume = volume;
    rebuild(model);
    return true;
}

bool ShapeSet::detach(const RobotModel& model, std::uint16_t id) noexcept {
    const auto kept = std::remove_if(attachments_.begin(), attachments_.end(),
                                     [id](const Attachment& attachment) { return attachment.id == id; });
    if (kept == attachments_.end()) return false;
    attachments_.erase(kept, attachments_.end());
    rebuild(model);
    return true;
}

void ShapeSet::rebuild(const RobotModel& model) noexcept {
    volumes_.assign(model.volumes().begin(), model.volumes().end());
    attachment_of_.assign(volumes_.size(), not_attached);
    attachment_index_.assign(volumes_.size(), not_attached);
    for (std::size_t index = 0; index < attachments_.size(); ++index) {
        const Attachment& attachment = attachments_[index];
        const auto link = static_cast<std::size_t>(attachment.volume.link);
        Volume volume;
        volume.body = model.body_of_link(link);
        volume.link = static_cast<std::uint16_t>(link);
        volume.radius_m = attachment.volume.radius_m;
        volume.end_a = model.link_in_body(link) * attachment.volume.end_a;
        volume.end_b = model.link_in_body(link) * attachment.volume.end_b;
        model.bound_reach(volume.body, volume.end_a, volume.end_b, volume.reach);
        place_solid(model, attachment, solids_[index]);
        volumes_.push_back(volume);
        attachment_of_.push_back(attachment.id);
        attachment_index_.push_back(static_cast<std::uint16_t>(index));
    }
    group_by_body(model);
    enumerate_pairs(model);
}

/// A point between others strays no farther from an axis than the farthest of them: the bounding vertices bound the reach of the whole solid.
void ShapeSet::place_solid(const RobotModel& model, const Attachment& attachment, SolidInBody& solid) const noexcept {
    const AttachedSolid& from = attachment.solid;
    const auto link = static_cast<std::size_t>(attachment.volume.link);
    solid.vertex_count = from.vertex_count;
    if (from.vertex_count == 0) return;
    solid.in_body = model.link_in_body(link) * from.in_link;
    solid.disc_m = from.disc_m;
    Vec3 low{1e300, 1e300, 1e300};
    Vec3 high{-1e300, -1e300, -1e300};
    for (std::uint32_t index = 0; index < from.vertex_count; ++index) {
        const Vec3 vertex = from.vertices[index];
        solid.x[index] = vertex.x;
        solid.y[index] = vertex.y;
        solid.z[index] = vertex.z;
        low = {std::min(low.x, vertex.x), std::min(low.y, vertex.y), std::min(low.z, vertex.z)};
        high = {std::max(high.x, vertex.x), std::max(high.y, vertex.y), std::max(high.z, vertex.z)};
    }
    const Vec3 centre = 0.5 * (low + high);
    solid.centre = solid.in_body * centre;
    solid.sphere_radius_m = 0.0;
    solid.reach.fill(0.0);
    for_each_bounding_vertex(from, [&](Vec3 p) noexcept {
        solid.sphere_radius_m = std::max(solid.sphere_radius_m, norm(p - centre));
        const Vec3 in_body = solid.in_body * p;
        std::array<double, capacity::chain_max> reach{};
        model.bound_reach(model.body_of_link(link), in_body, in_body, reach);
        for (std::size_t depth = 0; depth < reach.size(); ++depth) solid.reach[depth] = std::max(solid.reach[depth], reach[depth]);
    });
}

void ShapeSet::group_by_body(const RobotModel& model) noexcept {
    body_volumes_.clear();
    body_volume_first_.clear();
    spheres_.clear();
    for (std::size_t body = 0; body < model.bodies().size(); ++body) {
        const std::size_t first = body_volumes_.size();
        body_volume_first_.push_back(static_cast<std::uint32_t>(first));
        Vec3 low{1e300, 1e300, 1e300};
        Vec3 high{-1e300, -1e300, -1e300};
        for (std::size_t index = 0; index < volumes_.size(); ++index) {
            if (volumes_[index].body != body) continue;
            body_volumes_.push_back(static_cast<std::uint16_t>(index));
            for (const Vec3 end : {volumes_[index].end_a, volumes_[index].end_b}) {
                low = {std::min(low.x, end.x), std::min(low.y, end.y), std::min(low.z, end.z)};
                high = {std::max(high.x, end.x), std::max(high.y, end.y), std::max(high.z, end.z)};
            }
        }
        Sphere sphere;
        if (body_volumes_.size() > first) sphere.centre = 0.5 * (low + high);
        for (std::size_t at = first; at < body_volumes_.size(); ++at) {
            const Volume& volume = volumes_[body_volumes_[at]];
            const double farthest = std::max(norm(volume.end_a - sphere.centre), norm(volume.end_b - sphere.centre));
            sphere.radius_m = std::max(sphere.radius_m, farthest + volume.radius_m);
        }
        spheres_.push_back(sphere);
    }
    body_volume_first_.push_back(static_cast<std::uint32_t>(body_volumes_.size()));
}

/// An attached object does not inherit the exemptions of the link that holds it: only its touch list counts.
bool ShapeSet::pair_checked(const RobotModel& model, std::size_t a, std::size_t b) const noexcept {
    const std::uint16_t attached_a = attachment_index_[a];
    const std::uint16_t attached_b = attachment_index_[b];
    if (attached_a == not_attached && attached_b == not_attached) return !model.pair_allowed(volumes_[a].link, volumes_[b].link);
    if (attached_a != not_attached && attached_b != not_attached) return attachment_of_[a] != attachment_of_[b];
    const Attachment& held = attachments_[attached_a != not_attached ? attached_a : attached_b];
    const std::uint16_t other_link = volumes_[attached_a != not_attached ? b : a].link;
    return !held.touch.test(other_link);
}

void ShapeSet::enumerate_pairs(const RobotModel& model) noexcept {
    body_pairs_.clear();
    volume_pairs_.clear();
    const std::size_t body_count = model.bodies().size();
    for (std::size_t a = 0; a < body_count; ++a) {
        for (std::size_t b = a + 1; b < body_count; ++b) {
            BodyPair pair;
            pair.a = static_cast<std::uint16_t>(a);
            pair.b = static_cast<std::uint16_t>(b);
            pair.common_depth = model.common_depth(a, b);
            pair.first = static_cast<std::uint32_t>(volume_pairs_.size());
            for (const std::uint16_t volume_a : volumes_of_body(a)) {
                for (const std::uint16_t volume_b : volumes_of_body(b)) {
                    if (pair_checked(model, volume_a, volume_b)) volume_pairs_.push_back({volume_a, volume_b});
                }
            }
            pair.count = static_cast<std::uint32_t>(volume_pairs_.size()) - pair.first;
            if (pair.count > 0) body_pairs_.push_back(pair);
        }
    }
}

}  // namespace lastgate::detail
