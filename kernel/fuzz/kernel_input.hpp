// SPDX-License-Identifier: Apache-2.0
// Raw bytes become what arrives at a kernel: chunks, requests, twists, states, worlds, attached objects and goals, in
// any order. Whatever they are, the kernel must keep its promises. Sanitizers watch the memory, the lines below the
// verdict.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "config_text.hpp"
#include "kernel.hpp"
#include "world_builder.hpp"

namespace lastgate::fuzz {

using namespace kernel;

[[noreturn]] inline void give_up(const char* promise) {
    std::fprintf(stderr, "broken promise: %s\n", promise);
    std::abort();
}
inline void require(bool holds, const char* promise) {
    if (!holds) give_up(promise);
}

constexpr double now_s = 1000.0;
/// What an input may consist of, in the order of their first byte.
constexpr MessageType types[] = {MessageType::action_chunk, MessageType::chunk_request, MessageType::twist, MessageType::joint_state, MessageType::attached_shape,
                                 MessageType::detach, MessageType::nav_goal, MessageType::world_snapshot, MessageType::world_collision, MessageType::occupancy_voxels};

/// The smallest robot, on wheels so that every message means something to it.
inline const KernelConfig& robot() {
    static const KernelConfig config = [] {
        std::string text = tests::config_text;
        const auto put = [&](const char* from, const char* to) {
            const auto at = text.find(from);
            require(at != std::string::npos, "the text of the robot is as expected");
            text.replace(at, std::string(from).size(), to);
        };
        put("mobile_base: false", "mobile_base: true");
        put("control_modes: [0, 1, 3, 4, 5, 6]", "max_base_linear_speed_m_s: 1.0\nmax_base_angular_speed_rad_s: 1.0\nfootprint_vertices_xy: [0, 0]\nfootprint_radius_m: 0.2\ncontrol_modes: [0, 1, 3, 4, 5, 6, 7]");
        return read_config(text);
    }();
    return config;
}

inline bool is_finite(std::span<const double> numbers) {
    for (const double number : numbers) {
        if (!std::isfinite(number)) return false;
    }
    return true;
}

/// What became of everything that was fed.
struct Tally {
    long messages = 0;
    long passed = 0;
    long reported = 0;
};

/// One kernel and what reached it so far.
class Bench {
  public:
    Bench() {
        static const auto gate = std::make_shared<Gate>(std::make_shared<RobotModel>(robot().model), robot().gate);
        for (std::uint16_t id = 0; id < capacity::attached_max; ++id) (void)gate->detach(id);
        KernelSettings settings;
        settings.on_violation = OnViolation::hold;
        settings.on_stale = OnStale::drop;
        kernel_ = std::make_unique<Kernel>(robot(), gate, settings, "digest", LatchRecord{});
        (void)kernel_->activate(std::array{deadman_name});
    }

    void take(MessageType type, std::span<const std::uint8_t> bytes) {
        tally_.messages += 1;
        // Where a message lies in the process: its doubles aligned, and nothing readable behind it.
        std::vector<double> memory((bytes.size() + payload_offset + 7) / 8 + 1);
        auto* first = reinterpret_cast<std::byte*>(memory.data()) + payload_offset;
        if (!bytes.empty()) std::memcpy(first, bytes.data(), bytes.size());
        const std::span<std::byte> payload(first, bytes.size());
        const Now now{now_s, now_s};
        const NamedWorld* world = world_.get();
        switch (type) {
            case MessageType::action_chunk: decide(kernel_->evaluate(payload, world, now), false); break;
            case MessageType::chunk_request: {
                const auto request = kernel_->read_request(payload, world);
                if (!request || request->chunk.empty()) {
                    decide(Kernel::not_a_chunk(payload.size()), false);
                    break;
                }
                std::vector<double> aligned((request->chunk.size() + payload_offset + 7) / 8 + 1);
                auto* chunk = reinterpret_cast<std::byte*>(aligned.data()) + payload_offset;
                std::memcpy(chunk, request->chunk.data(), request->chunk.size());
                const Finding finding = kernel_->evaluate({chunk, request->chunk.size()}, world, now, &*request);
                decide(finding, request->recovery);
#ifdef LASTGATE_FUZZ_CANARY
                // Deep enough that random bytes do not get here: a contact that can be used, and a chunk that is rejected for its path.
                if (request->contact_count == 1 && finding.verdict.stage >= 8 && finding.verdict.accepted == 0) give_up("planted bug of the canary");
#endif
                break;
            }
            case MessageType::twist: decide(kernel_->evaluate_twist(payload, world, now), false); break;
            case MessageType::joint_state: (void)kernel_->observe(payload, now); break;
            case MessageType::attached_shape: (void)kernel_->attach(payload); break;
            case MessageType::detach: (void)kernel_->detach(payload); break;
            case MessageType::nav_goal: {
                const NavAnswer answer = kernel_->nav_goal(payload, world, now);
                require(CdrReader::is_utf8(answer.reason.view()), "an answer is text");
                require(!answer.ok || (world != nullptr && world->occupancy_map != nullptr), "no goal is free without a map");
                break;
            }
            default:
                if (auto made = builder_.take(type, payload, now)) world_ = std::move(made);
                break;
        }
        const auto status = kernel_->status(world_.get(), now);
        require(!status.empty() || world_ != nullptr, "a status can be written");
    }

    const Tally& tally() const { return tally_; }

  private:
    void decide(const Finding& finding, bool recovery) {
        const Now now{now_s, now_s};
        const Decision decision = kernel_->decide(finding, world_.get(), now);
        const auto& chunk = finding.chunk;
        if (decision.pass) {
            tally_.passed += 1;
            require(finding.verdict.accepted == 1 && finding.verdict.stage == 12, "passed means accepted by every stage");
            require(is_finite(chunk.flat) && chunk.flat.size() == std::size_t{chunk.horizon} * chunk.n_dof && chunk.horizon >= 1, "passed means a whole chunk of finite numbers");
            require(world_ != nullptr, "passed means that a world was seen");
            if (chunk.control_mode == 0 && !recovery) {
                for (const double position : chunk.flat) require(std::abs(position) <= 3.0, "passed means inside the limits");
            }
            return;
        }
        if (!decision.report) return;
        tally_.reported += 1;
        require(decision.evidence.size() > 2 && decision.evidence.front() == '{' && decision.evidence.back() == '}', "evidence is one object");
        require(CdrReader::is_utf8(decision.evidence), "evidence is text");
    }

    std::unique_ptr<Kernel> kernel_;
    WorldBuilder builder_{robot().frames};
    std::unique_ptr<NamedWorld> world_;
    Tally tally_;
};

/// An input is a list of messages: one byte of type, two of length, then so many bytes.
inline void feed(std::span<const std::uint8_t> input, Tally& tally) {
    Bench bench;
    while (input.size() >= 3) {
        const MessageType type = types[input[0] % std::size(types)];
        const std::size_t size = std::min<std::size_t>(input[1] | std::size_t{input[2]} << 8U, input.size() - 3);
        bench.take(type, input.subspan(3, size));
        input = input.subspan(3 + size);
    }
    tally.messages += bench.tally().messages;
    tally.passed += bench.tally().passed;
    tally.reported += bench.tally().reported;
}

/// A world with an obstacle, a zone, voxels, a point and a floor.
inline std::span<const std::byte> write_whole_world(std::span<std::byte> memory) {
    WorldSnapshotMessage snapshot;
    snapshot.stamp_s = now_s;
    snapshot.world_id = "w";
    snapshot.kinds = {0, 2};
    snapshot.sizes_m = {0.1, 0, 0, 0.1, 0.1, 0.1};
    snapshot.xyz_quat_xyzw = {0, 1.7, 0, 0, 0, 0, 1, 0, -1.7, 0, 0, 0, 0, 1};
    snapshot.object_id = {"table", "zone"};
    snapshot.obstacle_count = 1;
    const std::vector<std::uint8_t> zeros(27, 0);
    snapshot.has_voxels = true;
    snapshot.voxels_stamp_s = now_s;
    snapshot.origin = {5.0, 5.0, 5.0};
    snapshot.resolution = 0.1;
    snapshot.size = {3, 3, 3};
    snapshot.outside_is_free = true;
    snapshot.occupancy = zeros;
    snapshot.has_points = true;
    snapshot.points_stamp_s = now_s;
    snapshot.points = {2.0, 2.0, 2.0};
    const std::vector<std::uint8_t> bits(20 * 3, 0);
    snapshot.has_floor = true;
    snapshot.floor = {"map", now_s, 60.0, now_s, {-2.0, -2.0}, 0.0, 0.2, {20, 20}, {0, 0}, {20, 20}, {1, 0, 0, -2, 0, 1, 0, -2, 0, 0, 1, 0}, -0.1, 0.2, bits};
    return write_world_snapshot(snapshot, memory);
}

/// Inputs in which everything is right: mutation starts here, because random bytes would not become a message in a week.
inline std::vector<std::vector<std::uint8_t>> whole_inputs() {
    std::vector<std::byte> memory(4096);
    std::vector<std::uint8_t> state, world, chunk, request, retreat, twist, held, gone, goal;
    const auto as = [&](std::size_t type, std::span<const std::byte> bytes) {
        require(!bytes.empty(), "a whole message can be written");
        std::vector<std::uint8_t> made{static_cast<std::uint8_t>(type), static_cast<std::uint8_t>(bytes.size() & 255U), static_cast<std::uint8_t>(bytes.size() >> 8U)};
        for (const std::byte byte : bytes) made.push_back(static_cast<std::uint8_t>(byte));
        return made;
    };
    const std::string_view names[] = {"shoulder"};
    const double position[] = {0.1};
    state = as(3, write_joint_state(Stamp::of_seconds(now_s), names, position, {}, memory));

    const double rows[] = {0.1, 0.1005};
    ActionChunkMessage message;
    message.horizon = 2;
    message.n_dof = 1;
    message.flat = rows;
    message.trace_id = "00-abc";
    chunk = as(0, write_action_chunk(message, memory));
    const std::vector<std::byte> inner = [&] {
        const auto bytes = write_action_chunk(message, memory);
        return std::vector<std::byte>(bytes.begin(), bytes.end());
    }();
    const NamedContact contact{{"arm"}, {"cup"}, {"table"}, true, false, {0.5, 0.5, 0.5}, {0.5, 0, 0.5, 0, 0, 0, 1}, now_s + 9.0};
    request = as(1, write_chunk_request(false, std::span(&contact, 1), inner, memory));
    retreat = as(1, write_chunk_request(true, {}, inner, memory));
    twist = as(2, write_twist({0.2, 0.0, 0.0, 0.0, 0.0, 0.1}, memory));
    const double ends[] = {0.5, 0.0, 0.0, 0.6, 0.0, 0.0};
    const std::string_view touch[] = {"base"};
    held = as(4, write_attached_shape("cup", "arm", 0.03, ends, touch, memory));
    gone = as(5, write_detach("cup", memory));
    goal = as(6, write_nav_goal({"map", {0.1, 0.2, 0.0}, {0.0, 0.0, 0.0, 1.0}}, memory));

    world = as(7, write_whole_world(memory));

    const auto joined = [](std::initializer_list<const std::vector<std::uint8_t>*> parts) {
        std::vector<std::uint8_t> all;
        for (const auto* part : parts) all.insert(all.end(), part->begin(), part->end());
        return all;
    };
    return {joined({&state, &world, &chunk}), joined({&state, &world, &held, &request, &gone, &chunk}), joined({&state, &world, &twist, &goal}), joined({&world, &goal, &state, &retreat})};
}

}  // namespace lastgate::fuzz
