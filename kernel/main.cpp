// SPDX-License-Identifier: Apache-2.0
// lastgate-kernel: reads one flat configuration file, then decides about chunks until it is told to end.
#include <sched.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>

#include "process.hpp"

namespace {

using namespace lastgate;
using namespace lastgate::kernel;

constexpr int exit_unusable = 2;  // what was asked for cannot be used
constexpr int exit_failed = 3;    // it could, but this machine would not let us

constexpr const char* usage = R"(usage: lastgate-kernel --config F --instance NAME --latch F --digest HEX [options]
  --on-violation estop|hold      --on-stale estop|stop|drop      --warn-only
  --without-world                --reset-cooldown-s N            --inactive
  --require-source NAME          --require-actuator NAME         (each may be repeated)
  --spin-us N                    look for work this long before sleeping; -1: always
  --lanes avx2|generic           --sched-fifo PRIORITY           --cpu N
  --lock-memory                  --exit-with-parent PID          --remove-config
)";

struct Arguments {
    std::string config_path;
    std::string digest;
    KernelSettings settings;
    ProcessOptions options;
    SimdBuild simd = best_simd_build();
    bool remove_config = false;  ///< The file was made for this start only.
};

/// Beyond it nothing that is asked for here means anything; infinity and NaN are no numbers.
constexpr double number_max = 1e9;

double number_of(std::string_view flag, std::string_view text) {
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !(std::abs(value) <= number_max)) throw std::invalid_argument(std::string(flag) + " needs a number, got `" + std::string(text) + "`");
    return value;
}

int whole_number_of(std::string_view flag, std::string_view text, int most) {
    const double value = number_of(flag, text);
    if (!(value >= 0.0 && value <= most && value == static_cast<int>(value))) {
        throw std::invalid_argument(std::string(flag) + " must be a whole number from 0 to " + std::to_string(most) + ", got `" + std::string(text) + "`");
    }
    return static_cast<int>(value);
}

template <typename Choice>
Choice choice_of(std::string_view flag, std::string_view text, std::initializer_list<std::pair<const char*, Choice>> choices) {
    for (const auto& [word, choice] : choices) {
        if (text == word) return choice;
    }
    throw std::invalid_argument(std::string(flag) + " cannot be `" + std::string(text) + "`");
}

Arguments read_arguments(int count, char** values) {
    Arguments arguments;
    for (int i = 1; i < count; ++i) {
        const std::string_view flag = values[i];
        const auto next = [&]() -> std::string_view {
            if (i + 1 >= count) throw std::invalid_argument(std::string(flag) + " needs a value");
            return values[++i];
        };
        if (flag == "--config") arguments.config_path = next();
        else if (flag == "--instance") arguments.options.instance = next();
        else if (flag == "--latch") arguments.options.latch_path = next();
        else if (flag == "--digest") arguments.digest = next();
        else if (flag == "--on-violation") arguments.settings.on_violation = choice_of<OnViolation>(flag, next(), {{"estop", OnViolation::estop}, {"hold", OnViolation::hold}});
        else if (flag == "--on-stale") arguments.settings.on_stale = choice_of<OnStale>(flag, next(), {{"estop", OnStale::estop}, {"stop", OnStale::stop}, {"drop", OnStale::drop}});
        else if (flag == "--warn-only") arguments.settings.warn_only = true;
        else if (flag == "--without-world") arguments.settings.without_world = true;
        else if (flag == "--reset-cooldown-s") arguments.settings.reset_cooldown_s = number_of(flag, next());
        else if (flag == "--inactive") arguments.options.start_active = false;
        else if (flag == "--require-source") arguments.settings.required_sources.emplace_back(next());
        else if (flag == "--require-actuator") arguments.settings.required_actuators.emplace_back(next());
        else if (flag == "--spin-us") arguments.options.spin_ns = static_cast<std::int64_t>(number_of(flag, next()) * 1000.0);
        else if (flag == "--lanes") arguments.simd = choice_of<SimdBuild>(flag, next(), {{"avx2", SimdBuild::avx2}, {"generic", SimdBuild::generic}});
        else if (flag == "--sched-fifo") arguments.options.real_time.fifo_priority = whole_number_of(flag, next(), fifo_priority_max);
        else if (flag == "--cpu") arguments.options.real_time.cpu = whole_number_of(flag, next(), CPU_SETSIZE - 1);
        else if (flag == "--lock-memory") arguments.options.real_time.lock_memory = true;
        // Given, not asked of the system here: a parent that has ended by now is no longer ours, and would not be missed.
        else if (flag == "--exit-with-parent") arguments.options.parent = whole_number_of(flag, next(), std::numeric_limits<int>::max());
        else if (flag == "--remove-config") arguments.remove_config = true;
        else throw std::invalid_argument("unknown option `" + std::string(flag) + "`");
    }
    for (const auto& [flag, value] : {std::pair{"--config", arguments.config_path}, {"--instance", arguments.options.instance}, {"--latch", arguments.options.latch_path}}) {
        if (value.empty()) throw std::invalid_argument(std::string(flag) + " is missing");
    }
    const bool plain = arguments.options.instance.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == std::string::npos && arguments.options.instance.size() <= 64;
    if (!plain) throw std::invalid_argument("--instance must be at most 64 letters, digits, `_` and `-`");
    if (arguments.simd == SimdBuild::avx2 && best_simd_build() != SimdBuild::avx2) throw std::invalid_argument("--lanes avx2 cannot run on this machine");
    return arguments;
}

KernelProcess* running = nullptr;
void end_process(int) { running->shut_down(); }

int serve(const Arguments& arguments, const std::string& text) {
    if (arguments.options.parent >= 0 && getppid() != arguments.options.parent) throw std::runtime_error("the program that started this kernel has ended");
    KernelConfig config = read_config(text);
    config.gate.simd_build = arguments.simd;
    const std::string robot = config.robot_name;
    KernelProcess process(std::move(config), arguments.settings, arguments.digest, arguments.options);
    running = &process;
    struct sigaction action {};
    action.sa_handler = end_process;
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGINT, &action, nullptr);
    lock_memory_if_asked(arguments.options.real_time);
    if (arguments.settings.warn_only) std::fprintf(stderr, "lastgate-kernel: WARN ONLY: chunks that break a rule pass too\n");
    // For the parent process: from this line on the channels are open, and they are ours.
    std::printf("ready %s\n", robot.c_str());
    std::fflush(stdout);
    process.run();
    // There is nothing left that a second signal could end.
    std::signal(SIGTERM, SIG_IGN);
    std::signal(SIGINT, SIG_IGN);
    return 0;
}

}  // namespace

int main(int count, char** values) {
    if (count == 2 && std::string_view(values[1]) == "--help") {
        std::fputs(usage, stdout);
        return 0;
    }
    // The reader of this output may be gone; the kernel goes on.
    std::signal(SIGPIPE, SIG_IGN);
    try {
        const Arguments arguments = read_arguments(count, values);
        std::ifstream file(arguments.config_path, std::ios::binary);
        std::stringstream text;
        text << file.rdbuf();
        if (!file) throw std::invalid_argument("cannot read `" + arguments.config_path + "`");
        if (arguments.remove_config) std::remove(arguments.config_path.c_str());
        return serve(arguments, text.str());
    } catch (const std::invalid_argument& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return exit_unusable;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return exit_failed;
    }
}
