// SPDX-License-Identifier: Apache-2.0
// The latch on a disk that loses power between any two of its steps. What was not waited for may be there afterwards, in
// part, or not at all; and before that the disk may be full or fail. Whatever happens, a stop that was answered as kept is
// found, and so is a reset.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "latch_file.hpp"
#include "require.hpp"

using namespace lastgate;
using namespace lastgate::kernel;

namespace {

using Bytes = std::vector<std::byte>;
struct Content {
    Bytes seen;  ///< By processes.
    Bytes kept;  ///< By the disk.
};
using Names = std::map<std::string, std::shared_ptr<Content>>;

/// Of what was not waited for.
enum class Lost { everything, nothing, half };

class SimulatedDisk : public Files {
  public:
    // What is to happen.
    long cut_before = -1;   ///< The step before which the power goes; -1 for never.
    long fail_at = -1;      ///< The step that fails,
    int failure = EIO;      ///< and how.
    bool fails_on = false;  ///< All later ones that reach the disk fail, too.

    long steps() const { return step_; }
    bool is_dark() const { return dark_; }

    /// What the next process finds after the cut.
    void come_back(Lost data, Lost names) {
        if (names == Lost::everything) seen_ = kept_;
        kept_ = seen_;
        for (auto& [name, content] : seen_) {
            if (data == Lost::everything) content->seen = content->kept;
            // The first bytes of the record are new and the others old, as far as the two differ.
            if (data == Lost::half && content->seen.size() == content->kept.size() && content->kept.size() > 10) std::copy(content->kept.begin() + 10, content->kept.end(), content->seen.begin() + 10);
            else if (data == Lost::half) content->seen.resize(content->seen.size() / 2);
            content->kept = content->seen;
        }
        opened_.clear();
        step_ = 0;
        cut_before = fail_at = -1;
        dark_ = fails_on = false;
    }
    void remove_name(const std::string& name) { seen_.erase(name); }

    int open_folder(const std::string&, bool) noexcept override { return is_cut(false) ? -EIO : folder_handle; }
    int open_file(int, const std::string& name) noexcept override {
        if (is_cut(false)) return -EIO;
        return seen_.contains(name) ? handle_of(seen_[name]) : -ENOENT;
    }
    int create_file(int, const std::string& name) noexcept override {
        if (const int why = trouble()) return why;
        if (seen_.contains(name)) return -EEXIST;
        seen_[name] = std::make_shared<Content>();
        return handle_of(seen_[name]);
    }
    int link(int, const std::string& from, const std::string& to) noexcept override {
        if (const int why = trouble()) return why;
        if (seen_.contains(to)) return -EEXIST;
        seen_[to] = seen_.at(from);
        return 0;
    }
    int rename(int, const std::string& from, const std::string& to) noexcept override {
        if (const int why = trouble()) return why;
        seen_[to] = seen_.at(from);
        seen_.erase(from);
        return 0;
    }
    int remove(int, const std::string& name) noexcept override {
        if (is_cut(false)) return -EIO;
        return seen_.erase(name) == 1 ? 0 : -ENOENT;
    }
    int lock(int) noexcept override { return 0; }
    int duplicate(int handle) noexcept override { return handle == folder_handle ? folder_handle : handle_of(opened_.at(static_cast<std::size_t>(handle))); }
    void close(int) noexcept override {}
    int read(int file, std::span<std::byte> bytes) noexcept override {
        const Bytes& seen = opened_.at(static_cast<std::size_t>(file))->seen;
        const std::size_t size = std::min(seen.size(), bytes.size());
        std::copy_n(seen.begin(), size, bytes.begin());
        return static_cast<int>(size);
    }
    int write(int file, std::span<const std::byte> bytes) noexcept override {
        if (const int why = trouble()) return why;
        opened_.at(static_cast<std::size_t>(file))->seen.assign(bytes.begin(), bytes.end());
        return 0;
    }
    int sync_file(int file) noexcept override {
        auto& content = *opened_.at(static_cast<std::size_t>(file));
        // A failed write-back is told once: then the system thinks that the disk has what it was given.
        if (const int why = trouble()) return why;
        content.kept = content.seen;
        return 0;
    }
    int sync_folder(int) noexcept override {
        if (const int why = trouble()) return why;
        kept_ = seen_;
        return 0;
    }
    bool is_named(int file, const std::string& path) noexcept override {
        const auto found = seen_.find(path.substr(path.rfind('/') + 1));
        const auto& content = opened_.at(static_cast<std::size_t>(file));
        return found != seen_.end() && found->second == content && std::count_if(seen_.begin(), seen_.end(), [&](const auto& entry) { return entry.second == content; }) == 1;
    }

  private:
    static constexpr int folder_handle = 1'000'000;

    bool is_cut(bool counts) noexcept {
        if (counts && step_++ == cut_before) dark_ = true;
        return dark_;
    }
    int trouble() noexcept {
        const long here = step_;
        if (is_cut(true)) return -EIO;
        return here == fail_at || (fails_on && here >= fail_at && fail_at >= 0) ? -failure : 0;
    }
    int handle_of(std::shared_ptr<Content> content) noexcept {
        opened_.push_back(std::move(content));
        return static_cast<int>(opened_.size()) - 1;
    }

    Names seen_;
    Names kept_;
    std::vector<std::shared_ptr<Content>> opened_;
    long step_ = 0;
    bool dark_ = false;
};

const std::string path = "/folder/arm.latch";

LatchRecord record_of(bool latched, std::uint32_t sequence) {
    LatchRecord record;
    record.latched = latched;
    record.sequence = sequence;
    if (latched) record.source.assign("human");
    return record;
}

/// What a kernel had been told to be true when the power went.
struct Told {
    bool started = false;
    std::optional<bool> kept;  ///< The state that was answered as kept, and nothing was written since.
    bool must_be_latched = false;  ///< A stop was kept; since then there was no reset, and the file was not removed.
};

/// A kernel's life at its file: starts, stops, is reset, loses its file while it is stopped, is reset again and stops again. As
/// the process does it: a stop is written and then kept, a reset is in force when it is kept.
void live(SimulatedDisk& disk, Told& told) {
    std::unique_ptr<LatchFile> file;
    try {
        file = std::make_unique<LatchFile>(path, disk);
    } catch (const std::runtime_error&) {
        return;  // it did not start, and nothing moved
    }
    told.started = true;
    std::uint32_t sequence = 0;
    const auto stop = [&] {
        if (disk.is_dark()) return;
        told.kept.reset();
        if (!file->write(record_of(true, ++sequence)) || !file->sync()) return;
        told.kept = true;
        told.must_be_latched = true;
    };
    const auto reset = [&] {
        if (disk.is_dark() || told.kept != true) return;
        told.kept.reset();
        told.must_be_latched = false;
        if (file->write(record_of(false, ++sequence)) && file->sync()) told.kept = false;
        else stop();
    };
    stop();
    reset();
    stop();
    if (!disk.is_dark()) {
        disk.remove_name("arm.latch");
        told = {true, std::nullopt, false};
    }
    stop();
    reset();
    stop();
}

/// Runs one life with its cut, and holds what is found afterwards against what was told.
void require_true_to(SimulatedDisk& disk, Lost data, Lost names, const char* what, long step) {
    Told told;
    live(disk, told);
    disk.come_back(data, names);
    const LatchFile next(path, disk);
    const bool latched = next.read().latched;
    if (told.kept) REQUIRE(latched == *told.kept, what, step, static_cast<int>(data), static_cast<int>(names));
    REQUIRE(latched || !told.must_be_latched, what, step, static_cast<int>(data), static_cast<int>(names));
}

constexpr Lost ways[] = {Lost::everything, Lost::nothing, Lost::half};

long steps_of_a_life() {
    SimulatedDisk disk;
    Told told;
    live(disk, told);
    REQUIRE(told.started && told.kept == true);
    return disk.steps();
}

}  // namespace

TEST(stop_that_was_answered_is_found_after_a_cut_before_any_step) {
    const long steps = steps_of_a_life();
    long cuts = 0;
    for (long step = 0; step <= steps; ++step) {
        for (const Lost data : ways) {
            for (const Lost names : {Lost::everything, Lost::nothing}) {
                SimulatedDisk disk;
                disk.cut_before = step;
                require_true_to(disk, data, names, "cut", step);
                ++cuts;
            }
        }
    }
    std::cout << steps << " steps, " << cuts << " cuts\n";
    REQUIRE(steps > 15 && cuts > 90, steps, cuts);
}

TEST(stop_that_was_answered_is_found_after_any_step_failed_and_the_power_was_cut) {
    const long steps = steps_of_a_life();
    for (long step = 0; step < steps; ++step) {
        for (const int failure : {EIO, ENOSPC}) {
            for (const bool fails_on : {false, true}) {
                for (const Lost data : ways) {
                    SimulatedDisk disk;
                    disk.fail_at = step;
                    disk.failure = failure;
                    disk.fails_on = fails_on;
                    require_true_to(disk, data, Lost::everything, "failure", step);
                }
            }
        }
    }
}

TEST(reset_that_was_answered_is_found_after_a_cut) {
    for (const Lost data : ways) {
        SimulatedDisk disk;
        {
            LatchFile file(path, disk);
            REQUIRE(file.write(record_of(true, 1)) && file.sync());
            REQUIRE(file.write(record_of(false, 2)) && file.sync());
        }
        disk.come_back(data, Lost::everything);
        const LatchFile next(path, disk);
        REQUIRE(!next.read().latched && next.read().sequence == 2, static_cast<int>(data));
    }
}

TEST(stop_that_the_disk_did_not_keep_is_not_answered_as_kept) {
    SimulatedDisk disk;
    LatchFile file(path, disk);
    disk.fail_at = disk.steps() + 1;  // after the write, in the sync
    REQUIRE(file.write(record_of(true, 1)));
    REQUIRE(!file.sync());
}

TEST(file_that_lost_its_name_is_made_again_by_the_next_write) {
    SimulatedDisk disk;
    LatchFile file(path, disk);
    REQUIRE(file.is_in_place());
    disk.remove_name("arm.latch");
    REQUIRE(!file.is_in_place() && !file.sync());
    REQUIRE(file.write(record_of(true, 1)) && file.is_in_place() && file.sync());
    disk.come_back(Lost::everything, Lost::everything);
    REQUIRE(LatchFile(path, disk).read().latched);
}

TEST_MAIN
