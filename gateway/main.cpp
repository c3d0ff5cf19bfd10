// SPDX-License-Identifier: Apache-2.0
// lastgate-gateway: ROS 2 topics and services on one side, the channels of a running kernel on the other.
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "gateway.hpp"

namespace {

using namespace lastgate;
using namespace lastgate::kernel;
using namespace lastgate::gateway;

constexpr int exit_unusable = 2;  // what was asked for cannot be used
constexpr int exit_failed = 3;    // it could, but this machine would not let us

constexpr const char* usage = R"(usage: lastgate-gateway --instance NAME [options]
  --domain N                 ROS_DOMAIN_ID of the others; 0
  --namespace /NAME          before every topic and service but /diagnostics, for several robots in one domain
  --network                  use every interface; without it, programs of this machine alone are heard
  --enclave FOLDER           keys and permissions as SROS 2 makes them: only participants that they allow are met
  --allow-reset              let /openral/estop_reset clear a stop; without it, the service refuses
  --chunk-depth N            how many candidates may wait, and how many safe actions; 1
  --accept-unhashed          believe publishers that state no type hash (before Iron, or without ROS)
  --humble                   show the node to Humble instead of to what came after it
  --services-for WHOM        fastrtps|cyclonedds|both|none: whose service clients are answered; fastrtps
  --exit-with-parent
)";

std::uint32_t number_of(std::string_view flag, std::string_view text, std::uint32_t least, std::uint32_t most) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
        throw std::invalid_argument(std::string(flag) + " needs a number from " + std::to_string(least) + " to " + std::to_string(most) + ", got `" + std::string(text) + "`");
    }
    return value;
}

GatewayOptions read_arguments(int count, char** values) {
    GatewayOptions options;
    for (int i = 1; i < count; ++i) {
        const std::string_view flag = values[i];
        const auto next = [&]() -> std::string_view {
            if (i + 1 >= count) throw std::invalid_argument(std::string(flag) + " needs a value");
            return values[++i];
        };
        if (flag == "--instance") options.instance = next();
        else if (flag == "--domain") options.domain = number_of(flag, next(), 0, 232);  // beyond it ports run out
        else if (flag == "--network") options.loopback_only = false;
        else if (flag == "--enclave") options.enclave = next();
        else if (flag == "--allow-reset") options.allow_reset = true;
        else if (flag == "--namespace") {
            options.name_space = next();
            if (!is_namespace(options.name_space)) throw std::invalid_argument("--namespace needs words of letters, digits and `_`, each behind a slash, got `" + options.name_space + "`");
        }
        else if (flag == "--chunk-depth") options.chunk_depth = static_cast<std::int32_t>(number_of(flag, next(), 1, 1000));
        else if (flag == "--accept-unhashed") options.type_check = TypeCheck::not_another;
        else if (flag == "--humble") options.gid_width = GidWidth::humble;
        else if (flag == "--exit-with-parent") options.parent = getppid();
        else if (flag == "--services-for") {
            const std::string_view whom = next();
            if (whom != "both" && whom != "fastrtps" && whom != "cyclonedds" && whom != "none") throw std::invalid_argument("--services-for cannot be `" + std::string(whom) + "`");
            options.serve_fastdds = whom == "both" || whom == "fastrtps";
            options.serve_cyclone = whom == "both" || whom == "cyclonedds";
        } else throw std::invalid_argument("unknown option `" + std::string(flag) + "`");
    }
    if (options.instance.empty()) throw std::invalid_argument("--instance is missing");
    // A second participant without keys would answer every client, and Fast DDS with keys does not shake hands with Cyclone.
    if (!options.enclave.empty() && options.serve_fastdds) throw std::invalid_argument("--enclave needs --services-for cyclonedds or none");
    if (options.serve_fastdds && !has_fastdds()) {
        std::fprintf(stderr, "lastgate-gateway: warning: built without Fast DDS: rmw_fastrtps is offered no services; use `lastgate reset`\n");
    }
    return options;
}

Gateway* running = nullptr;
void end_process(int) { running->end(); }

}  // namespace

int main(int count, char** values) {
    if (count == 2 && std::string_view(values[1]) == "--help") {
        std::fputs(usage, stdout);
        return 0;
    }
    // The reader of this output may be gone; the gateway goes on.
    std::signal(SIGPIPE, SIG_IGN);
    try {
        const GatewayOptions options = read_arguments(count, values);
        Gateway gateway(options);
        running = &gateway;
        struct sigaction action {};
        action.sa_handler = end_process;
        sigaction(SIGTERM, &action, nullptr);
        sigaction(SIGINT, &action, nullptr);
        std::printf("ready %s, domain %u%s\n", options.instance.c_str(), options.domain, gateway.loopback_only() ? ", loopback only" : ", every interface");
        std::fflush(stdout);
        gateway.run();
        // There is nothing left that a second signal could end.
        std::signal(SIGTERM, SIG_IGN);
        std::signal(SIGINT, SIG_IGN);
        return 0;
    } catch (const std::invalid_argument& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return exit_unusable;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return exit_failed;
    }
}
