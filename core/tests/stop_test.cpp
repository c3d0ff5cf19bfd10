// SPDX-License-Identifier: Apache-2.0
// Declared stops: accepted where the whole stop is clear, rejected one millimetre earlier, in every mode that has speeds; and chunks that
// take over from a running motion.
#include <cmath>
#include <vector>

#include "require.hpp"
#include "robots.hpp"

using namespace lastgate;
using namespace lastgate::robots;

namespace {

constexpr double step_s = 0.1;
constexpr double reaction_s = 0.05;
constexpr double deceleration = 2.0;
/// From 1 m/s: 0.05 m while the driver reacts, then 0.25 m.
constexpr double stop_m = 0.3;

GateConfig stopping_config(const RobotModelSpec& spec, StopKind kind) {
    GateConfig config = wide_config(spec, step_s);
    config.velocity_max.assign(spec.dofs.size(), 2.0);
    config.stop = StopConfig{kind, reaction_s, std::vector<double>(spec.dofs.size(), deceleration), std::nullopt, std::nullopt};
    return config;
}

/// A slide with a sphere of 5 cm at its place.
struct Slide {
    GateConfig config;
    std::vector<PrimitiveSpec> obstacles;
    std::vector<DeclaredContact> contacts;
    bool recovery = false;
    double start = 0.0;
    std::vector<double> stop_distance = std::vector<double>(1);
    double stop_time_s = 0.0;

    explicit Slide(StopKind kind) : config(stopping_config(slider(), kind)) {}

    Verdict check(const std::vector<double>& rows, ControlMode mode = ControlMode::joint_position, const RunningMotion& running = {}) {
        Gate gate = make_gate(slider(), config);
        const WorldSnapshot world = make_world(obstacles);
        const double positions[1] = {start};
        CheckRequest request = make_request(mode, rows, 1, positions, world);
        request.contacts = contacts;
        request.recovery = recovery;
        request.running = running;
        const Verdict verdict = gate.check(request);
        gate.stop_distance(stop_distance);
        stop_time_s = gate.stop_time_s();
        return verdict;
    }
    /// An obstacle whose surface a stop may come up to.
    Slide& wall(double x) {
        obstacles = {sphere({x + 0.05 + 0.1, 0.0, 0.0}, 0.1)};
        return *this;
    }
};

/// Ten steps at 1 m/s.
std::vector<double> ten_steps(double start = 0.0) {
    std::vector<double> rows;
    for (int step = 1; step <= 10; ++step) rows.push_back(start + 0.1 * step);
    return rows;
}

void require_no_stop(const Verdict& verdict, std::uint32_t certified_rows) {
    REQUIRE(verdict.accepted == 0 && verdict.stop_certified == 0);
    REQUIRE(verdict.violation.code == ViolationCode::stop_not_certified, static_cast<int>(verdict.violation.code));
    REQUIRE(verdict.certified_rows == certified_rows && verdict.violation.row == certified_rows, verdict.certified_rows, verdict.violation.row);
}

bool lists_stop(const Verdict& verdict) { return (verdict.unchecked & static_cast<std::uint32_t>(Unchecked::stop)) != 0; }

}  // namespace

TEST(stop_that_ends_before_a_wall_is_certified_and_one_a_millimetre_longer_is_not) {
    for (const StopKind kind : {StopKind::path, StopKind::joint}) {
        Slide slide(kind);
        const Verdict fits = slide.wall(1.0 + stop_m + 0.001).check(ten_steps());
        REQUIRE(fits.accepted == 1 && fits.stop_certified == 1 && !lists_stop(fits), static_cast<int>(fits.violation.code));
        REQUIRE(std::abs(slide.stop_distance[0] - stop_m) < 1e-9 && slide.stop_distance[0] >= stop_m, slide.stop_distance[0]);
        REQUIRE(std::abs(slide.stop_time_s - 0.55) < 1e-9, slide.stop_time_s);
        // A step covers 0.1 m: a stop from the ninth ends where one from the tenth would not.
        const Verdict longer = slide.wall(1.0 + stop_m - 0.001).check(ten_steps());
        require_no_stop(longer, 9);
        REQUIRE(longer.stage == 11 && longer.violation.subject_kind == SubjectKind::link && longer.violation.against_kind == AgainstKind::primitive);
        require_no_stop(slide.wall(1.0 + stop_m - 0.101).check(ten_steps()), 8);
    }
}

TEST(without_a_declared_stop_the_same_chunk_passes_and_says_what_was_not_checked) {
    Slide slide(StopKind::path);
    slide.config.stop.reset();
    const Verdict verdict = slide.wall(1.001).check(ten_steps());
    REQUIRE(verdict.accepted == 1 && verdict.stop_certified == 0 && lists_stop(verdict));
}

TEST(chunk_that_ends_at_rest_needs_no_room_beyond_its_end) {
    const std::vector<double> rows = {0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.575, 0.58, 0.58, 0.58, 0.58};
    Slide along_path(StopKind::path);
    REQUIRE(along_path.wall(0.581).check(rows).accepted == 1);
    REQUIRE(along_path.wall(0.579).check(rows).violation.code == ViolationCode::world_collision);
    // Alone, a joint at 1 m/s needs all of its way, whatever the path does later.
    Slide alone(StopKind::joint);
    REQUIRE(alone.wall(0.5 + stop_m + 0.001).check(rows).accepted == 1);
    require_no_stop(alone.wall(0.5 + stop_m - 0.001).check(rows), 4);
}

TEST(stop_from_a_fast_step_may_end_beyond_a_slow_last_one) {
    Slide slide(StopKind::path);
    std::vector<double> rows = ten_steps();
    rows.back() = 0.91;
    // From the end of step 9 the stop covers 0.3 s of the path: 0.1 s of it is the last step, 0.2 s goes on at 0.1 m/s.
    REQUIRE(slide.wall(0.931).check(rows).accepted == 1);
    require_no_stop(slide.wall(0.929).check(rows), 8);
}

TEST(first_of_all_violations_is_that_of_the_chunk_itself) {
    for (const StopKind kind : {StopKind::path, StopKind::joint}) {
        Slide slide(kind);
        const Verdict verdict = slide.wall(0.75).check(ten_steps());
        REQUIRE(verdict.violation.code == ViolationCode::world_collision && verdict.violation.row == 7);
        // Clear up to 0.7: a stop from step 4 ends there.
        REQUIRE(verdict.certified_rows == 4, verdict.certified_rows);
        slide.config.stop.reset();
        REQUIRE(slide.check(ten_steps()).certified_rows == 7);
    }
}

TEST(stop_asked_for_in_a_slow_step_brakes_as_long_as_the_fast_ones_after_it_need) {
    Slide slide(StopKind::path);
    // Five steps at 0.1 m/s, then at 1 m/s into a wall within the sixth.
    const std::vector<double> rows = {0.01, 0.02, 0.03, 0.04, 0.05, 0.15, 0.25};
    const Verdict verdict = slide.wall(0.1).check(rows);
    REQUIRE(verdict.violation.code == ViolationCode::world_collision && verdict.violation.row == 5);
    // Clear up to 0.5 s; a stop takes 0.3 s of the path, whatever the speed at which it is asked for.
    REQUIRE(verdict.certified_rows == 2, verdict.certified_rows);
}

TEST(stop_stays_inside_limits_boxes_and_zones) {
    for (const StopKind kind : {StopKind::path, StopKind::joint}) {
        Slide limit(kind);
        limit.start = 5.0 - 1.0 - stop_m;
        const std::vector<double> up_to_the_limit = ten_steps(limit.start);
        REQUIRE(limit.check(up_to_the_limit).stage >= 8);
        limit.start -= 1e-9;
        REQUIRE(limit.check(ten_steps(limit.start)).accepted == 1);
        limit.start += 0.001;
        const Verdict beyond = limit.check(ten_steps(limit.start));
        require_no_stop(beyond, 9);
        REQUIRE(beyond.stage == 8 && beyond.violation.subject_kind == SubjectKind::dof && beyond.violation.limit_max == 5.0);
        REQUIRE(beyond.violation.value > 5.0 && beyond.violation.value < 5.01, beyond.violation.value);

        Slide in_box(kind);
        in_box.config.workspace_box = WorkspaceBox{{-2.0, -1.0, -1.0}, {1.0 + stop_m + 0.001, 1.0, 1.0}};
        REQUIRE(in_box.check(ten_steps()).accepted == 1);
        in_box.config.workspace_box->max.x -= 0.002;
        require_no_stop(in_box.check(ten_steps()), 9);

        Slide zone(kind);
        zone.config.no_go_zones = {box({1.0 + stop_m + 0.05 + 0.501, 0.0, 0.0}, {0.5, 0.5, 0.5})};
        REQUIRE(zone.check(ten_steps()).accepted == 1);
        zone.config.no_go_zones[0].in_base.translation.x -= 0.002;
        require_no_stop(zone.check(ten_steps()), 9);

        Slide fence(kind);
        fence.config.keep_in_zones.resize(1);
        fence.config.keep_in_zones[0].shape = box({0.0, 0.0, 0.0}, {1.0 + stop_m + 0.05 + 0.001, 0.5, 0.5});
        REQUIRE(fence.check(ten_steps()).accepted == 1);
        fence.config.keep_in_zones[0].shape.half_extents_m.x -= 0.002;
        require_no_stop(fence.check(ten_steps()), 9);
    }
}

TEST(velocities_and_trajectories_stop_like_positions) {
    for (const StopKind kind : {StopKind::path, StopKind::joint}) {
        Slide slide(kind);
        const std::vector<double> velocities(10, 1.0);
        REQUIRE(slide.wall(1.0 + stop_m + 0.001).check(velocities, ControlMode::joint_velocity).accepted == 1);
        require_no_stop(slide.wall(1.0 + stop_m - 0.001).check(velocities, ControlMode::joint_velocity), 9);
        require_no_stop(slide.check(ten_steps(), ControlMode::joint_trajectory), 9);
    }
}

TEST(reach_of_a_torque_grows_by_what_braking_from_full_speed_needs) {
    // Two steps at 2 m/s: 0.4 m; then 0.1 m while the driver reacts, and 1 m.
    constexpr double reach_m = 0.4 + 0.1 + 1.0;
    Slide slide(StopKind::path);
    const std::vector<double> torques(2, 0.0);
    REQUIRE(slide.wall(reach_m + 0.001).check(torques, ControlMode::joint_torque).accepted == 1);
    require_no_stop(slide.wall(reach_m - 0.001).check(torques, ControlMode::joint_torque), 0);
    REQUIRE(slide.wall(0.39).check(torques, ControlMode::joint_torque).violation.code == ViolationCode::world_collision);
    slide.obstacles.clear();
    slide.start = 5.0 - reach_m - 1e-9;
    REQUIRE(slide.check(torques, ControlMode::joint_torque).accepted == 1);
    slide.start += 0.001;
    require_no_stop(slide.check(torques, ControlMode::joint_torque), 0);
}

TEST(declared_contact_counts_for_a_stop_that_it_outlasts) {
    for (const StopKind kind : {StopKind::path, StopKind::joint}) {
        Slide slide(kind);
        slide.config.world_margin_m = 0.1;
        slide.wall(1.0 + stop_m + 0.05);  // inside the margin, without touching
        require_no_stop(slide.check(ten_steps()), 9);
        DeclaredContact contact;
        contact.links.set(1);
        contact.obstacles.set(0);
        contact.region = box({1.4, 0.0, 0.0}, {0.3, 0.2, 0.2});
        contact.expires_s = 1.0 + 1.0 + 0.5501;  // the chunk takes 1 s, its stop 0.55 s more
        slide.contacts = {contact};
        const Verdict outlasts = slide.check(ten_steps());
        REQUIRE(outlasts.accepted == 1 && outlasts.contacts_used == 1, static_cast<int>(outlasts.violation.code));
        slide.contacts[0].expires_s -= 0.0002;
        require_no_stop(slide.check(ten_steps()), 9);
    }
}

TEST(retreat_keeps_its_stop_clear_of_what_it_did_not_touch) {
    Slide slide(StopKind::path);
    slide.config.velocity_max = {4.0};
    slide.recovery = true;
    // In contact with the obstacle behind; something else ahead.
    const PrimitiveSpec behind = sphere({-0.14, 0.0, 0.0}, 0.1);
    slide.obstacles = {behind, sphere({1.0 + stop_m + 0.05 + 0.101, 0.0, 0.0}, 0.1)};
    const Verdict away = slide.check(ten_steps());
    REQUIRE(away.accepted == 1 && away.recovery == 1 && away.stop_certified == 1, static_cast<int>(away.violation.code));
    slide.obstacles[1].in_base.translation.x -= 0.002;
    REQUIRE(slide.check(ten_steps()).violation.code == ViolationCode::stop_not_certified);
    Slide alone(StopKind::joint);
    alone.config.velocity_max = {4.0};
    alone.recovery = true;
    alone.obstacles = {behind};
    REQUIRE(lists_stop(alone.check(ten_steps())));
}

TEST(base_stops_by_its_own_decelerations_and_says_so_where_it_has_none) {
    GateConfig config = stopping_config(mobile_manipulator(), StopKind::path);
    std::vector<double> rows;
    for (int step = 0; step < 4; ++step) rows.insert(rows.end(), {1.0, 0.0, 0.0, 0.0, 0.0, 0.0});
    std::vector<double> positions(panda_home.begin(), panda_home.end());
    const double fingers[1] = {0.02};
    const auto check = [&](double wall) {
        Gate gate = make_gate(mobile_manipulator(), config);
        const PrimitiveSpec obstacles[] = {sphere({wall + 0.3 + 0.1, 0.0, 0.2}, 0.1)};  // the front of the base is at 0.3 m
        const WorldSnapshot world = make_world(obstacles);
        CheckRequest request = make_request(ControlMode::body_twist, rows, 6, positions, world);
        request.state.gripper_positions = fingers;
        return gate.check(request);
    };
    REQUIRE(lists_stop(check(0.41)) && check(0.41).accepted == 1);
    config.stop->base_deceleration_m_s2 = deceleration;
    config.stop->base_angular_deceleration_rad_s2 = deceleration;
    const Verdict fits = check(0.4 + stop_m + 0.001);
    REQUIRE(fits.accepted == 1 && fits.stop_certified == 1, static_cast<int>(fits.violation.code));
    require_no_stop(check(0.4 + stop_m - 0.001), 3);
}

TEST(gripper_has_no_speed_to_stop_from) {
    const GateConfig config = stopping_config(mobile_manipulator(), StopKind::path);
    Gate gate = make_gate(mobile_manipulator(), config);
    const double rows[1] = {0.04};
    const double fingers[1] = {0.02};
    std::vector<double> positions(panda_home.begin(), panda_home.end());
    const WorldSnapshot world = make_world({});
    CheckRequest request = make_request(ControlMode::gripper_position, rows, 1, positions, world);
    request.state.gripper_positions = fingers;
    const Verdict verdict = gate.check(request);
    REQUIRE(verdict.accepted == 1 && verdict.stop_certified == 0 && lists_stop(verdict));
}

namespace {

/// Ten steps at 1 m/s that began 0.25 s ago; the chunk takes over 0.15 s from now, where they are then.
struct Seam {
    Slide slide{StopKind::path};
    std::vector<double> running_rows = ten_steps();
    double from[1] = {0.0};
    RunningMotion running{running_rows, from, 10, 1.0 - 0.25, 0.15, true};
    Seam() { slide.start = 0.25; }
    Verdict check(const std::vector<double>& rows, ControlMode mode = ControlMode::joint_position) { return slide.check(rows, mode, running); }
    Verdict take_over(double jump = 0.0) { return check(ten_steps(0.4 + jump)); }
};

}  // namespace

TEST(chunk_takes_over_where_the_running_motion_will_be) {
    Seam seam;
    REQUIRE(seam.take_over().accepted == 1);
    // 2 m/s for one step; 0.1 m of it is what the first step moves anyway.
    REQUIRE(seam.take_over(0.0999).accepted == 1);
    const Verdict jump = seam.take_over(0.1001);
    REQUIRE(jump.violation.code == ViolationCode::seam_jump && jump.violation.element == 0 && jump.certified_rows == 0);
    REQUIRE(std::abs(jump.violation.value - 0.2001) < 1e-9 && std::abs(jump.violation.limit_max - 0.2) < 1e-9);
    // Checked from the measured state alone, the same chunk would jump.
    REQUIRE(seam.slide.check(ten_steps(0.4)).violation.code == ViolationCode::joint_velocity_limit);
    seam.slide.config.acceleration_max = {5.0};
    REQUIRE(seam.take_over(0.0499).accepted == 1, static_cast<int>(seam.take_over(0.0499).violation.code));
    REQUIRE(seam.take_over(0.0501).violation.code == ViolationCode::seam_jump);
}

TEST(what_still_runs_is_swept_before_the_chunk) {
    Seam seam;
    seam.slide.config.stop.reset();
    seam.slide.wall(0.45);
    const std::vector<double> away = {0.35, 0.25, 0.15};
    REQUIRE(seam.check(away).accepted == 1);
    seam.slide.wall(0.39);
    const Verdict verdict = seam.check(away);
    REQUIRE(verdict.violation.code == ViolationCode::world_collision && verdict.violation.row == 0 && verdict.certified_rows == 0);
    seam.slide.obstacles = {sphere({0.39 + 0.3, 0.0, 0.0}, 0.1)};
    const Verdict later = seam.check(ten_steps(0.4));
    REQUIRE(later.violation.row == 1 && later.certified_rows == 1, later.violation.row, later.certified_rows);
}

TEST(state_that_is_not_where_the_running_motion_should_be_is_rejected) {
    Seam seam;
    seam.slide.start = 0.25 + 0.1999;
    REQUIRE(seam.take_over().violation.code != ViolationCode::seam_jump);
    seam.slide.start = 0.25 - 0.2001;
    const Verdict lags = seam.take_over();
    REQUIRE(lags.violation.code == ViolationCode::seam_jump && lags.violation.element == 1);
}

TEST(running_motion_that_cannot_be_used_is_rejected) {
    const auto rejected_as = [](Seam& seam, std::uint32_t cause) {
        const Verdict verdict = seam.take_over();
        return verdict.violation.code == ViolationCode::seam_jump && verdict.violation.element == cause && verdict.stage == 8;
    };
    Seam mode;
    REQUIRE(mode.check(std::vector<double>(3, 0.1), ControlMode::joint_velocity).violation.element == 2);
    Seam recovering;
    recovering.slide.recovery = true;
    REQUIRE(rejected_as(recovering, 2));
    Seam broken;
    broken.running_rows[3] = NAN;
    REQUIRE(rejected_as(broken, 3));
    Seam short_of_rows;
    short_of_rows.running.row_count = 9;
    REQUIRE(rejected_as(short_of_rows, 3));
    for (const double handover_s : {-0.001, 6.4, static_cast<double>(NAN)}) {
        Seam late;
        late.running.handover_s = handover_s;
        REQUIRE(rejected_as(late, 4), handover_s);
    }
    for (const double started_s : {1.001, -60.0, static_cast<double>(NAN)}) {
        Seam when;
        when.running.started_s = started_s;
        REQUIRE(rejected_as(when, 4), started_s);
    }
    Seam ends;
    ends.running.handover_s = 0.7501;
    REQUIRE(rejected_as(ends, 5));
}

TEST(motion_that_ended_at_rest_may_be_taken_over_later) {
    Seam seam;
    seam.running_rows.back() = seam.running_rows[8];
    seam.running.handover_s = 1.0;
    REQUIRE(seam.check(ten_steps(0.9)).accepted == 1);
    REQUIRE(seam.check(ten_steps(0.9 + 0.1001)).violation.code == ViolationCode::seam_jump);
}

TEST_MAIN
