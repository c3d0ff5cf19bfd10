// SPDX-License-Identifier: Apache-2.0
#include "flat_yaml.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <stdexcept>

namespace lastgate::kernel {
namespace {

/// The largest file read: a robot at every capacity of the core stays below it, the vertices of its convex hulls
/// written to a hundredth of a millimetre.
constexpr std::size_t text_size_max = 4 * 1024 * 1024;

/// Keys in a file. A few dozen exist; more than this is no configuration, and looking for repeated
/// ones among millions would take minutes.
constexpr std::size_t entries_max = 256;

[[noreturn]] void refuse(std::size_t line, const std::string& why) {
    throw std::invalid_argument("line " + std::to_string(line) + ": " + why);
}

class LineReader {
  public:
    LineReader(std::string_view line, std::size_t number) : rest_(line), number_(number) {}

    FlatEntry read() {
        FlatEntry entry;
        entry.line = number_;
        entry.key = read_key();
        skip_spaces();
        if (peek() == '[') {
            entry.is_list = true;
            advance();
            skip_spaces();
            while (peek() != ']') {
                read_value(entry);
                skip_spaces();
                if (peek() == ',') {
                    advance();
                    skip_spaces();
                    if (peek() == ']') refuse(number_, "a comma must be followed by a value");
                } else if (peek() != ']') {
                    refuse(number_, "expected a comma or a closing bracket");
                }
            }
            advance();
        } else {
            read_value(entry);
        }
        skip_spaces();
        if (!rest_.empty()) refuse(number_, "text after the value of `" + entry.key + "`");
        const int kinds = !entry.numbers.empty() + !entry.strings.empty() + !entry.booleans.empty();
        if (kinds > 1) refuse(number_, "`" + entry.key + "` mixes kinds of values");
        return entry;
    }

  private:
    char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
    void advance() {
        if (rest_.empty()) refuse(number_, "the line ends too early");
        rest_.remove_prefix(1);
    }
    void skip_spaces() {
        while (peek() == ' ') rest_.remove_prefix(1);
    }

    std::string read_key() {
        std::size_t length = 0;
        while (length < rest_.size() && ((rest_[length] >= 'a' && rest_[length] <= 'z') || (rest_[length] >= '0' && rest_[length] <= '9') || rest_[length] == '_')) ++length;
        if (length == 0 || length + 1 >= rest_.size() || rest_[length] != ':' || rest_[length + 1] != ' ') refuse(number_, "expected `key: value`");
        std::string key(rest_.substr(0, length));
        rest_.remove_prefix(length + 2);
        return key;
    }

    void read_value(FlatEntry& entry) {
        if (peek() == '"') return entry.strings.push_back(read_string());
        for (const std::string_view word : {"true", "false"}) {
            if (rest_.substr(0, word.size()) != word) continue;
            rest_.remove_prefix(word.size());
            entry.booleans.push_back(word == "true");
            return;
        }
        double value = 0.0;
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (error != std::errc{} || !std::isfinite(value)) refuse(number_, "`" + entry.key + "` needs finite numbers, quoted strings, true or false");
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        entry.numbers.push_back(value);
    }

    /// A JSON string without \u escapes other than those of control characters, which names do not have.
    std::string read_string() {
        advance();
        std::string text;
        while (peek() != '"') {
            if (peek() == '\\') {
                advance();
                if (peek() != '"' && peek() != '\\') refuse(number_, "only \\\" and \\\\ may be escaped");
            }
            const auto byte = static_cast<unsigned char>(peek());
            // C1 controls are C2 80 to C2 9F in UTF-8.
            const bool is_c1 = byte == 0xC2 && rest_.size() > 1 && static_cast<unsigned char>(rest_[1]) < 0xA0;
            if (byte < 0x20 || byte == 0x7F || is_c1) refuse(number_, "control characters cannot stand in a string");
            text.push_back(peek());
            advance();
        }
        advance();
        return text;
    }

    std::string_view rest_;
    std::size_t number_;
};

}  // namespace

FlatYaml::FlatYaml(std::string_view text) {
    if (text.size() > text_size_max) throw std::invalid_argument("the file is larger than 4 MiB");
    std::size_t number = 0;
    while (!text.empty()) {
        ++number;
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty() || line.front() == '#') continue;
        FlatEntry entry = LineReader(line, number).read();
        if (entries_.size() >= entries_max) refuse(number, "more keys than a configuration has");
        if (has(entry.key)) refuse(number, "`" + entry.key + "` stands here twice");
        entries_.push_back(std::move(entry));
    }
}

bool FlatYaml::has(std::string_view key) const {
    for (const FlatEntry& entry : entries_) {
        if (entry.key == key) return true;
    }
    return false;
}

FlatEntry& FlatYaml::take(std::string_view key) {
    for (FlatEntry& entry : entries_) {
        if (entry.key != key) continue;
        entry.taken = true;
        return entry;
    }
    throw std::invalid_argument("`" + std::string(key) + "` is missing");
}

void FlatYaml::refuse_value(std::string_view key, const std::string& why) const {
    for (const FlatEntry& entry : entries_) {
        if (entry.key == key) refuse(entry.line, "`" + entry.key + "` " + why);
    }
    throw std::invalid_argument("`" + std::string(key) + "` " + why);
}

double FlatYaml::number(std::string_view key) {
    const FlatEntry& entry = take(key);
    if (entry.is_list || entry.numbers.size() != 1) refuse(entry.line, "`" + entry.key + "` must be one number");
    return entry.numbers[0];
}

bool FlatYaml::boolean(std::string_view key) {
    const FlatEntry& entry = take(key);
    if (entry.is_list || entry.booleans.size() != 1) refuse(entry.line, "`" + entry.key + "` must be true or false");
    return entry.booleans[0];
}

std::string FlatYaml::string(std::string_view key) {
    const FlatEntry& entry = take(key);
    if (entry.is_list || entry.strings.size() != 1) refuse(entry.line, "`" + entry.key + "` must be one quoted string");
    return entry.strings[0];
}

std::vector<double> FlatYaml::numbers(std::string_view key) {
    const FlatEntry& entry = take(key);
    if (!entry.is_list || !entry.strings.empty() || !entry.booleans.empty()) refuse(entry.line, "`" + entry.key + "` must be a list of numbers");
    return entry.numbers;
}

std::vector<double> FlatYaml::numbers(std::string_view key, std::size_t count) {
    std::vector<double> values = numbers(key);
    if (values.size() != count) {
        refuse(take(key).line, "`" + std::string(key) + "` needs " + std::to_string(count) + " numbers and has " + std::to_string(values.size()));
    }
    return values;
}

std::vector<std::int64_t> FlatYaml::integers(std::string_view key) {
    std::vector<std::int64_t> whole;
    for (const double value : numbers(key)) {
        if (!(value == std::floor(value) && std::abs(value) < 1e9)) refuse(take(key).line, "`" + std::string(key) + "` must be whole numbers");
        whole.push_back(static_cast<std::int64_t>(value));
    }
    return whole;
}

std::vector<std::int64_t> FlatYaml::integers(std::string_view key, std::size_t count) {
    (void)numbers(key, count);
    return integers(key);
}

std::vector<std::string> FlatYaml::strings(std::string_view key) {
    const FlatEntry& entry = take(key);
    if (!entry.is_list || !entry.numbers.empty() || !entry.booleans.empty()) refuse(entry.line, "`" + entry.key + "` must be a list of quoted strings");
    return entry.strings;
}

void FlatYaml::require_all_taken() const {
    for (const FlatEntry& entry : entries_) {
        if (!entry.taken) refuse(entry.line, "unknown key `" + entry.key + "`");
    }
}

}  // namespace lastgate::kernel
