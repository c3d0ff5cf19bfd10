// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks a place at which a test may hold a thread up or let something happen. In a kernel it is nothing: only the tests
/// that compile these sources for themselves define LASTGATE_TEST_POINTS, and say what is done there.
#ifdef LASTGATE_TEST_POINTS
namespace lastgate::tests {
void at_point(const char* name) noexcept;
}
#define LASTGATE_POINT(name) ::lastgate::tests::at_point(name)
#else
#define LASTGATE_POINT(name) static_cast<void>(0)
#endif
