// SPDX-License-Identifier: Apache-2.0
// Chunk in, verdict out, through the channels of a running kernel; beside it the same evaluation without any channel,
// and how late this machine's own timer is. Prints JSON: every sample, in nanoseconds. `benchmarks/latency.py` starts
// it.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "client.hpp"
#include "kernel.hpp"
#include "world_builder.hpp"

using namespace lastgate;
using namespace lastgate::kernel;

namespace {

std::vector<std::byte> bytes_of_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> read((std::istreambuf_iterator<char>(file)), {});
    if (read.empty()) throw std::runtime_error("cannot read " + path);
    const auto* first = reinterpret_cast<const std::byte*>(read.data());
    return {first, first + read.size()};
}

void sleep_until(std::int64_t deadline_ns) {
    const timespec at{deadline_ns / 1'000'000'000, deadline_ns % 1'000'000'000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) != 0) {
    }
}

void print(const char* name, const std::vector<std::int64_t>& samples, bool last = false) {
    std::printf("\"%s\": [", name);
    for (std::size_t i = 0; i < samples.size(); ++i) std::printf("%s%lld", i == 0 ? "" : ",", static_cast<long long>(samples[i]));
    std::printf("]%s\n", last ? "" : ",");
}

/// What a policy on this robot sends: the same rows with fresh stamps, and a world ten times a second.
class Sender {
  public:
    Sender(ChannelClient& channel, const KernelConfig& config, std::vector<std::byte> chunk, std::vector<std::byte> world, const std::vector<double>& positions)
        : channel_(channel), chunk_(std::move(chunk)), world_(std::move(world)), positions_(positions) {
        for (const auto& name : config.joint_names) names_.emplace_back(name);
    }

    /// False when the kernel did not answer.
    bool round(std::int64_t spin_ns, std::int64_t& took_ns, ChannelClient::Answer& answer) {
        keep_fresh();
        const std::int64_t begun_ns = monotonic_ns();
        const auto found = channel_.wait_verdict(channel_.submit(MessageType::action_chunk, chunk_), 1'000'000'000, spin_ns);
        took_ns = monotonic_ns() - begun_ns;
        if (found) answer = *found;
        return found.has_value();
    }
    std::span<const std::byte> chunk() const { return chunk_; }

  private:
    void keep_fresh() {
        channel_.observe(write_joint_state(Stamp::of_seconds(wall_clock_s()), names_, positions_, {}, state_));
        if (monotonic_ns() - world_ns_ < 100'000'000) return;
        world_ns_ = monotonic_ns();
        const double stamp_s = wall_clock_s();
        std::memcpy(world_.data() + CdrReader::encapsulation_bytes, &stamp_s, sizeof stamp_s);  // its first number
        (void)channel_.wait_world(channel_.publish_world(MessageType::world_snapshot, world_), 1'000'000'000);
    }

    ChannelClient& channel_;
    std::vector<std::byte> chunk_;
    std::vector<std::byte> world_;
    std::vector<double> positions_;
    std::vector<std::string_view> names_;
    std::vector<std::byte> state_ = std::vector<std::byte>(4096);
    std::int64_t world_ns_ = 0;
};

/// The same evaluation by a kernel in this process: no ring, no thread, no lock. Taken in turns with the way through the
/// channels: this machine's speed changes from second to second, and both must meet the same of it.
class EvaluationAlone {
  public:
    EvaluationAlone(const KernelConfig& config, std::span<const std::byte> chunk, std::vector<std::byte> world, const std::vector<double>& positions) : kernel_(config, {}, "bench", {}), chunk_(chunk), memory_(chunk.size() / 8 + 2) {
        (void)kernel_.activate(std::array{deadman_name});
        const double stamp_s = wall_clock_s();
        std::memcpy(world.data() + CdrReader::encapsulation_bytes, &stamp_s, sizeof stamp_s);
        now_ = {stamp_s, static_cast<double>(monotonic_ns()) * 1e-9};
        world_ = WorldBuilder(config.frames).take(MessageType::world_snapshot, world, now_);
        const std::vector<std::string_view> names(config.joint_names.begin(), config.joint_names.end());
        std::vector<std::byte> state(4096);
        (void)kernel_.observe(write_joint_state(Stamp::of_seconds(stamp_s), names, positions, {}, state), now_);
    }

    std::int64_t took_ns() {
        auto* payload = reinterpret_cast<std::byte*>(memory_.data()) + payload_offset;
        std::memcpy(payload, chunk_.data(), chunk_.size());
        const std::int64_t begun_ns = monotonic_ns();
        const Finding finding = kernel_.evaluate({payload, chunk_.size()}, world_.get(), now_);
        const std::int64_t took = monotonic_ns() - begun_ns;
        if (finding.verdict.accepted != 1) throw std::runtime_error("the chunk is not accepted");
        return took;
    }

  private:
    Kernel kernel_;
    std::span<const std::byte> chunk_;
    std::vector<double> memory_;
    std::unique_ptr<NamedWorld> world_;
    Now now_;
};

std::vector<std::int64_t> timer_lateness(std::size_t count) {
    std::vector<std::int64_t> samples;
    std::int64_t deadline_ns = monotonic_ns();
    for (std::size_t i = 0; i < count; ++i) {
        deadline_ns += 1'000'000;
        sleep_until(deadline_ns);
        const std::int64_t late_ns = monotonic_ns() - deadline_ns;
        samples.push_back(late_ns);
        if (late_ns > 1'000'000) deadline_ns = monotonic_ns();
    }
    return samples;
}

/// `usage: channel_latency INSTANCE CONFIG CHUNK WORLD POSITIONS… -- COUNT SPIN_US PERIOD_US`
int run(const std::vector<std::string>& words) {
    const std::string instance = words.at(0);
    std::ifstream file(words.at(1));
    const KernelConfig config = [&] {
        KernelConfig read = read_config(std::string((std::istreambuf_iterator<char>(file)), {}));
        read.gate.simd_build = best_simd_build();
        return read;
    }();
    const auto chunk = bytes_of_file(words.at(2));
    auto world = bytes_of_file(words.at(3));
    std::vector<double> positions;
    std::size_t at = 4;
    for (; words.at(at) != "--"; ++at) positions.push_back(std::stod(words[at]));
    const auto count = static_cast<std::size_t>(std::stoul(words.at(at + 1)));
    const auto spin_ns = static_cast<std::int64_t>(std::stod(words.at(at + 2)) * 1000.0);
    const auto period_ns = static_cast<std::int64_t>(std::stod(words.at(at + 3)) * 1000.0);

    EvaluationAlone alone_evaluation(config, chunk, world, positions);
    std::vector<std::int64_t> alone;
    const auto late = timer_lateness(std::min<std::size_t>(count, 2000));
    ChannelClient channel(instance);
    RingReader passed(instance, "safe_actions", chunk_ring, false);
    Sender sender(channel, config, chunk, world, positions);
    std::vector<std::int64_t> trips;
    std::vector<std::int64_t> inside;
    std::size_t refused = 0, latched = 0, wrong = 0, unanswered = 0, lost = 0, reordered = 0, altered = 0;
    std::uint64_t newest = 0;
    // A deadman that was there before the first chunk has stopped the kernel, as it should.
    if (channel.status_block().state.load() == static_cast<std::uint32_t>(LifecycleState::latched)) {
        const auto reset = channel.command(Command::reset, 1'000'000'000);
        if (!reset || reset->success != 1) throw std::runtime_error("the kernel is latched and cannot be reset");
    }
    std::int64_t passed_ns = monotonic_ns();
    std::int64_t longest_gap_ns = 0;
    std::int64_t deadline_ns = monotonic_ns();
    const std::int64_t begun_ns = deadline_ns;
    for (std::size_t i = 0; i < count; ++i) {
        if (period_ns > 0) {
            deadline_ns += period_ns;
            if (monotonic_ns() < deadline_ns) sleep_until(deadline_ns);
        }
        alone.push_back(alone_evaluation.took_ns());
        std::int64_t took_ns = 0;
        ChannelClient::Answer answer;
        if (!sender.round(spin_ns, took_ns, answer)) {
            ++unanswered;
            continue;
        }
        trips.push_back(took_ns);
        inside.push_back(answer.frame.duration_ns);
        if (answer.frame.passed != 1) {
            // The chunk is good. What may be said against it is that a state or a world came late, or that a stop is latched.
            const ViolationCode code = answer.frame.verdict.violation.code;
            if (code == ViolationCode::estop_latched) ++latched;
            else if (code == ViolationCode::state_unavailable || code == ViolationCode::world_unavailable) ++refused;
            else ++wrong;
            continue;
        }
        if (latched == 0) longest_gap_ns = std::max(longest_gap_ns, monotonic_ns() - passed_ns);
        passed_ns = monotonic_ns();
        const auto message = passed.read(0);
        if (!message) ++lost;
        else {
            if (newest != 0 && message->head.sequence != newest + 1) ++reordered;
            newest = message->head.sequence;
            if (message->head.sequence != answer.frame.safe_sequence) ++reordered;
            if (message->payload.size() != chunk.size() || std::memcmp(message->payload.data(), chunk.data(), chunk.size()) != 0) ++altered;
        }
    }
    std::printf("{\"seconds\": %.3f, \"rounds\": %zu, \"refused\": %zu, \"latched\": %zu, \"wrong\": %zu, \"longest_gap_s\": %.3f, \"unanswered\": %zu, \"lost\": %llu, \"reordered\": %zu, \"altered\": %zu,\n", static_cast<double>(monotonic_ns() - begun_ns) * 1e-9, count, refused, latched, wrong, static_cast<double>(longest_gap_ns) * 1e-9, unanswered,
                static_cast<unsigned long long>(lost + passed.lost()), reordered, altered);
    print("look_ns", alone);
    print("timer_ns", late);
    print("inside_ns", inside);
    print("trip_ns", trips, true);
    std::printf("}\n");
    return 0;
}

}  // namespace

int main(int count, char** values) {
    try {
        return run({values + 1, values + count});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return 2;
    }
}
