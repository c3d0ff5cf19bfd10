// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

struct ddsi_sertype;
struct ddsi_serdata;

namespace lastgate::gateway {

/// A DDS type of which only the name is known here. Samples are the CDR bytes that were on the wire: nothing parses
/// them on this side of the kernel, and nothing can change them.
///
/// `bytes_max` bounds what is kept of one sample. Of a longer one only the beginning is, too short to be read as any
/// message: the receiver refuses it, and knows that there was one.
ddsi_sertype* make_raw_type(const std::string& dds_type_name, std::size_t bytes_max);

/// A sample to be written; it belongs to its writer. Null when there is no memory.
ddsi_serdata* make_raw_sample(const ddsi_sertype* type, std::span<const std::byte> payload) noexcept;

/// The bytes of a sample that was taken, encapsulation included.
std::span<const std::byte> raw_bytes(const ddsi_serdata* sample) noexcept;

}  // namespace lastgate::gateway
