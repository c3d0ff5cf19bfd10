// SPDX-License-Identifier: Apache-2.0
// Cyclone's own generated types would read a message into a structure and write another one from it; padding and byte
// order of the sender would be lost on the way. This is the interface that ROS 2's adapter for Cyclone uses, too.
#include "raw_type.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "dds/dds.h"
#include "dds/ddsi/ddsi_keyhash.h"
#include "dds/ddsi/ddsi_serdata.h"
#include "dds/ddsi/ddsi_sertype.h"
#include "dds/ddsi/q_radmin.h"

namespace lastgate::gateway {
namespace {

/// Shorter than every message of the contract that is not empty, longer than the encapsulation.
constexpr std::size_t beginning_bytes = 8;

struct RawType : ddsi_sertype {
    std::size_t bytes_max;
};

struct RawSample : ddsi_serdata {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
};

const RawSample* raw(const ddsi_serdata* sample) noexcept { return static_cast<const RawSample*>(sample); }

RawSample* new_sample(const ddsi_sertype* type, ddsi_serdata_kind kind, std::size_t size) noexcept {
    std::unique_ptr<RawSample> sample(new (std::nothrow) RawSample);
    if (!sample) return nullptr;
    // Writers send whole words of four bytes; what rounds them up must be zeros, not stray memory.
    sample->bytes.reset(new (std::nothrow) std::byte[(size + 3) / 4 * 4]());
    if (!sample->bytes) return nullptr;
    sample->size = size;
    ddsi_serdata_init(sample.get(), type, kind);
    sample->hash = type->serdata_basehash;  // without a key all samples are of one instance
    return sample.release();
}

/// How many bytes of a sample of `size` are kept.
std::size_t kept_of(const ddsi_sertype* type, std::size_t size) noexcept {
    return size <= static_cast<const RawType*>(type)->bytes_max ? size : beginning_bytes;
}

// ---- Samples ---------------------------------------------------------------------------------------

bool same_key(const ddsi_serdata*, const ddsi_serdata*) { return true; }
std::uint32_t size_of(const ddsi_serdata* sample) { return static_cast<std::uint32_t>(raw(sample)->size); }

ddsi_serdata* from_fragments(const ddsi_sertype* type, ddsi_serdata_kind kind, const nn_rdata* fragment, std::size_t size) {
    const std::size_t kept = kept_of(type, size);
    RawSample* sample = new_sample(type, kind, kept);
    if (sample == nullptr) return nullptr;
    std::size_t filled = 0;
    for (; fragment != nullptr && filled < kept; fragment = fragment->nextfrag) {
        // Fragments may overlap; one that brings nothing new is passed over.
        if (fragment->maxp1 <= filled) continue;
        if (fragment->min > filled) break;  // a hole: what follows is not the rest
        const unsigned char* payload = NN_RMSG_PAYLOADOFF(fragment->rmsg, NN_RDATA_PAYLOAD_OFF(fragment));
        const std::size_t count = std::min<std::size_t>(fragment->maxp1, kept) - filled;
        std::memcpy(sample->bytes.get() + filled, payload + (filled - fragment->min), count);
        filled += count;
    }
    if (filled != kept) {
        delete sample;
        return nullptr;
    }
    return sample;
}

ddsi_serdata* from_parts(const ddsi_sertype* type, ddsi_serdata_kind kind, ddsrt_msg_iovlen_t count, const ddsrt_iovec_t* parts, std::size_t size) {
    const std::size_t kept = kept_of(type, size);
    RawSample* sample = new_sample(type, kind, kept);
    if (sample == nullptr) return nullptr;
    std::size_t filled = 0;
    for (ddsrt_msg_iovlen_t i = 0; i < count && filled < kept; ++i) {
        const std::size_t part = std::min<std::size_t>(parts[i].iov_len, kept - filled);
        std::memcpy(sample->bytes.get() + filled, parts[i].iov_base, part);
        filled += part;
    }
    return sample;
}

ddsi_serdata* from_keyhash(const ddsi_sertype* type, const ddsi_keyhash*) { return new_sample(type, SDK_KEY, 0); }
ddsi_serdata* from_application(const ddsi_sertype*, ddsi_serdata_kind, const void*) { return nullptr; }  // structures are never written

void copy_out(const ddsi_serdata* sample, std::size_t offset, std::size_t size, void* into) { std::memcpy(into, raw(sample)->bytes.get() + offset, size); }
ddsi_serdata* lend(const ddsi_serdata* sample, std::size_t offset, std::size_t size, ddsrt_iovec_t* into) {
    into->iov_base = raw(sample)->bytes.get() + offset;
    into->iov_len = static_cast<ddsrt_iov_len_t>(size);
    return ddsi_serdata_ref(sample);
}
void give_back(ddsi_serdata* sample, const ddsrt_iovec_t*) { ddsi_serdata_unref(sample); }

bool to_application(const ddsi_serdata*, void*, void**, void*) { return false; }
ddsi_serdata* without_type(const ddsi_serdata* sample) {
    RawSample* key = new_sample(sample->type, SDK_KEY, 0);
    if (key != nullptr) key->type = nullptr;
    return key;
}
bool key_to_application(const ddsi_sertype*, const ddsi_serdata*, void*, void**, void*) { return false; }
void free_sample(ddsi_serdata* sample) { delete static_cast<RawSample*>(sample); }
std::size_t print_sample(const ddsi_sertype*, const ddsi_serdata* sample, char* text, std::size_t size) {
    return static_cast<std::size_t>(std::max(0, std::snprintf(text, size, "%zu bytes", raw(sample)->size)));
}
void no_keyhash(const ddsi_serdata*, ddsi_keyhash* keyhash, bool) { std::memset(keyhash, 0, sizeof *keyhash); }

const ddsi_serdata_ops sample_operations = {
    .eqkey = same_key,
    .get_size = size_of,
    .from_ser = from_fragments,
    .from_ser_iov = from_parts,
    .from_keyhash = from_keyhash,
    .from_sample = from_application,
    .to_ser = copy_out,
    .to_ser_ref = lend,
    .to_ser_unref = give_back,
    .to_sample = to_application,
    .to_untyped = without_type,
    .untyped_to_sample = key_to_application,
    .free = free_sample,
    .print = print_sample,
    .get_keyhash = no_keyhash,
#ifdef DDS_HAS_SHM
    // Shared memory of Cyclone's own is never enabled: without its daemon a start would wait for ever.
    .get_sample_size = nullptr,
    .from_iox_buffer = nullptr,
#endif
};

// ---- The type --------------------------------------------------------------------------------------

void free_type(ddsi_sertype* type) {
    ddsi_sertype_fini(type);
    delete static_cast<RawType*>(type);
}
bool same_type(const ddsi_sertype* a, const ddsi_sertype* b) { return static_cast<const RawType*>(a)->bytes_max == static_cast<const RawType*>(b)->bytes_max; }
std::uint32_t hash_of_type(const ddsi_sertype* type) { return static_cast<std::uint32_t>(static_cast<const RawType*>(type)->bytes_max); }
// Structures are what these would make; there are none.
void zero_structures(const ddsi_sertype*, void*, std::size_t) {}
void resize_structures(void**, const ddsi_sertype*, void*, std::size_t, std::size_t) {}
void free_structures(const ddsi_sertype*, void**, std::size_t, dds_free_op_t) {}

const ddsi_sertype_ops type_operations = {
    .version = ddsi_sertype_v0,
    .arg = nullptr,
    .free = free_type,
    .zero_samples = zero_structures,
    .realloc_samples = resize_structures,
    .free_samples = free_structures,
    .equal = same_type,
    .hash = hash_of_type,
    // No type information goes out (Fast DDS 3 and Cyclone do not agree on it); the type hash is compared instead.
    .type_id = nullptr,
    .type_map = nullptr,
    .type_info = nullptr,
    .derive_sertype = nullptr,
    .get_serialized_size = nullptr,
    .serialize_into = nullptr,
};

}  // namespace

ddsi_sertype* make_raw_type(const std::string& dds_type_name, std::size_t bytes_max) {
    auto type = std::make_unique<RawType>();
    type->bytes_max = bytes_max;
    ddsi_sertype_init(type.get(), dds_type_name.c_str(), &type_operations, &sample_operations, true);
    type->allowed_data_representation = DDS_DATA_REPRESENTATION_FLAG_XCDR1;
    return type.release();
}

ddsi_serdata* make_raw_sample(const ddsi_sertype* type, std::span<const std::byte> payload) noexcept {
    RawSample* sample = new_sample(type, SDK_DATA, payload.size());
    if (sample != nullptr) std::memcpy(sample->bytes.get(), payload.data(), payload.size());
    return sample;
}

std::span<const std::byte> raw_bytes(const ddsi_serdata* sample) noexcept { return {raw(sample)->bytes.get(), raw(sample)->size}; }

}  // namespace lastgate::gateway
