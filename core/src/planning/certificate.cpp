// SPDX-License-Identifier: Apache-2.0
#include "lastgate/planning.hpp"

#include <algorithm>
#include <cmath>

#include "geometry/convex.hpp"
#include "geometry/distance.hpp"
#include "robot/shape_set.hpp"
#include "sweep/clearance.hpp"
#include "sweep/directional_bound.hpp"
#include "sweep/motion_bound.hpp"
#include "world/obstacle_field.hpp"

namespace lastgate {

using namespace detail;

namespace {

using detail::certified;
using detail::motion_bound;
using detail::needed_distance;
using detail::PairMotion;
using detail::PathInterval;
using detail::PlacedShape;

/// Where bisection ends: an interval of a row's two-millionth.
constexpr int halvings_max = 21;

/// Farther than any point of a cloud is from any robot, so that the nearest is always measured.
constexpr double beyond_all_points_m = 1e9;

Transform relative(const Transform& from, const Transform& to) noexcept {
    return {{transposed_times(from.rotation, to.rotation.x), transposed_times(from.rotation, to.rotation.y), transposed_times(from.rotation, to.rotation.z)},
            inverse_times(from, to.translation)};
}

/// The farthest a shape's vertices reach along a direction of the base frame.
double support(const PlacedShape& shape, Vec3 direction) noexcept {
    const Vec3 local = transposed_times(shape.in_base.rotation, direction);
    double most = -1e300;
    for (std::uint32_t index = 0; index < shape.vertices.count; ++index) {
        most = std::max(most, local.x * shape.vertices.x[index] + local.y * shape.vertices.y[index] + local.z * shape.vertices.z[index]);
    }
    if (shape.vertices.disc_m > 0.0) most += shape.vertices.disc_m * std::sqrt(local.x * local.x + local.y * local.y);
    return most + dot(direction, shape.in_base.translation);
}

class Certifier {
  public:
    Certifier(const Gate& gate, const WorldSnapshot& world) : gate_(gate), model_(gate.model()), world_(world), frames_(model_.bodies().size()) {}

    PathCertificate run();

  private:
    std::size_t variables() const noexcept { return model_.variable_count(); }
    std::size_t row_count() const noexcept { return gate_.path().size() / variables() - 1; }

    void write_apart();
    bool certify(CertificateKind kind, std::uint16_t a, std::uint16_t b);
    bool certify_between(CertificateRecord record, double low, double high, int halvings);
    void stand_at(double at);
    void bound_step(double low, double high, double at);
    bool certify_by_volumes(CertificateRecord& record);
    bool certify_points(CertificateRecord& record);
    bool certify_points_by_hulls(const CertificateRecord& record, std::vector<CertificateRecord>& found);
    bool certify_by_hulls(const CertificateRecord& record, std::vector<CertificateRecord>& found);
    bool certify_shapes(const PlacedShape& a, const PlacedShape& b, CertificateRecord& record);
    bool certify_along(const PlacedShape& a, const PlacedShape& b, CertificateRecord& record);
    void place_volume(std::uint16_t volume, PlacedShape& shape) const noexcept {
        shape.set_volume(gate_.shapes().volumes()[volume], frames_.data());
    }
    std::vector<std::uint32_t> hulls_of(std::uint16_t volume) const;
    void place_hull(std::uint32_t hull, PlacedShape& shape) const noexcept;
    bool place_second(const CertificateRecord& record, PlacedShape& shape) const noexcept;
    double motion_of(const PlacedShape& shape, std::size_t from_depth, std::span<const double> step) const noexcept;
    double margin_m(CertificateKind kind) const noexcept {
        return kind == CertificateKind::self ? gate_.config().self_margin_m : gate_.config().world_margin_m;
    }

    const Gate& gate_;
    const RobotModel& model_;
    const WorldSnapshot& world_;
    std::vector<Transform> frames_;
    std::vector<double> sample_;
    std::vector<double> step_;
    std::vector<double> to_low_;
    std::vector<double> to_high_;
    bool is_straight_ = false;  ///< No row lies inside the stretch.
    PathCertificate certificate_;
};

/// Places the robot at an instant of the path, counted in rows.
void Certifier::stand_at(double at) {
    const auto path = gate_.path();
    const auto row = std::min(static_cast<std::size_t>(at), row_count() == 0 ? 0 : row_count() - 1);
    const double t = at - static_cast<double>(row);
    sample_.resize(variables());
    for (std::size_t variable = 0; variable < variables(); ++variable) {
        const double from = path[row * variables() + variable];
        const double to = row_count() == 0 ? from : path[(row + 1) * variables() + variable];
        sample_[variable] = from + t * (to - from);
    }
    forward_kinematics(model_, sample_.data(), frames_);
}

/// How far each variable strays from an instant between two others. It is piecewise linear: rows and ends tell.
void Certifier::bound_step(double low, double high, double at) {
    stand_at(at);
    const std::vector<double> middle = sample_;
    step_.assign(variables(), 0.0);
    to_low_.resize(variables());
    to_high_.resize(variables());
    is_straight_ = high <= std::floor(low) + 1.0;
    std::vector<double> unused(variables());
    const auto include = [&](double instant, std::vector<double>& way) {
        stand_at(instant);
        for (std::size_t variable = 0; variable < variables(); ++variable) {
            way[variable] = sample_[variable] - middle[variable];
            step_[variable] = std::max(step_[variable], std::abs(way[variable]));
        }
    };
    include(low, to_low_);
    include(high, to_high_);
    for (auto row = static_cast<std::size_t>(std::ceil(low)); static_cast<double>(row) <= high; ++row)
        include(static_cast<double>(row), unused);
    stand_at(at);
}

double Certifier::motion_of(const PlacedShape& shape, std::size_t from_depth,
                            std::span<const double> step) const noexcept {
    return shape.reach == nullptr ? 0.0 : motion_bound(model_, shape.body, shape.reach, from_depth, step);
}

/// The hulls of the model are followed by one number per attached shape, used where that is a solid.
std::vector<std::uint32_t> Certifier::hulls_of(std::uint16_t volume) const {
    if (gate_.shapes().solid_of(volume) != nullptr) {
        return {static_cast<std::uint32_t>(model_.hulls().size() + volume - model_.volumes().size())};
    }
    const auto met = model_.hulls_of_volume(volume);
    return {met.begin(), met.end()};
}

void Certifier::place_hull(std::uint32_t index, PlacedShape& shape) const noexcept {
    if (index >= model_.hulls().size()) {
        const std::size_t volume = index - model_.hulls().size() + model_.volumes().size();
        shape.set_solid(*gate_.shapes().solid_of(volume), gate_.shapes().volumes()[volume].body, frames_.data());
        return;
    }
    const Hull& hull = model_.hulls()[index];
    shape.vertices = model_.vertices(hull);
    shape.in_base = frames_[hull.body];
    shape.radius_m = hull.radius_m;
    shape.body = hull.body;
    shape.reach = hull.reach.data();
}

/// What a volume is compared with: another one, an obstacle or a zone.
bool Certifier::place_second(const CertificateRecord& record, PlacedShape& shape) const noexcept {
    if (record.kind == CertificateKind::self) {
        place_volume(record.b, shape);
        return true;
    }
    const WorldSnapshot& world = record.kind == CertificateKind::zone ? gate_.no_go_zones() : world_;
    return shape.set_obstacle(world.primitives()[record.b]);
}

/// Writes the slab between two placed shapes into the record. True when it is wide enough.
bool Certifier::certify_shapes(const PlacedShape& a, const PlacedShape& b, CertificateRecord& record) {
    const std::size_t common = record.kind == CertificateKind::self ? model_.common_depth(a.body, b.body) : 0;
    record.motion_m = motion_of(a, common, step_) + motion_of(b, common, step_);
    record.required_m =
        margin_m(record.kind) + motion_of(a, common, gate_.uncertainty()) + motion_of(b, common, gate_.uncertainty());
    if (b.is_half_space) {
        record.direction = -b.in_base.rotation.z;
    } else {
        const ConvexDistance found = convex_distance(a.vertices, b.vertices, relative(a.in_base, b.in_base), {});
        const Vec3 across = a.in_base.rotation * (found.on_second - found.on_first);
        const double across_m = norm(across);
        if (!(across_m > 0.0)) return false;
        record.direction = (1.0 / across_m) * across;
    }
    record.distance_m = -support(b, -record.direction) - support(a, record.direction) - a.radius_m - b.radius_m;
    return certified(record.distance_m, record.required_m, record.motion_m) || certify_along(a, b, record);
}

/// The same slab, followed along its direction until the ends of a straight stretch.
bool Certifier::certify_along(const PlacedShape& a, const PlacedShape& b, CertificateRecord& record) {
    if (!is_straight_) return false;
    const PairMotion motion(model_, a, b, {frames_.data(), to_low_, to_high_, 1.0});
    const detail::GapAlong gap = detail::gap_along(motion, record.direction);
    if (!certified(detail::least_gap(gap), record.required_m, 0.0)) return false;
    record.directional = true;
    record.gap_before_m = gap.before_m;
    record.gap_after_m = gap.after_m;
    record.bend_m = motion.bend_m();
    return true;
}

bool Certifier::certify_by_volumes(CertificateRecord& record) {
    record.shape_a = record.a;
    record.shape_b = record.b;
    if (record.kind == CertificateKind::points) return certify_points(record);
    PlacedShape a;
    PlacedShape b;
    place_volume(record.a, a);
    return place_second(record, b) && certify_shapes(a, b, record);
}

bool Certifier::certify_points(CertificateRecord& record) {
    const Volume& volume = gate_.shapes().volumes()[record.a];
    PlacedShape shape;
    place_volume(record.a, shape);
    record.motion_m = motion_of(shape, 0, step_);
    record.required_m = margin_m(record.kind) + motion_of(shape, 0, gate_.uncertainty());
    const Segment capsule_axis{shape.in_base * volume.end_a, shape.in_base * volume.end_b};
    std::uint32_t nearest = none;
    record.distance_m = world_.field(point_slot)->distance(capsule_axis, beyond_all_points_m, nearest).distance_m - volume.radius_m;
    return certified(record.distance_m, record.required_m, record.motion_m);
}

/// Every hull that the volume meets against every point that the volume itself is not certified clear of.
bool Certifier::certify_points_by_hulls(const CertificateRecord& record, std::vector<CertificateRecord>& found) {
    const std::vector<std::uint32_t> hulls = hulls_of(record.a);
    const Volume& volume = gate_.shapes().volumes()[record.a];
    const ObstacleField& cloud = *world_.field(point_slot);
    PlacedShape shape;
    place_volume(record.a, shape);
    const Segment capsule_axis{shape.in_base * volume.end_a, shape.in_base * volume.end_b};
    const double near_m = volume.radius_m + needed_distance(margin_m(record.kind) + motion_of(shape, 0, gate_.uncertainty()), motion_of(shape, 0, step_));
    const Vec3 reach{near_m, near_m, near_m};
    const Vec3 low{std::min(capsule_axis.a.x, capsule_axis.b.x), std::min(capsule_axis.a.y, capsule_axis.b.y), std::min(capsule_axis.a.z, capsule_axis.b.z)};
    const Vec3 high{std::max(capsule_axis.a.x, capsule_axis.b.x), std::max(capsule_axis.a.y, capsule_axis.b.y), std::max(capsule_axis.a.z, capsule_axis.b.z)};
    const bool all_certified = cloud.every_obstacle_in(low - reach, high + reach, [&](Vec3 point, std::uint32_t obstacle) {
        if (distance_segment_segment(capsule_axis, {point, point}).distance_m > near_m) return true;
        for (const std::uint32_t hull : hulls) {
            PlacedShape placed;
            PlacedShape grain;
            place_hull(hull, placed);
            grain.set_segment({point, point});
            CertificateRecord certified = record;
            certified.by_hulls = certified.hull_a = true;
            certified.shape_a = static_cast<std::uint16_t>(hull);
            certified.shape_b = cloud.label(obstacle);
            if (!certify_shapes(placed, grain, certified)) return false;
            found.push_back(certified);
        }
        return true;
    });
    return all_certified && !found.empty();
}

bool Certifier::certify_by_hulls(const CertificateRecord& record, std::vector<CertificateRecord>& found) {
    if (record.kind == CertificateKind::points) return certify_points_by_hulls(record, found);
    const bool self = record.kind == CertificateKind::self;
    const std::vector<std::uint32_t> hulls_a = hulls_of(record.a);
    const std::vector<std::uint32_t> hulls_b = self ? hulls_of(record.b) : std::vector<std::uint32_t>{};
    if (hulls_a.empty() && hulls_b.empty()) return false;
    for (std::size_t i = 0; i < std::max<std::size_t>(hulls_a.size(), 1); ++i) {
        for (std::size_t j = 0; j < std::max<std::size_t>(hulls_b.size(), 1); ++j) {
            PlacedShape a;
            PlacedShape b;
            CertificateRecord certified = record;
            certified.by_hulls = true;
            certified.hull_a = !hulls_a.empty();
            certified.hull_b = !hulls_b.empty();
            certified.shape_a = certified.hull_a ? static_cast<std::uint16_t>(hulls_a[i]) : record.a;
            certified.shape_b = certified.hull_b ? static_cast<std::uint16_t>(hulls_b[j]) : record.b;
            if (certified.hull_a) place_hull(hulls_a[i], a);
            else place_volume(record.a, a);
            if (certified.hull_b) place_hull(hulls_b[j], b);
            else if (!place_second(record, b)) return false;
            if (!certify_shapes(a, b, certified)) return false;
            found.push_back(certified);
        }
    }
    return true;
}

// Bounded by `halvings`; certificates are written after the verdict, so no decision waits for it.
// NOLINTNEXTLINE(misc-no-recursion)
bool Certifier::certify_between(CertificateRecord record, double low, double high, int halvings) {
    record.low = low;
    record.high = high;
    record.at = 0.5 * (low + high);
    bound_step(low, high, record.at);
    if (certify_by_volumes(record)) {
        certificate_.records.push_back(record);
        return true;
    }
    std::vector<CertificateRecord> found;
    if (certify_by_hulls(record, found)) {
        certificate_.records.insert(certificate_.records.end(), found.begin(), found.end());
        return true;
    }
    if (halvings == 0) return false;
    // At a row, as long as there is one inside: what lies between two steps is straight.
    const double middle = high - low > 1.0 ? std::floor(record.at) : record.at;
    return certify_between(record, low, middle, halvings - 1) && certify_between(record, middle, high, halvings - 1);
}

bool Certifier::certify(CertificateKind kind, std::uint16_t a, std::uint16_t b) {
    CertificateRecord record;
    record.kind = kind;
    record.a = a;
    record.b = b;
    const auto rows = static_cast<double>(row_count());
    return certify_between(record, 0.0, rows, halvings_max + static_cast<int>(std::ceil(std::log2(std::max(rows, 1.0)))));
}

void Certifier::write_apart() {
    const auto volumes = model_.volumes();
    for (std::size_t index = 0; index < volumes.size(); ++index) {
        const Volume& volume = volumes[index];
        const auto met = model_.hulls_of_volume(index);
        for (std::uint32_t hull = model_.hull_first(volume.link); hull < model_.hull_first(volume.link + std::size_t{1}); ++hull) {
            if (std::ranges::binary_search(met, hull)) continue;
            PlacedShape axis;
            axis.set_segment({volume.end_a, volume.end_b});
            const ConvexDistance found =
                convex_distance(axis.vertices, model_.vertices(model_.hulls()[hull]), Transform{}, {});
            const Vec3 across = found.on_second - found.on_first;
            const Vec3 in_link = transposed_times(model_.link_in_body(volume.link).rotation, across);
            certificate_.apart.push_back({static_cast<std::uint16_t>(index), static_cast<std::uint16_t>(hull), (1.0 / norm(across)) * in_link});
        }
    }
}

PathCertificate Certifier::run() {
    write_apart();
    bool complete = true;
    for (const VolumePair pair : gate_.shapes().volume_pairs()) complete = complete && certify(CertificateKind::self, pair.a, pair.b);
    const auto volumes = gate_.shapes().volumes();
    for (std::size_t index = 0; index < volumes.size(); ++index) {
        // A body that no joint carries is not compared with what it stands on; see Sweep::shortlist_primitives.
        if (model_.bodies()[volumes[index].body].depth == 0) continue;
        const auto volume = static_cast<std::uint16_t>(index);
        if (!world_.is_declared_absent()) {
            for (std::size_t other = 0; other < world_.primitives().size(); ++other) {
                complete = complete && certify(CertificateKind::world, volume, static_cast<std::uint16_t>(other));
            }
        }
        if (world_.field(point_slot) != nullptr) complete = complete && certify(CertificateKind::points, volume, 0);
        for (std::size_t other = 0; other < gate_.no_go_zones().primitives().size(); ++other) {
            complete = complete && certify(CertificateKind::zone, volume, static_cast<std::uint16_t>(other));
        }
    }
    certificate_.complete = complete;
    return std::move(certificate_);
}

}  // namespace

PathCertificate certify_path(const Gate& gate, const WorldSnapshot& world) { return Certifier(gate, world).run(); }

}  // namespace lastgate
