// SPDX-License-Identifier: Apache-2.0
#include "latch_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace lastgate {
namespace {

/// Asks the disk to keep the name too: a stop in a file that a power cut makes nameless would be forgotten.
void keep_folder(const std::string& path) noexcept {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    const int opened = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0) return;
    (void)fsync(opened);
    close(opened);
}

}  // namespace

LatchFile::LatchFile(const std::string& path) {
    const auto refuse = [&](const char* what) {
        const std::string message = "latch file `" + path + "`: " + what;
        if (file_ >= 0) close(file_);
        throw std::runtime_error(message);
    };
    file_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file_ < 0 && errno == ENOENT) {
        // Filled under another name first: a file under the right name is never half written.
        const std::string half = path + ".new";
        file_ = open(half.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (file_ < 0) refuse(std::strerror(errno));
        if (!write({}) || fsync(file_) != 0 || link(half.c_str(), path.c_str()) != 0) {
            const int why = errno;
            unlink(half.c_str());
            refuse(why == EEXIST ? "another kernel is starting" : std::strerror(why));
        }
        unlink(half.c_str());
        keep_folder(path);
    }
    if (file_ < 0) refuse(std::strerror(errno));
    if (flock(file_, LOCK_EX | LOCK_NB) != 0) refuse("another kernel holds it");
}

LatchFile::~LatchFile() { close(file_); }

LatchRecord LatchFile::read() const noexcept {
    std::array<std::byte, latch_file_bytes + 1> bytes{};  // one more, to notice a file that is too long
    const ssize_t size = pread(file_, bytes.data(), bytes.size(), 0);
    return decode_latch({bytes.data(), size > 0 ? static_cast<std::size_t>(size) : 0});
}

bool LatchFile::write(const LatchRecord& record) noexcept {
    std::array<std::byte, latch_file_bytes> bytes{};
    encode_latch(record, bytes);
    return pwrite(file_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
}

void LatchFile::sync() noexcept { (void)fdatasync(file_); }

}  // namespace lastgate
