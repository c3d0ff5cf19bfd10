// SPDX-License-Identifier: Apache-2.0
#include "real_time.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace lastgate::kernel {
namespace {

void warn(const char* what, int why) { std::fprintf(stderr, "lastgate-kernel: warning: %s refused: %s\n", what, std::strerror(why)); }

int ask_for_priority(int priority) {
    const sched_param parameters{priority};
    return pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters);
}

}  // namespace

void lock_memory_if_asked(const RealTime& wanted) {
    if (wanted.lock_memory && mlockall(MCL_CURRENT | MCL_FUTURE) != 0) warn("--lock-memory", errno);
}

void become_decider(const RealTime& wanted) {
    if (wanted.cpu >= 0) {
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        if (wanted.cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(wanted.cpu), &cpus);
        if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) warn("--cpu", errno);
    }
    if (wanted.fifo_priority == 0) return;
    if (const int why = ask_for_priority(wanted.fifo_priority); why != 0) warn("--sched-fifo", why);
}

void become_listener(const RealTime& wanted) {
    // A system that limits priorities may allow the decider's and not one more.
    if (wanted.fifo_priority != 0 && ask_for_priority(wanted.fifo_priority + 1) != 0) {
        if (const int why = ask_for_priority(wanted.fifo_priority); why != 0) warn("--sched-fifo, for stops,", why);
    }
    pthread_setname_np(pthread_self(), "lastgate-stop");  // last: a reader of the name sees the priority
}

void become_builder() { pthread_setname_np(pthread_self(), "lastgate-world"); }

}  // namespace lastgate::kernel
