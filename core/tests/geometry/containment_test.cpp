// SPDX-License-Identifier: Apache-2.0
// How deep a volume lies inside a shape: against points scattered over the surface, in every shape; and that a zone
// holds between the steps, for the links it names and for what they hold.
#include "geometry/containment.hpp"

#include <cmath>
#include <random>

#include "require.hpp"
#include "robots.hpp"

using namespace lastgate;
using namespace lastgate::detail;
using namespace lastgate::robots;

namespace {

PrimitiveSpec turned(PrimitiveSpec spec) {
    spec.in_base.rotation = rotation_from_rpy({0.4, -0.7, 1.1});
    return spec;
}

PrimitiveSpec capsule(Vec3 centre, double radius_m, double half_length_m) {
    PrimitiveSpec spec = sphere(centre, radius_m);
    spec.kind = PrimitiveKind::capsule;
    spec.half_length_m = half_length_m;
    return spec;
}

PrimitiveSpec half_space(Vec3 on_surface) {
    PrimitiveSpec spec;
    spec.kind = PrimitiveKind::half_space;
    spec.in_base.translation = on_surface;
    return spec;
}

Primitive prepared(const PrimitiveSpec& spec) { return make_world({&spec, 1}).primitives()[0]; }

/// Inside by definition of the shape, written without any distance.
bool contains(const PrimitiveSpec& spec, Vec3 point) {
    const Vec3 p = inverse_times(spec.in_base, point);
    if (spec.kind == PrimitiveKind::half_space) return p.z <= 0.0;
    if (spec.kind == PrimitiveKind::box) {
        return std::abs(p.x) <= spec.half_extents_m.x && std::abs(p.y) <= spec.half_extents_m.y && std::abs(p.z) <= spec.half_extents_m.z;
    }
    const double half = spec.kind == PrimitiveKind::capsule ? spec.half_length_m : 0.0;
    const double z = std::max(std::abs(p.z) - half, 0.0);
    return p.x * p.x + p.y * p.y + z * z <= spec.radius_m * spec.radius_m;
}

Verdict slide_to(Gate& gate, double to) {
    const double from[1] = {0.0};
    const double row[1] = {to};
    const WorldSnapshot world = no_world();
    return gate.check(make_request(ControlMode::joint_position, row, 1, from, world));
}

GateConfig fast_slider(double margin_m) {
    GateConfig config = wide_config(slider(), 1.0);
    config.velocity_max = {100.0};
    config.max_ee_speed_m_s = 100.0;
    config.world_margin_m = margin_m;
    return config;
}

}  // namespace

TEST(sphere_of_that_depth_is_inside_and_a_larger_one_is_not) {
    std::mt19937 random(5);
    std::uniform_real_distribution<double> place(-1.2, 1.2);
    std::normal_distribution<double> towards;
    const PrimitiveSpec shapes[] = {turned(box({0.1, 0.0, -0.2}, {0.9, 0.5, 0.7})), turned(sphere({0.2, 0.1, 0.0}, 0.9)),
                                    turned(capsule({0.0, 0.1, 0.0}, 0.6, 0.5)), turned(half_space({0.0, 0.2, 0.0}))};
    for (const PrimitiveSpec& spec : shapes) {
        const Primitive shape = prepared(spec);
        int inside_count = 0;
        for (int trial = 0; trial < 2000; ++trial) {
            const Segment segment{{place(random), place(random), place(random)}, {place(random), place(random), place(random)}};
            const Depth depth = depth_inside(segment, shape);
            // Points of the segment grown by less than the depth stay inside; the nearest way out is `outward`.
            const double reach = std::max(depth.depth_m, 0.0) * (1.0 - 1e-9);
            for (int sample = 0; depth.depth_m > 0.0 && sample < 20; ++sample) {
                const Vec3 way{towards(random), towards(random), towards(random)};
                const double t = sample / 19.0;
                const Vec3 point = segment.a + t * (segment.b - segment.a) + (reach / norm(way)) * way;
                REQUIRE(contains(spec, point), static_cast<int>(spec.kind), trial);
            }
            REQUIRE(std::abs(norm(depth.outward) - 1.0) < 1e-9, static_cast<int>(spec.kind), norm(depth.outward));
            REQUIRE(!contains(spec, depth.point + (depth.depth_m + 1e-6) * depth.outward), static_cast<int>(spec.kind), trial, depth.depth_m);
            REQUIRE(contains(spec, depth.point + (depth.depth_m - 1e-6) * depth.outward), static_cast<int>(spec.kind), trial, depth.depth_m);
            inside_count += depth.depth_m > 0.0 ? 1 : 0;
        }
        REQUIRE(inside_count > 20, static_cast<int>(spec.kind), inside_count);
    }
}

TEST(moving_the_ends_changes_the_depth_by_no_more) {
    std::mt19937 random(6);
    std::uniform_real_distribution<double> place(-1.2, 1.2);
    const PrimitiveSpec shapes[] = {turned(box({0.1, 0.0, -0.2}, {0.9, 0.5, 0.7})), turned(sphere({0.2, 0.1, 0.0}, 0.9)),
                                    turned(capsule({0.0, 0.1, 0.0}, 0.6, 0.5)), turned(half_space({0.0, 0.2, 0.0}))};
    for (const PrimitiveSpec& spec : shapes) {
        const Primitive shape = prepared(spec);
        for (int trial = 0; trial < 5000; ++trial) {
            const Segment first{{place(random), place(random), place(random)}, {place(random), place(random), place(random)}};
            const double scale = 0.01 * (trial % 7);
            const Segment second{first.a + scale * Vec3{place(random), place(random), place(random)},
                                 first.b + scale * Vec3{place(random), place(random), place(random)}};
            const double moved = std::max(norm(second.a - first.a), norm(second.b - first.b));
            REQUIRE(std::abs(depth_inside(first, shape).depth_m - depth_inside(second, shape).depth_m) <= moved + 1e-12, static_cast<int>(spec.kind), trial);
        }
    }
}

TEST(slide_may_go_up_to_the_wall_and_not_beyond) {
    for (const PrimitiveSpec& zone : {box({0.0, 0.0, 0.0}, {1.0, 1.0, 1.0}), sphere({0.0, 0.0, 0.0}, 1.0), capsule({0.0, 0.0, 0.0}, 1.0, 0.5)}) {
        GateConfig config = fast_slider(0.1);
        config.keep_in_zones.push_back({zone, {}});
        Gate gate = make_gate(slider(), config);
        // Wall at 1 m, sphere of 5 cm, margin of 10 cm.
        REQUIRE(slide_to(gate, 0.8498).accepted == 1, static_cast<int>(zone.kind));
        const Verdict verdict = slide_to(gate, 0.8502);
        REQUIRE(verdict.accepted == 0 && verdict.violation.code == ViolationCode::keep_in_zone, static_cast<int>(zone.kind));
        REQUIRE(verdict.stage == 11 && verdict.violation.margin_m == 0.1);
        // Never above what is left at the row, 0.95 - 0.1 - 0.5, and not lost in the motion bound either.
        const double clearance_m = slide_to(gate, 0.5).min_clearance_m;
        REQUIRE(clearance_m > 0.05 && clearance_m <= 0.35, clearance_m);
    }
}

TEST(zone_holds_between_the_steps) {
    // From the shoulder the hand swings out of the zone and back in: both rows are inside.
    RobotModelSpec spec = planar_arm(1);
    GateConfig config = wide_config(spec, 1.0);
    config.velocity_max = {100.0};
    config.max_ee_speed_m_s = 100.0;
    config.keep_in_zones.push_back({box({0.0, 0.0, 0.0}, {2.0, 0.9, 1.0}), {}});
    Gate gate = make_gate(spec, config);
    const WorldSnapshot world = no_world();
    const double positions[1] = {0.5};
    const double through[1] = {2.6};
    const double within[1] = {0.9};
    const Verdict verdict = gate.check(make_request(ControlMode::joint_position, through, 1, positions, world));
    REQUIRE(verdict.accepted == 0 && verdict.violation.code == ViolationCode::keep_in_zone);
    REQUIRE(verdict.violation.segment_t > 0.1 && verdict.violation.segment_t < 0.9, verdict.violation.segment_t);
    REQUIRE(gate.check(make_request(ControlMode::joint_position, within, 1, positions, world)).accepted == 1);
    std::uint8_t accepted[3] = {2, 2, 2};
    double clearance_m[3] = {};
    const double configurations[3] = {0.5, 1.5, 2.6};
    gate.check_configurations(configurations, 3, {}, world, accepted, clearance_m);
    REQUIRE(accepted[0] == 1 && accepted[1] == 0 && accepted[2] == 1);
    REQUIRE(std::abs(clearance_m[1] - (0.9 - std::sin(1.5) - 0.05)) < 1e-6, clearance_m[1]);
}

TEST(zone_is_about_the_links_it_names_and_what_they_hold) {
    RobotModelSpec spec = planar_arm(2);
    GateConfig config = wide_config(spec);
    KeepInZone zone{box({0.0, 0.0, 0.0}, {1.5, 1.5, 1.5}), {}};
    zone.links.set(1);  // the first link ends at 1 m, the second at 2 m
    config.keep_in_zones.push_back(zone);
    Gate named = make_gate(spec, config);
    const double still[2] = {0.0, 0.0};
    const WorldSnapshot world = no_world();
    const CheckRequest request = make_request(ControlMode::joint_position, still, 2, still, world);
    REQUIRE(named.check(request).accepted == 1);
    Attachment held;
    held.id = 4;
    held.volume = {1, 0.1, {1.4, 0.0, 0.0}, {1.45, 0.0, 0.0}};
    held.touch.set(1);
    REQUIRE(named.attach(held));
    const Verdict verdict = named.check(request);
    REQUIRE(verdict.violation.code == ViolationCode::keep_in_zone && verdict.violation.subject_kind == SubjectKind::attached && verdict.violation.subject == 4);
    REQUIRE(named.detach(4) && named.check(request).accepted == 1);
    config.keep_in_zones[0].links.reset();
    Gate all = make_gate(spec, config);
    REQUIRE(all.check(request).violation.subject == 2);
}

TEST(recovery_gives_no_exemption_from_a_zone) {
    GateConfig config = fast_slider(0.0);
    config.keep_in_zones.push_back({box({0.5, 0.0, 0.0}, {0.4, 1.0, 1.0}), {}});
    Gate gate = make_gate(slider(), config);
    const double from[1] = {0.0};
    const double row[1] = {0.3};
    const WorldSnapshot world = no_world();
    CheckRequest request = make_request(ControlMode::joint_position, row, 1, from, world);
    request.recovery = true;
    REQUIRE(gate.check(request).violation.code == ViolationCode::keep_in_zone);
}

TEST(zone_that_makes_no_sense_is_refused) {
    const auto expect_refusal = [](const KeepInZone& zone, const char* words) {
        GateConfig config = wide_config(slider());
        config.keep_in_zones.push_back(zone);
        REQUIRE_REFUSED(make_gate(slider(), config), words);
    };
    expect_refusal({box({0.0, 0.0, 0.0}, {1.0, 0.0, 1.0}), {}}, "keep-in zone");
    expect_refusal({sphere({0.0, 0.0, 0.0}, std::nan("")), {}}, "keep-in zone");
    KeepInZone bare{box({0.0, 0.0, 0.0}, {1.0, 1.0, 1.0}), {}};
    bare.links.set(0);  // the base has no volume
    expect_refusal(bare, "no volume");
    GateConfig config = wide_config(slider());
    config.keep_in_zones.assign(capacity::keep_in_zones_max, {box({0.0, 0.0, 0.0}, {1.0, 1.0, 1.0}), {}});
    (void)make_gate(slider(), config);
    config.keep_in_zones.push_back(config.keep_in_zones[0]);
    REQUIRE_REFUSED(make_gate(slider(), config), "more than 16");
}

TEST_MAIN
