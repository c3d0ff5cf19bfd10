// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>

#include "kernel.hpp"
#include "ring.hpp"
#include "world_frames.hpp"

namespace lastgate::kernel {

/// Makes worlds of the messages that arrive. Obstacles, voxels and a whole snapshot may come from three sources; a
/// world is made of the newest of each, and is as old as the oldest of them.
class WorldBuilder {
  public:
    explicit WorldBuilder(WorldFrames frames, std::uint64_t first_id = 1) : frames_(std::move(frames)), next_id_(first_id) {}

    /// Takes one message. Null when it is not a world at all; what it says is then ignored, and the world before it
    /// grows stale. A world that can be read but not used (over capacity, not finite, another frame) is returned,
    /// and every check calls it unavailable.
    /// `source` says where it came from, for readers that ask what a world was made of.
    std::unique_ptr<NamedWorld> take(MessageType type, std::span<const std::byte> payload, Now now, MessageSource source = {});

  private:
    std::unique_ptr<NamedWorld> from_snapshot(std::span<const std::byte> payload);
    bool read_collision(std::span<const std::byte> payload);
    bool read_voxels(std::span<const std::byte> payload);
    std::unique_ptr<NamedWorld> compose();
    /// Whether numbers in this frame can be brought into the base frame; those of a grid only if nothing turns its axes.
    bool is_known(std::string_view frame_id, bool with_grid) const { return frames_.is_base(frame_id) || (frames_.is_root(frame_id) && !(with_grid && frames_.is_turned())); }

    WorldFrames frames_;
    std::uint64_t next_id_;
    // Newest WorldCollision.
    bool has_obstacles_ = false;
    bool obstacles_in_base_ = false;
    std::string obstacles_frame_;
    double obstacles_stamp_s_ = 0.0;
    double obstacles_arrived_s_ = 0.0;  ///< Monotonic.
    std::vector<PrimitiveSpec> obstacles_;
    std::vector<std::string> obstacle_ids_;
    MessageSource obstacles_source_;
    // Newest OccupancyVoxels.
    bool has_voxels_ = false;
    bool voxels_in_base_ = false;
    std::string voxels_frame_;
    bool voxels_too_large_ = false;
    double voxels_stamp_s_ = 0.0;
    double voxels_arrived_s_ = 0.0;
    std::shared_ptr<const ObstacleField> voxels_;
    MessageSource voxels_source_;
};

}  // namespace lastgate::kernel
