// SPDX-License-Identifier: Apache-2.0
#include "requests.hpp"

#include <algorithm>

namespace lastgate::kernel {
namespace {

// `Violation::element` of `declared_contact`, as core/src/checks/declared_contact.cpp counts them.
constexpr std::uint32_t too_many = 0;
constexpr std::uint32_t unknown_link = 5;
constexpr std::uint32_t unknown_attached = 6;

/// Calls `each` for every text of a sequence; a huge count ends at the first that is not there.
template <typename Each>
void every_text(CdrReader& reader, Each each) noexcept {
    const auto count = reader.number<std::uint32_t>();
    for (std::uint32_t i = 0; i < count && reader.ok(); ++i) {
        const std::string_view text = reader.text();
        if (reader.ok()) each(text);
    }
}

void write_texts(CdrWriter& writer, std::span<const std::string_view> texts) noexcept {
    writer.number(static_cast<std::uint32_t>(texts.size()));
    for (const auto text : texts) writer.text(text);
}

/// Where a name stands in a list; its size when it does not.
template <typename Names>
std::size_t index_of(const Names& names, std::string_view name) noexcept {
    return static_cast<std::size_t>(std::find_if(names.begin(), names.end(), [&](const auto& known) { return std::string_view(known) == name; }) - names.begin());
}

template <std::size_t count>
void read_doubles(CdrReader& reader, std::array<double, count>& numbers) noexcept {
    for (double& number : numbers) number = reader.number<double>();
}

template <std::size_t count>
void write_doubles(CdrWriter& writer, const std::array<double, count>& numbers) noexcept {
    for (const double number : numbers) writer.number(number);
}

/// Reads one declaration; the blame when a name in it stands for nothing.
std::uint32_t read_contact(CdrReader& reader, const KernelConfig& config, const AttachedNames& held, const WorldNames* world, DeclaredContact& contact) noexcept {
    std::uint32_t blame = none;
    every_text(reader, [&](std::string_view name) {
        const std::size_t link = index_of(config.link_names, name);
        if (link < config.link_names.size() && link < contact.links.size()) contact.links.set(link);
        else blame = unknown_link;
    });
    every_text(reader, [&](std::string_view name) {
        bool known = false;
        for (std::size_t i = 0; i < held.size(); ++i) {
            if (held[i].empty() || held[i].view() != name) continue;
            contact.held.set(i);
            known = true;
        }
        if (!known) blame = unknown_attached;
    });
    every_text(reader, [&](std::string_view name) {
        // An object that is not in this snapshot widens nothing; a name that several have stands for all of them.
        const std::size_t count = world == nullptr ? 0 : std::min<std::size_t>({world->obstacle_count, world->object_id.size(), contact.obstacles.size()});
        for (std::size_t i = 0; i < count; ++i) {
            if (!name.empty() && world->object_id[i] == name) contact.obstacles.set(i);
        }
    });
    contact.fields.set(voxel_slot, reader.number<std::uint8_t>() == 1);
    contact.fields.set(point_slot, reader.number<std::uint8_t>() == 1);
    std::array<double, 3> size{};
    std::array<double, 7> pose{};
    read_doubles(reader, size);
    read_doubles(reader, pose);
    contact.region = make_primitive(PrimitiveKind::box, {size[0], size[1], size[2]}, pose.data());
    contact.expires_s = reader.number<double>();
    return blame;
}

/// One depth per declaration, in the order they were sent: a later addition, so that what was recorded before is read as it was.
bool read_depths(CdrReader& reader, ChunkRequest& request) noexcept {
    if (reader.number<std::uint32_t>() != request.declared) return false;
    for (std::size_t index = 0, kept = 0; index < request.declared && reader.ok(); ++index) {
        const auto depth_m = reader.number<double>();
        if (kept < request.contact_count && request.sent_as[kept] == index) request.contacts[kept++].depth_m = depth_m;
    }
    return reader.ok();
}

}  // namespace

std::optional<ChunkRequest> read_chunk_request(std::span<const std::byte> payload, const KernelConfig& config, const AttachedNames& held, const WorldNames* world) noexcept {
    CdrReader reader(payload);
    ChunkRequest request;
    request.recovery = reader.number<std::uint8_t>() == 1;
    request.declared = reader.number<std::uint32_t>();
    if (request.declared > capacity::declared_contacts_max) {
        request.blame = too_many;
        request.blamed = request.declared;
    }
    for (std::size_t index = 0; index < request.declared && reader.ok(); ++index) {
        DeclaredContact contact;
        const std::uint32_t blame = read_contact(reader, config, held, world, contact);
        if (blame != none && request.blame == none) {
            request.blame = blame;
            request.blamed = index;
        }
        if ((contact.obstacles.none() && contact.fields.none()) || request.contact_count == request.contacts.size()) continue;
        request.sent_as[request.contact_count] = static_cast<std::uint8_t>(index);
        request.contacts[request.contact_count++] = contact;
    }
    request.chunk = reader.sequence<std::uint8_t>();
    if (!reader.at_end() && !read_depths(reader, request)) return std::nullopt;
    if (!reader.at_end()) return std::nullopt;
    return request;
}

std::span<const std::byte> write_chunk_request(bool recovery, std::span<const NamedContact> contacts, std::span<const std::byte> chunk, std::span<std::byte> memory) noexcept {
    CdrWriter writer(memory);
    const auto flag = [&](bool value) { writer.number(static_cast<std::uint8_t>(value ? 1 : 0)); };
    flag(recovery);
    writer.number(static_cast<std::uint32_t>(contacts.size()));
    for (const NamedContact& contact : contacts) {
        write_texts(writer, contact.links);
        write_texts(writer, contact.held_objects);
        write_texts(writer, contact.objects);
        flag(contact.voxels);
        flag(contact.points);
        write_doubles(writer, contact.region_size);
        write_doubles(writer, contact.region_pose);
        writer.number(contact.expires_s);
    }
    writer.octets({reinterpret_cast<const std::uint8_t*>(chunk.data()), chunk.size()});
    if (std::any_of(contacts.begin(), contacts.end(), [](const NamedContact& contact) { return contact.depth_m != 0.0; })) {
        writer.number(static_cast<std::uint32_t>(contacts.size()));
        for (const NamedContact& contact : contacts) writer.number(contact.depth_m);
    }
    return writer.bytes();
}

namespace {

/// False for a solid that has no vertices, or more than there is room for.
bool read_solid(CdrReader& reader, AttachedSolid& solid) noexcept {
    std::array<double, 6> origin{};
    read_doubles(reader, origin);
    const auto disc_m = reader.number<double>();
    const auto count = reader.number<std::uint32_t>();
    std::array<double, 3 * capacity::hull_vertices_max> vertices{};
    if (!reader.ok() || count == 0 || count > vertices.size() || count % 3 != 0) return false;
    for (std::uint32_t index = 0; index < count; ++index) vertices[index] = reader.number<double>();
    solid = make_attached_solid(origin, disc_m, {vertices.data(), count});
    return reader.ok();
}

}  // namespace

std::optional<AttachedShapeRequest> read_attached_shape(std::span<const std::byte> payload, const KernelConfig& config) noexcept {
    CdrReader reader(payload);
    AttachedShapeRequest shape;
    shape.object_id = reader.text();
    shape.link = reader.text();
    shape.radius_m = reader.number<double>();
    read_doubles(reader, shape.ends);
    shape.links_known = true;
    const auto touch = [&](std::string_view name) {
        const std::size_t index = index_of(config.link_names, name);
        const bool known = index < config.link_names.size() && index < shape.touch.size();
        if (known) shape.touch.set(index);
        shape.links_known = shape.links_known && known;
    };
    // The link that carries it always touches it.
    touch(shape.link);
    if (shape.links_known) shape.link_index = static_cast<std::int32_t>(index_of(config.link_names, shape.link));
    every_text(reader, touch);
    if (!reader.at_end() && !read_solid(reader, shape.solid)) return std::nullopt;
    if (!reader.at_end() || shape.object_id.empty()) return std::nullopt;
    return shape;
}

std::span<const std::byte> write_attached_shape(std::string_view object_id, std::string_view link, double radius_m, std::span<const double> ends, std::span<const std::string_view> touch_links, std::span<std::byte> memory, const SolidNumbers& solid) noexcept {
    CdrWriter writer(memory);
    writer.text(object_id);
    writer.text(link);
    writer.number(radius_m);
    for (const double number : ends) writer.number(number);
    write_texts(writer, touch_links);
    if (!solid.vertices_m.empty()) {
        write_doubles(writer, solid.origin_xyz_rpy);
        writer.number(solid.disc_m);
        writer.doubles(solid.vertices_m);
    }
    return writer.bytes();
}

std::optional<std::string_view> read_detach(std::span<const std::byte> payload) noexcept {
    CdrReader reader(payload);
    const std::string_view object_id = reader.text();
    if (!reader.at_end() || object_id.empty()) return std::nullopt;
    return object_id;
}

std::span<const std::byte> write_detach(std::string_view object_id, std::span<std::byte> memory) noexcept {
    CdrWriter writer(memory);
    writer.text(object_id);
    return writer.bytes();
}

std::optional<NavGoalRequest> read_nav_goal(std::span<const std::byte> payload) noexcept {
    CdrReader reader(payload);
    NavGoalRequest goal;
    goal.frame_id = reader.text();
    read_doubles(reader, goal.xyz);
    read_doubles(reader, goal.quat_xyzw);
    if (!reader.at_end()) return std::nullopt;
    return goal;
}

std::span<const std::byte> write_nav_goal(const NavGoalRequest& goal, std::span<std::byte> memory) noexcept {
    CdrWriter writer(memory);
    writer.text(goal.frame_id);
    write_doubles(writer, goal.xyz);
    write_doubles(writer, goal.quat_xyzw);
    return writer.bytes();
}

}  // namespace lastgate::kernel
