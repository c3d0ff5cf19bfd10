// SPDX-License-Identifier: Apache-2.0
// Raw bytes become a robot out of a few, a state, a world and a chunk in any mode; whatever they say,
// the gate must keep its promises. Sanitizers watch the memory, the asserts below watch the verdict.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "byte_source.hpp"
#include "robots.hpp"
#include "world/obstacle_field.hpp"

using namespace lastgate;
using namespace lastgate::robots;

namespace {

[[noreturn]] void give_up(const char* promise) {
    std::fprintf(stderr, "broken promise: %s\n", promise);
    std::abort();
}

void require(bool holds, const char* promise) {
    if (!holds) give_up(promise);
}

/// Rows far apart are allowed here, or stage 8 would hide the sweeps from most inputs.
GateConfig loose_config(const RobotModelSpec& spec) {
    GateConfig config = wide_config(spec);
    config.velocity_max.assign(spec.dofs.size(), 1000.0);
    config.torque_max.emplace(spec.dofs.size(), 1000.0);
    config.max_ee_speed_m_s = 1e4;
    config.max_ee_angular_speed_rad_s = 1e4;
    config.self_margin_m = 0.002;
    config.world_margin_m = 0.003;
    config.evaluations_max = 2000;
    return config;
}

/// The same robots inside a room: a box for every link, and a floor for the first that moves.
GateConfig confined_config(const RobotModelSpec& spec) {
    GateConfig config = loose_config(spec);
    const double upright[7] = {0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0};
    config.keep_in_zones.push_back({make_primitive(PrimitiveKind::box, {1.1, 1.1, 1.1}, upright), {}});
    KeepInZone ceiling{make_primitive(PrimitiveKind::half_space, {}, upright), {}};
    ceiling.shape.in_base.translation.z = 1.3;  // solid below it, so inside is below
    ceiling.links.set(spec.links.size() - 1);
    config.keep_in_zones.push_back(ceiling);
    return config;
}

std::vector<Gate>& gates() {
    static std::vector<Gate> all = [] {
        std::vector<Gate> made;
        for (const RobotModelSpec& spec : {planar_arm(2), slider(), panda(), mobile_manipulator(), two_arms()}) {
            made.push_back(make_gate(spec, loose_config(spec)));
            made.push_back(make_gate(spec));
            made.push_back(make_gate(spec, confined_config(spec)));
        }
        return made;
    }();
    return all;
}

/// Built once: a field is made outside the control loop, and its construction has tests of its own.
const std::vector<std::shared_ptr<const ObstacleField>>& fields() {
    static const std::vector<std::shared_ptr<const ObstacleField>> all = [] {
        std::vector<double> cloud;
        for (int index = 0; index < 300; ++index) cloud.push_back(0.01 * ((index * 7919) % 200) - 1.0);
        VoxelSpec spec;
        spec.origin = {-0.8, -0.8, -0.2};
        spec.resolution_m = 0.1;
        spec.size = {16, 16, 14};
        std::vector<std::uint8_t> voxels(16 * 16 * 14, 0);
        for (std::size_t index = 0; index < voxels.size(); index += 97) voxels[index] = index % 2 == 0 ? 255 : 1;
        std::vector<std::shared_ptr<const ObstacleField>> made;
        made.push_back(std::make_shared<const ObstacleField>(ObstacleField::from_points(cloud)));
        made.push_back(std::make_shared<const ObstacleField>(ObstacleField::from_voxels(spec, voxels)));
        spec.outside_is_free = true;
        made.push_back(std::make_shared<const ObstacleField>(ObstacleField::from_voxels(spec, voxels)));
        FloorSpec floor;
        floor.in_base.translation = {-0.8, -0.8, 0.0};
        floor.resolution_m = 0.1;
        floor.size = {16, 16};
        floor.high_m = 0.7;
        made.push_back(std::make_shared<const ObstacleField>(ObstacleField::from_floor(floor, std::span(voxels).first(256))));
        return made;
    }();
    return all;
}

void fill_world(fuzz::ByteSource& bytes, WorldSnapshot& world) {
    const std::uint8_t kind = bytes.byte();
    if (kind == 255) return world.declare_absent();
    if (kind == 254) return;  // never begun
    world.begin(kind, bytes.byte() < 250 ? 1.0 : bytes.number(1.0), kind != 253);
    if (kind % 4 == 3) world.set_field(kind % 2, fields()[bytes.byte() % 3], bytes.byte() < 250 ? 1.0 : bytes.number(1.0));
    if (kind % 8 == 5) world.set_field(floor_slot, fields()[3], 1.0, bytes.byte() < 250 ? 2.0 : bytes.number(1.0));
    for (std::size_t left = bytes.byte() % 24; left > 0 && !bytes.empty(); --left) {
        double pose[7];
        for (double& value : pose) value = bytes.number(1.5);
        const Vec3 size{std::abs(bytes.number(0.2)), std::abs(bytes.number(0.2)), std::abs(bytes.number(0.2))};
        world.add(make_primitive(static_cast<PrimitiveKind>(bytes.byte() % 5), size, pose));
    }
}

struct Request {
    std::vector<double> positions, velocities, grippers, stamps, flat;
    std::vector<DeclaredContact> contacts;
    WorldSnapshot world;
    CheckRequest check;
};

void fill(std::vector<double>& values, std::size_t count, fuzz::ByteSource& bytes, double scale) {
    values.clear();
    for (std::size_t index = 0; index < count; ++index) values.push_back(bytes.number(scale));
}

void fill_state(fuzz::ByteSource& bytes, const RobotModel& model, Request& made) {
    const std::size_t joints = model.row_dofs().size();
    const std::uint8_t kind = bytes.byte();
    made.positions.assign(joints, 0.0);
    if (kind % 4 != 0 && joints >= 7) {
        for (std::size_t index = 0; index < joints; ++index) made.positions[index] = panda_home[index % 7];
    }
    if (kind % 4 == 1) {
        for (double& position : made.positions) position += bytes.number(0.3);
    }
    if (kind % 4 == 2) fill(made.positions, bytes.byte() % (joints + 2), bytes, 3.0);
    if ((kind & 4) != 0) fill(made.velocities, kind < 250 ? joints : joints + 1, bytes, 1.0);
    if ((kind & 8) != 0) fill(made.grippers, model.dof_count() - joints, bytes, 0.04);
    if ((kind & 16) != 0 && kind > 200) fill(made.stamps, joints, bytes, 1.0);
    StateView& state = made.check.state;
    state.positions = made.positions;
    state.velocities = made.velocities;
    state.gripper_positions = made.grippers;
    state.stamps_s = made.stamps;
    state.stamp_s = kind == 251 ? bytes.number(1.0) : 1.0;
    state.given = kind != 252;
}

void fill_chunk(fuzz::ByteSource& bytes, const RobotModel& model, Request& made) {
    ChunkView& chunk = made.check.chunk;
    const std::uint8_t shape = bytes.byte();
    chunk.control_mode = bytes.byte() % 14;
    chunk.width = row_width(chunk.control_mode, model.row_dofs().size());
    chunk.row_count = 1 + bytes.byte() % (shape < 250 ? 12 : 300);
    const bool joint_rows = chunk.width == made.positions.size() && chunk.control_mode != 1 && chunk.control_mode != 2;
    made.flat.clear();
    for (std::size_t index = 0; index < chunk.row_count * chunk.width; ++index) {
        const double around = joint_rows ? made.positions[index % chunk.width] : 0.0;
        made.flat.push_back(around + bytes.number((shape & 1) != 0 ? 0.02 : 1.0));
    }
    if (shape == 240) chunk.width = bytes.take<std::size_t>();
    if (shape == 241) chunk.row_count = bytes.take<std::size_t>();
    if (shape == 242) chunk.control_mode = bytes.take<std::size_t>();
    if (shape == 243 && !made.flat.empty()) made.flat.pop_back();
    chunk.flat = made.flat;
    chunk.effector = shape == 244 ? bytes.take<std::uint32_t>() : 0;
    chunk.frame = static_cast<CartesianFrame>(shape == 245 ? bytes.byte() % 5 : 1 + (shape & 2) / 2);
}

void fill_contacts(fuzz::ByteSource& bytes, const RobotModel& model, Request& made) {
    made.contacts.clear();
    const std::uint8_t kind = bytes.byte();
    for (std::size_t left = kind < 250 ? 1 + kind % 3 : kind % 12; left > 0; --left) {
        DeclaredContact contact;
        contact.links = bytes.take<std::uint16_t>();
        contact.held = bytes.byte() % 4;
        contact.obstacles = bytes.take<std::uint16_t>();
        contact.fields = bytes.byte() % 8;
        double pose[7];
        for (double& value : pose) value = bytes.number(1.0);
        const Vec3 size{std::abs(bytes.number(2.0)), std::abs(bytes.number(2.0)), std::abs(bytes.number(2.0))};
        contact.region = make_primitive(bytes.byte() < 250 ? PrimitiveKind::box : PrimitiveKind::sphere, size, pose);
        contact.expires_s = bytes.byte() < 200 ? 100.0 : bytes.number(2.0);
        if (kind % 8 != 0) {  // else whatever does not exist is named too, and rejected
            for (std::size_t link = model.link_count(); link < contact.links.size(); ++link) contact.links.reset(link);
            for (std::size_t obstacle = made.world.primitives().size(); obstacle < contact.obstacles.size(); ++obstacle) contact.obstacles.reset(obstacle);
            contact.held.reset();
        }
        made.contacts.push_back(contact);
    }
    made.check.contacts = made.contacts;
}

bool all_finite(std::span<const double> values) {
    return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

void require_promises(const Gate& gate, const Request& made, const Verdict& verdict) {
    const ChunkView& chunk = made.check.chunk;
    // Checking the deepest moment of a finding is outside the budget, and bounded.
    require(verdict.evaluations <= gate.config().evaluations_max + 2 * (capacity::rows_max + 1) + 64, "the budget bounds the evaluations");
    if (verdict.accepted == 0) {
        require(verdict.violation.code != ViolationCode::not_checked || verdict.stage > 0, "a rejection says at which stage");
        require(verdict.contacts_used == 0, "a rejection relied on no declared contact");
        require(verdict.certified_rows <= chunk.row_count || chunk.row_count > capacity::rows_max, "no more rows certified than there are");
        return;
    }
    require(verdict.accepted == 1 && verdict.stage == 12, "accepted means every stage passed");
    require(std::isfinite(verdict.min_clearance_m) && verdict.min_clearance_m >= 0.0, "accepted means a clearance that is not negative");
    require(verdict.certified_rows == chunk.row_count, "accepted means every row");
    require(chunk.flat.size() == chunk.row_count * chunk.width && chunk.row_count <= capacity::rows_max, "accepted means a whole chunk");
    require(all_finite(chunk.flat) && all_finite(made.positions), "accepted means no NaN anywhere");
    require(made.check.state.given && made.check.world != nullptr, "accepted means state and world were given");
    require(made.world.is_declared_absent() || (made.world.is_usable() && !made.world.is_overflowing()), "accepted means the world was whole");
    require(verdict.contacts_used >> made.contacts.size() == 0, "no contact was used that was not declared");
    for (const DeclaredContact& contact : made.contacts) {
        require(std::isfinite(contact.expires_s) && contact.region.kind == PrimitiveKind::box, "accepted means that every declaration could be used");
    }
    require(all_finite(gate.path()), "the path that was checked is finite");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::ByteSource bytes(data, size);
    Gate& gate = gates()[bytes.byte() % gates().size()];
    // A snapshot reserves its room when it is made, and this runs thousands of times a second.
    static Request made;
    made.velocities.clear();
    made.grippers.clear();
    made.stamps.clear();
    made.world = WorldSnapshot();
    made.check = CheckRequest{};
    const std::uint8_t options = bytes.byte();
    fill_state(bytes, gate.model(), made);
    fill_world(bytes, made.world);
    fill_chunk(bytes, gate.model(), made);
    made.check.world = options == 255 ? nullptr : &made.world;
    made.check.now_s = options == 254 ? bytes.number(1.0) : 1.0;
    made.check.recovery = options % 8 == 7;
    bool attached = false;
    if (options % 16 == 5) {
        Attachment held;
        held.id = 1;
        held.volume = {static_cast<std::int32_t>(bytes.byte() % 12) - 1, bytes.number(0.1), {bytes.number(0.3), 0.0, 0.0}, {0.0, 0.0, bytes.number(0.3)}};
        held.touch = bytes.take<std::uint16_t>();
        attached = gate.attach(held);
    }
    made.contacts.clear();
    if (options % 4 == 1) fill_contacts(bytes, gate.model(), made);
    const Verdict first = gate.check(made.check);
    const Verdict second = gate.check(made.check);
    require_promises(gate, made, first);
    require(std::memcmp(&first, &second, sizeof first) == 0, "same input, same bytes");
    if (attached) require(gate.detach(1), "what was attached can be detached");

    const std::size_t joints = gate.model().row_dofs().size();
    if (made.positions.size() == joints && made.check.world != nullptr && (made.world.is_usable() || made.world.is_declared_absent())) {
        std::uint8_t accepted[1] = {9};
        double clearance_m[1];
        gate.check_configurations(made.positions, 1, {}, made.world, accepted, clearance_m);
        require(accepted[0] <= 1 && !(accepted[0] == 1 && !(clearance_m[0] >= 0.0)), "an accepted configuration has clearance");
    }
#ifdef LASTGATE_FUZZ_CANARY
    // Three conditions deep, as a real one would be: a mode, a verdict and a shape. Each is a branch of its own, so
    // that coverage leads the fuzzer from one to the next.
    static volatile int depth = 0;
    if (made.check.chunk.control_mode == 7) {
        depth = 1;
        if (first.stage >= 6) {
            depth = 2;
            if (made.check.chunk.row_count >= 2) give_up("planted bug of the canary");
        }
    }
#endif
    return 0;
}
