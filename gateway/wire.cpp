// SPDX-License-Identifier: Apache-2.0
#include "wire.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "dds/dds.h"
#include "dds/ddsi/ddsi_serdata.h"
#include "dds/ddsi/ddsi_typelookup.h"
#include "raw_type.hpp"
#include "shared_memory.hpp"
#include "type_hashes.hpp"

namespace lastgate::gateway {

using namespace kernel;
namespace {

// In this process only: exported settings would break other programs with another version of Cyclone. A peer at
// 127.0.0.1 finds participants that do not use multicast; with the library's own bound the tenth participant would not start, and
// with its own interval of half a minute a participant that missed one announcement, as happens on a busy machine, waits for the next.
constexpr const char* discovery = "<Discovery><SPDPInterval>1s</SPDPInterval><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>99</MaxAutoParticipantIndex><Peers><Peer Address=\"127.0.0.1\"/></Peers></Discovery>";
constexpr const char* every_interface = "<General><Interfaces><NetworkInterface autodetermine=\"true\"/><NetworkInterface name=\"lo\"/></Interfaces></General>";
// Programs of this machine may give any of its addresses for theirs, so all are known; but see `bind` below.
constexpr const char* this_machine = "<General><Interfaces><NetworkInterface autodetermine=\"true\"/><NetworkInterface name=\"lo\"/></Interfaces><AllowMulticast>false</AllowMulticast></General>";
constexpr const char* loopback = "<General><Interfaces><NetworkInterface name=\"lo\"/></Interfaces><AllowMulticast>false</AllowMulticast></General>";

/// Whether sockets of this process hear and reach the loopback alone. Read by `bind` below.
std::atomic<bool> binds_to_loopback{false};

std::string configuration(const char* interfaces) { return std::string("<CycloneDDS><Domain Id=\"any\">") + interfaces + discovery + "</Domain></CycloneDDS>"; }

std::int32_t require(std::int32_t entity, const std::string& what) {
    if (entity < 0) throw std::runtime_error(what + ": " + dds_strretcode(-entity));
    return entity;
}

struct QosDeleter {
    void operator()(dds_qos_t* qos) const noexcept { dds_delete_qos(qos); }
};
using Qos = std::unique_ptr<dds_qos_t, QosDeleter>;

std::string own_user_data(std::string_view ros_type) {
    const std::string_view hash = type_hash(ros_type);
    return hash.empty() ? std::string() : "typehash=" + std::string(hash) + ";";
}

Qos qos_of(const TopicSpec& spec) {
    Qos qos(dds_create_qos());
    dds_qset_reliability(qos.get(), spec.reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT, DDS_MSECS(100));
    dds_qset_durability(qos.get(), spec.transient_local ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
    dds_qset_history(qos.get(), DDS_HISTORY_KEEP_LAST, spec.depth);
    dds_qset_ignorelocal(qos.get(), DDS_IGNORELOCAL_PARTICIPANT);
    dds_qset_writer_data_lifecycle(qos.get(), false);
    const dds_data_representation_id_t representation = DDS_DATA_REPRESENTATION_XCDR1;
    dds_qset_data_representation(qos.get(), 1, &representation);
    const std::string user_data = own_user_data(spec.type);
    dds_qset_userdata(qos.get(), user_data.data(), user_data.size());
    return qos;
}

#ifndef LASTGATE_DDS_PLUGINS
#define LASTGATE_DDS_PLUGINS ""
#endif

/// Where a plugin of DDS Security is: in the folder in which it was found when this was built, else wherever the linker looks.
std::string plugin_library(const std::string& name) {
    const std::string folder = LASTGATE_DDS_PLUGINS;
    return folder.empty() ? name : folder + "/lib" + name + ".so";
}

/// What rmw_cyclonedds gives its participants for an enclave of SROS 2. A file that is missing or does not verify fails the
/// participant: there is no way back to one without security.
void secure(dds_qos_t* qos, const std::string& enclave) {
    const auto set = [&](const std::string& property, const std::string& value) { dds_qset_prop(qos, ("dds.sec." + property).c_str(), value.c_str()); };
    const auto load = [&](const std::string& kind, const std::string& library, const std::string& functions) {
        set(kind + ".library.path", plugin_library(library));
        set(kind + ".library.init", "init_" + functions);
        set(kind + ".library.finalize", "finalize_" + functions);
    };
    load("auth", "dds_security_auth", "authentication");
    load("crypto", "dds_security_crypto", "crypto");
    load("access", "dds_security_ac", "access_control");
    const std::string files = "file:" + enclave + "/";
    set("auth.identity_ca", files + "identity_ca.cert.pem");
    set("auth.identity_certificate", files + "cert.pem");
    set("auth.private_key", files + "key.pem");
    set("access.permissions_ca", files + "permissions_ca.cert.pem");
    set("access.governance", files + "governance.p7s");
    set("access.permissions", files + "permissions.p7s");
}

std::int32_t make_topic(const Participant& participant, const TopicSpec& spec, ddsi_sertype*& type) {
    type = make_raw_type(dds_type_name(spec.type), spec.bytes_max);
    const std::string name = dds_topic_name(spec.name);
    // Gives back the type that is registered already, if there is an equal one.
    return require(dds_create_topic_sertype(participant.handle(), name.c_str(), &type, nullptr, nullptr, nullptr), "topic " + name);
}

}  // namespace

std::string dds_topic_name(std::string_view ros_name) { return ros_name.starts_with('/') ? "rt" + std::string(ros_name) : std::string(ros_name); }

std::string dds_type_name(std::string_view ros_type) {
    const std::size_t first = ros_type.find('/');
    const std::size_t second = ros_type.find('/', first + 1);
    return std::string(ros_type.substr(0, first)) + "::" + std::string(ros_type.substr(first + 1, second - first - 1)) + "::dds_::" + std::string(ros_type.substr(second + 1)) + "_";
}

std::string_view hash_in_user_data(std::string_view user_data) noexcept {
    constexpr std::string_view key = "typehash=";
    while (!user_data.empty()) {
        const std::size_t end = std::min(user_data.find(';'), user_data.size());
        const std::string_view entry = user_data.substr(0, end);
        if (entry.starts_with(key)) return entry.substr(key.size());
        user_data.remove_prefix(std::min(end + 1, user_data.size()));
    }
    return {};
}

void bind_to_loopback_alone() noexcept { binds_to_loopback = true; }

Participant::Participant(std::uint32_t domain, bool loopback_only, const std::string& enclave_folder) : loopback_only_(loopback_only) {
    if (loopback_only_) bind_to_loopback_alone();
    domain_handle_ = dds_create_domain(domain, configuration(loopback_only_ ? this_machine : every_interface).c_str());
    if (domain_handle_ < 0) {
        // Where the loopback is all there is, naming it twice is an error.
        loopback_only_ = true;
        bind_to_loopback_alone();
        domain_handle_ = require(dds_create_domain(domain, configuration(loopback).c_str()), "DDS domain " + std::to_string(domain));
    }
    Qos qos(dds_create_qos());
    constexpr std::string_view enclave = "enclave=/;";
    dds_qset_userdata(qos.get(), enclave.data(), enclave.size());
    if (!enclave_folder.empty()) secure(qos.get(), enclave_folder);
    handle_ = dds_create_participant(domain, qos.get(), nullptr);
    if (handle_ < 0) {
        const std::int32_t why = handle_;
        dds_delete(domain_handle_);
        require(why, "DDS participant in domain " + std::to_string(domain));
    }
}

Participant::~Participant() {
    dds_delete(handle_);
    dds_delete(domain_handle_);
}

Guid guid_of(std::int32_t entity) {
    dds_guid_t guid;
    if (const dds_return_t answer = dds_get_guid(entity, &guid); answer != DDS_RETCODE_OK) require(answer, "identity of a DDS entity");
    Guid bytes;
    static_assert(sizeof guid.v == sizeof bytes);
    std::memcpy(bytes.data(), guid.v, bytes.size());
    return bytes;
}

Writer::Writer(const Participant& participant, const TopicSpec& spec) : name_(spec.name) {
    const std::int32_t topic = make_topic(participant, spec, type_);
    handle_ = require(dds_create_writer(participant.handle(), topic, qos_of(spec).get(), nullptr), "writer of " + spec.name);
}

bool Writer::write(std::span<const std::byte> payload) noexcept {
    ddsi_serdata* sample = make_raw_sample(type_, payload);
    return sample != nullptr && dds_writecdr(handle_, sample) == DDS_RETCODE_OK;
}

std::uint32_t Writer::subscribers() const noexcept {
    dds_publication_matched_status_t status{};
    return dds_get_publication_matched_status(handle_, &status) == DDS_RETCODE_OK ? status.current_count : 0;
}

std::uint32_t Reader::publishers() const noexcept {
    dds_subscription_matched_status_t status{};
    return dds_get_subscription_matched_status(handle_, &status) == DDS_RETCODE_OK ? status.current_count : 0;
}

Reader::Reader(const Participant& participant, const TopicSpec& spec, TypeCheck check, Handler handler, bool takes_long)
    : takes_long_(takes_long), spec_(spec), check_(check), hash_(type_hash(spec.type)), handler_(std::move(handler)) {
    ddsi_sertype* type = nullptr;
    const std::int32_t topic = make_topic(participant, spec, type);
    const std::unique_ptr<dds_listener_t, decltype(&dds_delete_listener)> listener(dds_create_listener(this), dds_delete_listener);
    dds_lset_data_available_arg(listener.get(), on_data, this, true);
    handle_ = require(dds_create_reader(participant.handle(), topic, qos_of(spec).get(), listener.get()), "reader of " + spec.name);
    if (takes_long_) {
        thread_ = std::thread([this] {
            while (true) {
                arrived_.acquire();
                if (ending_) return;
                take_all();
            }
        });
    }
}

Reader::~Reader() {
    dds_delete(handle_);  // waits for a handler that is running, and none is called after it
    ending_ = true;
    arrived_.release();
    if (thread_.joinable()) thread_.join();
}

void Reader::on_data(std::int32_t reader, void* self) {
    auto* const me = static_cast<Reader*>(self);
    me->handle_ = reader;  // this may be called before the constructor has the handle
    if (me->takes_long_) me->arrived_.release();
    else me->take_all();
}

void Reader::take_all() {
    const std::lock_guard hold(one_at_a_time_);
    while (true) {
        ddsi_serdata* sample = nullptr;
        dds_sample_info_t info;
        if (dds_takecdr(handle_, &sample, 1, &info, DDS_ANY_STATE) != 1) return;
        // A publisher that leaves gives a sample without data.
        if (info.valid_data) {
            if (is_believed(info.publication_handle)) {
                newest_ns_.store(monotonic_ns(), std::memory_order_relaxed);
                handler_(raw_bytes(sample), info.source_timestamp);
            } else {
                refused_.fetch_add(1, std::memory_order_relaxed);
            }
        }
        ddsi_serdata_unref(sample);
    }
}

bool Reader::is_believed(std::uint64_t publication) {
    if (check_ == TypeCheck::any_type) return true;
    if (const auto known = believed_.find(publication); known != believed_.end()) return known->second;
    const std::unique_ptr<dds_builtintopic_endpoint_t, decltype(&dds_builtintopic_free_endpoint)> publisher(dds_get_matched_publication_data(handle_, publication), dds_builtintopic_free_endpoint);
    if (!publisher) return false;  // gone already: what it meant is unknown
    void* bytes = nullptr;
    std::size_t size = 0;
    std::string user_data;
    if (dds_qget_userdata(publisher->qos, &bytes, &size) && bytes != nullptr) user_data.assign(static_cast<const char*>(bytes), size);
    dds_free(bytes);
    const std::string_view stated = hash_in_user_data(user_data);
    const bool believed = stated.empty() ? check_ == TypeCheck::not_another : stated == hash_;
    if (!believed) {
        std::fprintf(stderr, "lastgate-gateway: warning: a publisher of %s is refused: it states %s, expected %s\n", spec_.name.c_str(),
                     stated.empty() ? "no type hash" : std::string(stated).c_str(), hash_.c_str());
    }
    // Publishers come and go; a bound on how many are remembered, far above how many there are.
    if (believed_.size() >= 1024) believed_.clear();
    believed_.emplace(publication, believed);
    return believed;
}

}  // namespace lastgate::gateway

// ---- Nothing is asked or told about types -----------------------------------------------------------

// These two stand in for Cyclone's own, which the dynamic linker passes over: its library calls them through its table of
// exported names. Every participant on the network hears the answers that Fast DDS 3 gives to any question about a type, and
// Cyclone 0.10.2 reads them all; on such a type that holds a sequence it follows a null pointer, and the gateway is gone.
// Types are compared by name and hash here, so there is nothing in those messages that could be missed.
extern "C" {
[[gnu::visibility("default")]] void ddsi_tl_handle_request(struct ddsi_domaingv*, struct ddsi_serdata*) {}
[[gnu::visibility("default")]] void ddsi_tl_handle_reply(struct ddsi_domaingv*, struct ddsi_serdata*) {}
}

// ---- Sockets that hear this machine alone --------------------------------------------------------------

namespace {

int bind_to_loopback(int descriptor, const sockaddr_in& asked) noexcept {
    sockaddr_in chosen = asked;
    if (IN_MULTICAST(ntohl(asked.sin_addr.s_addr))) {
        // Else it hears the group on every interface on which any program of this machine has joined it.
        const int joined_elsewhere = 0;
        if (setsockopt(descriptor, IPPROTO_IP, IP_MULTICAST_ALL, &joined_elsewhere, sizeof joined_elsewhere) != 0) return -1;
    } else {
        chosen.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    return static_cast<int>(syscall(SYS_bind, descriptor, &chosen, sizeof chosen));
}

}  // namespace

// Stands in for the C library's. Cyclone 0.10 binds what it receives on to every address, whichever interfaces it was told
// to use; a peer that sends to this machine's address would be heard although it is never answered, and joint states and
// worlds need no answer. From the loopback's address the system sends nothing beyond this machine.
extern "C" [[gnu::visibility("default")]] int bind(int descriptor, const sockaddr* address, socklen_t size) noexcept {
    if (lastgate::gateway::binds_to_loopback && address != nullptr && address->sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
        sockaddr_in asked;
        std::memcpy(&asked, address, sizeof asked);
        return bind_to_loopback(descriptor, asked);
    }
    return static_cast<int>(syscall(SYS_bind, descriptor, address, size));
}
