# SPDX-License-Identifier: Apache-2.0
"""Every number that the core and Python share is the same in both, found by reading the headers."""

import re
from pathlib import Path

import pytest

import lastgate as lg
from lastgate import _core
from lastgate.certificate import checker as certificate_checker
from lastgate.contracts import CATALOGUE, ControlMode, FailureKind, ViolationCode

ROOT = Path(__file__).parents[2]
ENUM = re.compile(r"enum class (\w+) : [\w:]+ \{(.*?)\};", re.DOTALL)
VALUE = re.compile(r"^\s*(\w+) = (1U << )?(\d+)", re.MULTILINE)

OF_CORE = {
    "AgainstKind",
    "CartesianFrame",
    "CertificateKind",
    "ControlMode",
    "JointKind",
    "ObstacleSource",
    "PrimitiveKind",
    "SimdBuild",
    "StopKind",
    "SubjectKind",
    "Unchecked",
    "ViolationCode",
}
OF_KERNEL = {"CollisionKind", "FailureKind", "LifecycleState", "MessageType"}


def read_enums(folder: str) -> dict[str, dict[str, int]]:
    enums: dict[str, dict[str, int]] = {}
    for header in sorted((ROOT / folder).rglob("*.hpp")):
        for name, body in ENUM.findall(header.read_text(encoding="utf-8")):
            # One value per line, so that an enumeration written on one line is read the same way.
            values = VALUE.findall(body.replace(",", ",\n"))
            enums[name] = {word: 1 << int(number) if bit else int(number) for word, bit, number in values}
    return enums


CORE, KERNEL = read_enums("core/include"), read_enums("kernel")


def test_every_enumeration_of_the_core_is_one_that_python_knows():
    assert set(CORE) == OF_CORE
    assert set(KERNEL) >= OF_KERNEL


@pytest.mark.parametrize("name", sorted(OF_CORE | OF_KERNEL))
def test_every_value_of_an_enumeration_is_bound(name):
    written = (CORE | KERNEL)[name]
    assert written
    assert written == {member.name: member.value for member in getattr(_core, name)}


def test_violation_codes_are_the_same_in_both_languages_and_in_the_catalogue():
    assert CORE["ViolationCode"] == {code.value: code.number for code in ViolationCode}
    assert set(CATALOGUE) == set(ViolationCode)


def test_kinds_of_certificate_records_are_those_of_the_checker():
    kinds = CORE["CertificateKind"]
    assert kinds == {word: getattr(certificate_checker, word.upper()) for word in kinds}


def test_control_modes_are_the_same_in_both_languages():
    assert CORE["ControlMode"] == {mode.name.lower(): mode.value for mode in ControlMode}


def test_kinds_of_failure_are_those_of_the_wire():
    assert KERNEL["FailureKind"].items() <= {kind.name.lower(): kind.value for kind in FailureKind}.items()


def test_unchecked_bits_are_the_same_in_both_languages():
    assert CORE["Unchecked"] == {flag.name.lower(): flag.value for flag in lg.Unchecked}


def test_states_of_the_kernel_are_the_same_in_both_languages():
    assert KERNEL["LifecycleState"] == {state.name.lower(): state.value for state in lg.KernelState}
