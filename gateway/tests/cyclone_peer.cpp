// SPDX-License-Identifier: Apache-2.0
// A program of the same DDS vendor, without ROS.
//   cyclone_peer DOMAIN latency COUNT   reads a chunk and a joint state (without its stamp) as two hexadecimal words from
//                                       stdin, sends the chunk COUNT times and prints how long safe actions took, as JSON
//   cyclone_peer DOMAIN trigger HEX     sends one frame to the reset service and prints the frame that comes back, or `none`
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "dds/dds.h"
#include "messages.hpp"
#include "shared_memory.hpp"
#include "wire.hpp"

namespace {

using namespace lastgate;
using namespace lastgate::kernel;
using namespace lastgate::gateway;

std::vector<std::byte> bytes_of(const std::string& text) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
    return bytes;
}

/// What arrives, for a thread that waits.
class Inbox {
  public:
    void put(std::span<const std::byte> payload) {
        const std::lock_guard hold(lock_);
        newest_.assign(payload.begin(), payload.end());
        count_ += 1;
        arrived_.notify_one();
    }
    bool wait_beyond(std::uint64_t count, std::chrono::milliseconds timeout) {
        std::unique_lock hold(lock_);
        return arrived_.wait_for(hold, timeout, [&] { return count_ > count; });
    }
    std::uint64_t count() {
        const std::lock_guard hold(lock_);
        return count_;
    }
    std::vector<std::byte> newest() {
        const std::lock_guard hold(lock_);
        return newest_;
    }

  private:
    std::mutex lock_;
    std::condition_variable arrived_;
    std::vector<std::byte> newest_;
    std::uint64_t count_ = 0;
};

/// A folder of keys and permissions, or none.
std::string enclave() {
    const char* folder = std::getenv("LASTGATE_PEER_ENCLAVE");
    return folder == nullptr ? std::string() : std::string(folder);
}

void wait_for_reader(const Writer& writer) {
    for (int i = 0; i < 500; ++i) {
        dds_publication_matched_status_t status;
        if (dds_get_publication_matched_status(writer.handle(), &status) == 0 && status.current_count > 0) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    throw std::runtime_error("no participant is there");
}
void wait_for_writer(const Reader& reader) {
    for (int i = 0; i < 500; ++i) {
        dds_subscription_matched_status_t status;
        if (dds_get_subscription_matched_status(reader.handle(), &status) == 0 && status.current_count > 0) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    throw std::runtime_error("no participant is there");
}

void print_quantiles(const char* name, std::vector<double> times_us) {
    std::sort(times_us.begin(), times_us.end());
    const auto at = [&](double share) { return times_us[std::min(times_us.size() - 1, static_cast<std::size_t>(share * static_cast<double>(times_us.size())))]; };
    std::printf("\"%s\": {\"p50\": %.1f, \"p99\": %.1f, \"p99.9\": %.1f, \"max\": %.1f}", name, at(0.5), at(0.99), at(0.999), times_us.back());
}

/// How late a plain timer of 1 ms wakes up here: what no program on this machine can be better than.
std::vector<double> timer_jitter_us() {
    std::vector<double> late_us;
    for (int i = 0; i < 1000; ++i) {
        const std::int64_t begun_ns = monotonic_ns();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        late_us.push_back(static_cast<double>(monotonic_ns() - begun_ns - 1'000'000) * 1e-3);
    }
    return late_us;
}

int measure(std::uint32_t domain, int count) {
    std::string chunk_text;
    std::string state_text;
    std::cin >> chunk_text >> state_text;
    const std::vector<std::byte> chunk = bytes_of(chunk_text);
    std::vector<std::byte> state = bytes_of(state_text);
    Participant participant(domain, true, enclave());
    Inbox inbox;
    Writer candidates(participant, {.name = "/openral/candidate_action", .type = "openral_msgs/msg/ActionChunk"});
    Writer states(participant, {.name = "/joint_states", .type = "sensor_msgs/msg/JointState"});
    Reader safe(participant, {.name = "/openral/safe_action", .type = "openral_msgs/msg/ActionChunk"}, TypeCheck::same_hash, [&](auto payload, auto) { inbox.put(payload); });
    wait_for_reader(candidates);
    wait_for_reader(states);
    wait_for_writer(safe);
    const std::vector<double> jitter_us = timer_jitter_us();
    std::vector<double> times_us;
    int lost = 0;
    int changed = 0;
    for (int i = 0; i < count; ++i) {
        const Stamp stamp = Stamp::of_seconds(wall_clock_s());
        std::memcpy(state.data() + CdrReader::encapsulation_bytes, &stamp, sizeof stamp);
        (void)states.write(state);
        // Chunks come at a rate, not as fast as they can: the wake-ups are part of the way.
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        const std::uint64_t before = inbox.count();
        const std::int64_t begun_ns = monotonic_ns();
        (void)candidates.write(chunk);
        if (!inbox.wait_beyond(before, std::chrono::milliseconds(1000))) {
            lost += 1;
            continue;
        }
        const double time_us = static_cast<double>(monotonic_ns() - begun_ns) * 1e-3;
        if (inbox.newest() != chunk) changed += 1;
        times_us.push_back(time_us);
    }
    if (times_us.empty()) throw std::runtime_error("nothing came back");
    std::printf("{\"count\": %d, \"lost\": %d, \"changed\": %d, ", count, lost, changed);
    print_quantiles("round_trip_us", times_us);
    std::printf(", ");
    print_quantiles("timer_late_us", jitter_us);
    std::printf("}\n");
    return 0;
}

int trigger(std::uint32_t domain, const std::string& text) {
    Participant participant(domain, true, enclave());
    Inbox inbox;
    Writer requests(participant, {.name = "rq/openral/estop_resetRequest", .type = "std_srvs/srv/Trigger_Request", .depth = 10});
    Reader replies(participant, {.name = "rr/openral/estop_resetReply", .type = "std_srvs/srv/Trigger_Response", .depth = 10}, TypeCheck::any_type, [&](auto payload, auto) { inbox.put(payload); });
    wait_for_reader(requests);
    wait_for_writer(replies);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // until the other server has met us as well
    (void)requests.write(bytes_of(text));
    if (!inbox.wait_beyond(0, std::chrono::milliseconds(2000))) std::printf("none");
    for (const std::byte byte : inbox.newest()) std::printf("%02x", static_cast<unsigned>(byte));
    std::printf("\n");
    return 0;
}

}  // namespace

int main(int count, char** values) try {
    if (count != 4) throw std::invalid_argument("usage: cyclone_peer DOMAIN latency COUNT | trigger HEX");
    const auto domain = static_cast<std::uint32_t>(std::stoul(values[1]));
    const std::string what = values[2];
    if (what == "latency") return measure(domain, std::stoi(values[3]));
    if (what == "trigger") return trigger(domain, values[3]);
    throw std::invalid_argument("cannot do `" + what + "`");
} catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
}
