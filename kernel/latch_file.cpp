// SPDX-License-Identifier: Apache-2.0
#include "latch_file.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace lastgate::kernel {

LatchFile::LatchFile(const std::string& path, Files& files) : files_(files), path_(path) {
    const std::size_t slash = path.rfind('/');
    folder_path_ = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    name_ = slash == std::string::npos ? path : path.substr(slash + 1);
    const auto refuse = [&](const std::string& what) {
        if (file_ >= 0) files_.close(file_);
        if (folder_ >= 0) files_.close(folder_);
        throw std::runtime_error("latch file `" + path + "`: " + what);
    };
    folder_ = files_.open_folder(folder_path_, false);
    if (folder_ == -EPERM) refuse("its folder must belong to this user and be writable by no other (chmod 700)");
    if (folder_ < 0) refuse(std::strerror(-folder_));
    (void)files_.remove(folder_, name_ + ".new");  // of a kernel that was killed while it made the file
    file_ = files_.open_file(folder_, name_);
    if (file_ == -ENOENT) {
        const int why = create({}, false);
        if (why == -EEXIST) refuse("another kernel is starting");
        // A stop that is written to a file which a power cut makes nameless would be forgotten.
        if (why < 0 || !sync()) refuse(why < 0 ? std::strerror(-why) : "the disk would not keep it");
    }
    if (file_ == -EPERM || file_ == -ELOOP) refuse("it must be a plain file of this user, writable by no other");
    if (file_ < 0) refuse(std::strerror(-file_));
    if (files_.lock(file_) < 0) refuse("another kernel holds it");
}

LatchFile::~LatchFile() {
    files_.close(file_);
    files_.close(folder_);
}

/// Filled under another name first: a file under the right name is never half written.
int LatchFile::create(const LatchRecord& record, bool replaces) noexcept {
    const std::string half = name_ + ".new";
    (void)files_.remove(folder_, half);  // whatever was laid there since: it is made, never opened
    const int made = files_.create_file(folder_, half);
    if (made < 0) return made;
    std::array<std::byte, latch_file_bytes> bytes{};
    encode_latch(record, bytes);
    int why = files_.write(made, bytes);
    if (why >= 0 && replaces) why = files_.lock(made);  // before it has the name: a process that finds it finds it claimed
    // Data before the name, where no thread waits for it: a power cut then leaves no name without a record.
    if (why >= 0 && !replaces) why = files_.sync_file(made);
    if (why >= 0) why = replaces ? files_.rename(folder_, half, name_) : files_.link(folder_, half, name_);
    if (why < 0 || !replaces) (void)files_.remove(folder_, half);
    if (why < 0) {
        files_.close(made);
        return why;
    }
    const std::lock_guard hold(handles_);
    if (file_ >= 0) files_.close(file_);
    file_ = made;
    return 0;
}

LatchRecord LatchFile::read() const noexcept {
    std::array<std::byte, latch_file_bytes + 1> bytes{};  // one more, to notice a file that is too long
    const int size = files_.read(file_, bytes);
    return decode_latch({bytes.data(), size > 0 ? static_cast<std::size_t>(size) : 0});
}

bool LatchFile::is_in_place() const noexcept {
    const std::lock_guard hold(handles_);
    return files_.is_named(file_, path_);
}

bool LatchFile::write(const LatchRecord& record) noexcept {
    std::array<std::byte, latch_file_bytes> bytes{};
    encode_latch(record, bytes);
    if (is_in_place()) return files_.write(file_, bytes) >= 0 && is_in_place();
    // The folder may be another one by now, or none.
    const int folder = files_.open_folder(folder_path_, true);
    if (folder < 0) return false;
    {
        const std::lock_guard hold(handles_);
        files_.close(folder_);
        folder_ = folder;
    }
    return create(record, true) >= 0 && is_in_place();
}

bool LatchFile::sync() noexcept {
    int file = -1;
    int folder = -1;
    {
        const std::lock_guard hold(handles_);
        file = files_.duplicate(file_);
        folder = files_.duplicate(folder_);
    }
    const bool kept = file >= 0 && folder >= 0 && files_.sync_file(file) >= 0 && files_.sync_folder(folder) >= 0;
    if (file >= 0) files_.close(file);
    if (folder >= 0) files_.close(folder);
    return kept && is_in_place();
}

}  // namespace lastgate::kernel
