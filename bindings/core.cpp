// SPDX-License-Identifier: Apache-2.0
// Translation only: no rule, no default, no arithmetic on robots. If a line here could be wrong about a
// robot, it belongs in core/.
#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "arrays.hpp"
#include "config.hpp"
#include "guarded_gate.hpp"
#include "geometry/convex.hpp"
#include "geometry/distance.hpp"
#include "known_numbers.hpp"
#include "link_frames.hpp"
#include "robot/shape_set.hpp"
#include "sweep/contact_depth.hpp"
#include "world/obstacle_field.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace lastgate;
using namespace lastgate::detail;
using namespace lastgate::kernel;
using namespace lastgate::bindings;

namespace {

void bind_verdict(nb::module_& module) {
    nb::class_<Violation>(module, "Violation")
        .def_prop_ro("code", [](const Violation& v) { return known(v.code); })
        .def_prop_ro("subject_kind", [](const Violation& v) { return known(v.subject_kind); })
        .def_prop_ro("against_kind", [](const Violation& v) { return known(v.against_kind); })
        .def_ro("subject", &Violation::subject)
        .def_ro("against", &Violation::against)
        .def_ro("row", &Violation::row)
        .def_ro("element", &Violation::element)
        .def_ro("value", &Violation::value)
        .def_ro("limit_min", &Violation::limit_min)
        .def_ro("limit_max", &Violation::limit_max)
        .def_ro("segment_t", &Violation::segment_t)
        .def_ro("first_contact_t", &Violation::first_contact_t)
        .def_ro("distance_m", &Violation::distance_m)
        .def_ro("margin_m", &Violation::margin_m)
        .def_prop_ro("witness_a", [](const Violation& v) { return tuple_of(v.witness_a); })
        .def_prop_ro("witness_b", [](const Violation& v) { return tuple_of(v.witness_b); });

    nb::class_<Verdict>(module, "Verdict")
        .def(nb::init<>())
        .def_prop_ro("accepted", [](const Verdict& v) { return v.accepted == 1; })
        .def_prop_ro("recovery", [](const Verdict& v) { return v.recovery == 1; })
        .def_ro("stage", &Verdict::stage)
        .def_ro("unchecked", &Verdict::unchecked)
        .def_ro("certified_rows", &Verdict::certified_rows)
        .def_ro("evaluations", &Verdict::evaluations)
        .def_ro("min_clearance_m", &Verdict::min_clearance_m)
        .def_ro("state_age_s", &Verdict::state_age_s)
        .def_ro("world_age_s", &Verdict::world_age_s)
        .def_ro("world_id", &Verdict::world_id)
        .def_ro("contacts_used", &Verdict::contacts_used)
        .def_prop_ro("stop_certified", [](const Verdict& v) { return v.stop_certified == 1; })
        .def_ro("violation", &Verdict::violation)
        .def_static("from_bytes", [](nb::bytes bytes) {
            if (bytes.size() != sizeof(Verdict)) throw std::invalid_argument("not the bytes of a verdict");
            Verdict verdict;
            std::memcpy(&verdict, bytes.data(), sizeof verdict);
            return verdict;
        }, "bytes"_a)
        .def("to_bytes", [](const Verdict& v) { return nb::bytes(reinterpret_cast<const char*>(&v), sizeof v); });
}

/// A list of numbers per item, end to end, as the file has them.
template <typename Items, typename Numbers>
std::vector<double> flattened(const Items& items, Numbers numbers_of) {
    std::vector<double> all;
    for (const auto& item : items) {
        for (const double number : numbers_of(item)) all.push_back(number);
    }
    return all;
}

/// What the core keeps by index, under the keys of the file, so that a test can compare every one.
void bind_config_arrays(nb::class_<KernelConfig>& config) {
    using Triple = std::tuple<double, double, double>;
    using Numbers = std::vector<double>;
    const auto both = [](Vec3 a, Vec3 b) { return Numbers{a.x, a.y, a.z, b.x, b.y, b.z}; };
    const auto def_links = [&](const char* key, auto numbers_of) {
        config.def_prop_ro(key, [numbers_of](const KernelConfig& c) { return flattened(c.model.links, numbers_of); });
    };
    def_links("link_parent", [](const LinkSpec& l) { return Numbers{double(l.parent)}; });
    def_links("joint_kind", [](const LinkSpec& l) { return Numbers{double(l.kind)}; });
    def_links("joint_dof", [](const LinkSpec& l) { return Numbers{double(l.dof)}; });
    def_links("joint_multiplier", [](const LinkSpec& l) { return Numbers{l.multiplier}; });
    def_links("joint_offset", [](const LinkSpec& l) { return Numbers{l.offset}; });
    def_links("joint_origin_xyzrpy", [both](const LinkSpec& l) { return both(l.origin_xyz, l.origin_rpy); });
    def_links("joint_axis", [](const LinkSpec& l) { return Numbers{l.axis.x, l.axis.y, l.axis.z}; });
    const auto def_volumes = [&](const char* key, auto numbers_of) {
        config.def_prop_ro(key, [numbers_of](const KernelConfig& c) { return flattened(c.model.volumes, numbers_of); });
    };
    def_volumes("volume_link", [](const VolumeSpec& v) { return Numbers{double(v.link)}; });
    def_volumes("volume_radius_m", [](const VolumeSpec& v) { return Numbers{v.radius_m}; });
    def_volumes("volume_ends_m", [both](const VolumeSpec& v) { return both(v.end_a, v.end_b); });
    const auto def_hulls = [&](const char* key, auto numbers_of) {
        config.def_prop_ro(key, [numbers_of](const KernelConfig& c) { return flattened(c.model.hulls, numbers_of); });
    };
    def_hulls("piece_link", [](const HullSpec& p) { return Numbers{double(p.link)}; });
    def_hulls("piece_radius_m", [](const HullSpec& p) { return Numbers{p.radius_m}; });
    def_hulls("piece_corner_count", [](const HullSpec& p) { return Numbers{double(p.vertices.size())}; });
    def_hulls("piece_corners_m", [](const HullSpec& p) { return flattened(p.vertices, [](Vec3 c) { return Numbers{c.x, c.y, c.z}; }); });
    const auto def_grippers = [&](const char* key, auto numbers_of) {
        config.def_prop_ro(key, [numbers_of](const KernelConfig& c) { return flattened(c.gate.gripper_joints, numbers_of); });
    };
    def_grippers("gripper_effector", [](const GripperJointConfig& g) { return Numbers{double(g.effector)}; });
    def_grippers("gripper_dof", [](const GripperJointConfig& g) { return Numbers{double(g.dof)}; });
    def_grippers("gripper_position_closed", [](const GripperJointConfig& g) { return Numbers{g.position_closed}; });
    def_grippers("gripper_position_open", [](const GripperJointConfig& g) { return Numbers{g.position_open}; });
    def_grippers("gripper_channel_closed", [](const GripperJointConfig& g) { return Numbers{g.channel_closed}; });
    def_grippers("gripper_channel_open", [](const GripperJointConfig& g) { return Numbers{g.channel_open}; });
    // No-go and keep-in zones have the same four keys.
    const auto def_zones = [&](const std::string& prefix, auto shapes_of) {
        const auto def_key = [&](const char* key, auto numbers_of) {
            config.def_prop_ro((prefix + key).c_str(), [=](const KernelConfig& c) { return flattened(shapes_of(c), numbers_of); });
        };
        def_key("_kind", [](const PrimitiveSpec& z) { return Numbers{double(z.kind)}; });
        def_key("_size_m", [](const PrimitiveSpec& z) { return Numbers{z.half_extents_m.x, z.half_extents_m.y, z.half_extents_m.z}; });
        def_key("_xyz", [](const PrimitiveSpec& z) {
            const Vec3 p = z.in_base.translation;
            return Numbers{p.x, p.y, p.z};
        });
        def_key("_rotation_columns", [](const PrimitiveSpec& z) {
            const Mat3& r = z.in_base.rotation;
            return Numbers{r.x.x, r.x.y, r.x.z, r.y.x, r.y.y, r.y.z, r.z.x, r.z.y, r.z.z};
        });
    };
    def_zones("zone", [](const KernelConfig& c) { return c.gate.no_go_zones; });
    def_zones("keep_in", [](const KernelConfig& c) {
        std::vector<PrimitiveSpec> shapes;
        for (const KeepInZone& zone : c.gate.keep_in_zones) shapes.push_back(zone.shape);
        return shapes;
    });
    config.def_prop_ro("keep_in_links", [](const KernelConfig& c) {
        Numbers pairs;
        for (std::size_t zone = 0; zone < c.gate.keep_in_zones.size(); ++zone) {
            for (std::size_t link = 0; link < capacity::links_max; ++link) {
                if (c.gate.keep_in_zones[zone].links.test(link)) pairs.insert(pairs.end(), {double(zone), double(link)});
            }
        }
        return pairs;
    });
    config
        .def_prop_ro("dof_in_rows", [](const KernelConfig& c) {
            return flattened(c.model.dofs, [](const DofSpec& d) { return Numbers{d.in_rows ? 1.0 : 0.0}; });
        })
        .def_prop_ro("allowed_link_pairs", [](const KernelConfig& c) {
            return flattened(c.model.allowed_pairs, [](const LinkPair& p) { return Numbers{double(p.a), double(p.b)}; });
        })
        .def_prop_ro("effector_link", [](const KernelConfig& c) {
            return flattened(c.model.effectors, [](const EffectorSpec& e) { return Numbers{double(e.link)}; });
        })
        .def_prop_ro("effector_tool_xyzrpy", [both](const KernelConfig& c) {
            return flattened(c.model.effectors, [both](const EffectorSpec& e) { return both(e.tool_xyz, e.tool_rpy); });
        })
        .def_prop_ro("mobile_base", [](const KernelConfig& c) { return c.model.mobile_base; })
        .def_prop_ro("evaluations_max", [](const KernelConfig& c) { return c.gate.evaluations_max; });
}

void bind_config(nb::module_& module) {
    nb::class_<KernelConfig> config(module, "KernelConfig");
    config.def_ro("robot_name", &KernelConfig::robot_name)
        .def_ro("base_frame", &KernelConfig::base_frame)
        .def_ro("skill_id", &KernelConfig::skill_id)
        .def_ro("skill_version", &KernelConfig::skill_version)
        .def_ro("link_names", &KernelConfig::link_names)
        .def_ro("dof_names", &KernelConfig::joint_names)
        .def_ro("effector_names", &KernelConfig::effector_names)
        .def_ro("zone_names", &KernelConfig::zone_names)
        .def_ro("keep_in_names", &KernelConfig::keep_in_names)
        .def_ro("deadman_required", &KernelConfig::deadman_required)
        .def_prop_ro("unproved_volumes", [](const KernelConfig& c) { return c.gate.unproved_volumes; })
        .def_prop_ro("step_s", [](const KernelConfig& c) { return c.gate.step_s; })
        .def_prop_ro("velocity_max", [](const KernelConfig& c) { return c.gate.velocity_max; })
        .def_prop_ro("acceleration_max", [](const KernelConfig& c) { return c.gate.acceleration_max; })
        .def_prop_ro("deceleration_max", [](const KernelConfig& c) {
            return c.gate.stop ? std::optional(c.gate.stop->deceleration_max) : std::nullopt;
        })
        .def_prop_ro("stop_kind", [](const KernelConfig& c) {
            return c.gate.stop ? std::optional<std::string>(c.gate.stop->kind == StopKind::path ? "path" : "joint") : std::nullopt;
        })
        .def_prop_ro("stop_reaction_s", [](const KernelConfig& c) {
            return c.gate.stop ? std::optional(c.gate.stop->reaction_s) : std::nullopt;
        })
        .def_prop_ro("stop_base_deceleration_m_s2", [](const KernelConfig& c) {
            return c.gate.stop ? c.gate.stop->base_deceleration_m_s2 : std::nullopt;
        })
        .def_prop_ro("stop_base_angular_deceleration_rad_s2", [](const KernelConfig& c) {
            return c.gate.stop ? c.gate.stop->base_angular_deceleration_rad_s2 : std::nullopt;
        })
        .def_prop_ro("torque_max", [](const KernelConfig& c) { return c.gate.torque_max; })
        .def_prop_ro("position_min", [](const KernelConfig& c) {
            std::vector<double> values;
            for (const DofSpec& dof : c.model.dofs) values.push_back(dof.position_min);
            return values;
        })
        .def_prop_ro("position_max", [](const KernelConfig& c) {
            std::vector<double> values;
            for (const DofSpec& dof : c.model.dofs) values.push_back(dof.position_max);
            return values;
        })
        .def_prop_ro("workspace_box", [](const KernelConfig& c) -> std::optional<nb::typed<nb::tuple, Triple, Triple>> {
            if (!c.gate.workspace_box) return std::nullopt;
            return nb::make_tuple(tuple_of(c.gate.workspace_box->min), tuple_of(c.gate.workspace_box->max));
        })
        .def_prop_ro("gripper_range", [](const KernelConfig& c) -> std::optional<nb::typed<nb::tuple, double, double>> {
            if (!c.gate.gripper_range) return std::nullopt;
            return nb::make_tuple(c.gate.gripper_range->min, c.gate.gripper_range->max);
        })
        .def_prop_ro("max_ee_speed_m_s", [](const KernelConfig& c) { return c.gate.max_ee_speed_m_s; })
        .def_prop_ro("max_ee_angular_speed_rad_s", [](const KernelConfig& c) { return c.gate.max_ee_angular_speed_rad_s; })
        .def_prop_ro("max_ee_accel_m_s2", [](const KernelConfig& c) { return c.gate.max_ee_accel_m_s2; })
        .def_prop_ro("max_cartesian_step_m", [](const KernelConfig& c) { return c.gate.max_cartesian_step_m; })
        .def_prop_ro("max_cartesian_step_rad", [](const KernelConfig& c) { return c.gate.max_cartesian_step_rad; })
        .def_prop_ro("max_base_linear_speed_m_s", [](const KernelConfig& c) { return c.gate.max_base_linear_speed_m_s; })
        .def_prop_ro("max_base_angular_speed_rad_s", [](const KernelConfig& c) { return c.gate.max_base_angular_speed_rad_s; })
        .def_prop_ro("self_collision_margin_m", [](const KernelConfig& c) { return c.gate.self_margin_m; })
        .def_prop_ro("world_collision_margin_m", [](const KernelConfig& c) { return c.gate.world_margin_m; })
        .def_prop_ro("cartesian_deviation_m", [](const KernelConfig& c) { return c.gate.cartesian_deviation_m; })
        .def_prop_ro("state_age_s_max", [](const KernelConfig& c) { return c.gate.state_age_s_max; })
        .def_prop_ro("world_age_s_max", [](const KernelConfig& c) { return c.gate.world_age_s_max; })
        .def_prop_ro("control_modes", [](const KernelConfig& c) {
            std::vector<std::size_t> modes;
            for (std::size_t mode = 0; mode < control_mode_count; ++mode) {
                if (c.gate.enabled_modes.test(mode)) modes.push_back(mode);
            }
            return modes;
        });
    module.def("read_config", &read_config, "text"_a);
    bind_config_arrays(config);
}

/// Vertices by coordinate, as the core reads them.
struct Columns {
    std::vector<double> x, y, z;
    explicit Columns(const Matrix& rows) {
        for (std::size_t index = 0; index < rows.shape(0); ++index) {
            x.push_back(rows(index, 0));
            y.push_back(rows(index, 1));
            z.push_back(rows(index, 2));
        }
    }
    ConvexView view() const { return {x.data(), y.data(), z.data(), static_cast<std::uint32_t>(x.size())}; }
    void place(PlacedShape& shape, double radius_m) const {
        shape.vertices = view();
        shape.radius_m = radius_m;
        for (std::size_t index = 0; index < x.size(); ++index) {
            shape.centre = shape.centre + (1.0 / static_cast<double>(x.size())) * Vec3{x[index], y[index], z[index]};
        }
    }
};

using StampedField = std::tuple<std::shared_ptr<ObstacleField>, double>;         ///< And when it was seen.
using OccupancyMapField = std::tuple<std::shared_ptr<ObstacleField>, double, double>;  ///< And when it was placed, and how long it counts.

/// A snapshot is whole when it is made and does not change: checks in any number of threads may read it.
void bind_world(nb::module_& module) {
    nb::class_<WorldSnapshot>(module, "WorldSnapshot")
        .def(
            "__init__",
            [](WorldSnapshot* self, Kinds kinds, Matrix sizes, Matrix poses, std::uint64_t id, double stamp_s, bool in_base_frame, std::optional<StampedField> voxels,
               bool voxels_overflow, std::optional<StampedField> points, std::optional<OccupancyMapField> floor, std::optional<double> static_lasts_s) {
                if (sizes.shape(0) != kinds.size() || sizes.shape(1) != 3 || poses.shape(0) != kinds.size() || poses.shape(1) != 7) {
                    throw std::invalid_argument("obstacles need one kind, three sizes and seven pose numbers each");
                }
                new (self) WorldSnapshot();
                self->begin(id, stamp_s, in_base_frame);
                if (static_lasts_s) self->declare_static(*static_lasts_s);
                for (std::size_t index = 0; index < kinds.size(); ++index) {
                    const double* size = sizes.data() + 3 * index;
                    const auto kind = static_cast<PrimitiveKind>(kinds.data()[index]);
                    self->add(make_primitive(kind, {size[0], size[1], size[2]}, poses.data() + 7 * index));
                }
                if (voxels) self->set_field(voxel_slot, std::get<0>(*voxels), std::get<1>(*voxels));
                if (voxels_overflow) self->overflow_field(voxel_slot);
                if (points) self->set_field(point_slot, std::get<0>(*points), std::get<1>(*points));
                if (floor) self->set_field(floor_slot, std::get<0>(*floor), std::get<1>(*floor), std::get<2>(*floor));
            },
            "kinds"_a.noconvert(), "sizes"_a.noconvert(), "poses"_a.noconvert(), nb::kw_only(), "id"_a, "stamp_s"_a, "in_base_frame"_a, "voxels"_a = nb::none(),
            "voxels_overflow"_a = false, "points"_a = nb::none(), "floor"_a = nb::none(), "static_lasts_s"_a = nb::none())
        .def_static("never_filled", [] { return new WorldSnapshot(); }, nb::rv_policy::take_ownership)
        .def_static("declared_absent", [] {
            auto world = std::make_unique<WorldSnapshot>();
            world->declare_absent();
            return world.release();
        }, nb::rv_policy::take_ownership)
        .def_prop_ro("usable", &WorldSnapshot::is_usable)
        .def_prop_ro("overflowing", [](const WorldSnapshot& world) {
            return world.is_overflowing() || world.is_field_overflowing(voxel_slot) || world.is_field_overflowing(point_slot);
        })
        .def_prop_ro("count", [](const WorldSnapshot& world) { return world.primitives().size(); })
        .def("distance", [](const WorldSnapshot& world, std::size_t index, Vector ends) {
            if (index >= world.primitives().size()) throw std::invalid_argument("no such obstacle");
            return tuple_of(distance_segment_primitive(segment_of(ends), world.primitives()[index]));
        }, "index"_a, "ends"_a.noconvert());
    module.def("convex_distance", [](Matrix first, Matrix second, Vector second_in_first) {
        if (first.shape(1) != 3 || second.shape(1) != 3 || second_in_first.size() != 12) throw std::invalid_argument("vertices need three numbers each, a pose twelve by rows");
        const Columns a(first);
        const Columns b(second);
        const double* p = second_in_first.data();
        const Transform pose{{{p[0], p[4], p[8]}, {p[1], p[5], p[9]}, {p[2], p[6], p[10]}}, {p[3], p[7], p[11]}};
        const ConvexDistance found = convex_distance(a.view(), b.view(), pose, {});
        return nb::typed<nb::tuple, double, double, Triple, Triple, std::uint32_t>(
            nb::make_tuple(found.lower_m, found.upper_m, tuple_of(found.on_first), tuple_of(found.on_second), found.iterations));
    }, "first"_a.noconvert(), "second"_a.noconvert(), "second_in_first"_a.noconvert());
    module.def("distance_segments", [](Vector first, Vector second) {
        return tuple_of(distance_segment_segment(segment_of(first), segment_of(second)));
    }, "first"_a.noconvert(), "second"_a.noconvert());
}

Attachment attachment_of(std::uint16_t id, std::int32_t link, double radius_m, const Vector& ends, const std::vector<std::size_t>& touch) {
    const Segment segment = segment_of(ends);
    Attachment attachment;
    attachment.id = id;
    attachment.volume = {link, radius_m, segment.a, segment.b};
    for (const std::size_t index : touch) attachment.touch.set(index);
    return attachment;
}

/// The frame on the link (x y z, roll pitch yaw), the radius of the disc around every vertex, and the vertices.
using SolidTuple = std::tuple<std::array<double, 6>, double, Matrix>;

AttachedSolid solid_of(const SolidTuple& solid) {
    const auto& [origin, disc_m, vertices] = solid;
    if (vertices.shape(1) != 3 || vertices.shape(0) == 0 || vertices.shape(0) > capacity::hull_vertices_max) throw std::invalid_argument("a solid needs 1 to 256 vertices of three numbers");
    return make_attached_solid(origin, disc_m, {vertices.data(), vertices.size()});
}

void bind_contact(nb::module_& module) {
    // Never above the signed distance of two shapes in one frame, and a direction that parts them, or would: vertices, and a radius around them.
    module.def("signed_distance", [](Matrix first, double first_radius_m, Matrix second, double second_radius_m) {
        if (first.shape(1) != 3 || second.shape(1) != 3 || first.shape(0) == 0 || second.shape(0) == 0) throw std::invalid_argument("vertices need three numbers each");
        const Columns a(first);
        const Columns b(second);
        PlacedShape one;
        PlacedShape other;
        a.place(one, first_radius_m);
        b.place(other, second_radius_m);
        const ConvexDistance found = convex_distance(one.vertices, other.vertices, Transform{}, {});
        const SignedDistance apart = signed_distance(one, other, found.on_second - found.on_first);
        return std::make_tuple(apart.distance_m, std::array<double, 3>{apart.direction.x, apart.direction.y, apart.direction.z});
    }, "first"_a.noconvert(), "first_radius_m"_a, "second"_a.noconvert(), "second_radius_m"_a);
    module.def("attached_cover", [](const SolidTuple& solid) {
        const VolumeSpec cover = cover_of(solid_of(solid), 0);
        return std::make_tuple(cover.radius_m, std::array<double, 6>{cover.end_a.x, cover.end_a.y, cover.end_a.z, cover.end_b.x, cover.end_b.y, cover.end_b.z});
    }, "solid"_a);
    nb::class_<DeclaredContact>(module, "DeclaredContact")
        .def(
            "__init__",
            [](DeclaredContact* self, const std::vector<std::size_t>& links, const std::vector<std::size_t>& held, const std::vector<std::size_t>& obstacles,
               bool voxels, bool points, Vector region_size, Vector region_pose, double expires_s, double depth_m) {
                if (region_size.size() != 3 || region_pose.size() != 7) throw std::invalid_argument("a region needs three sizes and seven pose numbers");
                new (self) DeclaredContact();
                for (const std::size_t index : links) self->links.set(index);
                for (const std::size_t index : held) self->held.set(index);
                for (const std::size_t index : obstacles) self->obstacles.set(index);
                self->fields.set(voxel_slot, voxels);
                self->fields.set(point_slot, points);
                const double* size = region_size.data();
                self->region = make_primitive(PrimitiveKind::box, {size[0], size[1], size[2]}, region_pose.data());
                self->expires_s = expires_s;
                self->depth_m = depth_m;
            },
            nb::kw_only(), "links"_a, "held"_a, "obstacles"_a, "voxels"_a, "points"_a, "region_size"_a.noconvert(), "region_pose"_a.noconvert(), "expires_s"_a, "depth_m"_a = 0.0);
}

/// One caller at a time, whatever it asks: a check, a batch and what is attached share memory.
nb::class_<GuardedGate> bind_gate(nb::module_& module) {
    nb::class_<GuardedGate> bound(module, "Gate");
    bound
        .def("__init__", [](GuardedGate* self, const KernelConfig& config, SimdBuild simd) {
            GateConfig gate = config.gate;
            gate.simd_build = simd;
            new (self) GuardedGate(std::make_shared<const RobotModel>(config.model), gate);
        }, "config"_a, nb::kw_only(), "simd"_a = SimdBuild::generic)
        .def(
            "check",
            // The GIL stays held: a check is bounded and short, and no other thread may write the arrays meanwhile.
            [](GuardedGate& gate, Matrix rows, std::size_t control_mode, std::uint32_t effector, CartesianFrame frame, std::optional<Vector> positions,
               std::optional<Vector> velocities, std::optional<Vector> gripper_positions, std::optional<Vector> stamps_s, double stamp_s,
               const WorldSnapshot* world, double now_s, bool recovery, const std::vector<DeclaredContact>& contacts, std::optional<Matrix> running_rows,
               std::optional<Vector> running_start, double running_started_s, double handover_s) {
                CheckRequest request;
                request.chunk = {control_mode, rows.shape(0), rows.shape(1), {rows.data(), rows.size()}, effector, frame};
                request.state = {span_of(positions), span_of(velocities), span_of(gripper_positions), span_of(stamps_s), stamp_s,
                                 positions.has_value()};
                request.world = world;
                request.now_s = now_s;
                request.recovery = recovery;
                request.contacts = contacts;
                if (running_rows) {
                    const std::size_t count = running_rows->shape(0);
                    request.running = {{running_rows->data(), running_rows->size()}, span_of(running_start), count, running_started_s, handover_s, true};
                }
                const Alone alone(gate.entry, gate_name);
                return gate.check(request);
            },
            "rows"_a.noconvert(), nb::kw_only(), "control_mode"_a, "effector"_a, "frame"_a, "positions"_a.noconvert().none(), "velocities"_a.noconvert().none(),
            "gripper_positions"_a.noconvert().none(), "stamps_s"_a.noconvert().none(), "stamp_s"_a, "world"_a.none(), "now_s"_a, "recovery"_a,
            "contacts"_a, "running_rows"_a.noconvert().none() = nb::none(), "running_start"_a.noconvert().none() = nb::none(), "running_started_s"_a = 0.0,
            "handover_s"_a = 0.0)
        .def(
            "check_configurations",
            [](GuardedGate& gate, Matrix configurations, std::optional<Vector> gripper_positions, const WorldSnapshot& world, MutableFlags accepted,
               MutableVector clearance_m) {
                const std::size_t count = configurations.shape(0);
                const std::size_t joints = gate.model().row_dofs().size();
                const std::size_t grippers = gate.model().dof_count() - joints;
                if (configurations.shape(1) != joints || accepted.size() != count || clearance_m.size() != count ||
                    (gripper_positions && gripper_positions->size() != grippers)) {
                    throw std::invalid_argument("configurations need one column per joint");
                }
                const Alone alone(gate.entry, gate_name);
                std::optional<nb::gil_scoped_release> release;
                if (count > batch_under_lock_max) release.emplace();
                gate.check_configurations({configurations.data(), configurations.size()}, count, span_of(gripper_positions), world,
                                          {reinterpret_cast<std::uint8_t*>(accepted.data()), count}, {clearance_m.data(), count});
            },
            "configurations"_a.noconvert(), nb::kw_only(), "gripper_positions"_a.noconvert().none(), "world"_a, "accepted"_a.noconvert(), "clearance_m"_a.noconvert())
        .def(
            "explain_configuration",
            [](GuardedGate& gate, Vector configuration, std::optional<Vector> gripper_positions, const WorldSnapshot& world) {
                const std::size_t joints = gate.model().row_dofs().size();
                if (configuration.size() != joints || (gripper_positions && gripper_positions->size() != gate.model().dof_count() - joints)) {
                    throw std::invalid_argument("a configuration needs one number per joint");
                }
                const Alone alone(gate.entry, gate_name);
                Verdict verdict;
                verdict.violation = gate.explain_configuration(span_of(configuration), span_of(gripper_positions), world);
                verdict.accepted = verdict.violation.code == ViolationCode::not_checked ? 1 : 0;
                return verdict;
            },
            "configuration"_a.noconvert(), nb::kw_only(), "gripper_positions"_a.noconvert().none(), "world"_a)
        .def(
            "check_edges",
            [](GuardedGate& gate, Matrix starts, Matrix ends, std::optional<Vector> gripper_positions, const WorldSnapshot& world, double step_max,
               MutableVector first_contact) {
                const std::size_t count = starts.shape(0);
                const std::size_t joints = gate.model().row_dofs().size();
                if (starts.shape(1) != joints || ends.shape(0) != count || ends.shape(1) != joints || first_contact.size() != count ||
                    (gripper_positions && gripper_positions->size() != gate.model().dof_count() - joints)) {
                    throw std::invalid_argument("starts and ends need one column per joint");
                }
                const Alone alone(gate.entry, gate_name);
                const nb::gil_scoped_release release;
                gate.check_edges({starts.data(), starts.size()}, {ends.data(), ends.size()}, count, span_of(gripper_positions), world, step_max,
                                 {first_contact.data(), count});
            },
            nb::kw_only(), "starts"_a.noconvert(), "ends"_a.noconvert(), "gripper_positions"_a.noconvert().none(), "world"_a, "step_max"_a, "first_contact"_a.noconvert())
        .def("attach", [](GuardedGate& gate, std::uint16_t id, std::int32_t link, double radius_m, Vector ends, std::vector<std::size_t> touch, std::optional<SolidTuple> solid) {
            const Alone alone(gate.entry, gate_name);
            Attachment attachment = attachment_of(id, link, radius_m, ends, touch);
            if (solid) attachment.solid = solid_of(*solid);
            return gate.attach(attachment);
        }, nb::kw_only(), "id"_a, "link"_a, "radius_m"_a, "ends"_a.noconvert(), "touch"_a, "solid"_a.none() = nb::none())
        .def("detach", [](GuardedGate& gate, std::uint16_t id) {
            const Alone alone(gate.entry, gate_name);
            return gate.detach(id);
        }, "id"_a)
        .def_prop_ro("path", [](const GuardedGate& gate) {
            std::vector<double> path;
            {
                const Alone alone(gate.entry, gate_name);
                path.assign(gate.path().begin(), gate.path().end());
            }
            const std::size_t variables = gate.model().variable_count();
            const std::size_t rows = path.size() / variables;
            return matrix_of(std::move(path), {rows, variables});
        }, nb::rv_policy::automatic)
        .def_prop_ro("motion_rows", [](const GuardedGate& gate) { return gate.motion_rows(); })
        .def_prop_ro("lead_rows", [](const GuardedGate& gate) { return gate.lead_rows(); })
        .def_prop_ro("stop_time_s", [](const GuardedGate& gate) { return gate.stop_time_s(); })
        .def_prop_ro("stop_distance", [](const GuardedGate& gate) {
            std::vector<double> distance(gate.model().row_dofs().size());
            const Alone alone(gate.entry, gate_name);
            gate.stop_distance(distance);
            return distance;
        })
        .def_prop_ro("start_pairs", [](const GuardedGate& gate) {
            std::array<StartPair, 64> pairs;
            std::size_t count = 0;
            {
                const Alone alone(gate.entry, gate_name);
                count = gate.start_pairs(pairs);
            }
            std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, double, double>> all;
            for (const StartPair& pair : std::span(pairs).first(count)) all.emplace_back(pair.kind, pair.a, pair.b, pair.distance_m, pair.hulls_m);
            return all;
        })
        .def_prop_ro("variable_count", [](const GuardedGate& gate) { return gate.model().variable_count(); })
        .def_prop_ro("checked_link_pairs", [](const GuardedGate& gate) {
            const Alone alone(gate.entry, gate_name);
            std::vector<std::tuple<int, int>> pairs;
            for (const VolumePair pair : gate.shapes().volume_pairs()) {
                pairs.emplace_back(gate.shapes().volumes()[pair.a].link, gate.shapes().volumes()[pair.b].link);
            }
            return pairs;
        })
        .def("link_frames", [](const GuardedGate& gate, Matrix configurations) { return link_frames(gate.model(), configurations); }, "configurations"_a.noconvert())
        .def_prop_ro("reach", [](const GuardedGate& gate) {
            const Alone alone(gate.entry, gate_name);
            std::vector<std::vector<double>> all;
            for (const Volume& volume : gate.shapes().volumes()) {
                const std::size_t depth = gate.model().bodies()[volume.body].depth;
                all.emplace_back(volume.reach.begin(), volume.reach.begin() + static_cast<std::ptrdiff_t>(depth));
            }
            return all;
        });
    return bound;
}

}  // namespace

void bind_field(nb::module_& module);         // bindings/environment.cpp
void bind_environment(nb::module_& module);   // bindings/environment.cpp
void bind_planning(nb::module_& module);      // bindings/planning.cpp
void bind_few_configurations(nb::module_& module, nb::class_<GuardedGate>& gate);  // bindings/few_configurations.cpp
void bind_stream(nb::module_& module);  // bindings/stream.cpp
void bind_kernel_messages(nb::module_& module);  // bindings/kernel_messages.cpp
void bind_kernel_channels(nb::module_& module);  // bindings/kernel_channels.cpp
void bind_kernel_watch(nb::module_& module);  // bindings/kernel_watch.cpp
void bind_enumerations(nb::module_& module);  // bindings/enumerations.cpp
void bind_naming(nb::module_& module);  // bindings/naming.cpp
void bind_kernel_rules(nb::module_& module);  // bindings/kernel_rules.cpp

NB_MODULE(_core, module) {
    // `NO_WORLD` and other module-level objects live until the interpreter is gone; that is no leak.
    nb::set_leak_warnings(false);
    module.attr("ROWS_MAX") = capacity::rows_max;
    module.attr("PRIMITIVES_MAX") = capacity::primitives_max;
    module.attr("BATCH_UNDER_LOCK_MAX") = batch_under_lock_max;
    module.attr("VOXELS_PER_EDGE_MAX") = capacity::voxels_per_edge_max;
    module.attr("LINKS_MAX") = capacity::links_max;
    module.attr("KEEP_IN_ZONES_MAX") = capacity::keep_in_zones_max;
    module.attr("DECLARED_CONTACTS_MAX") = capacity::declared_contacts_max;
    module.attr("CONTACT_DEPTH_M_MAX") = capacity::contact_depth_m_max;
    module.attr("NONE") = none;
    module.def("has_simd_build", [](SimdBuild build) { return has_simd_build(build); }, "build"_a);
    // What Python does in several calls, such as a check and the names that go with it, is entered as a whole.
    nb::class_<CompoundEntry>(module, "Entry")
        .def(nb::init<std::string>(), "what"_a)
        .def("__enter__", &CompoundEntry::enter)
        .def("__exit__", [](CompoundEntry& entry, nb::args) { entry.leave(); });
    bind_enumerations(module);
    bind_verdict(module);
    bind_config(module);
    bind_naming(module);
    bind_field(module);
    bind_environment(module);
    bind_world(module);
    bind_contact(module);
    nb::class_<GuardedGate> gate = bind_gate(module);
    bind_few_configurations(module, gate);
    bind_stream(module);
    bind_planning(module);
    bind_kernel_messages(module);
    bind_kernel_rules(module);
#if defined(LASTGATE_KERNEL)
    bind_kernel_channels(module);
    bind_kernel_watch(module);
#endif
}
