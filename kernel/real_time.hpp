// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lastgate::kernel {

/// What makes a kernel punctual, where the system allows it.
struct RealTime {
    int fifo_priority = 0;     ///< Of the thread that decides; 0: ordinary priority.
    int cpu = -1;              ///< Where that thread stays; -1: anywhere.
    bool lock_memory = false;  ///< Keep all pages of the process in memory.
};

/// Stops run one above decisions, so that the highest priority of the system is one too many.
inline constexpr int fifo_priority_max = 98;

/// For the whole process, before its threads start.
void lock_memory_if_asked(const RealTime& wanted);

/// Each is called by the thread itself. What the system refuses is said on stderr, and the thread runs on, less punctually.
void become_decider(const RealTime& wanted);
/// Above the decider and on any processor: a check that is under way, wherever it was told to stay, never delays a stop.
void become_listener(const RealTime& wanted);
/// At ordinary priority: tables of a large cloud take milliseconds, and no deciding thread may wait for them.
void become_builder();

}  // namespace lastgate::kernel
