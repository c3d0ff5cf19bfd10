// SPDX-License-Identifier: Apache-2.0
// Enough of a test framework: named cases, conditions that print their values, one summary line.
#pragma once

#include <cstdio>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace lastgate::tests {

struct Case {
    const char* name;
    void (*run)();
};

inline std::vector<Case>& cases() {
    static std::vector<Case> all;
    return all;
}

inline bool& current_failed() {
    static bool failed = false;
    return failed;
}

inline bool note_case(const char* name, void (*run)()) {
    cases().push_back({name, run});
    return true;
}

template <typename... Values>
bool require(bool holds, const char* text, const char* file, int line, const Values&... values) {
    if (holds) return true;
    current_failed() = true;
    std::cout << file << ":" << line << ": not true: " << text;
    ((std::cout << "  [" << values << "]"), ...);
    std::cout << "\n";
    return false;
}

/// Runs every case, or those whose name contains `filter`.
inline int run_cases(const std::string& filter) {
    int passed = 0;
    int failed = 0;
    for (const Case& test : cases()) {
        if (std::string(test.name).find(filter) == std::string::npos) continue;
        current_failed() = false;
        try {
            test.run();
        } catch (const std::exception& error) {
            require(false, error.what(), test.name, 0);
        }
        if (current_failed()) std::cout << "FAILED " << test.name << std::endl;
        (current_failed() ? failed : passed) += 1;
    }
    std::cout << passed << " passed, " << failed << " failed" << std::endl;
    return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace lastgate::tests

#define TEST(name)                                                                          \
    static void name();                                                                     \
    [[maybe_unused]] static const bool name##_noted = lastgate::tests::note_case(#name, &name); \
    static void name()

/// Values after the condition are printed when it does not hold; the case goes on.
#define REQUIRE(condition, ...) \
    lastgate::tests::require(static_cast<bool>(condition), #condition, __FILE__, __LINE__ __VA_OPT__(, ) __VA_ARGS__)

/// The expression must throw std::invalid_argument whose text contains `wanted`.
#define REQUIRE_REFUSED(expression, wanted)                                                              \
    do {                                                                                                 \
        bool refused = false;                                                                            \
        std::string said = "nothing was thrown";                                                         \
        try {                                                                                            \
            (void)(expression);                                                                          \
        } catch (const std::invalid_argument& error) {                                                   \
            refused = true;                                                                              \
            said = error.what();                                                                         \
        }                                                                                                \
        REQUIRE(refused && said.find(wanted) != std::string::npos, said, wanted);                        \
    } while (false)

#define TEST_MAIN \
    int main(int argc, char** argv) { return lastgate::tests::run_cases(argc > 1 ? argv[1] : ""); }
