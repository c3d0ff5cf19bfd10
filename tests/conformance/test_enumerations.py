# SPDX-License-Identifier: Apache-2.0
"""Every number that the core and Python share is the same in both, found by reading the headers."""

import re
from pathlib import Path

import pytest

import lastgate as lg
from lastgate import _core
from lastgate.certificate import checker as certificate_checker
from lastgate.contracts import CATALOGUE, ControlMode, ViolationCode

HEADERS = Path(__file__).parents[2] / "core" / "include" / "lastgate"
ENUM = re.compile(r"enum class (\w+) : [\w:]+ \{(.*?)\};", re.DOTALL)
VALUE = re.compile(r"^\s*(\w+) = (?:1U << )?(\d+)", re.MULTILINE)


def read_enums() -> dict[str, dict[str, int]]:
    enums: dict[str, dict[str, int]] = {}
    for header in sorted(HEADERS.glob("*.hpp")):
        for name, body in ENUM.findall(header.read_text(encoding="utf-8")):
            # One value per line, so that an enumeration written on one line is read the same way.
            enums[name] = {word: int(number) for word, number in VALUE.findall(body.replace(",", ",\n"))}
    return enums


@pytest.fixture(scope="module")
def enums() -> dict[str, dict[str, int]]:
    return read_enums()


def test_headers_hold_the_enumerations_that_python_knows(enums):
    # Each is compared below.
    known = {
        "AgainstKind",
        "CartesianFrame",
        "CertificateKind",
        "ControlMode",
        "JointKind",
        "SimdBuild",
        "ObstacleSource",
        "PrimitiveKind",
        "SubjectKind",
        "Unchecked",
        "ViolationCode",
    }
    assert known == set(enums)
    assert all(enums[name] for name in known)


def test_violation_codes_are_the_same_in_both_languages_and_in_the_catalogue(enums):
    assert enums["ViolationCode"] == {code.value: code.number for code in ViolationCode}
    assert set(CATALOGUE) == set(ViolationCode)


def test_kinds_of_certificate_records_are_those_of_the_checker(enums):
    kinds = enums["CertificateKind"]
    assert kinds == {word: getattr(certificate_checker, word.upper()) for word in kinds}


def test_control_modes_are_the_same_in_both_languages(enums):
    assert enums["ControlMode"] == {mode.name.lower(): mode.value for mode in ControlMode}


def test_unchecked_bits_are_the_same_in_both_languages(enums):
    assert {word: 1 << bit for word, bit in enums["Unchecked"].items()} == {
        flag.name.lower(): flag.value for flag in lg.Unchecked
    }


@pytest.mark.parametrize(
    "name",
    [
        "AgainstKind",
        "CartesianFrame",
        "CertificateKind",
        "ControlMode",
        "JointKind",
        "ObstacleSource",
        "PrimitiveKind",
        "SimdBuild",
        "SubjectKind",
        "ViolationCode",
    ],
)
def test_every_value_of_an_enumeration_is_bound(enums, name):
    assert enums[name] == {member.name: member.value for member in getattr(_core, name)}


def test_shape_and_joint_kinds_are_the_same_in_both_languages(enums):
    from lastgate.robots.kernel_config import _JOINT_KIND, SHAPE_KIND

    assert enums["PrimitiveKind"] == SHAPE_KIND
    assert enums["JointKind"] == {
        word: number for word, number in _JOINT_KIND.items() if word != "continuous"
    }
    assert _JOINT_KIND["continuous"] == enums["JointKind"]["revolute"]


def test_frames_and_builds_are_the_same_in_both_languages(enums):
    from lastgate import gate

    assert enums["CartesianFrame"] == gate._CARTESIAN_FRAMES
    assert enums["SimdBuild"] == gate._SIMD_BUILDS


def test_sources_of_obstacles_are_the_same_in_both_languages(enums):
    from lastgate.planning.collision import environment

    # `link` is the answer about two links, which Python asks elsewhere and names itself.
    assert enums["ObstacleSource"] == {
        "nothing": environment._NOTHING,
        "sphere": environment._SPHERES,
        "primitive": environment._PRIMITIVES,
        "point": environment._POINTS,
        "cell": environment._CELLS,
        "link": 5,
    }
