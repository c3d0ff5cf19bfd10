// SPDX-License-Identifier: Apache-2.0
// A few configurations, asked about a hundred thousand times a second: the same question as `Gate.check_configurations`,
// translated by NumPy's own interface, because importing four arrays in the general way takes longer than the answer.
#include <nanobind/nanobind.h>

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>

#include "arrays.hpp"
#include "guarded_gate.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace lastgate;
using namespace lastgate::bindings;

namespace {

/// What `Gate.check_batch` answers with, and what it was asked: names are found when they are asked for.
struct BatchVerdict {
    nb::object accepted;
    nb::object clearance_m;
    nb::object gate;   ///< Of Python, which knows names,
    nb::object world;  ///< as this one does.
    std::vector<double> configurations;
    std::vector<double> gripper_positions;
    std::size_t count = 0;

    /// What `Gate.explain_configuration` says of one of them.
    nb::object violation(Py_ssize_t index) const {
        const auto last = static_cast<Py_ssize_t>(count);
        if (index < -last || index >= last) throw nb::index_error("no such configuration");
        const auto at = static_cast<std::size_t>(index < 0 ? index + last : index);
        const std::size_t width = configurations.size() / count;
        const auto first = configurations.begin() + static_cast<std::ptrdiff_t>(at * width);
        nb::object grippers = nb::none();
        if (!gripper_positions.empty()) grippers = nb::cast(matrix_of(std::vector<double>(gripper_positions), {gripper_positions.size()}));
        return gate.attr("explain_configuration")(nb::cast(matrix_of(std::vector<double>(first, first + static_cast<std::ptrdiff_t>(width)), {width})),
                                                  "world"_a = world, "gripper_positions"_a = grippers);
    }
    nb::object pair(Py_ssize_t index) const {
        const nb::object found = violation(index);
        if (found.is_none() || found.attr("collision_kind").is_none()) return nb::none();
        return nb::make_tuple(found.attr("subject"), found.attr("against"));
    }
};

/// Exactly what the core reads, or null: the caller then takes the general way, which says in words what is wrong.
PyArrayObject* plain_array(PyObject* object, int dimensions) {
    if (!PyArray_CheckExact(object)) return nullptr;
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    const bool plain = PyArray_NDIM(array) == dimensions && PyArray_TYPE(array) == NPY_DOUBLE && PyArray_ISCARRAY_RO(array);
    return plain ? array : nullptr;
}

/// (configurations, gripper_positions or None, world, gate of Python, world of Python) to a BatchVerdict; None for what is not plain. Under the
/// interpreter's lock: no other thread may write the arrays meanwhile.
PyObject* check_few(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
    static PyObject* const world_type = nb::type<WorldSnapshot>().ptr();
    if (count != 5 || reinterpret_cast<PyObject*>(Py_TYPE(arguments[2])) != world_type) Py_RETURN_NONE;
    GuardedGate& gate = *nb::inst_ptr<GuardedGate>(self);
    const std::size_t joints = gate.model().row_dofs().size();
    PyArrayObject* rows = plain_array(arguments[0], 2);
    if (rows == nullptr || static_cast<std::size_t>(PyArray_DIM(rows, 1)) != joints) Py_RETURN_NONE;
    npy_intp row_count = PyArray_DIM(rows, 0);
    if (row_count > static_cast<npy_intp>(batch_under_lock_max)) Py_RETURN_NONE;
    std::span<const double> grippers;
    if (arguments[1] != Py_None) {
        PyArrayObject* given = plain_array(arguments[1], 1);
        const std::size_t wanted = gate.model().dof_count() - joints;
        if (given == nullptr || static_cast<std::size_t>(PyArray_DIM(given, 0)) != wanted) Py_RETURN_NONE;
        grippers = {static_cast<const double*>(PyArray_DATA(given)), wanted};
    }
    nb::object accepted = nb::steal(PyArray_SimpleNew(1, &row_count, NPY_BOOL));
    nb::object clearance_m = nb::steal(PyArray_SimpleNew(1, &row_count, NPY_DOUBLE));
    if (!accepted.is_valid() || !clearance_m.is_valid()) return nullptr;
    const auto asked = static_cast<std::size_t>(row_count);
    if (!gate.entry.enter_alone()) {
        set_concurrent_use_error(gate_name);
        return nullptr;
    }
    gate.check_configurations({static_cast<const double*>(PyArray_DATA(rows)), asked * joints}, asked, grippers, *nb::inst_ptr<WorldSnapshot>(arguments[2]),
                              {static_cast<std::uint8_t*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(accepted.ptr()))), asked},
                              {static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(clearance_m.ptr()))), asked});
    gate.entry.leave_alone();
    static const nb::handle verdict_type = nb::type<BatchVerdict>();
    nb::object verdict = nb::inst_alloc(verdict_type);
    const auto* first = static_cast<const double*>(PyArray_DATA(rows));
    new (nb::inst_ptr<BatchVerdict>(verdict)) BatchVerdict{std::move(accepted), std::move(clearance_m), nb::borrow(arguments[3]), nb::borrow(arguments[4]),
                                                           {first, first + asked * joints}, {grippers.begin(), grippers.end()}, asked};
    nb::inst_mark_ready(verdict);
    return verdict.release().ptr();
}

PyMethodDef check_few_method{"check_few", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(check_few)), METH_FASTCALL,
                             "check_few(configurations, gripper_positions, world, gate, world_of_python): the answer, or None for what must be said in words."};

}  // namespace

void bind_few_configurations(nb::module_& module, nb::class_<GuardedGate>& gate) {
    if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
    nb::class_<BatchVerdict>(module, "BatchVerdict",
                             "The answer to `check_batch`, one entry per configuration.\n\n"
                             "Attributes:\n"
                             "    accepted: Inside the limits, and every checked pair farther apart than its margin.\n"
                             "    clearance_m: Smallest distance minus margin, at most 1, never above the truth; -inf outside the limits.")
        .def(
            "__init__",
            [](BatchVerdict* self, nb::object accepted, nb::object clearance_m, nb::object gate, nb::object world, const Matrix& configurations,
               const std::optional<Vector>& gripper_positions) {
                const std::span<const double> grippers = span_of(gripper_positions);
                new (self) BatchVerdict{std::move(accepted), std::move(clearance_m), std::move(gate), std::move(world),
                                        {configurations.data(), configurations.data() + configurations.size()}, {grippers.begin(), grippers.end()}, configurations.shape(0)};
            },
            "accepted"_a, "clearance_m"_a, nb::kw_only(), "gate"_a, "world"_a, "configurations"_a.noconvert(), "gripper_positions"_a.noconvert().none(),
            nb::sig("def __init__(self, accepted: NDArray[numpy.bool_], clearance_m: NDArray[numpy.float64], *, gate: object, world: object, configurations: NDArray[numpy.float64], "
                    "gripper_positions: NDArray[numpy.float64] | None) -> None"))
        .def("pair", &BatchVerdict::pair, "index"_a, nb::sig("def pair(self, index: int) -> tuple[str, str] | None"),
             "Returns the names of the pair that rejected a configuration, found when asked: the first in the order of the stages.\n\n"
             "None where no pair did: the configuration was accepted, or a joint is outside its limits. What is attached to the gate counts as it is when asked.")
        .def_prop_ro("accepted", [](const BatchVerdict& verdict) { return verdict.accepted; }, nb::sig("def accepted(self) -> NDArray[numpy.bool_]"))
        .def_prop_ro("clearance_m", [](const BatchVerdict& verdict) { return verdict.clearance_m; },
                     nb::sig("def clearance_m(self) -> NDArray[numpy.float64]"))
        // Python would call any object true, and `if gate.check_batch(...)` would move whatever the answer is.
        .def("__bool__", [](const BatchVerdict&) -> bool { throw nb::type_error("a BatchVerdict has no truth value; read batch.accepted"); });
    gate.def_prop_ro("check_few", [](nb::handle self) { return nb::steal(PyCFunction_New(&check_few_method, self.ptr())); },
                     nb::sig("def check_few(self) -> collections.abc.Callable[[object, object, WorldSnapshot, object, object], BatchVerdict | None]"));
}
