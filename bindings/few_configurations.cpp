// SPDX-License-Identifier: Apache-2.0
// A few configurations, asked about a hundred thousand times a second: the same question as `Gate.check_configurations`,
// translated by NumPy's own interface, because importing four arrays in the general way takes longer than the answer.
#include <nanobind/nanobind.h>

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>

#include "arrays.hpp"
#include "lastgate/gate.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace lastgate;
using namespace lastgate::bindings;

namespace {

/// Exactly what the core reads, or null: whoever asks then takes the general way, which says in words what is wrong.
PyArrayObject* plain_array(PyObject* object, int dimensions) {
    if (!PyArray_CheckExact(object)) return nullptr;
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    const bool plain = PyArray_NDIM(array) == dimensions && PyArray_TYPE(array) == NPY_DOUBLE && PyArray_ISCARRAY_RO(array);
    return plain ? array : nullptr;
}

/// (configurations, gripper_positions or None, world) to an answer; None for what is not plain. Under the interpreter's lock:
/// nobody may write the arrays meanwhile. `self` is the gate, the type of the answer and the names of its two attributes.
PyObject* check_few(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
    static PyObject* const world_type = nb::type<WorldSnapshot>().ptr();
    if (count != 3 || reinterpret_cast<PyObject*>(Py_TYPE(arguments[2])) != world_type) Py_RETURN_NONE;
    Gate& gate = *nb::inst_ptr<Gate>(PyTuple_GET_ITEM(self, 0));
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
    gate.check_configurations({static_cast<const double*>(PyArray_DATA(rows)), asked * joints}, asked, grippers, *nb::inst_ptr<WorldSnapshot>(arguments[2]),
                              {static_cast<std::uint8_t*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(accepted.ptr()))), asked},
                              {static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(clearance_m.ptr()))), asked});
    auto* type = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(self, 1));
    nb::object verdict = nb::steal(type->tp_alloc(type, 0));
    const bool complete = verdict.is_valid() && PyObject_SetAttr(verdict.ptr(), PyTuple_GET_ITEM(self, 2), accepted.ptr()) == 0 &&
                          PyObject_SetAttr(verdict.ptr(), PyTuple_GET_ITEM(self, 3), clearance_m.ptr()) == 0;
    return complete ? verdict.release().ptr() : nullptr;
}

PyMethodDef check_few_method{"check_few", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(check_few)), METH_FASTCALL,
                             "check_few(configurations, gripper_positions, world): the answer, or None for what must be said in words."};

}  // namespace

void bind_few_configurations(nb::class_<Gate>& gate) {
    if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
    gate.def(
        "few_checker",
        [](nb::handle self, nb::type_object answer) {
            nb::object state = nb::make_tuple(self, answer, nb::steal(PyUnicode_InternFromString("accepted")), nb::steal(PyUnicode_InternFromString("clearance_m")));
            return nb::steal(PyCFunction_New(&check_few_method, state.ptr()));
        },
        "answer"_a,
        nb::sig("def few_checker(self, answer: type) -> collections.abc.Callable[[object, object, WorldSnapshot], typing.Any]"),
        "Returns what answers (configurations, gripper_positions or None, world) by an `answer` with the attributes accepted and clearance_m,\n"
        "or by None where something is not a plain array or more than BATCH_UNDER_LOCK_MAX are asked about.");
}
