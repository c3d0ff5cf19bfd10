// SPDX-License-Identifier: Apache-2.0
// Accepted means: no sampled instant is closer than its margin. Rejected means: some instant is within
// 0.1 mm of it. Compared with 400 samples per segment, over robots, worlds and steps of all sizes.
// The samples share forward kinematics and distances with the core (both have oracles of their own)
// and nothing of the sweep.
#include <algorithm>
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

/// Smallest distance at one configuration, over everything that has to be checked.
double smallest_distance(const RobotModel& model, const WorldSnapshot& world, const double* configuration, std::vector<Transform>& frames) {
    forward_kinematics(model, configuration, frames);
    double smallest_m = 1e9;
    const auto volumes = model.volumes();
    for (std::size_t a = 0; a < volumes.size(); ++a) {
        for (std::size_t b = a + 1; b < volumes.size(); ++b) {
            if (volumes[a].body == volumes[b].body || model.pair_allowed(volumes[a].link, volumes[b].link)) continue;
            smallest_m = std::min(smallest_m, volume_distance(volumes[a], volumes[b], frames));
        }
        if (model.bodies()[volumes[a].body].depth == 0) continue;
        const Segment capsule_axis{frames[volumes[a].body] * volumes[a].end_a, frames[volumes[a].body] * volumes[a].end_b};
        for (const Primitive& primitive : world.primitives()) {
            smallest_m = std::min(smallest_m, distance_segment_primitive(capsule_axis, primitive).distance_m - volumes[a].radius_m);
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
    for (int round = 0; round < rounds; ++round) {
        const double reach = round % 3 == 0 ? 0.05 : (round % 3 == 1 ? 0.4 : 3.0);
        if (!compare_once(gate, draw, reach, extent_m, tally)) {
            REQUIRE(false, round, seed);
            return;
        }
    }
    REQUIRE(tally.accepted > rounds / 10 && tally.rejected > rounds / 10, tally.accepted, tally.rejected, tally.undecided);
    REQUIRE(tally.undecided <= rounds / 50, tally.undecided);
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

TEST_MAIN
