// SPDX-License-Identifier: Apache-2.0
// All memory that a check works in. Allocated with the gate and never again; passed by reference.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "lastgate/capacity.hpp"
#include "geometry/distance.hpp"
#include "simd/simd_model.hpp"
#include "lastgate/robot_model.hpp"
#include "world/obstacle_field.hpp"
#include "pair_kind.hpp"

namespace lastgate::detail {

/// One pair that a row could not certify: volume and volume, volume and primitive, or an effector and its box.
struct Item {
    std::uint32_t row = 0;
    std::uint32_t key = 0;  ///< Grows within a row, so that the lists of two rows can be merged.
    std::uint16_t a = 0;
    std::uint16_t b = 0;
};

/// An item inside one segment, with what it needs to be certified.
struct OpenItem {
    std::uint32_t key = 0;
    std::uint16_t a = 0;
    std::uint16_t b = 0;
    double motion_m = 0.0;  ///< Bound on the change of its distance over the whole segment.
    double required_m = 0.0;  ///< Distance it must exceed.
};

/// A pair that starts inside its margin, while recovering.
struct StartContact {
    std::uint16_t a = 0;
    std::uint16_t b = 0;
    PairKind kind = PairKind::self;
    double distance_m = 0.0;
    /// How far the convex hulls of the pair have been apart at most, negative while they overlap. Minus infinity where that cannot be
    /// told: there are none, or vertices of one lie between those of the other.
    double hulls_m = -std::numeric_limits<double>::infinity();
    /// With a field: which of its obstacles were inside the margin. All others keep the whole margin.
    std::uint32_t touched_first = 0;
    std::uint32_t touched_count = 0;
};

/// "Row" counts the measured state as row 0 and the chunk's rows from 1.
struct SweepWorkspace {
    SweepWorkspace(const RobotModel& model, const SimdModel& simd);

    /// The memory of one group of eight configurations. What is not read once a group is placed, all groups share.
    SimdGroup simd_group(std::size_t index) noexcept;
    /// What was closest in the last check is no hint for the next: its indices meant other volumes.
    void forget_closest(const SimdTables& tables) noexcept;

    // The path that is checked.
    std::vector<double> path;         ///< (rows + 1) x variables.
    std::size_t path_rows = 0;        ///< Of all that is swept: what is to be executed, and beyond it what a stop may need.
    std::size_t lead_rows = 0;        ///< Of the motion that runs until the chunk takes over.
    std::size_t motion_rows = 0;      ///< Those and the chunk's: all but the stop's.
    std::vector<double> row_time_s;   ///< When each row is reached, from the measured state on.
    std::vector<double> braking_s;    ///< Per segment, by the row it leads to: how long a stop asked for in it takes to brake.
    std::vector<double> running_start;  ///< Where the running motion is commanded to be as the check begins, if one runs.
    std::vector<double> stop_centre;    ///< Per segment and variable, for stops in which joints brake alone: what they reach is within
    std::vector<double> stop_half;      ///< this of that.
    bool stops_along_path = false;      ///< Rather than every joint alone.
    double stop_time_s = 0.0;         ///< The longest stop, from the moment it is asked for.
    std::vector<double> uncertainty;  ///< Per variable: half width of what is not known about it.

    // Rows in double, where SIMD leaves them unresolved.
    std::vector<std::uint8_t> row_placed;
    std::vector<Transform> frames;     ///< (rows + 1) x bodies.
    std::vector<Segment> axes;        ///< (rows + 1) x volumes, in the base frame.
    std::vector<Vec3> centres;         ///< (rows + 1) x bodies: centres of their spheres.
    std::vector<double> body_motion;   ///< (rows + 1) x bodies: how far any capsule axis of the body strays from its row pose.
    std::vector<double> tails;         ///< bodies x (chain + 1): motion relative to the frame above each depth.

    // Motion per variable.
    std::vector<double> row_half_step;  ///< Of the row being scanned: to the middle of the longer segment beside it.
    std::vector<double> segment_step;   ///< Of the segment being bisected: from its first row to its second.
    std::vector<double> to_before;      ///< From a sampled instant back and on, with signs: see PathInterval.
    std::vector<double> to_after;
    std::vector<double> no_step;     ///< Zero, for single configurations.
    std::vector<double> probe_step;  ///< One variable of a box of configurations at a time.
    std::vector<double> tool_step;   ///< Of the step whose tool speeds are checked.
    std::vector<double> probe_half;  ///< Of a part of the stops of a segment.
    std::vector<double> half_width;  ///< Torque: how far each variable can get within the horizon.

    // One instant between steps.
    std::vector<double> sample;
    std::vector<Transform> sample_frames;

    // What is not certified yet.
    std::vector<Item> items;      ///< What rows could not certify, by row.
    std::array<std::size_t, capacity::path_rows_max + 3> item_first{};  ///< Per row; written up to the last scanned row before it is read.
    std::vector<OpenItem> arena;  ///< Item lists of open intervals.
    std::vector<double> boxes;    ///< Of a reachable set, boxes that wait: centre and half width per variable.
    std::vector<StartContact> start_contacts;
    std::vector<TouchedObstacle> touched;  ///< Of the contacts with fields, contact by contact.

    // The broad phase.
    std::vector<BodyPrimitive> shortlist;  ///< Sized for every body and obstacle.
    std::size_t shortlist_count = 0;
    std::vector<float> simd_memory;
    std::vector<float> start_tools;        ///< The tools in row 0, as in SimdGroup.
    std::vector<std::uint8_t> simd_placed;  ///< groups x bodies.
    std::vector<SimdGroup> simd_groups;     ///< The groups of one chunk.
    std::vector<double> simd_variables;     ///< variables x 8.
    std::vector<std::uint8_t> simd_unresolved;   ///< groups x entries: which configurations of a group an entry leaves open.
    std::array<std::uint8_t, capacity::path_rows_max / lane_count> group_unresolved{};  ///< Which rows of a group any entry leaves open.
    SimdHint chunk_hint;  ///< What was closest last time: changes how long a check takes, nothing else.
    SimdHint batch_hint;
    std::vector<std::uint32_t> chunk_closest;  ///< Per body pair, for the hints.
    std::vector<std::uint32_t> batch_closest;

  private:
    std::size_t body_count_;
    std::size_t volume_count_;
    std::size_t effector_count_;
    std::size_t tail_count_;
    std::size_t simd_placing_size() const noexcept;
    std::size_t simd_group_size() const noexcept;
};

}  // namespace lastgate::detail
