// SPDX-License-Identifier: Apache-2.0
// Declared contacts: where the margin of a pair may shrink to touching.
#include <algorithm>

#include "lastgate/containment.hpp"
#include "sweep.hpp"

namespace lastgate {

void Sweep::set_contacts(std::span<const DeclaredContact> contacts, const WorldSnapshot* world, std::span<const std::uint32_t> last_segment) noexcept {
    contacts_ = contacts;
    contact_world_ = world;
    std::copy(last_segment.begin(), last_segment.end(), contact_last_segment_);
}

bool Sweep::is_declared(const DeclaredContact& contact, PairKind kind, const OpenItem& item) const noexcept {
    if (world_ != contact_world_) return false;  // a zone is no obstacle of the snapshot, whatever its number
    const std::uint16_t held = gate_.shapes_.attachment_of(item.a);
    const bool subject = held == not_attached ? contact.links.test(gate_.shapes_.volumes()[item.a].link)
                                              : held < capacity::attached_max && contact.held.test(held);
    if (kind == PairKind::world) return subject && contact.obstacles.test(item.b);
    return kind == PairKind::field && subject && contact.fields.test(item.b);
}

bool Sweep::rely_on_contacts(PairKind kind, const OpenItem& item) noexcept {
    for (std::size_t index = 0; index < contacts_.size(); ++index) {
        const std::uint32_t bit = 1U << index;
        if ((relied_ & bit) != 0 || !is_declared(contacts_[index], kind, item)) continue;
        relied_ |= bit;
        return true;
    }
    return false;
}

/// What a pair in a declared contact must exceed: nothing but what is not known about where it is.
double Sweep::touching_demand(PairKind kind, const OpenItem& item) const noexcept {
    return extra_m_ + pair_motion(kind, item, gate_.uncertainty_);
}

/// The distance with which a pair is judged against its whole demand. It exceeds the demand where the true distance
/// does, or where the volume lies inside the region of a contact and does not touch. Like the distance itself it
/// changes by at most what the volume moves, because depth and distance do: what is shown by it is shown between
/// samples too.
double Sweep::with_contacts(PairKind kind, const OpenItem& item, std::size_t segment, const Transform* frames, double distance_m) const noexcept {
    double judged_m = distance_m;
    for (std::size_t index = 0; index < contacts_.size(); ++index) {
        const DeclaredContact& contact = contacts_[index];
        const bool counts = (relied_ >> index & 1U) != 0 && segment <= contact_last_segment_[index] && is_declared(contact, kind, item);
        if (!counts) continue;
        const double depth_m = depth_inside_box(core_in_base(item.a, frames), contact.region.in_base, contact.region.half_extents_m) -
                               gate_.shapes_.volumes()[item.a].radius_m;
        judged_m = std::max(judged_m, std::min(distance_m, depth_m) - touching_demand(kind, item) + item.demand_m);
    }
    return judged_m;
}

}  // namespace lastgate
