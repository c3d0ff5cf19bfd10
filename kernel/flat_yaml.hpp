// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lastgate::kernel {

/// One line of the file. Exactly one of the lists is used; a scalar is a list of one.
struct FlatEntry {
    std::string key;
    std::size_t line = 0;
    bool is_list = false;
    bool taken = false;
    std::vector<double> numbers;
    std::vector<std::string> strings;
    std::vector<bool> booleans;
};

/// The small part of YAML that a flat file needs, and nothing more: every file accepted here means the
/// same to any YAML reader.
class FlatYaml {
  public:
    explicit FlatYaml(std::string_view text);

    bool has(std::string_view key) const;
    /// Throws with the line on which `key` stands; `why` follows the key.
    [[noreturn]] void refuse_value(std::string_view key, const std::string& why) const;
    double number(std::string_view key);
    bool boolean(std::string_view key);
    std::string string(std::string_view key);
    std::vector<double> numbers(std::string_view key);
    std::vector<double> numbers(std::string_view key, std::size_t count);
    std::vector<std::int64_t> integers(std::string_view key);
    std::vector<std::int64_t> integers(std::string_view key, std::size_t count);
    std::vector<std::string> strings(std::string_view key);
    /// Refuses the file if a key was never asked for.
    void require_all_taken() const;

  private:
    FlatEntry& take(std::string_view key);
    std::vector<FlatEntry> entries_;
};

}  // namespace lastgate::kernel
