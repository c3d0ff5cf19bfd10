// SPDX-License-Identifier: Apache-2.0
// declared_contact: a declaration that cannot be used is not ignored, because its author meant something.
#include <array>
#include <cmath>

#include "validation.hpp"

namespace lastgate::detail {
namespace {

/// What is wrong with a declaration, in `Violation::element`.
enum Cause : std::uint32_t { too_many = 0, region = 1, expiry_or_depth = 2, without_subject = 3, nothing = 4, unknown_link = 5, unknown_attached = 6, unknown_obstacle = 7 };

template <std::size_t Size>
bool any_from(const std::bitset<Size>& bits, std::size_t first) noexcept {
    return first < Size && (bits >> first).any();
}

}  // namespace

/// The last segment of the path that ends before the contact expires. The stop counts as one: all of it, or nothing.
std::uint32_t Validation::contact_last_segment(double expires_s) const noexcept {
    const double left_s = expires_s - request_.now_s;
    if (!(left_s >= 0.0)) return 0;
    const double lead_s = workspace_.lead_rows > 0 ? workspace_.row_time_s[workspace_.lead_rows] : 0.0;
    const double chunk_s = lead_s + config().step_s * static_cast<double>(request_.chunk.row_count);
    if (left_s >= chunk_s + (plans_stop_ ? workspace_.stop_time_s : 0.0)) return none;
    if (left_s >= chunk_s) return sweeps_reachable_set_ ? 1 : static_cast<std::uint32_t>(workspace_.motion_rows);
    // Strokes of a gripper and reaches of a torque have no time of their own: then it is all or nothing.
    const bool rows_are_steps = rows_are_segments_ && (is_timed_joint_path() || mode() == ControlMode::body_twist);
    if (!rows_are_steps || left_s < lead_s) return 0;
    return static_cast<std::uint32_t>(workspace_.lead_rows) + static_cast<std::uint32_t>((left_s - lead_s) / config().step_s);
}

bool Validation::check_declared_contact() noexcept {
    const auto contacts = request_.contacts;
    if (contacts.empty()) return true;
    const auto reject_for = [&](Cause cause, std::size_t index) noexcept {
        Violation violation;
        violation.code = ViolationCode::declared_contact;
        violation.element = cause;
        violation.value = static_cast<double>(index);
        violation.limit_max = static_cast<double>(capacity::declared_contacts_max);
        return reject(violation);
    };
    if (contacts.size() > capacity::declared_contacts_max) return reject_for(too_many, contacts.size());
    std::bitset<capacity::attached_max> attached;
    for (std::size_t volume = 0; volume < setup_.shapes.volumes().size(); ++volume) {
        const std::uint16_t held = setup_.shapes.attachment_of(volume);
        if (held < capacity::attached_max) attached.set(held);
    }
    std::array<std::uint32_t, capacity::declared_contacts_max> last_segment{};
    for (std::size_t index = 0; index < contacts.size(); ++index) {
        const DeclaredContact& contact = contacts[index];
        if (contact.region.kind != PrimitiveKind::box || !is_usable(contact.region)) return reject_for(region, index);
        if (!std::isfinite(contact.expires_s)) return reject_for(expiry_or_depth, index);
        if (!(contact.depth_m >= 0.0 && contact.depth_m <= capacity::contact_depth_m_max)) return reject_for(expiry_or_depth, index);
        if (contact.links.none() && contact.held.none()) return reject_for(without_subject, index);
        if (contact.obstacles.none() && contact.fields.none()) return reject_for(nothing, index);
        if (any_from(contact.links, model().link_count())) return reject_for(unknown_link, index);
        if ((contact.held & ~attached).any()) return reject_for(unknown_attached, index);
        if (any_from(contact.obstacles, request_.world->primitives().size())) return reject_for(unknown_obstacle, index);
        last_segment[index] = contact_last_segment(contact.expires_s);
    }
    sweep_.set_contacts(contacts, last_segment);
    return true;
}

}  // namespace lastgate::detail
