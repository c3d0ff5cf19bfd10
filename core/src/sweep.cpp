// SPDX-License-Identifier: Apache-2.0
#include "sweep.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "lastgate/tolerance.hpp"

namespace lastgate {

namespace {

/// How much of a row stands in double.
constexpr std::uint8_t row_frames = 1;
constexpr std::uint8_t row_cores = 2;

}  // namespace

// ---- Rows: frames, cores, motion bounds -----------------------------------------------------------

/// Cores and balls of one row in double, for rows that the lanes leave in doubt.
void Sweep::place_cores(std::size_t row_index) noexcept {
    const Transform* frames = frames_of_row(row_index);
    if (gate_.row_placed_[row_index] == row_cores) return;
    gate_.row_placed_[row_index] = row_cores;
    const auto volumes = gate_.shapes_.volumes();
    Segment* cores = gate_.cores_.data() + row_index * (gate_.model_->volumes().size() + capacity::attached_max);
    for (std::size_t index = 0; index < volumes.size(); ++index) cores[index] = core_in_base(index, frames);
    const auto balls = gate_.shapes_.balls();
    Vec3* centres = gate_.centres_.data() + row_index * body_count();
    for (std::size_t body = 0; body < body_count(); ++body) centres[body] = frames[body] * balls[body].centre;
}

/// How far each variable can be from this row within half a segment.
void Sweep::fill_half_step(std::size_t row_index) noexcept {
    const double* at = row(row_index);
    for (std::size_t variable = 0; variable < variable_count(); ++variable) {
        double largest = 0.0;
        if (row_index > 0) largest = std::abs(at[variable] - row(row_index - 1)[variable]);
        if (row_index < gate_.path_rows_) largest = std::max(largest, std::abs(row(row_index + 1)[variable] - at[variable]));
        gate_.step_[variable] = 0.5 * largest;
    }
}

/// Motion of every body's cores relative to the frame above each joint of its chain.
void Sweep::bound_row_motion(std::size_t row_index, std::span<const double> half_step) noexcept {
    double* body_motion = gate_.body_motion_.data() + row_index * body_count();
    for (std::size_t body = 0; body < body_count(); ++body) {
        const auto chain = gate_.model_->chain(body);
        double* tail = gate_.tails_.data() + body * (capacity::chain_max + 1);
        const double* reach = gate_.body_reach_.data() + body * capacity::chain_max;
        double sum = 0.0;
        tail[chain.size()] = 0.0;
        for (std::size_t depth = chain.size(); depth > 0; --depth) {
            const std::size_t variable = gate_.model_->bodies()[chain[depth - 1]].dof;
            sum += (half_step[variable] + gate_.uncertainty_[variable]) * reach[depth - 1];
            tail[depth - 1] = sum;
        }
        body_motion[body] = sum;
    }
}

void Sweep::place_rows() noexcept {
    std::fill_n(gate_.row_placed_.begin(), gate_.path_rows_ + 1, std::uint8_t{0});
    if (gate_.path_rows_ > 0) place_lanes();
}

const Transform* Sweep::frames_of_row(std::size_t row_index) noexcept {
    Transform* frames = gate_.frames_.data() + row_index * body_count();
    if (gate_.row_placed_[row_index] == 0) {
        gate_.row_placed_[row_index] = row_frames;
        forward_kinematics(*gate_.model_, row(row_index), {frames, body_count()});
        ++evaluations_;
    }
    return frames;
}

double Sweep::tool_motion(std::size_t effector, std::size_t row_index) noexcept {
    for (std::size_t variable = 0; variable < variable_count(); ++variable) {
        gate_.step_[variable] = std::abs(row(row_index)[variable] - row(row_index - 1)[variable]);
    }
    return motion_of_effector(effector, gate_.step_);
}

double Sweep::tool_turn(std::size_t effector, std::size_t row_index) const noexcept {
    double sum = 0.0;
    for (const std::uint16_t body : gate_.model_->chain(gate_.model_->effectors()[effector].body)) {
        const Body& joint = gate_.model_->bodies()[body];
        if (joint.kind != JointKind::revolute) continue;
        sum += std::abs(joint.multiplier * (row(row_index)[joint.dof] - row(row_index - 1)[joint.dof]));
    }
    return sum;
}

double Sweep::reach_from_tool(std::size_t effector, const Transform* frames) const noexcept {
    const Effector& tool = gate_.model_->effectors()[effector];
    const Vec3 at = frames[tool.body] * tool.in_body.translation;
    const std::size_t depth = gate_.model_->bodies()[tool.body].depth;
    double farthest_m = 0.0;
    for (std::size_t index = 0; index < volume_count(); ++index) {
        const Volume& shape = gate_.shapes_.volumes()[index];
        if (gate_.model_->common_depth(shape.body, tool.body) != depth) continue;
        const Segment core = core_in_base(index, frames);
        const double core_m = std::max(norm(core.a - at), norm(core.b - at));
        farthest_m = std::max(farthest_m, core_m + shape.radius_m + motion_of_volume(index, depth, gate_.uncertainty_));
    }
    return farthest_m;
}

// ---- One pair -------------------------------------------------------------------------------------

Segment Sweep::core_in_base(std::size_t volume, const Transform* frames) const noexcept {
    const Volume& shape = gate_.shapes_.volumes()[volume];
    const Transform& frame = frames[shape.body];
    return {frame * shape.end_a, frame * shape.end_b};
}

double Sweep::motion_of_volume(std::size_t volume, std::size_t from_depth, std::span<const double> step) const noexcept {
    const Volume& shape = gate_.shapes_.volumes()[volume];
    const auto chain = gate_.model_->chain(shape.body);
    double sum = 0.0;
    for (std::size_t depth = from_depth; depth < chain.size(); ++depth) {
        sum += step[gate_.model_->bodies()[chain[depth]].dof] * shape.reach[depth];
    }
    return sum;
}

double Sweep::motion_of_effector(std::size_t effector, std::span<const double> step) const noexcept {
    const Effector& point = gate_.model_->effectors()[effector];
    const auto chain = gate_.model_->chain(point.body);
    double sum = 0.0;
    for (std::size_t depth = 0; depth < chain.size(); ++depth) {
        sum += step[gate_.model_->bodies()[chain[depth]].dof] * point.reach[depth];
    }
    return sum;
}

/// Never smaller than the change of the pair's distance when each variable moves by `step`.
double Sweep::pair_motion(PairKind kind, const OpenItem& item, std::span<const double> step) const noexcept {
    if (kind == PairKind::box) return motion_of_effector(item.a, step);
    if (kind != PairKind::self) return motion_of_volume(item.a, 0, step);
    const auto volumes = gate_.shapes_.volumes();
    const std::uint16_t common = gate_.model_->common_depth(volumes[item.a].body, volumes[item.b].body);
    return motion_of_volume(item.a, common, step) + motion_of_volume(item.b, common, step);
}

/// The distance a pair must exceed: margin, widening, and what an unknown gripper could add.
double Sweep::demand(PairKind kind, std::uint16_t a, std::uint16_t b) const noexcept {
    const double unknown_m = pair_motion(kind, {0, a, b, 0.0, 0.0}, gate_.uncertainty_);
    if (kind == PairKind::box) return unknown_m + extra_m_;
    const double margin_m = (kind == PairKind::self ? gate_.config_.self_margin_m : gate_.config_.world_margin_m) + extra_m_ + unknown_m;
    for (const StartContact& contact : gate_.contacts_) {
        // While recovering, a pair that starts inside its margin may not come closer than it is.
        if (contact.kind == kind && contact.a == a && contact.b == b) {
            return std::min(margin_m, contact.distance_m - tolerance::resolution_m);
        }
    }
    return margin_m;
}

/// How far a field must be searched to decide about an item, and to say how clear it is.
double Sweep::field_reach(const OpenItem& item, double motion_m) const noexcept {
    return item.demand_m + motion_m + std::max(best_m_, tolerance::resolution_m);
}

Witness Sweep::measure(PairKind kind, const OpenItem& item, const Transform* frames, double within_m) noexcept {
    if (kind == PairKind::box) {
        const Effector& effector = gate_.model_->effectors()[item.a];
        const Vec3 tool = frames[effector.body] * effector.in_body.translation;
        const WorkspaceBox& box = *gate_.config_.workspace_box;
        const double inside_m = std::min({tool.x - box.min.x, box.max.x - tool.x, tool.y - box.min.y, box.max.y - tool.y,
                                          tool.z - box.min.z, box.max.z - tool.z});
        return {inside_m, tool, tool};
    }
    if (kind == PairKind::keep_in) return measure_depth(item, frames);
    const auto volumes = gate_.shapes_.volumes();
    const double radius_a = volumes[item.a].radius_m;
    const Segment core_a = core_in_base(item.a, frames);
    Witness witness{};
    double radius_b = 0.0;
    if (kind == PairKind::self) {
        witness = distance_segment_segment(core_a, core_in_base(item.b, frames));
        radius_b = volumes[item.b].radius_m;
    } else if (kind == PairKind::field) {
        witness = world_->field(item.b)->distance(core_a, std::max(within_m + radius_a, 0.0), last_obstacle_);
    } else {
        const Primitive& primitive = world_->primitives()[item.b];
        const bool round = primitive.kind == PrimitiveKind::sphere || primitive.kind == PrimitiveKind::capsule;
        // From core to core, so that a core inside a round obstacle keeps its direction.
        witness = round ? distance_segment_segment(core_a, primitive.core) : distance_segment_primitive(core_a, primitive);
        radius_b = round ? primitive.radius_m : 0.0;
    }
    const Vec3 apart = witness.on_second - witness.on_first;
    // A core below the face of a half-space has its nearest point behind it: outwards is the other way.
    const double length = witness.distance_m < 0.0 ? -norm(apart) : norm(apart);
    if (length != 0.0) {
        witness.on_first = witness.on_first + (radius_a / length) * apart;
        witness.on_second = witness.on_second - (radius_b / length) * apart;
    }
    witness.distance_m -= radius_a + radius_b;
    return witness;
}

namespace {

/// A box may be touched from inside; shapes may not touch.
bool is_violated(PairKind kind, double distance_m, double demand_m) noexcept {
    return kind == PairKind::box ? !(distance_m >= demand_m) : !(distance_m > demand_m);
}

bool is_shown(PairKind kind, double distance_m, double demand_m, double motion_m) noexcept {
    return kind == PairKind::box ? distance_m >= demand_m + motion_m
                                 : distance_m > demand_m + motion_m + tolerance::rounding_m;
}

}  // namespace

// ---- Scanning rows --------------------------------------------------------------------------------

/// Records a pair that this row could not show clear. True when the row itself violates.
bool Sweep::note(PairKind kind, std::size_t row_index, std::uint32_t key, std::uint16_t a, std::uint16_t b,
                 double distance_m) noexcept {
    const double demand_m = demand(kind, a, b);
    const double motion_m = pair_motion(kind, {key, a, b, 0.0, 0.0}, gate_.step_);
    double here_m = distance_m;
    if (relied_ != 0) {
        // The row ends one segment and starts the next: to clear both, a contact must be declared for both.
        const OpenItem item{key, a, b, motion_m, demand_m};
        here_m = with_contacts(kind, item, std::max<std::size_t>(row_index, 1), frames_of_row(row_index), distance_m);
        distance_m = with_contacts(kind, item, std::min(row_index + 1, gate_.path_rows_), frames_of_row(row_index), distance_m);
    }
    if (is_shown(kind, distance_m, demand_m, motion_m)) {
        if (kind != PairKind::box) best_m_ = std::min(best_m_, distance_m - demand_m - motion_m);
        return false;
    }
    // One pair refuses a single configuration: a second look at the others could not change that, and their volumes
    // bound the clearance from below as well.
    const bool is_refused_already = row_alone_ && !all_shown();
    const Refined refined =
        is_refused_already ? Refined{} : refine(kind, {key, a, b, 0.0, 0.0}, frames_of_row(row_index), {gate_.step_, 1.0});
    if (refined.shown) {
        best_m_ = std::min(best_m_, refined.spare_m);
        return false;
    }
    if (row_alone_ && kind != PairKind::box) {
        const double closer_m = refined.applies ? refined.witness.distance_m - refined.demand_m : distance_m - demand_m;
        best_m_ = std::min(best_m_, std::max(closer_m, distance_m - demand_m));
    }
    if (gate_.items_.size() >= capacity::items_max) {
        overflow_ = true;
        return true;
    }
    gate_.items_.push_back({static_cast<std::uint32_t>(row_index), key, a, b});
    return is_violated(kind, here_m, demand_m) && refined.violated;
}

bool Sweep::scan_row_self(std::size_t row_index) noexcept {
    const auto balls = gate_.shapes_.balls();
    const auto volumes = gate_.shapes_.volumes();
    const auto pairs = gate_.shapes_.volume_pairs();
    const Vec3* centres = gate_.centres_.data() + row_index * body_count();
    const Segment* cores = gate_.cores_.data() + row_index * (gate_.model_->volumes().size() + capacity::attached_max);
    const double margin_m = gate_.config_.self_margin_m + extra_m_;
    bool violated = false;
    const auto body_pairs = gate_.shapes_.body_pairs();
    for (std::size_t entry = 0; entry < body_pairs.size(); ++entry) {
        if (!in_doubt(row_index, entry)) continue;
        const BodyPair& bodies = body_pairs[entry];
        const double motion_m = gate_.tails_[bodies.a * (capacity::chain_max + 1) + bodies.common_depth] +
                                gate_.tails_[bodies.b * (capacity::chain_max + 1) + bodies.common_depth];
        const double needed_m = margin_m + motion_m + tolerance::rounding_m;
        const double gap_m = norm(centres[bodies.a] - centres[bodies.b]) - balls[bodies.a].radius_m - balls[bodies.b].radius_m;
        if (gap_m > needed_m && gap_m - needed_m >= best_m_) continue;
        for (std::uint32_t index = bodies.first; index < bodies.first + bodies.count; ++index) {
            const VolumePair pair = pairs[index];
            const double distance_m = distance_segment_segment(cores[pair.a], cores[pair.b]).distance_m -
                                      volumes[pair.a].radius_m - volumes[pair.b].radius_m;
            if (distance_m > needed_m) {
                best_m_ = std::min(best_m_, distance_m - needed_m);
            } else {
                violated |= note(PairKind::self, row_index, index, pair.a, pair.b, distance_m);
            }
        }
    }
    return violated;
}

namespace {

double gap_point_box(Vec3 point, Vec3 low, Vec3 high) noexcept {
    const Vec3 d{std::max({low.x - point.x, 0.0, point.x - high.x}), std::max({low.y - point.y, 0.0, point.y - high.y}),
                 std::max({low.z - point.z, 0.0, point.z - high.z})};
    return norm(d);
}

}  // namespace

/// Which bodies can come near which obstacles at all, from the bounds of everything a body's ball
/// touches during the chunk.
void Sweep::shortlist_primitives(std::size_t row_last) noexcept {
    gate_.shortlist_count_ = 0;
    const auto balls = gate_.shapes_.balls();
    const auto primitives = world_->primitives();
    for (std::size_t body = 0; body < body_count(); ++body) {
        // A body that no joint carries cannot be moved by any command, so its contact with what it
        // stands on says nothing about the chunk.
        if (!(balls[body].radius_m > 0.0) || gate_.model_->bodies()[body].depth == 0) continue;
        Vec3 low{1e300, 1e300, 1e300};
        Vec3 high{-1e300, -1e300, -1e300};
        for (std::size_t index = 0; index <= row_last; ++index) {
            const Vec3 c = gate_.centres_[index * body_count() + body];
            const double r = balls[body].radius_m + gate_.body_motion_[index * body_count() + body];
            low = {std::min(low.x, c.x - r), std::min(low.y, c.y - r), std::min(low.z, c.z - r)};
            high = {std::max(high.x, c.x + r), std::max(high.y, c.y + r), std::max(high.z, c.z + r)};
        }
        const double needed_m = gate_.config_.world_margin_m + extra_m_ + tolerance::rounding_m + std::max(best_m_, 0.0);
        for (std::size_t index = 0; index < primitives.size(); ++index) {
            const Primitive& p = primitives[index];
            const Vec3 gap{std::max({p.low.x - high.x, 0.0, low.x - p.high.x}), std::max({p.low.y - high.y, 0.0, low.y - p.high.y}),
                           std::max({p.low.z - high.z, 0.0, low.z - p.high.z})};
            if (dot(gap, gap) > needed_m * needed_m) continue;
            gate_.shortlist_[gate_.shortlist_count_++] = {static_cast<std::uint16_t>(body), static_cast<std::uint16_t>(index)};
        }
    }
}

bool Sweep::scan_row_world(std::size_t row_index) noexcept {
    const auto balls = gate_.shapes_.balls();
    const auto volumes = gate_.shapes_.volumes();
    const auto primitives = world_->primitives();
    const Vec3* centres = gate_.centres_.data() + row_index * body_count();
    const double* body_motion = gate_.body_motion_.data() + row_index * body_count();
    const Segment* cores = gate_.cores_.data() + row_index * (gate_.model_->volumes().size() + capacity::attached_max);
    const double margin_m = gate_.config_.world_margin_m + extra_m_;
    bool violated = false;
    for (std::size_t entry = 0; entry < shortlist().size(); ++entry) {
        if (!in_doubt(row_index, entry)) continue;
        const auto [body, index] = shortlist()[entry];
        const Primitive& primitive = primitives[index];
        const double needed_m = margin_m + body_motion[body] + tolerance::rounding_m;
        const double gap_m = gap_point_box(centres[body], primitive.low, primitive.high) - balls[body].radius_m;
        if (gap_m > needed_m && gap_m - needed_m >= best_m_) continue;
        const auto carried = gate_.shapes_.volumes_of_body(body);
        for (std::size_t place = 0; place < carried.size(); ++place) {
            const std::uint16_t volume = carried[place];
            const double distance_m = distance_segment_primitive(cores[volume], primitive).distance_m - volumes[volume].radius_m;
            if (distance_m > needed_m) {
                best_m_ = std::min(best_m_, distance_m - needed_m);
            } else {
                const auto key = static_cast<std::uint32_t>(entry * (capacity::volumes_max + capacity::attached_max) + place);
                violated |= note(PairKind::world, row_index, key, volume, index, distance_m);
            }
        }
    }
    return violated;
}

bool Sweep::scan_row_field(std::size_t row_index) noexcept {
    bool violated = false;
    for (std::size_t index = 0; index < volume_count(); ++index) {
        if (gate_.model_->bodies()[gate_.shapes_.volumes()[index].body].depth == 0) continue;  // see shortlist_primitives
        for (std::size_t slot = 0; slot < field_slots; ++slot) {
            if (world_->field(slot) == nullptr || !in_doubt(row_index, index * field_slots + slot)) continue;
            const auto volume = static_cast<std::uint16_t>(index);
            OpenItem item{0, volume, static_cast<std::uint16_t>(slot), 0.0, 0.0};
            item.demand_m = demand(PairKind::field, item.a, item.b);
            const double motion_m = pair_motion(PairKind::field, item, gate_.step_);
            const double distance_m = measure(PairKind::field, item, frames_of_row(row_index), field_reach(item, motion_m)).distance_m;
            violated |= note(PairKind::field, row_index, static_cast<std::uint32_t>(index * field_slots + slot), item.a, item.b, distance_m);
        }
    }
    return violated;
}

bool Sweep::scan_row_box(std::size_t row_index) noexcept {
    bool violated = false;
    for (std::size_t index = 0; index < gate_.model_->effectors().size(); ++index) {
        if (!in_doubt(row_index, index)) continue;
        const auto effector = static_cast<std::uint16_t>(index);
        const double inside_m = measure(PairKind::box, {0, effector, 0, 0.0, 0.0}, frames_of_row(row_index), 0.0).distance_m;
        violated |= note(PairKind::box, row_index, effector, effector, 0, inside_m);
    }
    return violated;
}

bool Sweep::scan_row(PairKind kind, std::size_t row_index) noexcept {
    switch (kind) {
        case PairKind::self: return scan_row_self(row_index);
        case PairKind::world: return scan_row_world(row_index);
        case PairKind::field: return scan_row_field(row_index);
        case PairKind::box: return scan_row_box(row_index);
        case PairKind::keep_in: return scan_row_keep_in(row_index);
    }
    return true;
}

// ---- Between the rows -----------------------------------------------------------------------------

/// Merges what the two rows of a segment could not show into one list at the start of the arena.
std::uint32_t Sweep::open_segment(PairKind kind, std::size_t segment) noexcept {
    for (std::size_t variable = 0; variable < variable_count(); ++variable) {
        gate_.step_[variable] = std::abs(row(segment)[variable] - row(segment - 1)[variable]);
    }
    const Item* left = gate_.items_.data() + item_first_[segment - 1];
    const Item* left_end = gate_.items_.data() + item_first_[segment];
    const Item* right = left_end;
    const Item* right_end = gate_.items_.data() + item_first_[segment + 1];
    gate_.arena_.clear();
    while (left != left_end || right != right_end) {
        const bool take_left = right == right_end || (left != left_end && left->key <= right->key);
        const Item& item = take_left ? *left : *right;
        if (left != left_end && left->key == item.key) ++left;
        if (right != right_end && right->key == item.key) ++right;
        if (gate_.arena_.size() >= capacity::items_max) {
            overflow_ = true;
            return 0;
        }
        OpenItem open{item.key, item.a, item.b, 0.0, demand(kind, item.a, item.b)};
        open.motion_m = pair_motion(kind, open, gate_.step_);
        gate_.arena_.push_back(open);
    }
    return static_cast<std::uint32_t>(gate_.arena_.size());
}

/// Places the bodies at one instant of a segment. False when the budget is spent.
bool Sweep::sample_segment(std::size_t segment, double t) noexcept {
    if (evaluations_ >= gate_.config_.evaluations_max) return false;
    ++evaluations_;
    const double* from = row(segment - 1);
    const double* to = row(segment);
    for (std::size_t variable = 0; variable < variable_count(); ++variable) {
        gate_.sample_[variable] = from[variable] + t * (to[variable] - from[variable]);
    }
    forward_kinematics(*gate_.model_, gate_.sample_.data(), gate_.sample_frames_);
    return true;
}

namespace {

struct OpenInterval {
    double low = 0.0;
    double high = 1.0;
    std::uint32_t first = 0;
    std::uint32_t last = 0;
};

}  // namespace

/// Bisects one segment, earlier halves first, so that the first instant that cannot be shown is found.
Outcome Sweep::bisect_segment(PairKind kind, std::size_t segment, Finding& finding) noexcept {
    std::array<OpenInterval, capacity::depth_max + 2> stack;
    std::size_t open_count = 0;
    const std::uint32_t all = open_segment(kind, segment);
    if (overflow_) return Outcome::budget;
    if (all == 0) return Outcome::clear;
    stack[open_count++] = {0.0, 1.0, 0, all};
    finding.segment = none;

    while (open_count > 0) {
        const OpenInterval interval = stack[--open_count];
        gate_.arena_.resize(interval.last);
        const double middle = 0.5 * (interval.low + interval.high);
        const double half = 0.5 * (interval.high - interval.low);
        if (!sample_segment(segment, middle)) return Outcome::budget;
        bool violated_here = false;
        bool at_resolution = false;
        for (std::uint32_t index = interval.first; index < interval.last; ++index) {
            const OpenItem item = gate_.arena_[index];
            const double motion_m = item.motion_m * half;
            charge_looks(1);
            double distance_m = measure(kind, item, gate_.sample_frames_.data(), field_reach(item, motion_m)).distance_m;
            if (relied_ != 0) distance_m = with_contacts(kind, item, segment, gate_.sample_frames_.data(), distance_m);
            if (is_shown(kind, distance_m, item.demand_m, motion_m)) {
                if (kind != PairKind::box) best_m_ = std::min(best_m_, distance_m - item.demand_m - motion_m);
                continue;
            }
            const Refined refined = refine(kind, item, gate_.sample_frames_.data(), {gate_.step_, half});
            if (refined.shown) {
                best_m_ = std::min(best_m_, refined.spare_m);
                continue;
            }
            if (gate_.arena_.size() >= capacity::items_max) return Outcome::budget;
            gate_.arena_.push_back(item);
            const bool finished = std::max(motion_m, refined.motion_m) <= tolerance::resolution_m;
            const bool violated = is_violated(kind, distance_m, item.demand_m) && refined.violated;
            if ((violated && !violated_here) || (finished && !at_resolution)) {
                finding.segment = static_cast<std::uint32_t>(segment);
                finding.item = item;
                finding.segment_t = middle;
                finding.first_contact_t = interval.low;
            }
            violated_here |= violated;
            at_resolution |= finished;
        }
        const auto kept = static_cast<std::uint32_t>(gate_.arena_.size());
        if (kept == interval.last) continue;
        // Everything earlier was shown, so what cannot be shown here comes first.
        if (at_resolution) return Outcome::violated;
        // Nothing after a violation matters; something before it may.
        if (violated_here) open_count = 0;
        if (open_count + 2 > stack.size()) return Outcome::budget;
        if (!violated_here) stack[open_count++] = {middle, interval.high, interval.last, kept};
        stack[open_count++] = {interval.low, middle, interval.last, kept};
    }
    return finding.segment == none ? Outcome::clear : Outcome::violated;
}

/// The moment at which the pair is deepest, as far as a few looks tell: the one to show a person.
void Sweep::report_deepest(PairKind kind, std::size_t segment, Finding& finding) noexcept {
    constexpr int looks = 8;
    const double whole_m = finding.item.demand_m;
    double deepest_m = 0.0;
    bool first = true;
    for (int look = -1; look <= looks; ++look) {
        const double span = 1.0 - finding.first_contact_t;
        const double t = look < 0 ? finding.segment_t : finding.first_contact_t + span * look / looks;
        ++evaluations_;
        const double* from = row(segment - 1);
        const double* to = row(segment);
        for (std::size_t variable = 0; variable < variable_count(); ++variable) {
            gate_.sample_[variable] = from[variable] + t * (to[variable] - from[variable]);
        }
        forward_kinematics(*gate_.model_, gate_.sample_.data(), gate_.sample_frames_);
        Witness witness = measure(kind, finding.item, gate_.sample_frames_.data(), finding.item.demand_m + 10.0 * tolerance::resolution_m);
        std::uint32_t obstacle = last_obstacle_;
        const OpenItem item{finding.item.key, finding.item.a, finding.item.b, finding.item.motion_m, whole_m};
        // Pieces know how far apart they are, not how deep they overlap; the volumes know both. What is declared is
        // declared of volumes.
        const Refined refined = relied_ == 0 ? refine(kind, item, gate_.sample_frames_.data(), {gate_.step_, 0.0}) : Refined{};
        if (refined.applies && refined.witness.distance_m > std::max(witness.distance_m, 0.0)) {
            witness = refined.witness;
            obstacle = refined.obstacle;
        }
        const double judged_m = relied_ == 0 ? witness.distance_m : with_contacts(kind, item, segment, gate_.sample_frames_.data(), witness.distance_m);
        if (first || judged_m < deepest_m) {
            deepest_m = judged_m;
            // Deep in the region of a declared contact the demand is touching, and that is what was not kept.
            const double touching_m = judged_m > witness.distance_m ? touching_demand(kind, item) : whole_m;
            finding.item.demand_m = std::abs(judged_m - witness.distance_m - (whole_m - touching_m)) <= tolerance::rounding_m ? touching_m : whole_m;
            finding.witness = witness;
            finding.obstacle = obstacle;
            finding.segment_t = t;
        }
        first = false;
    }
}

Outcome Sweep::run(PairKind kind, std::size_t row_last, Finding& finding) noexcept {
    gate_.items_.clear();
    test_lanes(kind, row_last);
    std::size_t scanned = 0;
    std::size_t violating_row = row_last + 1;
    for (std::size_t index = 0; index <= row_last && violating_row > row_last; ++index) {
        item_first_[index] = gate_.items_.size();
        scanned = index;
        if (!row_in_doubt(index)) continue;
        place_cores(index);
        fill_half_step(index);
        bound_row_motion(index, gate_.step_);
        if (scan_row(kind, index)) violating_row = index;
    }
    item_first_[scanned + 1] = gate_.items_.size();
    if (scanned == 0) item_first_[2] = item_first_[1];  // only the measured state was looked at, and it violates
    if (overflow_) return Outcome::budget;
    if (gate_.items_.empty()) return Outcome::clear;
    for (std::size_t segment = 1; segment <= std::max<std::size_t>(scanned, 1); ++segment) {
        if (item_first_[segment - 1] == item_first_[segment + 1]) continue;
        const Outcome outcome = bisect_segment(kind, segment, finding);
        if (outcome == Outcome::violated) report_deepest(kind, segment, finding);
        if (outcome != Outcome::clear) {
            finding.segment = static_cast<std::uint32_t>(segment);
            return outcome;
        }
    }
    // A violating row lies in the last segment; should bisection not have found it, nothing is shown.
    return violating_row > row_last ? Outcome::clear : Outcome::budget;
}

double Sweep::clearance_of_row_alone() noexcept {
    gate_.items_.clear();
    row_alone_ = true;
    lanes_used_ = false;
    place_cores(0);
    std::fill(gate_.step_.begin(), gate_.step_.end(), 0.0);
    bound_row_motion(0, gate_.step_);
    (void)scan_row_self(0);
    (void)scan_row_keep_in(0);
    for (const WorldSnapshot* world : {world_, static_cast<const WorldSnapshot*>(&gate_.zones_)}) {
        if (world->is_declared_absent()) continue;
        world_ = world;
        shortlist_primitives(0);
        (void)scan_row_world(0);
        (void)scan_row_field(0);
    }
    return best_m_;
}

}  // namespace lastgate
