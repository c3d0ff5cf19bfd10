// SPDX-License-Identifier: Apache-2.0
#include "world_builder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace lastgate::kernel {
namespace {

/// A pose of fixed-axis angles, as URDF writes them, as position and quaternion.
std::array<double, 7> pose_of_xyzrpy(const double* xyzrpy) {
    const double cr = std::cos(xyzrpy[3] / 2.0), sr = std::sin(xyzrpy[3] / 2.0);
    const double cp = std::cos(xyzrpy[4] / 2.0), sp = std::sin(xyzrpy[4] / 2.0);
    const double cy = std::cos(xyzrpy[5] / 2.0), sy = std::sin(xyzrpy[5] / 2.0);
    return {xyzrpy[0], xyzrpy[1], xyzrpy[2], sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy, cr * cp * sy - sr * sp * cy, cr * cp * cy + sr * sp * sy};
}

/// Brings numbers of the root frame into the base frame; leaves those of the base frame alone.
class IntoBase {
  public:
    IntoBase(const WorldFrames& frames, std::string_view frame_id) : moves_(frames.is_root(frame_id)), motion_(frames.root_in_base()), turn_(pose_of_xyzrpy(frames.root_in_base_xyzrpy.data())) {}

    Vec3 point(Vec3 p) const { return moves_ ? motion_ * p : p; }

    /// Position and quaternion.
    std::array<double, 7> pose(const double* p) const {
        if (!moves_) return {p[0], p[1], p[2], p[3], p[4], p[5], p[6]};
        const Vec3 at = motion_ * Vec3{p[0], p[1], p[2]};
        const double ax = turn_[3], ay = turn_[4], az = turn_[5], aw = turn_[6];
        const double bx = p[3], by = p[4], bz = p[5], bw = p[6];
        return {at.x, at.y, at.z, aw * bx + ax * bw + ay * bz - az * by, aw * by - ax * bz + ay * bw + az * bx, aw * bz + ax * by - ay * bx + az * bw, aw * bw - ax * bx - ay * by - az * bz};
    }

    Transform placed(const Transform& pose) const { return moves_ ? motion_ * pose : pose; }

  private:
    bool moves_;
    Transform motion_;
    std::array<double, 7> turn_;
};

std::vector<double> points_in_base(const std::vector<double>& xyz, const IntoBase& into_base) {
    std::vector<double> moved;
    moved.reserve(xyz.size());
    for (std::size_t i = 0; i + 2 < xyz.size(); i += 3) {
        const Vec3 p = into_base.point({xyz[i], xyz[i + 1], xyz[i + 2]});
        moved.insert(moved.end(), {p.x, p.y, p.z});
    }
    return moved;
}

std::shared_ptr<const ObstacleField> field_of(const VoxelSpec& spec, std::span<const std::uint8_t> occupancy) {
    try {
        return field_of_voxels(spec, occupancy);
    } catch (const std::invalid_argument&) {
        return nullptr;
    }
}

bool is_too_large(const std::array<std::uint32_t, 3>& size) {
    return size[0] > capacity::voxels_per_edge_max || size[1] > capacity::voxels_per_edge_max || size[2] > capacity::voxels_per_edge_max;
}

/// A grid that was given must never be left out: without its table the snapshot rejects, and says why.
void set_voxels(WorldSnapshot& snapshot, std::shared_ptr<const ObstacleField> field, bool too_large, double stamp_s) {
    if (field) snapshot.set_field(voxel_slot, std::move(field), stamp_s);
    else if (too_large) snapshot.overflow_field(voxel_slot);
    else snapshot.spoil_field(voxel_slot);
}

/// The cells around the robot as a field for checks, and the whole map for goals.
void set_floor(NamedWorld& world, const FloorMapMessage& map, const IntoBase& into_base) {
    FloorSpec spec;
    const auto& m = map.window_in_base;
    spec.in_base = into_base.placed({{{m[0], m[4], m[8]}, {m[1], m[5], m[9]}, {m[2], m[6], m[10]}}, {m[3], m[7], m[11]}});
    spec.resolution_m = map.resolution_m;
    spec.size = {map.window_end[0] - map.window_first[0], map.window_end[1] - map.window_first[1]};
    spec.low_m = map.low_m;
    spec.high_m = map.high_m;
    if (spec.size[0] > capacity::voxels_per_edge_max || spec.size[1] > capacity::voxels_per_edge_max) return world.snapshot.spoil_field(floor_slot);
    std::vector<std::uint8_t> blocked;
    blocked.reserve(std::size_t{spec.size[0]} * spec.size[1]);
    for (std::size_t row = map.window_first[1]; row < map.window_end[1]; ++row) {
        for (std::size_t column = map.window_first[0]; column < map.window_end[0]; ++column) blocked.push_back(map.is_blocked(column, row) ? 1 : 0);
    }
    try {
        world.snapshot.set_field(floor_slot, field_of_floor(spec, blocked), map.placed_stamp_s, map.stamp_s + map.age_s_max);
    } catch (const std::invalid_argument&) {
        return world.snapshot.spoil_field(floor_slot);
    }
    world.names.floor_first_column = map.window_first[0];
    world.names.floor_first_row = map.window_first[1];
    world.names.floor_columns = spec.size[0];
    world.occupancy_map = std::make_unique<const OccupancyMap>(map);
}

/// An obstacle that no snapshot can hold, so that the snapshot it is added to cannot be used.
PrimitiveSpec unusable_obstacle() {
    PrimitiveSpec spec;
    spec.radius_m = std::numeric_limits<double>::quiet_NaN();
    return spec;
}

}  // namespace

std::unique_ptr<NamedWorld> WorldBuilder::take(MessageType type, std::span<const std::byte> payload, Now now, MessageSource source) {
    std::unique_ptr<NamedWorld> world;
    switch (type) {
        case MessageType::world_snapshot:
            world = from_snapshot(payload);
            if (world) {
                world->sources = {source, {}};
                world->arrived_s = now.monotonic_s;
            }
            break;
        case MessageType::world_collision:
            if (!read_collision(payload)) break;
            obstacles_source_ = source;
            obstacles_arrived_s_ = now.monotonic_s;
            world = compose();
            break;
        case MessageType::occupancy_voxels:
            if (!read_voxels(payload)) break;
            voxels_source_ = source;
            voxels_arrived_s_ = now.monotonic_s;
            world = compose();
            break;
        default: break;
    }
    return world;
}

std::unique_ptr<NamedWorld> WorldBuilder::from_snapshot(std::span<const std::byte> payload) {
    const auto message = read_world_snapshot(payload);
    if (!message) return nullptr;
    auto world = std::make_unique<NamedWorld>();
    world->names.world_id = std::string(message->world_id);
    world->names.frame_id = std::string(message->frame_id);
    world->names.declared_absent = message->declared_absent;
    if (message->declared_absent) {
        world->snapshot.declare_absent();
        return world;
    }
    // A cloud that says it is empty has no table to carry its stamp: then all of the world is as old as it.
    const bool bare = message->has_points && message->points.empty();
    const double stamp_s = bare && !(message->stamp_s <= message->points_stamp_s) ? message->points_stamp_s : message->stamp_s;
    const IntoBase into_base(frames_, message->frame_id);
    world->snapshot.begin(next_id_++, stamp_s, is_known(message->frame_id, message->has_voxels));
    if (message->is_static) world->snapshot.declare_static(message->static_lasts_s);
    for (std::size_t i = 0; i < message->kinds.size(); ++i) {
        const double* size = &message->sizes_m[3 * i];
        const bool known = message->kinds[i] < primitive_kind_count;
        world->snapshot.add(known ? make_primitive(static_cast<PrimitiveKind>(message->kinds[i]), {size[0], size[1], size[2]}, into_base.pose(&message->xyz_quat_xyzw[7 * i]).data()) : unusable_obstacle());
        world->names.object_id.emplace_back(message->object_id[i]);
    }
    // An empty cloud has no table to carry its stamp, and what never moves none that ages: the cloud's would count for nothing.
    if (message->is_static && bare) world->snapshot.spoil_field(point_slot);
    if (message->has_voxels) {
        const VoxelSpec spec{into_base.point({message->origin[0], message->origin[1], message->origin[2]}), message->resolution, message->size, message->unknown_is_free, message->outside_is_free};
        set_voxels(world->snapshot, field_of(spec, message->occupancy), is_too_large(message->size), message->voxels_stamp_s);
    }
    world->names.obstacle_count = message->obstacle_count;
    if (message->has_floor) set_floor(*world, message->floor, into_base);
    if (message->has_points && !message->points.empty()) {
        try {
            world->snapshot.set_field(point_slot, field_of_points(points_in_base(message->points, into_base)), message->points_stamp_s);
        } catch (const std::invalid_argument&) {
            world->snapshot.spoil_field(point_slot);
        }
    }
    return world;
}

bool WorldBuilder::read_collision(std::span<const std::byte> payload) {
    const auto message = read_world_collision(payload);
    if (!message) return false;
    has_obstacles_ = true;
    obstacles_in_base_ = is_known(message->frame_id, false);
    obstacles_frame_ = std::string(message->frame_id);
    const IntoBase into_base(frames_, message->frame_id);
    obstacles_stamp_s_ = message->stamp.in_seconds();
    obstacles_.clear();
    obstacle_ids_.clear();
    for (std::size_t i = 0; i < message->radius.size(); ++i) {
        const double half_length = message->half_length[i];
        const auto pose = into_base.pose(pose_of_xyzrpy(&message->origin_xyzrpy[6 * i]).data());
        obstacles_.push_back(make_primitive(half_length == 0.0 ? PrimitiveKind::sphere : PrimitiveKind::capsule, {message->radius[i], half_length, 0.0}, pose.data()));
        obstacle_ids_.emplace_back(message->object_id[i]);
    }
    return true;
}

bool WorldBuilder::read_voxels(std::span<const std::byte> payload) {
    const auto message = read_occupancy_voxels(payload);
    if (!message) return false;
    has_voxels_ = true;
    voxels_in_base_ = is_known(message->frame_id, true);
    voxels_frame_ = std::string(message->frame_id);
    const IntoBase into_base(frames_, message->frame_id);
    voxels_stamp_s_ = message->stamp.in_seconds();
    // The message cannot say otherwise: what is unknown or outside counts as solid.
    const VoxelSpec spec{into_base.point({message->origin[0], message->origin[1], message->origin[2]}), message->resolution, message->size, false, false};
    voxels_ = field_of(spec, message->occupancy);
    voxels_too_large_ = is_too_large(message->size);
    return true;
}

std::unique_ptr<NamedWorld> WorldBuilder::compose() {
    auto world = std::make_unique<NamedWorld>();
    const bool in_base = (!has_obstacles_ || obstacles_in_base_) && (!has_voxels_ || voxels_in_base_);
    const std::uint64_t id = next_id_++;
    world->snapshot.begin(id, has_obstacles_ ? obstacles_stamp_s_ : voxels_stamp_s_, in_base);
    world->names.world_id = "world-" + std::to_string(id);
    // The one that cannot be used is the one to speak of.
    world->names.frame_id = has_obstacles_ && (!obstacles_in_base_ || !has_voxels_) ? obstacles_frame_ : voxels_frame_;
    for (const PrimitiveSpec& obstacle : obstacles_) world->snapshot.add(obstacle);
    world->names.object_id = obstacle_ids_;
    world->sources = {obstacles_source_, voxels_source_};
    world->names.obstacle_count = static_cast<std::uint32_t>(obstacle_ids_.size());
    // Since when all of it is here: what still comes must not keep young what no longer does.
    world->arrived_s = has_obstacles_ && has_voxels_ ? std::min(obstacles_arrived_s_, voxels_arrived_s_) : has_obstacles_ ? obstacles_arrived_s_ : voxels_arrived_s_;
    if (has_voxels_) {
        set_voxels(world->snapshot, voxels_, voxels_too_large_, voxels_stamp_s_);
    }
    return world;
}

}  // namespace lastgate::kernel
