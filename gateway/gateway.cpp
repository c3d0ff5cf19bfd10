// SPDX-License-Identifier: Apache-2.0
#include "gateway.hpp"

#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <thread>

#include "kernel.hpp"

namespace lastgate::gateway {
namespace {

constexpr const char* node_name = "lastgate_gateway";

/// How often kernel and registration are looked after; a registration must beat within 0.5 s, a kernel is gone after
/// 0.15 s.
constexpr std::int64_t poll_period_ns = 20'000'000;
constexpr std::int64_t diagnostics_period_ns = 1'000'000'000;
/// A chunk that was on its way for longer is not motion for now: a policy sends several per second. Sender and receiver
/// must agree on the time as well as they must for stamps of measured states.
constexpr std::int64_t chunk_age_ns_max = 500'000'000;
/// An input that was heard and is silent for longer is reported. DDS itself calls a killed publisher alive for 8 to 18 s.
constexpr std::int64_t input_age_ns_max = 500'000'000;

/// What no slot can hold arrives cut to a beginning that the kernel cannot read: it is rejected, and reported, there.
constexpr std::size_t chunk_sample_max = chunk_bytes_max;
constexpr std::size_t world_sample_max = world_ring.slot_bytes;

std::string text_of_number(std::uint64_t number) {
    char text[24];
    return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

const char* lifecycle_word(std::uint32_t state) noexcept {
    switch (static_cast<LifecycleState>(state)) {
        case LifecycleState::unconfigured: return "unconfigured";
        case LifecycleState::inactive: return "inactive";
        case LifecycleState::active: return "active";
        case LifecycleState::latched: return "latched";
    }
    return "unknown";
}

}  // namespace

bool is_namespace(std::string_view name) noexcept {
    constexpr std::size_t bytes_max = 128;  // leaves room for the longest topic in the 255 bytes that DDS gives a name
    if (name.empty() || name.size() > bytes_max || name.back() == '/') return false;
    bool begins_word = false;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const char letter = name[i];
        const bool is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_';
        const bool is_digit = letter >= '0' && letter <= '9';
        if (i == 0 || (letter == '/' && !begins_word)) {
            if (letter != '/') return false;
            begins_word = true;
        } else {
            if (!is_letter && !(is_digit && !begins_word)) return false;
            begins_word = false;
        }
    }
    return true;
}

TopicSpec Gateway::empty_topic(std::string_view name) const { return {.name = named(name), .type = "std_msgs/msg/Empty", .depth = 10}; }
TopicSpec Gateway::chunk_topic(std::string_view name) const {
    return {.name = named(name), .type = "openral_msgs/msg/ActionChunk", .depth = options_.chunk_depth, .bytes_max = chunk_sample_max};
}
TopicSpec Gateway::twist_topic(std::string_view name) const { return {.name = named(name), .type = "geometry_msgs/msg/Twist"}; }

Gateway::Gateway(GatewayOptions options)
    : options_(std::move(options)),
      participant_(options_.domain, options_.loopback_only, options_.enclave),
      safe_action_(participant_, chunk_topic("/openral/safe_action")),
      safe_cmd_vel_(participant_, twist_topic("/openral/safe_cmd_vel")),
      estop_out_(participant_, empty_topic("/openral/estop")),
      failure_(participant_, {.name = named("/openral/failure/safety"), .type = "openral_msgs/msg/FailureTrigger", .depth = 50}),
      safety_status_(participant_, {.name = named("/openral/safety_status"), .type = "openral_msgs/msg/SafetyStatus", .transient_local = true}),
      diagnostics_(participant_, {.name = "/diagnostics", .type = "diagnostic_msgs/msg/DiagnosticArray", .depth = 10}),
      discovery_info_(participant_, {.name = "ros_discovery_info", .type = "rmw_dds_common/msg/ParticipantEntitiesInfo", .transient_local = true}),
      session_(std::make_unique<Session>(options_.instance, outputs())),
      // A stop is a stop, from any sender and whatever definition it was built from.
      estop_in_(participant_, empty_topic("/openral/estop"), TypeCheck::any_type, [this](auto, auto) { stop("/openral/estop", false); }),
      human_estop_(participant_, empty_topic("/openral/human_estop"), TypeCheck::any_type, [this](auto, auto) { stop("/openral/human_estop", true); }),
      candidate_action_(participant_, chunk_topic("/openral/candidate_action"), options_.type_check,
                        [this](std::span<const std::byte> payload, std::int64_t sent_ns) { take_chunk(payload, sent_ns); }),
      cmd_vel_(participant_, twist_topic("/cmd_vel"), options_.type_check, [this](std::span<const std::byte> payload, std::int64_t sent_ns) { take_twist(payload, sent_ns); }),
      // Best effort hears reliable publishers too; the other way round it would hear no other.
      joint_states_(participant_, {.name = named("/joint_states"), .type = "sensor_msgs/msg/JointState", .reliable = false, .bytes_max = state_ring.slot_bytes}, options_.type_check,
                    [this](std::span<const std::byte> payload, auto) { with_session([&](Session& session) { return session.observe(payload); }); }),
      world_collision_(participant_, {.name = named("/openral/world_collision"), .type = "openral_msgs/msg/WorldCollision", .bytes_max = world_sample_max}, options_.type_check,
                       [this](std::span<const std::byte> payload, auto) { take_world(MessageType::world_collision, payload); }, true),
      world_voxels_(participant_, {.name = named("/openral/world_voxels"), .type = "openral_msgs/msg/OccupancyVoxels", .bytes_max = world_sample_max}, options_.type_check,
                    [this](std::span<const std::byte> payload, auto) { take_world(MessageType::occupancy_voxels, payload); }, true) {
    serve({named("/openral/estop_reset"), "std_srvs/srv/Trigger"}, [this](std::span<const std::byte> request) { return reset(request); });
    serve({named("/openral/check_nav_goal"), "openral_msgs/srv/CheckNavGoal"}, [this](std::span<const std::byte> request) { return check_nav_goal(request); });
    publish_node();
}

// ---- From topics to the kernel ---------------------------------------------------------------------

template <typename Use>
bool Gateway::with_session(Use use) {
    const std::shared_lock hold(session_lock_);
    if (session_ && use(*session_)) return true;
    homeless_.fetch_add(1, std::memory_order_relaxed);
    return false;
}

bool Gateway::is_late(std::int64_t sent_ns) {
    const auto now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    // Without a time its age is unknown; from the future by more than the bound, the sender's clock is wrong.
    const bool on_time = sent_ns > 0 && now_ns - sent_ns <= chunk_age_ns_max && sent_ns - now_ns <= chunk_age_ns_max;
    if (!on_time) late_.fetch_add(1, std::memory_order_relaxed);
    return !on_time;
}

void Gateway::take_chunk(std::span<const std::byte> payload, std::int64_t sent_ns) {
    if (is_late(sent_ns)) return;
    with_session([&](Session& session) { return session.submit(MessageType::action_chunk, payload); });
}

void Gateway::take_twist(std::span<const std::byte> payload, std::int64_t sent_ns) {
    if (is_late(sent_ns)) return;
    with_session([&](Session& session) { return session.submit(MessageType::twist, payload); });
}

void Gateway::take_world(MessageType type, std::span<const std::byte> payload) {
    with_session([&](Session& session) { return session.publish_world(type, payload); });
}

void Gateway::stop(const char* reason, bool by_human) {
    constexpr const char* evidence = R"({"kind":"human","actor":"ros2","reason":"/openral/human_estop"})";
    // Without a kernel there is nothing that could move: the wire was told so when it went.
    with_session([&](Session& session) {
        session.stop(reason, FailureKind::human, by_human ? evidence : "");
        return true;
    });
}

void Gateway::serve(const ServiceSpec& spec, const ServiceHandler& handler) {
    if (options_.serve_cyclone) servers_.push_back(serve_over_cyclone(participant_, spec, handler));
    if (options_.serve_fastdds && has_fastdds()) servers_.push_back(serve_over_fastdds(options_.domain, participant_.loopback_only(), spec, handler));
}

template <typename Ask>
ServiceAnswer Gateway::asked_of_kernel(Ask ask) {
    const std::shared_lock hold(session_lock_);
    if (!session_) return {false, "refused: the kernel is gone"};
    const auto answer = ask(*session_);
    if (!answer) return {false, "refused: the kernel did not answer"};
    return {answer->success == 1, std::string(answer->message.view())};
}

std::optional<ServiceAnswer> Gateway::reset(std::span<const std::byte> request) {
    if (!is_trigger_request(request)) return std::nullopt;
    if (!options_.allow_reset) return ServiceAnswer{false, "refused: resets over DDS are off, because DDS does not say who asks; `lastgate reset` on the robot's computer, or start the gateway with `--allow-reset`"};
    return asked_of_kernel([](Session& session) { return session.reset(); });
}

std::optional<ServiceAnswer> Gateway::check_nav_goal(std::span<const std::byte> request) {
    // A geometry_msgs/PoseStamped. Its stamp says when the client asked, which nothing depends on.
    CdrReader reader(request);
    (void)reader.number<std::int32_t>();
    (void)reader.number<std::uint32_t>();
    NavGoalRequest goal;
    goal.frame_id = reader.text();
    for (double& coordinate : goal.xyz) coordinate = reader.number<double>();
    for (double& coordinate : goal.quat_xyzw) coordinate = reader.number<double>();
    if (!reader.at_end()) return std::nullopt;
    return asked_of_kernel([&](Session& session) { return session.check_nav_goal(goal); });
}

// ---- From the kernel to topics ---------------------------------------------------------------------

KernelListener Gateway::outputs() {
    return {
        .safe_action = [this](std::span<const std::byte> chunk) { (void)safe_action_.write(chunk); },
        .safe_twist = [this](std::span<const std::byte> twist) { (void)safe_cmd_vel_.write(twist); },
        .failure = [this](std::span<const std::byte> failure) { (void)failure_.write(failure); },
        .status = [this](std::span<const std::byte> status) { pass_status(status); },
    };
}

void Gateway::pass_status(std::span<const std::byte> payload) {
    const auto status = read_status(payload);
    if (!status) return;
    passed_.store(status->passed, std::memory_order_relaxed);
    dropped_.store(status->dropped, std::memory_order_relaxed);
    const bool latched = status->state == static_cast<std::uint8_t>(LifecycleState::latched);
    // Once for every latch, and not again while it lasts: late subscribers read the status, and two kernels on one
    // network that repeated their stops would keep each other from ever being reset.
    if (latched && !latched_.exchange(true)) (void)estop_out_.write(empty_message());
    latched_ = latched;
    (void)safety_status_.write(payload);
}

// ---- Looking after it all --------------------------------------------------------------------------

void Gateway::run() {
    while (!ending_.load(std::memory_order_acquire)) {
        watch_kernel();
        if (options_.parent >= 0 && getppid() != options_.parent) end();
        if (monotonic_ns() - diagnosed_ns_ >= diagnostics_period_ns) {
            diagnosed_ns_ = monotonic_ns();
            publish_diagnostics();
        }
        std::this_thread::sleep_for(std::chrono::nanoseconds(poll_period_ns));
    }
}

void Gateway::watch_kernel() {
    if (session_ && session_->kernel_is_alive()) session_->beat();
    else if (session_) kernel_is_gone();
    else join_kernel(true);
}

void Gateway::kernel_is_gone() {
    // The wire first: a driver that executes what arrived before stops now.
    (void)estop_out_.write(empty_message());
    std::array<std::byte, 1024> memory;
    SafetyStatusMessage status;
    status.stamp = Stamp::of_seconds(wall_clock_s());
    status.source = "gateway";
    status.reason = "the kernel is gone";
    std::unique_ptr<Session> gone;
    {
        const std::unique_lock hold(session_lock_);
        gone = std::move(session_);
    }
    gone.reset();  // its threads end before the last word is said
    (void)safety_status_.write(write_safety_status(status, memory));
    latched_ = true;
    std::fprintf(stderr, "lastgate-gateway: error: the kernel `%s` is gone; everything is refused until there is one\n", options_.instance.c_str());
    diagnosed_ns_ = 0;
}

void Gateway::join_kernel(bool it_was_gone) {
    std::unique_ptr<Session> session;
    try {
        const StatusBlockView status_block = StatusBlockView::open(options_.instance);
        if (!status_block.is_alive(monotonic_ns())) return;
        session = std::make_unique<Session>(options_.instance, outputs());
    } catch (const std::runtime_error&) {
        return;  // not yet; asked again in the next round
    }
    // The wire was told to stop. A kernel that knew nothing of that would let motion go on without a reset.
    if (it_was_gone) session->stop("the kernel was gone", FailureKind::human, "");
    const std::unique_lock hold(session_lock_);
    session_ = std::move(session);
    std::fprintf(stderr, "lastgate-gateway: the kernel `%s` is back, and has been stopped\n", options_.instance.c_str());
    diagnosed_ns_ = 0;
}

void Gateway::publish_node() {
    std::vector<Guid> readers;
    std::vector<Guid> writers;
    for (const Reader* reader : {&estop_in_, &human_estop_, &candidate_action_, &cmd_vel_, &joint_states_, &world_collision_, &world_voxels_}) readers.push_back(guid_of(reader->handle()));
    for (const Writer* writer : {&safe_action_, &safe_cmd_vel_, &estop_out_, &failure_, &safety_status_, &diagnostics_}) writers.push_back(guid_of(writer->handle()));
    (void)discovery_info_.write(participant_info(options_.gid_width, guid_of(participant_.handle()), options_.name_space.empty() ? "/" : options_.name_space, node_name, readers, writers));
}

void Gateway::publish_diagnostics() {
    Diagnosis diagnosis;
    auto& values = diagnosis.values;
    const auto worse = [&](Diagnosis::Level level, std::string message) {
        if (static_cast<int>(level) <= static_cast<int>(diagnosis.level)) return;
        diagnosis.level = level;
        diagnosis.message = std::move(message);
    };
    if (session_) {
        const StatusBlock& status_block = session_->status_block();
        const std::uint32_t state = status_block.state.load(std::memory_order_acquire);
        const bool latched = state == static_cast<std::uint32_t>(LifecycleState::latched);
        diagnosis.hardware_id = text_of(status_block.robot);
        values = {{"lifecycle", lifecycle_word(state)},
                  {"fault_latch", latched ? "true" : "false"},
                  {"passed", text_of_number(passed_)},
                  {"dropped", text_of_number(dropped_)},
                  {"last_drop_reason", std::string(session_->last_drop_reason())},
                  {"envelope_loaded", state == static_cast<std::uint32_t>(LifecycleState::unconfigured) ? "false" : "true"},
                  {"n_dof", text_of_number(status_block.n_dof)},
                  {"model_digest", std::string(text_of(status_block.model_digest))},
                  {"withheld", text_of_number(session_->withheld())}};
        if (latched) worse(Diagnosis::Level::error, "an emergency stop is latched");
        else if (state != static_cast<std::uint32_t>(LifecycleState::active)) worse(Diagnosis::Level::warn, "the kernel is not active");
    } else {
        values = {{"lifecycle", "unconfigured"}, {"fault_latch", "true"}, {"envelope_loaded", "false"}};
        worse(Diagnosis::Level::error, "the kernel is gone");
    }
    values.emplace_back("late", text_of_number(late_));
    values.emplace_back("homeless", text_of_number(homeless_));
    const std::int64_t now_ns = monotonic_ns();
    for (const Writer* writer : {&safe_action_, &safe_cmd_vel_, &estop_out_, &failure_, &safety_status_, &diagnostics_}) {
        values.emplace_back("subscribers " + writer->name(), text_of_number(writer->subscribers()));
    }
    for (const Reader* reader : {&estop_in_, &human_estop_, &candidate_action_, &cmd_vel_, &joint_states_, &world_collision_, &world_voxels_}) {
        const std::string& name = reader->name();
        values.emplace_back("publishers " + name, text_of_number(reader->publishers()));
        values.emplace_back("refused " + name, text_of_number(reader->refused()));
        if (reader->refused() > 0) worse(Diagnosis::Level::warn, "a publisher of " + name + " is refused: its message definition is another one, or not stated");
        if (reader->newest_ns() == 0) continue;
        const std::int64_t age_ns = now_ns - reader->newest_ns();
        values.emplace_back("age_s " + name, std::to_string(static_cast<double>(age_ns) * 1e-9));
        // Of stops no subscriber expects more.
        if (age_ns > input_age_ns_max && reader != &estop_in_ && reader != &human_estop_) worse(Diagnosis::Level::warn, name + " is silent");
    }
    if (diagnosis.message.empty()) diagnosis.message = "ok";
    (void)diagnostics_.write(diagnostic_array(Stamp::of_seconds(wall_clock_s()), "lastgate: safety kernel" + (options_.name_space.empty() ? "" : " " + options_.name_space), diagnosis));
}

}  // namespace lastgate::gateway
