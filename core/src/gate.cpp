// SPDX-License-Identifier: Apache-2.0
#include "lastgate/gate.hpp"

#include "checks/gate_setup.hpp"
#include "validation.hpp"

namespace lastgate {

Gate::Gate(std::shared_ptr<const RobotModel> model, GateConfig config)
    : state_(std::make_unique<detail::GateState>(std::move(model), std::move(config))) {}

Gate::Gate(Gate&&) noexcept = default;
Gate& Gate::operator=(Gate&&) noexcept = default;
Gate::~Gate() = default;

Verdict Gate::check(const CheckRequest& request) noexcept {
    detail::Validation validation(*state_, request);
    return validation.run();
}

bool Gate::attach(const Attachment& attachment) noexcept {
    if (!state_->setup.shapes.attach(*state_->setup.model, attachment)) return false;
    state_->follow_shapes();
    return true;
}

bool Gate::detach(std::uint16_t id) noexcept {
    if (!state_->setup.shapes.detach(*state_->setup.model, id)) return false;
    state_->follow_shapes();
    return true;
}

const RobotModel& Gate::model() const noexcept { return *state_->setup.model; }
const GateConfig& Gate::config() const noexcept { return state_->setup.config; }
const detail::ShapeSet& Gate::shapes() const noexcept { return state_->setup.shapes; }
const WorldSnapshot& Gate::no_go_zones() const noexcept { return state_->setup.zones; }
std::span<const double> Gate::uncertainty() const noexcept { return state_->workspace.uncertainty; }

std::size_t Gate::motion_rows() const noexcept { return state_->workspace.motion_rows; }
std::size_t Gate::lead_rows() const noexcept { return state_->workspace.lead_rows; }
double Gate::stop_time_s() const noexcept { return state_->workspace.stop_time_s; }
std::size_t Gate::start_pairs(std::span<StartPair> out) const noexcept {
    std::size_t count = 0;
    for (const detail::StartContact& contact : state_->workspace.start_contacts) {
        if (count == out.size()) break;
        out[count++] = {static_cast<std::uint32_t>(contact.kind), contact.a, contact.b, contact.distance_m, contact.hulls_m};
    }
    return count;
}

std::span<const double> Gate::path() const noexcept {
    const detail::SweepWorkspace& workspace = state_->workspace;
    return {workspace.path.data(), (workspace.path_rows + 1) * model().variable_count()};
}

}  // namespace lastgate
