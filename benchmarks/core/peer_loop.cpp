// SPDX-License-Identifier: Apache-2.0
// A peer gets the same treatment as the gate: its functions in a compiled loop, its clock the same.
#include <chrono>
#include <cstddef>
#include <cstring>

using PoseFunction = void (*)(const void* model, void* data);

extern "C" {

/// For every round writes how long it took to set each row as the pose and call both functions
/// (`second` may be null), in nanoseconds.
void time_poses(PoseFunction first, PoseFunction second, const void* model, void* data, double* pose, const double* rows,
                std::size_t row_count, std::size_t width, std::size_t rounds, double* out_ns) {
    for (std::size_t round = 0; round < rounds; ++round) {
        const auto start = std::chrono::steady_clock::now();
        for (std::size_t row = 0; row < row_count; ++row) {
            std::memcpy(pose, rows + row * width, width * sizeof(double));
            first(model, data);
            if (second != nullptr) second(model, data);
        }
        const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
        out_ns[round] = took.count();
    }
}
}
