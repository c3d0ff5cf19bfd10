// SPDX-License-Identifier: Apache-2.0
// lastgate-deadman: the deadman that a program brings along with the kernel it starts. Sits at the kernel as `deadman` and
// stops the robot while the program that started it does not run: ended without the kernel, stopped, or held by a debugger.
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>

#include "client.hpp"

namespace {

using namespace lastgate;
using namespace lastgate::kernel;

constexpr int exit_unusable = 2;
constexpr int exit_over = 3;  // the kernel is gone, or another has the place
/// A tenth of the time after which the kernel takes a source for dead.
constexpr useconds_t poll_period_us = 50'000;
/// A kernel that was started by the same program ends with it, within ten milliseconds. One that has not for this long
/// misses its deadman from then on, and stops.
constexpr std::int64_t kernel_outlives_ns_max = 1'000'000'000;

/// Whether the system would run it: a process that was stopped, is held by a debugger or has ended is not.
bool is_running(pid_t process) {
    const std::string path = "/proc/" + std::to_string(process) + "/stat";
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    char text[512];
    const ssize_t size = read(file, text, sizeof text);
    close(file);
    // The name stands in parentheses and may hold any character; the state is the letter after the last of them.
    const std::string_view said(text, size > 0 ? static_cast<std::size_t>(size) : 0);
    const std::size_t name_end = said.rfind(')');
    if (name_end == std::string_view::npos || name_end + 2 >= said.size()) return false;
    return std::string_view("RSDI").find(said[name_end + 2]) != std::string_view::npos;
}

int watch(const std::string& instance, pid_t program) {
    Registration registration(instance, Registration::Row::source, std::string(deadman_name));
    std::printf("ready\n");
    std::fflush(stdout);
    bool held = false;
    std::int64_t ended_ns = 0;
    while (registration.kernel_is_alive() && registration.is_mine()) {
        usleep(poll_period_us);
        if (ended_ns == 0 && getppid() != program) ended_ns = monotonic_ns();
        if (ended_ns != 0) {
            if (monotonic_ns() - ended_ns > kernel_outlives_ns_max) return exit_over;
        } else if (const bool running = is_running(program); running == held) {
            if (running) registration.release();
            else registration.hold("the program that proposes is stopped");
            held = !running;
        }
        registration.beat();
    }
    return exit_over;
}

}  // namespace

int main(int count, char** values) {
    std::string instance;
    pid_t program = 0;
    for (int i = 1; i + 1 < count; i += 2) {
        const std::string_view flag = values[i];
        const std::string_view value = values[i + 1];
        if (flag == "--instance") instance = value;
        // Given, not asked of the system: a program that has ended by now is no longer our parent.
        if (flag == "--program") (void)std::from_chars(value.data(), value.data() + value.size(), program);
    }
    if (count != 5 || instance.empty() || program <= 0) {
        std::fputs("usage: lastgate-deadman --instance NAME --program PID, started by that program\n", stderr);
        return exit_unusable;
    }
    // Ctrl-C is for the program that it watches; this ends when the kernel does.
    std::signal(SIGINT, SIG_IGN);
    try {
        return watch(instance, program);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return exit_over;
    }
}
