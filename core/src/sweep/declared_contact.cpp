// SPDX-License-Identifier: Apache-2.0
// Declared contacts: where the margin of a pair may shrink to touching.
#include <algorithm>

#include "geometry/containment.hpp"
#include "sweep.hpp"

namespace lastgate::detail {
namespace {

/// Whether a contact is about a pair.
bool names(const Sweep& sweep, const DeclaredContact& contact, PairKind kind, const OpenItem& item) noexcept {
    // A zone is no obstacle of the snapshot, whatever its number.
    if (kind != PairKind::world && kind != PairKind::field) return false;
    const std::uint16_t held = sweep.setup.shapes.attachment_of(item.a);
    const bool subject = held == not_attached ? contact.links.test(sweep.setup.shapes.volumes()[item.a].link)
                                              : held < capacity::attached_max && contact.held.test(held);
    return subject && (kind == PairKind::world ? contact.obstacles.test(item.b) : contact.fields.test(item.b));
}

}  // namespace

void Sweep::set_contacts(std::span<const DeclaredContact> contacts, std::span<const std::uint32_t> last_segment) noexcept {
    declared = contacts;
    std::copy(last_segment.begin(), last_segment.end(), declared_last_segment.begin());
}

bool Sweep::rely_on_contacts(PairKind kind, const OpenItem& item) noexcept {
    for (std::size_t index = 0; index < declared.size(); ++index) {
        const std::uint32_t bit = 1U << index;
        if ((contacts_relied_on & bit) != 0 || !names(*this, declared[index], kind, item)) continue;
        contacts_relied_on |= bit;
        return true;
    }
    return false;
}

/// What a pair in a declared contact must exceed: nothing but what is not known about where it is.
double Sweep::required_touching(PairKind kind, const OpenItem& item) const noexcept {
    return extra_m + pair_motion(kind, item, workspace.uncertainty);
}

bool Sweep::counts(std::size_t contact, PairKind kind, const OpenItem& item, std::size_t segment) const noexcept {
    return (contacts_relied_on >> contact & 1U) != 0 && segment <= declared_last_segment[contact] && names(*this, declared[contact], kind, item);
}

bool Sweep::has_contact(PairKind kind, const OpenItem& item, std::size_t segment) const noexcept {
    for (std::size_t index = 0; index < declared.size(); ++index) {
        if (counts(index, kind, item, segment)) return true;
    }
    return false;
}

namespace {

/// Whether the distance of a capsule axis from something solid is known: inside a box, a cylinder or a field it is zero however deep it lies.
bool is_depth_known(const Sweep& sweep, PairKind kind, const OpenItem& item, double axis_m) noexcept {
    const bool solid = kind == PairKind::field || is_solid(sweep.world->primitives()[item.b].kind);
    return !solid || axis_m > 0.0;
}

}  // namespace

/// The distance with which a pair is evaluated against its whole required distance. It exceeds the required distance
/// where the true distance does, or where the volume lies inside the region of a contact and overlaps no deeper than
/// declared. Like the distance itself it changes by at most what the volume moves, because depth and distance do: what
/// is certified by it is certified between samples too. A direction that parts the two at the sample, and is held, parts
/// them with as much less as they move.
double Sweep::with_contacts(PairKind kind, const OpenItem& item, std::size_t segment, const Transform* frames, double distance_m) const noexcept {
    double compared_m = distance_m;
    const double radius_m = setup.shapes.volumes()[item.a].radius_m;
    for (std::size_t index = 0; index < declared.size(); ++index) {
        const DeclaredContact& contact = declared[index];
        if (!counts(index, kind, item, segment) || !is_depth_known(*this, kind, item, distance_m + radius_m)) continue;
        // Behind the surface of a field nothing is known: the axis stays outside.
        const double allowed_m = kind == PairKind::field ? std::min(contact.depth_m, radius_m) : contact.depth_m;
        const double inside_m = depth_inside_box(axis_in_base(item.a, frames), contact.region.in_base, contact.region.half_extents_m) - radius_m;
        compared_m = std::max(compared_m, std::min(distance_m + allowed_m, inside_m) - required_touching(kind, item) + item.required_m);
    }
    return compared_m;
}

/// What a pair is held to where a contact counts, for the report: touching less the depth, or the whole distance where it keeps that.
double Sweep::required_in_contact(PairKind kind, const OpenItem& item, std::size_t segment, double distance_m) const noexcept {
    double least_m = item.required_m;
    for (std::size_t index = 0; index < declared.size(); ++index) {
        if (counts(index, kind, item, segment)) least_m = std::min(least_m, required_touching(kind, item) - declared[index].depth_m);
    }
    return distance_m > least_m ? item.required_m : least_m;
}

}  // namespace lastgate::detail
