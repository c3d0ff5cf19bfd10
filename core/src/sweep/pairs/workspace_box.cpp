// SPDX-License-Identifier: Apache-2.0
// The tool of an end effector and the workspace box it stays inside.
#include <algorithm>

#include "common.hpp"

namespace lastgate::detail {
namespace {

double no_margin(const GateConfig&) noexcept { return 0.0; }

double motion(const Sweep& sweep, const OpenItem& item, std::span<const double> step) noexcept {
    const Effector& tool = sweep.setup.model->effectors()[item.a];
    return motion_bound(*sweep.setup.model, tool.body, tool.reach.data(), 0, step);
}

Witness measure(Sweep& sweep, const OpenItem& item, const Transform* frames, double) noexcept {
    const Effector& effector = sweep.setup.model->effectors()[item.a];
    const Vec3 tool = frames[effector.body] * effector.in_body.translation;
    const WorkspaceBox& box = *sweep.setup.config.workspace_box;
    const double inside_m = std::min({tool.x - box.min.x, box.max.x - tool.x, tool.y - box.min.y, box.max.y - tool.y,
                                      tool.z - box.min.z, box.max.z - tool.z});
    return {inside_m, tool, tool};
}

std::size_t entry_count(const Sweep& sweep) noexcept { return sweep.setup.model->effectors().size(); }

std::uint8_t test_group(Sweep& sweep, const SimdGroup& group, float, float*, std::uint8_t* unresolved) noexcept {
    const WorkspaceBox& box = *sweep.setup.config.workspace_box;
    const float inset_m = round_up(sweep.extra_m);
    const float low[3] = {round_up(box.min.x) + inset_m, round_up(box.min.y) + inset_m, round_up(box.min.z) + inset_m};
    const float high[3] = {-round_up(-box.max.x) - inset_m, -round_up(-box.max.y) - inset_m, -round_up(-box.max.z) - inset_m};
    const SimdTables& tables = sweep.setup.simd.tables();
    std::uint8_t any = 0;
    for (std::uint32_t entry = 0; entry < tables.effector_count; ++entry) {
        unresolved[entry] = sweep.setup.simd.kernels().test_box(tables, group, entry, low, high);
        any |= unresolved[entry];
    }
    return any;
}

bool scan_row(Sweep& sweep, const RowScan& scan) noexcept {
    bool is_violated = false;
    for (std::size_t index = 0; index < entry_count(sweep); ++index) {
        if (!sweep.is_unresolved(scan.row, index)) continue;
        const auto effector = static_cast<std::uint16_t>(index);
        const double inside_m = measure(sweep, {0, effector, 0, 0.0, 0.0}, sweep.frames_of_row(scan.row), 0.0).distance_m;
        is_violated |= sweep.note(PairKind::box, scan, effector, effector, 0, inside_m);
    }
    return is_violated;
}

bool find_uncertified(Sweep& sweep, BoxTest& test) noexcept {
    for (std::size_t index = 0; index < entry_count(sweep); ++index) {
        if (test.is_uncertified(static_cast<std::uint16_t>(index), 0)) return true;
    }
    return false;
}

void describe(const Sweep&, const Finding& finding, Violation& violation) noexcept {
    violation.code = ViolationCode::workspace_box;
    violation.subject_kind = SubjectKind::effector;
    violation.subject = finding.item.a;
}

}  // namespace

constinit const PairFunctions workspace_box_pairs{
    .touching = Touching::allowed,
    .margin_m = no_margin,
    .motion = motion,
    .measure = measure,
    .entry_count = entry_count,
    .test_group = test_group,
    .scan_row = scan_row,
    .find_uncertified = find_uncertified,
    .describe = describe,
};

}  // namespace lastgate::detail
