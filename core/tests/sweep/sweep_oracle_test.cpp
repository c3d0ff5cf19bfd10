// SPDX-License-Identifier: Apache-2.0
// Accepted means: no sampled instant is closer than its margin. Rejected means: some instant is within
// 0.1 mm of it. Compared with 400 samples per segment, over robots, worlds and steps of all sizes.
// The samples share forward kinematics and distances with the core (both have oracles of their own)
// and nothing of the sweep. Counts grow by LASTGATE_ORACLE_TIMES.
#include <algorithm>
#include <cstdlib>
#include <random>

#include "geometry/distance.hpp"
#include "require.hpp"
#include "robots.hpp"

using namespace lastgate;
using namespace lastgate::detail;
using namespace lastgate::robots;

namespace {

constexpr int samples = 400;
constexpr double margin_m = 0.003;

double volume_distance(const Volume& a, const Volume& b, std::span<const Transform> frames) {
    const Segment first{frames[a.body] * a.end_a, frames[a.body] * a.end_b};
    const Segment second{frames[b.body] * b.end_a, frames[b.body] * b.end_b};
    return distance_segment_segment(first, second).distance_m - a.radius_m - b.radius_m;
}

/// How often every count is taken: once, or as often as the environment says.
int times() {
    const char* text = std::getenv("LASTGATE_ORACLE_TIMES");
    return text == nullptr ? 1 : std::max(std::atoi(text), 1);
}

/// Smallest distance at one configuration, over everything that has to be checked. `thinner_m`: what the hulls are thinner than the volumes.
double smallest_distance(const RobotModel& model, const WorldSnapshot& world, const double* configuration,
                         std::vector<Transform>& frames, double thinner_m = 0.0) {
    forward_kinematics(model, configuration, frames);
    double smallest_m = 1e9;
    const auto volumes = model.volumes();
    for (std::size_t a = 0; a < volumes.size(); ++a) {
        for (std::size_t b = a + 1; b < volumes.size(); ++b) {
            if (volumes[a].body == volumes[b].body || model.pair_allowed(volumes[a].link, volumes[b].link)) continue;
            smallest_m = std::min(smallest_m, volume_distance(volumes[a], volumes[b], frames) + 2.0 * thinner_m);
        }
        if (model.bodies()[volumes[a].body].depth == 0) continue;
        const Segment capsule_axis{frames[volumes[a].body] * volumes[a].end_a, frames[volumes[a].body] * volumes[a].end_b};
        for (const Primitive& primitive : world.primitives()) {
            smallest_m = std::min(
                smallest_m, distance_segment_primitive(capsule_axis, primitive).distance_m - volumes[a].radius_m + thinner_m);
        }
    }
    return smallest_m;
}

struct Tally {
    int accepted = 0;
    int rejected = 0;
    int undecided = 0;
};

struct Draw {
    std::mt19937_64 engine;
    double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(engine); }
};

PrimitiveSpec random_obstacle(Draw& draw, double extent_m) {
    const Vec3 place{draw.uniform(-extent_m, extent_m), draw.uniform(-extent_m, extent_m), draw.uniform(-0.2, extent_m)};
    PrimitiveSpec spec = draw.engine() % 2 == 0 ? sphere(place, draw.uniform(0.001, 0.05))
                                                : box(place, {draw.uniform(0.002, 0.06), draw.uniform(0.002, 0.06), draw.uniform(0.002, 0.3)});
    spec.in_base.rotation = rotation_from_rpy({draw.uniform(-3, 3), draw.uniform(-1, 1), draw.uniform(-3, 3)});
    return spec;
}

/// Starts at a clear configuration, jumps to another one within `reach` of it through one row between.
bool compare_once(Gate& gate, Draw& draw, double reach, double extent_m, Tally& tally) {
    const RobotModel& model = gate.model();
    const std::size_t dofs = model.dof_count();
    std::vector<PrimitiveSpec> obstacles;
    for (std::size_t index = 0; index < 6; ++index) obstacles.push_back(random_obstacle(draw, extent_m));
    const WorldSnapshot world = make_world(obstacles);
    std::vector<Transform> frames(model.bodies().size());
    std::vector<double> path(3 * dofs);
    const auto inside = [&](std::size_t dof, double position) { return std::clamp(position, model.dof(dof).position_min, model.dof(dof).position_max); };
    for (int attempt = 0;; ++attempt) {
        for (std::size_t dof = 0; dof < dofs; ++dof) path[dof] = draw.uniform(model.dof(dof).position_min, model.dof(dof).position_max);
        if (smallest_distance(model, world, path.data(), frames) > margin_m + 0.005) break;
        if (attempt > 200) return true;
    }
    for (std::size_t index = dofs; index < path.size(); ++index) path[index] = inside(index % dofs, path[index - dofs] + draw.uniform(-reach, reach));

    const CheckRequest request = make_request(ControlMode::joint_position, {path.data() + dofs, 2 * dofs}, dofs, {path.data(), dofs}, world);
    const Verdict verdict = gate.check(request);
    double smallest_m = 1e9;
    std::vector<double> sample(dofs);
    for (std::size_t segment = 0; segment < 2; ++segment) {
        for (int index = 0; index <= samples; ++index) {
            const double t = static_cast<double>(index) / samples;
            for (std::size_t dof = 0; dof < dofs; ++dof) {
                sample[dof] = path[segment * dofs + dof] + t * (path[(segment + 1) * dofs + dof] - path[segment * dofs + dof]);
            }
            smallest_m = std::min(smallest_m, smallest_distance(model, world, sample.data(), frames));
        }
    }
    const bool collision = verdict.violation.code == ViolationCode::self_collision || verdict.violation.code == ViolationCode::world_collision;
    if (verdict.accepted == 1) {
        ++tally.accepted;
        // The bound on clearance may not exceed what a sample saw either.
        return REQUIRE(smallest_m > margin_m, smallest_m) && REQUIRE(verdict.min_clearance_m <= smallest_m - margin_m + 1e-9, verdict.min_clearance_m, smallest_m);
    }
    if (verdict.violation.code == ViolationCode::budget_exceeded) {
        ++tally.undecided;
        return true;
    }
    ++tally.rejected;
    return REQUIRE(collision, static_cast<int>(verdict.violation.code)) &&
           REQUIRE(verdict.violation.distance_m <= margin_m + 1.0e-4, verdict.violation.distance_m, smallest_m);
}

Gate jumping_gate(const RobotModelSpec& spec, SimdBuild build) {
    GateConfig config = wide_config(spec, 1.0);
    config.simd_build = build;
    config.velocity_max.assign(spec.dofs.size(), 1000.0);
    config.max_ee_speed_m_s = 1e5;
    config.max_ee_angular_speed_rad_s = 1e5;
    config.self_margin_m = config.world_margin_m = margin_m;
    config.evaluations_max = 200000;
    return make_gate(spec, config);
}

void compare(const RobotModelSpec& spec, double extent_m, int rounds, std::uint64_t seed) {
    Gate gate = jumping_gate(spec, seed % 2 == 0 ? SimdBuild::generic : best_simd_build());
    Draw draw{std::mt19937_64(seed)};
    Tally tally;
    for (int round = 0; round < rounds * times(); ++round) {
        const double reach = round % 3 == 0 ? 0.05 : (round % 3 == 1 ? 0.4 : 3.0);
        if (!compare_once(gate, draw, reach, extent_m, tally)) {
            REQUIRE(false, round, seed);
            return;
        }
    }
    REQUIRE(tally.accepted > rounds / 10 && tally.rejected > rounds / 10, tally.accepted, tally.rejected,
            tally.undecided);
    REQUIRE(tally.undecided <= rounds * times() / 50, tally.undecided);
}

/// How a motion passes an obstacle by a hair.
enum class Passing { grazing, sliding, turning, beside_itself };

/// One segment near something: the obstacle stands `gap_m` beyond the margin of one volume at one instant.
struct Grazing {
    std::vector<double> path;
    std::vector<PrimitiveSpec> obstacles;
};

void add_obstacle(Grazing& grazing, Draw& draw, Vec3 on_core, double from_core_m, Vec3 normal) {
    if (draw.engine() % 3 == 0) {
        const double radius_m = draw.uniform(0.001, 0.1);
        grazing.obstacles.push_back(sphere(on_core + (from_core_m + radius_m) * normal, radius_m));
        return;
    }
    // A face of a large box, or of a half-space: the surface that motions slide along.
    PrimitiveSpec face = box({}, {draw.uniform(0.01, 0.6), draw.uniform(0.01, 0.6), 0.05});
    const Vec3 other = std::abs(normal.z) < 0.9 ? Vec3{0.0, 0.0, 1.0} : Vec3{1.0, 0.0, 0.0};
    Vec3 x = cross(other, normal);
    x = (1.0 / norm(x)) * x;
    const Vec3 out = -normal;
    face.in_base.rotation = {x, cross(out, x), out};
    face.in_base.translation = on_core + (from_core_m + face.half_extents_m.z) * normal;
    if (draw.engine() % 3 == 0) {
        face.kind = PrimitiveKind::half_space;
        face.in_base.translation = on_core + from_core_m * normal;
    }
    grazing.obstacles.push_back(face);
}

Grazing pass_by(const RobotModel& model, Draw& draw, Passing passing, double reach, double thinner_m) {
    const std::size_t dofs = model.dof_count();
    Grazing grazing;
    grazing.path.resize(2 * dofs);
    const std::size_t alone = draw.engine() % dofs;
    for (std::size_t dof = 0; dof < dofs; ++dof) {
        const DofSpec& limits = model.dof(dof);
        grazing.path[dof] = draw.uniform(limits.position_min, limits.position_max);
        const bool moves = passing == Passing::grazing || passing == Passing::beside_itself || dof == alone;
        grazing.path[dofs + dof] = std::clamp(grazing.path[dof] + (moves ? draw.uniform(-reach, reach) : 0.0),
                                              limits.position_min, limits.position_max);
    }
    if (passing == Passing::beside_itself) return grazing;
    const double t = draw.uniform(0.0, 1.0);
    std::vector<double> sample(dofs);
    for (std::size_t dof = 0; dof < dofs; ++dof)
        sample[dof] = grazing.path[dof] + t * (grazing.path[dofs + dof] - grazing.path[dof]);
    std::vector<Transform> frames(model.bodies().size());
    forward_kinematics(model, sample.data(), frames);
    const auto volumes = model.volumes();
    const Volume& volume = volumes[draw.engine() % volumes.size()];
    Vec3 normal{draw.uniform(-1.0, 1.0), draw.uniform(-1.0, 1.0), draw.uniform(-1.0, 1.0)};
    if (passing != Passing::grazing) {
        // The axis of the joint that moves: turning about it slides along every plane across it.
        for (std::size_t body = 1; body < model.bodies().size(); ++body) {
            if (model.bodies()[body].dof != alone) continue;
            const Vec3 axis = frames[body].rotation.z;
            normal = model.bodies()[body].kind == JointKind::revolute ? axis : cross(axis, normal);
        }
        if (passing == Passing::turning)
            normal = normal + draw.uniform(-0.01, 0.01) * Vec3{normal.y, normal.z, normal.x};
        if (draw.engine() % 2 == 0) normal = -normal;
    }
    normal = (1.0 / norm(normal)) * normal;
    const Vec3 a = frames[volume.body] * volume.end_a;
    const Vec3 b = frames[volume.body] * volume.end_b;
    const double gap_m = draw.engine() % 2 == 0 ? draw.uniform(-5e-4, 2e-3) : draw.uniform(-5e-5, 3e-4);
    add_obstacle(grazing, draw, dot(a, normal) > dot(b, normal) ? a : b, volume.radius_m - thinner_m + margin_m + gap_m,
                 normal);
    return grazing;
}

bool compare_grazing(Gate& gate, Draw& draw, Passing passing, double reach, double thinner_m, Tally& tally) {
    const RobotModel& model = gate.model();
    const std::size_t dofs = model.dof_count();
    std::vector<Transform> frames(model.bodies().size());
    const Grazing grazing = pass_by(model, draw, passing, reach, thinner_m);
    const WorldSnapshot world = grazing.obstacles.empty() ? no_world() : make_world(grazing.obstacles);
    const auto& path = grazing.path;
    if (!(smallest_distance(model, world, path.data(), frames, thinner_m) > margin_m)) return true;
    const Verdict verdict = gate.check(
        make_request(ControlMode::joint_position, {path.data() + dofs, dofs}, dofs, {path.data(), dofs}, world));
    double smallest_m = 1e9;
    std::vector<double> sample(dofs);
    for (int index = 0; index <= samples; ++index) {
        const double t = static_cast<double>(index) / samples;
        for (std::size_t dof = 0; dof < dofs; ++dof) sample[dof] = path[dof] + t * (path[dofs + dof] - path[dof]);
        smallest_m = std::min(smallest_m, smallest_distance(model, world, sample.data(), frames, thinner_m));
    }
    if (verdict.accepted == 1) {
        ++tally.accepted;
        return REQUIRE(smallest_m > margin_m, smallest_m) &&
               REQUIRE(verdict.min_clearance_m <= smallest_m - margin_m + 1e-9, verdict.min_clearance_m, smallest_m);
    }
    if (verdict.violation.code == ViolationCode::budget_exceeded) {
        ++tally.undecided;
        return true;
    }
    ++tally.rejected;
    return REQUIRE(verdict.violation.distance_m <= margin_m + 1.0e-4, verdict.violation.distance_m, smallest_m);
}

void compare_near(RobotModelSpec spec, Passing passing, int rounds, std::uint64_t seed, double thinner_m = 0.0) {
    if (thinner_m > 0.0) spec = with_hulls(std::move(spec), thinner_m);
    Gate gate = jumping_gate(spec, seed % 2 == 0 ? SimdBuild::generic : best_simd_build());
    Draw draw{std::mt19937_64(seed)};
    Tally tally;
    for (int round = 0; round < rounds * times(); ++round) {
        const double reach = round % 3 == 0 ? 0.05 : (round % 3 == 1 ? 0.2 : 0.6);
        if (!compare_grazing(gate, draw, passing, reach, thinner_m, tally)) {
            REQUIRE(false, round, seed);
            return;
        }
    }
    const int compared = tally.accepted + tally.rejected + tally.undecided;
    REQUIRE(compared > rounds / 20 && tally.accepted > compared / 20 && tally.undecided <= compared / 20,
            tally.accepted, tally.rejected, tally.undecided);
}

/// A turn, a slide and a turn that two joints follow.
RobotModelSpec mixed_arm() {
    RobotModelSpec spec;
    spec.links.push_back({});
    add_joint(spec, 0, JointKind::revolute, {}, {}, {0.0, 0.0, 1.0}, -3.0, 3.0);
    add_joint(spec, 1, JointKind::prismatic, {0.3, 0.0, 0.1}, {0.4, 0.0, 0.0}, {1.0, 0.0, 0.0}, -0.3, 0.3);
    add_joint(spec, 2, JointKind::revolute, {0.3, 0.0, 0.0}, {0.0, 0.7, 0.0}, {0.0, 1.0, 0.0}, -1.0, 1.0);
    LinkSpec follower;
    follower.parent = last_link(spec);
    follower.kind = JointKind::revolute;
    follower.dof = 2;
    follower.multiplier = -1.5;
    follower.origin_xyz = {0.3, 0.05, 0.0};
    follower.axis = {0.0, 0.6, 0.8};
    spec.links.push_back(follower);
    for (std::int32_t link = 1; link <= last_link(spec); ++link) {
        spec.volumes.push_back({link, 0.02, {}, {0.15, 0.02, 0.05}});
        spec.allowed_pairs.push_back({link - 1, link});
    }
    spec.effectors.push_back({last_link(spec), {}, {}});
    return spec;
}

}  // namespace

TEST(planar_arm_agrees_with_samples) { compare(planar_arm(3), 2.5, 300, 1); }
TEST(slider_agrees_with_samples) {
    RobotModelSpec spec = slider();
    spec.dofs[0] = {-0.6, 0.6, true};
    compare(spec, 0.3, 300, 2);
}
TEST(panda_agrees_with_samples) { compare(panda(), 0.9, 300, 3); }
TEST(two_arms_agree_with_samples) { compare(two_arms(), 1.2, 100, 4); }

TEST(grazing_motions_agree_with_samples) {
    compare_near(panda(), Passing::grazing, 300, 11);
    compare_near(planar_arm(3), Passing::grazing, 300, 12);
    compare_near(mixed_arm(), Passing::grazing, 300, 13);
    compare_near(panda(), Passing::grazing, 300, 14, 0.01);
}
TEST(slides_along_a_face_agree_with_samples) {
    compare_near(panda(), Passing::sliding, 300, 15);
    compare_near(mixed_arm(), Passing::sliding, 300, 16);
    compare_near(slider(), Passing::sliding, 200, 17);
    compare_near(panda(), Passing::sliding, 300, 18, 0.01);
}
TEST(turns_about_a_slanted_normal_agree_with_samples) {
    compare_near(panda(), Passing::turning, 300, 19);
    compare_near(mixed_arm(), Passing::turning, 300, 20, 0.005);
}
TEST(links_that_pass_each_other_agree_with_samples) {
    compare_near(panda(), Passing::beside_itself, 300, 21);
    compare_near(two_arms(), Passing::beside_itself, 300, 22, 0.01);
    compare_near(mixed_arm(), Passing::beside_itself, 300, 23);
}

TEST_MAIN
