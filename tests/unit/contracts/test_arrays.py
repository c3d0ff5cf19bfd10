# SPDX-License-Identifier: Apache-2.0
"""Arrays cross the boundary as they are, or are refused with the sentence that fixes them."""

import numpy as np
import pytest

import lastgate as lg
from lastgate.contracts.arrays import require_array

GOOD = np.arange(6.0).reshape(2, 3)


def rows_from(values: object) -> np.ndarray:
    return require_array(values, name="rows", dimensions=2)


@pytest.mark.parametrize(
    "values",
    [
        GOOD,
        GOOD.tolist(),
        tuple(map(tuple, GOOD.tolist())),
        [[0, 1, 2], [3, 4, 5]],
        [GOOD[0], GOOD[1]],
        np.ascontiguousarray(np.asfortranarray(GOOD)),
    ],
)
def test_rectangle_of_numbers_is_taken(values):
    np.testing.assert_array_equal(rows_from(values), GOOD)


def test_array_is_copied_and_cannot_be_written():
    source = GOOD.copy()
    taken = rows_from(source)
    source[0, 0] = 99.0
    assert taken[0, 0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        taken[0, 0] = 1.0


def test_nan_passes_because_the_gate_rejects_it_by_name():
    assert np.isnan(rows_from([[float("nan")]])[0, 0])


@pytest.mark.parametrize(
    "dtype", [np.float32, np.float16, np.int64, np.int32, np.bool_, np.complex128, ">f8", object]
)
def test_array_of_another_dtype_is_refused_with_the_conversion(dtype):
    with pytest.raises(
        lg.ROSConfigError, match=r"the gate reads float64: pass `rows\.astype\(np\.float64\)`"
    ):
        rows_from(GOOD.astype(dtype))


@pytest.mark.parametrize(
    "strided", [np.arange(12.0).reshape(2, 6)[:, ::2], GOOD.T, GOOD[:, ::-1], np.asfortranarray(GOOD)]
)
def test_strided_array_is_refused_with_the_conversion(strided):
    with pytest.raises(lg.ROSConfigError, match=r"rows is strided: pass `np\.ascontiguousarray\(rows\)`"):
        rows_from(strided)


def test_single_row_is_refused_with_the_conversion():
    for row in (GOOD[0], GOOD[0].tolist()):
        with pytest.raises(
            lg.ROSConfigError, match=r"rows has 1 dimensions and needs 2: pass `rows\[np\.newaxis, :\]`"
        ):
            rows_from(row)


def test_batch_of_chunks_is_refused_with_the_conversion():
    with pytest.raises(lg.ROSConfigError, match=r"needs 2: pass `rows\[0\]` for the first of a batch"):
        rows_from(GOOD[np.newaxis])


@pytest.mark.parametrize("values", [GOOD[np.newaxis], [GOOD.tolist()], np.array(1.0)])
def test_other_numbers_of_dimensions_are_refused(values):
    with pytest.raises(lg.ROSConfigError, match=r"rows has \d dimensions and needs 2"):
        rows_from(values)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([[0.0, 1.0], [2.0]], "not a rectangle of numbers"),
        ([["0.0", "1.0"]], "it holds strings"),
        ([[b"0.0"]], "it holds bytes"),
        ([[True, False]], "it holds true and false"),
        ([[1j, 0.0]], "it holds complex numbers"),
        ([[None, 0.0]], "it holds objects that are not numbers"),
        ([[{}, 0.0]], "it holds objects that are not numbers"),
        ([[10**400]], "it holds objects that are not numbers"),
        ([[object()]], "it holds objects that are not numbers"),
    ],
)
def test_list_of_anything_but_numbers_is_refused(values, why):
    with pytest.raises(lg.ROSConfigError, match=why):
        rows_from(values)


def test_list_of_float32_rows_is_refused_like_a_float32_array():
    with pytest.raises(
        lg.ROSConfigError, match=r"rows holds float32.*pass `np\.array\(rows, dtype=np\.float64\)`"
    ):
        rows_from([np.zeros(3, dtype=np.float32)] * 2)


@pytest.mark.parametrize("values", ["rows", b"rows", 1.0, None, {0.0}, {0.0: 1.0}, iter([[0.0]]), range])
def test_other_things_are_refused_with_the_conversion(values):
    with pytest.raises(lg.ROSConfigError, match=r"the gate reads NumPy arrays or lists: pass `np\.asarray"):
        rows_from(values)


def test_masked_array_is_refused_because_what_is_masked_is_still_there():
    masked = np.ma.masked_array(GOOD, mask=GOOD > 4.0)
    with pytest.raises(lg.ROSConfigError, match=r"rows is masked.*filled\(np\.nan\)"):
        rows_from(masked)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_empty_rectangle_keeps_its_shape(shape):
    assert rows_from(np.zeros(shape)).shape == shape


def test_empty_list_has_one_dimension():
    assert require_array([], name="positions", dimensions=1).shape == (0,)
    with pytest.raises(lg.ROSConfigError, match="rows has 1 dimensions and needs 2"):
        rows_from([])


def test_refusal_names_the_argument():
    with pytest.raises(lg.ROSConfigError, match="velocities is float32"):
        require_array(np.zeros(3, dtype=np.float32), name="velocities", dimensions=1)


@pytest.mark.parametrize(
    "values",
    [
        np.ma.array(GOOD, mask=True),
        [np.ma.array(GOOD[0], mask=[True, False, False]), GOOD[1]],
        (np.ma.array(GOOD[0]), GOOD[1]),
        [[np.ma.masked, 1.0, 2.0], [3.0, 4.0, 5.0]],
    ],
)
def test_mask_is_refused_inside_lists_too(values):
    with pytest.raises(lg.ROSConfigError, match=r"rows is masked.*pass `rows\.filled\(np\.nan\)`"):
        rows_from(values)
