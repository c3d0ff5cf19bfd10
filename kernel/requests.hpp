// SPDX-License-Identifier: Apache-2.0
// What is asked through a channel and has no message of its own on the wire.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "evidence.hpp"
#include "lastgate/gate.hpp"
#include "messages.hpp"

namespace lastgate::kernel {

/// A chunk together with what an ActionChunk cannot say. In one message, so that a chunk can never be checked
/// under a declaration that was meant for another.
struct ChunkRequest {
    bool recovery = false;
    std::span<const std::byte> chunk;  ///< The ActionChunk, as it is to pass on.
    std::array<DeclaredContact, capacity::declared_contacts_max> contacts;
    std::array<std::uint8_t, capacity::declared_contacts_max> sent_as{};  ///< Which of those sent each one is.
    std::size_t contact_count = 0;
    std::size_t declared = 0;          ///< How many were sent; some may be about things that are not there.
    std::uint32_t blame = none;        ///< As in `Violation::element` of `declared_contact`, when one cannot be used.
    std::size_t blamed = 0;
};

/// Reads a request, names turned into what they stand for here and now. Nothing when the bytes are not exactly one.
std::optional<ChunkRequest> read_chunk_request(std::span<const std::byte> payload, const KernelConfig& config, const AttachedNames& held, const WorldNames* world) noexcept;

/// One declaration, by names.
struct NamedContact {
    std::vector<std::string_view> links;
    std::vector<std::string_view> held_objects;
    std::vector<std::string_view> objects;
    bool voxels = false;
    bool points = false;
    std::array<double, 3> region_size{};
    std::array<double, 7> region_pose{};
    double expires_s = 0.0;
    double depth_m = 0.0;
};
std::span<const std::byte> write_chunk_request(bool recovery, std::span<const NamedContact> contacts, std::span<const std::byte> chunk, std::span<std::byte> memory) noexcept;

/// A sphere, capsule or solid that a link carries from now on.
struct AttachedShapeRequest {
    std::string_view object_id;
    std::string_view link;
    double radius_m = 0.0;
    std::array<double, 6> ends{};
    std::bitset<capacity::links_max> touch;
    std::int32_t link_index = -1;
    bool links_known = false;  ///< Every link it names exists.
    AttachedSolid solid;       ///< Of the link; with vertices, the sphere or capsule says nothing.
};
/// The same as it is sent; without vertices there is none.
struct SolidNumbers {
    std::array<double, 6> origin_xyz_rpy{};
    double disc_m = 0.0;
    std::span<const double> vertices_m;
};
std::optional<AttachedShapeRequest> read_attached_shape(std::span<const std::byte> payload, const KernelConfig& config) noexcept;
std::span<const std::byte> write_attached_shape(std::string_view object_id, std::string_view link, double radius_m, std::span<const double> ends, std::span<const std::string_view> touch_links, std::span<std::byte> memory, const SolidNumbers& solid = {}) noexcept;

/// The name of what is detached.
std::optional<std::string_view> read_detach(std::span<const std::byte> payload) noexcept;
std::span<const std::byte> write_detach(std::string_view object_id, std::span<std::byte> memory) noexcept;

/// Where a base is to stand, in the frame of the map.
struct NavGoalRequest {
    std::string_view frame_id;
    std::array<double, 3> xyz{};
    std::array<double, 4> quat_xyzw{};
};
std::optional<NavGoalRequest> read_nav_goal(std::span<const std::byte> payload) noexcept;
std::span<const std::byte> write_nav_goal(const NavGoalRequest& goal, std::span<std::byte> memory) noexcept;

}  // namespace lastgate::kernel
