// SPDX-License-Identifier: Apache-2.0
// A stop that is asked for at any point between taking a chunk and handing it on: nothing passes afterwards. The kernel's
// own sources are compiled here with points at which the test acts, on the thread that decides and while it holds its locks.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "client.hpp"
#include "config_text.hpp"
#include "process.hpp"
#include "require.hpp"
#include "test_point.hpp"

using namespace lastgate;
using namespace lastgate::kernel;

namespace {

std::function<void(const std::string&)> what_to_do;
std::atomic<bool> is_armed{false};

/// In the order in which a chunk that passes reaches them.
const std::vector<std::string> points_before = {"chunk taken", "chunk evaluated", "gate held", "stop flag read", "decided", "slot not begun", "slot written"};
const std::vector<std::string> points_after = {"passed on", "event signalled", "gate released"};

std::vector<std::string> all_points() {
    std::vector<std::string> points = points_before;
    points.insert(points.end(), points_after.begin(), points_after.end());
    return points;
}

/// A kernel for one joint in this process, with its threads, its memory and its file.
class RunningKernel {
  public:
    RunningKernel() : instance_("stop-race-" + std::to_string(getpid()) + "-" + std::to_string(number_++)), latch_path_(folder() + "/" + instance_ + ".latch") {
        KernelConfig config = read_config(tests::config_text);
        config.deadman_required = false;
        KernelSettings settings;
        settings.without_world = true;
        settings.reset_cooldown_s = 1e-3;
        ProcessOptions options;
        options.instance = instance_;
        options.latch_path = latch_path_;
        process_ = std::make_unique<KernelProcess>(std::move(config), settings, "digest", options);
        thread_ = std::thread([this] { process_->run(); });
        channel_ = std::make_unique<ChannelClient>(instance_);
        safe_actions_ = Ring::open(ring_name(instance_, "safe_actions"), chunk_ring);
    }
    ~RunningKernel() {
        is_armed = false;
        process_->shut_down();
        thread_.join();
        process_.reset();
        unlink(latch_path_.c_str());
    }

    /// Whether a good chunk passed; nothing when no verdict came.
    std::optional<ChannelClient::Answer> submit() {
        const std::string_view names[] = {"shoulder"};
        const double position[] = {0.1};
        const double row[] = {0.1};
        std::array<std::byte, 512> bytes{};
        channel_->observe(write_joint_state(Stamp::of_seconds(wall_clock_s()), names, position, {}, bytes));
        ActionChunkMessage chunk;
        chunk.horizon = 1;
        chunk.n_dof = 1;
        chunk.flat = row;
        return channel_->wait_verdict(channel_->submit(MessageType::action_chunk, write_action_chunk(chunk, bytes)), 2'000'000'000, 0);
    }
    bool reset() {
        for (int attempt = 0; attempt < 200; ++attempt) {
            const auto answer = channel_->command(Command::reset, 1'000'000'000);
            if (answer && answer->success == 1) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return false;
    }
    std::uint64_t passed() const { return safe_actions_.newest(); }
    const std::string& instance() const { return instance_; }

  private:
    static std::string folder() {
        static const std::string made = [] {
            char path[] = "/tmp/stop-race-XXXXXX";
            return std::string(mkdtemp(path));
        }();
        return made;
    }
    static inline int number_ = 0;
    std::string instance_;
    std::string latch_path_;
    std::unique_ptr<KernelProcess> process_;
    std::thread thread_;
    std::unique_ptr<ChannelClient> channel_;
    Ring safe_actions_;
};

/// Ways to ask for a stop, each without waiting for the kernel.
enum class Way { event, press, hold };

/// A stop that is asked for when a chunk reaches `point`.
struct Asked {
    bool reached = false;
    std::uint64_t passed_before = 0;
};

Asked stop_at(RunningKernel& kernel, const std::string& point, StopEvent& event, Registration& registration, Way way) {
    Asked asked;
    what_to_do = [&, point, way](const std::string& here) {
        if (here != point || asked.reached) return;
        asked.reached = true;
        if (way == Way::event) event.signal();
        else if (way == Way::press) registration.press("at a point");
        else registration.hold("at a point");
        asked.passed_before = kernel.passed();
    };
    is_armed = true;
    const auto answer = kernel.submit();
    is_armed = false;
    REQUIRE(answer.has_value(), point);
    if (answer) REQUIRE((answer->frame.passed == 1) == (kernel.passed() > 0 && answer->frame.safe_sequence == kernel.passed()), point);
    return asked;
}

}  // namespace

namespace lastgate::tests {
void at_point(const char* name) noexcept {
    if (is_armed) what_to_do(name);
}
}  // namespace lastgate::tests

TEST(nothing_passes_after_a_stop_that_was_asked_for_at_any_point) {
    for (const Way way : {Way::event, Way::press, Way::hold}) {
        for (const std::string& point : all_points()) {
            RunningKernel kernel;
            StopEvent event(kernel.instance());
            Registration registration(kernel.instance(), Registration::Row::source, "human");
            REQUIRE(kernel.submit()->frame.passed == 1, point);
            const Asked asked = stop_at(kernel, point, event, registration, way);
            REQUIRE(asked.reached, point);
            REQUIRE(kernel.passed() == asked.passed_before, point, static_cast<int>(way), kernel.passed(), asked.passed_before);
            for (int more = 0; more < 5; ++more) REQUIRE(kernel.submit()->frame.passed == 0, point);
            REQUIRE(kernel.passed() == asked.passed_before, point, static_cast<int>(way));
            registration.release();
            REQUIRE(kernel.reset(), point);
            REQUIRE(kernel.submit()->frame.passed == 1, point, static_cast<int>(way));
        }
    }
}

TEST(delay_at_any_point_without_a_stop_holds_nothing_back) {
    RunningKernel kernel;
    for (const std::string& point : all_points()) {
        bool reached = false;
        what_to_do = [&](const std::string& here) {
            if (here != point) return;
            reached = true;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        };
        is_armed = true;
        const std::uint64_t before = kernel.passed();
        const auto answer = kernel.submit();
        is_armed = false;
        REQUIRE(reached && answer && answer->frame.passed == 1, point);
        REQUIRE(kernel.passed() == before + 1, point);
    }
}

TEST(stop_before_a_chunk_leaves_is_counted_as_dropped_and_told_as_latched) {
    for (const std::string& point : points_before) {
        RunningKernel kernel;
        StopEvent event(kernel.instance());
        what_to_do = [&](const std::string& here) {
            if (here == point) event.signal();
        };
        is_armed = true;
        const auto answer = kernel.submit();
        is_armed = false;
        REQUIRE(answer && answer->frame.passed == 0 && answer->frame.latched == 1, point);
        REQUIRE(answer && answer->frame.verdict.accepted == 0 && answer->frame.verdict.violation.code == ViolationCode::estop_latched, point);
    }
}

TEST(driver_sees_a_stop_from_the_moment_it_was_asked_for) {
    RunningKernel kernel;
    StopEvent event(kernel.instance());
    Registration driver(kernel.instance(), Registration::Row::actuator, "arm");
    REQUIRE(kernel.submit()->frame.passed == 1 && driver.kernel_state() == LifecycleState::active);
    LifecycleState seen = LifecycleState::active;
    // On the deciding thread, which holds the lock that the listening thread needs: no thread of the kernel has heard it yet.
    what_to_do = [&](const std::string& here) {
        if (here != "gate held") return;
        event.signal();
        seen = driver.kernel_state();
    };
    is_armed = true;
    (void)kernel.submit();
    is_armed = false;
    REQUIRE(seen == LifecycleState::latched);
    REQUIRE(kernel.reset() && driver.kernel_state() == LifecycleState::active);
}

TEST(stops_from_another_thread_at_random_moments_let_nothing_pass_after_them) {
    RunningKernel kernel;
    StopEvent event(kernel.instance());
    std::mt19937 random(7);
    std::atomic<bool> ending{false};
    std::atomic<int> passed{0};
    std::thread policy([&] {
        while (!ending) {
            const auto answer = kernel.submit();
            if (answer && answer->frame.passed == 1) ++passed;
        }
    });
    // A second client, for the resets: the first belongs to the thread that proposes.
    ChannelClient operator_channel(kernel.instance());
    const auto reset = [&] {
        const auto answer = operator_channel.command(Command::reset, 1'000'000'000);
        return answer && answer->success == 1 && operator_channel.status_block().state.load() == static_cast<std::uint32_t>(LifecycleState::active);
    };
    int late = 0;
    int stops = 0;
    for (; stops < 2000; ++stops) {
        const int goal = passed + 1;
        while (passed < goal) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution<int>(0, 60)(random)));
        event.signal();
        const std::uint64_t then = kernel.passed();
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        late += kernel.passed() != then ? 1 : 0;
        while (!reset()) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    ending = true;
    policy.join();
    std::cout << stops << " stops among " << passed << " chunks that passed: " << late << " chunks after a stop\n";
    REQUIRE(late == 0, late);
}

TEST_MAIN
