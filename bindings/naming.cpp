// SPDX-License-Identifier: Apache-2.0
// Translation only: names, sentences and evidence of violations.
#include "arrays.hpp"
#include "evidence.hpp"
#include "naming.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace lastgate;
using namespace lastgate::kernel;
using namespace lastgate::bindings;

namespace {

/// Text as UTF-8; what has no such form, a lone surrogate, becomes a question mark, as in every message of ours.
std::string text_of(const nb::str& text) {
    const nb::bytes bytes = nb::steal<nb::bytes>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "replace"));
    if (!bytes.is_valid()) throw nb::python_error();
    return {bytes.c_str(), bytes.size()};
}

/// A named violation together with its texts, which outlive what they were found in.
struct OwnedViolation {
    NamedViolation rest;
    std::string subject, against, unit, detail, world_id;

    OwnedViolation() = default;
    explicit OwnedViolation(const NamedViolation& named)
        : rest(named), subject(named.subject), against(named.against), unit(named.unit), detail(named.detail), world_id(named.world_id) {}

    NamedViolation view() const {
        NamedViolation named = rest;
        named.subject = subject;
        named.against = against;
        named.unit = unit;
        named.detail = detail;
        named.world_id = world_id;
        return named;
    }
};

/// Finds the names of one robot; the configuration is kept as long as this.
struct VerdictNamer {
    const KernelConfig* config;
};

using Point = std::array<double, 3>;
using Box = std::tuple<Point, Point>;
using BoxTuple = nb::typed<nb::tuple, Triple, Triple>;

Vec3 vec_of(const Point& p) { return {p[0], p[1], p[2]}; }
std::optional<Vec3> vec_of(const std::optional<Point>& p) { return p ? std::optional(vec_of(*p)) : std::nullopt; }
std::optional<Triple> tuple_of_optional(const std::optional<Vec3>& v) { return v ? std::optional(tuple_of(*v)) : std::nullopt; }

OwnedViolation named_violation(const VerdictNamer& namer, const Verdict& verdict, const Matrix& rows, std::uint8_t control_mode, const nb::str& ee_name, const nb::str& frame_id,
                               const WorldNames* world, const std::vector<std::tuple<nb::str, std::uint32_t>>& attached) {
    std::array<std::string, capacity::attached_max> texts;
    AttachedViews names;
    for (const auto& [name, number] : attached) {
        if (number >= texts.size()) continue;
        texts[number] = text_of(name);
        names[number] = texts[number];
    }
    const std::string ee = text_of(ee_name);
    const std::string frame = text_of(frame_id);
    const ChunkNames chunk{control_mode, ee, frame, {rows.data(), rows.size()}, rows.shape(1)};
    NameMemory memory;
    return OwnedViolation(name_violation(verdict, {*namer.config, chunk, world, names}, memory));
}

void bind_named_violation(nb::module_& module) {
    nb::class_<OwnedViolation>(module, "NamedViolation")
        .def(
            "__init__",
            [](OwnedViolation* self, ViolationCode code, std::optional<std::uint32_t> step, const nb::str& subject, const nb::str& against, double value, double limit_min, double limit_max,
               const nb::str& unit, const nb::str& detail, std::optional<double> segment_t, std::optional<Point> witness_a, std::optional<Point> witness_b, const nb::str& world_id,
               std::optional<double> world_age_s, std::optional<Point> measured_xyz, std::optional<Box> box, CollisionKind collision_kind) {
                new (self) OwnedViolation();
                self->rest.code = code;
                self->rest.step = step.value_or(none);
                self->rest.value = value;
                self->rest.limit_min = limit_min;
                self->rest.limit_max = limit_max;
                self->rest.segment_t = segment_t;
                self->rest.witness_a = vec_of(witness_a);
                self->rest.witness_b = vec_of(witness_b);
                self->rest.world_age_s = world_age_s;
                self->rest.measured_xyz = vec_of(measured_xyz);
                if (box) self->rest.box = WorkspaceBox{vec_of(std::get<0>(*box)), vec_of(std::get<1>(*box))};
                self->rest.collision_kind = collision_kind;
                self->subject = text_of(subject);
                self->against = text_of(against);
                self->unit = text_of(unit);
                self->detail = text_of(detail);
                self->world_id = text_of(world_id);
            },
            nb::kw_only(), "code"_a, "step"_a.none(), "subject"_a, "against"_a, "value"_a, "limit_min"_a, "limit_max"_a, "unit"_a, "detail"_a, "segment_t"_a.none(), "witness_a"_a.none(),
            "witness_b"_a.none(), "world_id"_a, "world_age_s"_a.none(), "measured_xyz"_a.none(), "box"_a.none(), "collision_kind"_a)
        .def_prop_ro("step", [](const OwnedViolation& v) { return v.rest.step == none ? std::optional<std::uint32_t>() : v.rest.step; })
        .def_ro("subject", &OwnedViolation::subject)
        .def_ro("against", &OwnedViolation::against)
        .def_ro("unit", &OwnedViolation::unit)
        .def_ro("detail", &OwnedViolation::detail)
        .def_ro("world_id", &OwnedViolation::world_id)
        .def_prop_ro("code", [](const OwnedViolation& v) { return v.rest.code; })
        .def_prop_ro("value", [](const OwnedViolation& v) { return v.rest.value; })
        .def_prop_ro("limit_min", [](const OwnedViolation& v) { return v.rest.limit_min; })
        .def_prop_ro("limit_max", [](const OwnedViolation& v) { return v.rest.limit_max; })
        .def_prop_ro("segment_t", [](const OwnedViolation& v) { return v.rest.segment_t; })
        .def_prop_ro("first_contact_t", [](const OwnedViolation& v) { return v.rest.first_contact_t; })
        .def_prop_ro("witness_a", [](const OwnedViolation& v) { return tuple_of_optional(v.rest.witness_a); })
        .def_prop_ro("witness_b", [](const OwnedViolation& v) { return tuple_of_optional(v.rest.witness_b); })
        .def_prop_ro("world_age_s", [](const OwnedViolation& v) { return v.rest.world_age_s; })
        .def_prop_ro("measured_xyz", [](const OwnedViolation& v) { return tuple_of_optional(v.rest.measured_xyz); })
        .def_prop_ro("box", [](const OwnedViolation& v) -> std::optional<BoxTuple> {
            if (!v.rest.box) return std::nullopt;
            return nb::make_tuple(tuple_of(v.rest.box->min), tuple_of(v.rest.box->max));
        })
        .def_prop_ro("collision_kind", [](const OwnedViolation& v) { return v.rest.collision_kind; })
        .def("sentence", [](const OwnedViolation& v) {
            std::vector<char> memory(v.subject.size() + v.against.size() + v.detail.size() + 512);
            return std::string(write_sentence(v.view(), memory));
        })
        .def("evidence_json", [](const OwnedViolation& v) {
            std::vector<char> memory(6 * (v.subject.size() + v.against.size() + v.detail.size() + v.world_id.size()) + evidence_bytes_max);
            return std::string(write_evidence(v.view(), memory));
        });
}

}  // namespace

void bind_naming(nb::module_& module) {
    nb::class_<WorldNames>(module, "WorldNames")
        .def("__init__", [](WorldNames* self, const nb::str& world_id, const nb::str& frame_id, const std::vector<nb::str>& object_id, std::uint32_t obstacle_count, std::array<std::uint32_t, 2> floor_first,
                            std::uint32_t floor_columns, bool declared_absent) {
            std::vector<std::string> names;
            for (const nb::str& name : object_id) names.push_back(text_of(name));
            new (self) WorldNames{text_of(world_id), text_of(frame_id), std::move(names), obstacle_count, floor_first[0], floor_first[1], floor_columns, declared_absent};
        }, nb::kw_only(), "world_id"_a, "frame_id"_a = "", "object_id"_a = std::vector<nb::str>(), "obstacle_count"_a = 0, "floor_first"_a = std::array<std::uint32_t, 2>{}, "floor_columns"_a = 0, "declared_absent"_a = false);
    bind_named_violation(module);
    nb::class_<VerdictNamer>(module, "VerdictNamer")
        .def("__init__", [](VerdictNamer* self, const KernelConfig& config) { new (self) VerdictNamer{&config}; }, nb::keep_alive<1, 2>(), "config"_a)
        .def("violation", &named_violation, "verdict"_a, nb::kw_only(), "rows"_a.noconvert(), "control_mode"_a, "ee_name"_a, "frame_id"_a, "world"_a.none(), "attached"_a);
    module.def("violation_word", [](ViolationCode code) { return std::string(entry_of(code).word); }, "code"_a);
    module.def("failure_kind", [](ViolationCode code) { return entry_of(code).kind; }, "code"_a);
    module.def("controller_state", [](ViolationCode code) { return std::string(entry_of(code).controller_state()); }, "code"_a);
}
