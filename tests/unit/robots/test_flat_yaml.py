# SPDX-License-Identifier: Apache-2.0
"""The strict reader of the kernel: what it does not know it refuses, with the line; what it takes is YAML."""

import re
import time

import pytest
from fixtures.analytic_robots import planar_two_link
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

import lastgate as lg
from lastgate import _core
from lastgate.robots.kernel_config import flat_config

GOOD = flat_config(lg.RobotDescription(**planar_two_link(name="arm")), step_s=0.1)
LINES = GOOD.splitlines()


def line_of(key: str) -> int:
    return 1 + next(index for index, line in enumerate(LINES) if line.startswith(f"{key}: "))


def with_line(key: str, line: str) -> str:
    changed = list(LINES)
    changed[line_of(key) - 1] = line
    return "\n".join(changed) + "\n"


def refusal_of(text: str) -> str:
    with pytest.raises(ValueError, match=r".") as refusal:
        _core.read_config(text)
    return str(refusal.value)


def test_text_that_python_wrote_is_read():
    assert _core.read_config(GOOD).robot_name == "arm"


# ---- What is taken, and means the same to a YAML reader ---


@pytest.mark.parametrize(
    "text",
    [
        GOOD.rstrip("\n"),
        "# a comment\n" + GOOD,
        GOOD + "# a comment\n",
        "\n\n" + GOOD + "\n\n",
        GOOD.replace(", ", ","),
        GOOD.replace(", ", ",   "),
        GOOD.replace("[", "[ ").replace("]", " ]"),
        with_line("step_s", "step_s:    0.1"),
        with_line("step_s", "step_s: 0.1   "),
        with_line("step_s", "step_s: 1e-1"),
        with_line("step_s", "step_s: 1E-1"),
        "\n".join(reversed(LINES)),
    ],
)
def test_other_layout_of_the_same_values_is_taken_and_is_yaml(text):
    read = _core.read_config(text)
    assert (read.robot_name, read.step_s, read.position_max) == ("arm", 0.1, [3.0, 3.0])
    assert YAML(typ="safe", pure=True).load(text) == YAML(typ="safe", pure=True).load(GOOD)


@pytest.mark.parametrize(
    "number", ["7", "-7", "007", "7.", "0.5", "-0.5", "5e-1", "7e2", "7E+2", "-0", "123456789012345678"]
)
def test_number_that_is_taken_is_the_same_number_to_a_yaml_reader(number):
    text = with_line("joint_offset", f"joint_offset: [0.0, 0.0, {number}]")
    taken = _core.read_config(text).joint_offset[2]
    # A double on both sides: YAML itself has whole numbers of any length.
    assert taken == float(YAML(typ="safe", pure=True).load(text)["joint_offset"][2]) == float(number)


@pytest.mark.parametrize(
    "name", ['12" pan', "back\\slash", "Käse", "鍋", "a: b", "# no comment", "[x]", "true", "1.5", "", "~"]
)
def test_string_that_is_taken_is_the_same_string_to_a_yaml_reader(name):
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    text = with_line("robot_name", f'robot_name: "{escaped}"')
    assert _core.read_config(text).robot_name == name
    assert YAML(typ="safe", pure=True).load(text)["robot_name"] == name


# ---- What is refused, with the line ---

REFUSED = {
    "unknown key": ("step_s", "step_s: 0.1\nspeed: 9", 1, "unknown key `speed`"),
    "misspelt key": ("step_s", "step_S: 0.1", 0, "expected `key: value`"),
    "repeated key": ("step_s", "step_s: 0.1\nstep_s: 0.2", 1, "`step_s` stands here twice"),
    "too few numbers": ("position_min", "position_min: [-3.0]", 0, "needs 2 numbers and has 1"),
    "too many numbers": ("position_min", "position_min: [-3.0, -3.0, -3.0]", 0, "needs 2 numbers and has 3"),
    "no numbers": ("position_min", "position_min: []", 0, "needs 2 numbers and has 0"),
    "NaN": ("step_s", "step_s: nan", 0, "needs finite numbers"),
    "YAML's NaN": ("step_s", "step_s: .nan", 0, "needs finite numbers"),
    "infinity": ("step_s", "step_s: inf", 0, "needs finite numbers"),
    "negative infinity": ("step_s", "step_s: -inf", 0, "needs finite numbers"),
    "overflow": ("step_s", "step_s: 1e999", 0, "needs finite numbers"),
    "underflow": ("step_s", "step_s: 1e-999", 0, "needs finite numbers"),
    "hexadecimal": ("step_s", "step_s: 0x10", 0, "text after the value of `step_s`"),
    "octal": ("step_s", "step_s: 0o17", 0, "text after the value of `step_s`"),
    "hexadecimal float": ("step_s", "step_s: 0x1p-3", 0, "text after the value of `step_s`"),
    "underscore": ("step_s", "step_s: 1_0", 0, "text after the value of `step_s`"),
    "plus sign": ("step_s", "step_s: +0.1", 0, "needs finite numbers"),
    "comma as decimal point": ("step_s", "step_s: 0,1", 0, "text after the value of `step_s`"),
    "two values": ("step_s", "step_s: 0.1 0.2", 0, "text after the value of `step_s`"),
    "comment after a value": ("step_s", "step_s: 0.1 # seconds", 0, "text after the value of `step_s`"),
    "list for one number": ("step_s", "step_s: [0.1]", 0, "`step_s` must be one number"),
    "string for a number": ("step_s", 'step_s: "0.1"', 0, "`step_s` must be one number"),
    "boolean for a number": ("step_s", "step_s: true", 0, "`step_s` must be one number"),
    "number for a list": ("position_min", "position_min: -3.0", 0, "must be a list of numbers"),
    "strings for numbers": ("position_min", 'position_min: ["a", "b"]', 0, "must be a list of numbers"),
    "number for a string": ("robot_name", "robot_name: 7", 0, "must be one quoted string"),
    "bare string": ("robot_name", "robot_name: arm", 0, "needs finite numbers, quoted strings"),
    "single quotes": ("robot_name", "robot_name: 'arm'", 0, "needs finite numbers, quoted strings"),
    "numbers for strings": ("link_names", "link_names: [1, 2, 3]", 0, "must be a list of quoted strings"),
    "string for a boolean": ("deadman_required", 'deadman_required: "true"', 0, "must be true or false"),
    "number for a boolean": ("deadman_required", "deadman_required: 1", 0, "must be true or false"),
    "YAML 1.1's boolean": ("deadman_required", "deadman_required: yes", 0, "needs finite numbers"),
    "capital boolean": ("deadman_required", "deadman_required: True", 0, "needs finite numbers"),
    "longer than true": ("deadman_required", "deadman_required: truest", 0, "text after the value"),
    "null": ("step_s", "step_s: null", 0, "needs finite numbers"),
    "no value": ("step_s", "step_s: ", 0, "expected `key: value`|needs finite numbers"),
    "no space after the colon": ("step_s", "step_s:0.1", 0, "expected `key: value`"),
    "no colon": ("step_s", "step_s 0.1", 0, "expected `key: value`"),
    "indented key": ("step_s", "  step_s: 0.1", 0, "expected `key: value`"),
    "tab before the value": ("step_s", "step_s: \t0.1", 0, "needs finite numbers"),
    "document marker": ("step_s", "---\nstep_s: 0.1", 0, "expected `key: value`"),
    "mixed kinds": ("position_min", 'position_min: [-3.0, "x"]', 0, "mixes kinds of values"),
    "list without an end": (
        "position_min",
        "position_min: [-3.0, -3.0",
        0,
        "expected a comma or a closing bracket",
    ),
    "list with a comma at its end": (
        "position_min",
        "position_min: [-3.0, -3.0,]",
        0,
        "a comma must be followed",
    ),
    "list in a list": ("position_min", "position_min: [[-3.0, -3.0]]", 0, "needs finite numbers"),
    "mapping": ("position_min", "position_min: {a: -3.0}", 0, "needs finite numbers"),
    "list over two lines": ("position_min", "position_min: [-3.0,\n-3.0]", 0, "."),
    "string without an end": ("robot_name", 'robot_name: "arm', 0, "control characters|ends too early"),
    "string with an escape": ("robot_name", 'robot_name: "a\\nb"', 0, "may be escaped"),
    "string with a unicode escape": ("robot_name", 'robot_name: "a\\u0041"', 0, "may be escaped"),
    "string with a tab": ("robot_name", 'robot_name: "a\tb"', 0, "control characters"),
    "string with NUL": ("robot_name", 'robot_name: "a\0b"', 0, "control characters"),
    "string with DEL": ("robot_name", 'robot_name: "a\x7fb"', 0, "control characters"),
    "string with a C1 control": ("robot_name", 'robot_name: "a\x9bb"', 0, "control characters"),
    "whole number with a fraction": ("joint_kind", "joint_kind: [0, 1, 1.5]", 0, "must be whole numbers"),
    "index out of range": ("volume_link", "volume_link: [1, 70000]", 0, "index out of range"),
    "index below -1": ("link_parent", "link_parent: [-2, 0, 1]", 0, "index out of range"),
    "unknown joint kind": ("joint_kind", "joint_kind: [0, 1, 3]", 0, "`joint_kind` must be 0 fixed"),
    "unknown mode": ("control_modes", "control_modes: [0, 13]", 0, "`control_modes` holds an unknown mode"),
    "in rows or not": ("dof_in_rows", "dof_in_rows: [1, 2]", 0, "`dof_in_rows` must be 0 or 1"),
    "another version": ("schema_version", "schema_version: 2", 0, "`schema_version` must be 1"),
    "version as a string": ("schema_version", 'schema_version: "1"', 0, "must be one number"),
    "negative budget": ("evaluations_max", "evaluations_max: -1", 0, "must be a whole number between"),
    "garbage": ("step_s", "\x01\x02\x03", 0, "expected `key: value`"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_line_that_is_not_understood_is_refused_with_its_number(case):
    key, line, offset, why = REFUSED[case]
    message = refusal_of(with_line(key, line))
    assert message.startswith(f"line {line_of(key) + offset}: "), message
    assert re.search(why, message), message


def test_garbage_after_the_last_line_is_refused_with_its_number():
    assert refusal_of(GOOD + "garbage").startswith(f"line {len(LINES) + 1}: expected `key: value`")


def test_windows_line_ends_are_refused_with_the_first_line():
    assert refusal_of(GOOD.replace("\n", "\r\n")).startswith("line 1: text after the value")


def test_byte_order_mark_is_refused():
    assert refusal_of("\ufeff" + GOOD).startswith("line 1: ")


# An optional key that is left out means that nothing is declared; the core then evaluates what needs it.
OPTIONAL = {"max_cartesian_step_m", "max_cartesian_step_rad", "torque_max", "acceleration_max"}


@pytest.mark.parametrize("key", [line.split(":")[0] for line in LINES])
def test_missing_key_is_refused_by_name_unless_it_is_optional(key):
    text = "".join(f"{line}\n" for line in LINES if not line.startswith(f"{key}: "))
    if key in OPTIONAL:
        assert getattr(_core.read_config(text), key) is None
        with pytest.raises(ValueError, match="CARTESIAN_DELTA needs"):
            _core.Gate(_core.read_config(text))
    else:
        assert refusal_of(text) == f"`{key}` is missing"


@pytest.mark.parametrize(
    "half",
    [
        "workspace_box_min_xyz: [0, 0, 0]",
        "workspace_box_max_xyz: [1, 1, 1]",
        "gripper_min: 0",
        "gripper_max: 1",
    ],
)
def test_half_of_a_range_is_refused_by_the_name_of_the_other_half(half):
    other = {"min": "max", "max": "min"}[
        half.split("_")[1 if half.startswith("gripper") else 2].split(":")[0]
    ]
    assert other in refusal_of(GOOD + half + "\n")


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n", "\n\n# and lines\n\n"])
def test_empty_file_is_refused(text):
    assert refusal_of(text) == "`schema_version` is missing"


def test_file_larger_than_any_robot_is_refused_before_it_is_read():
    started = time.perf_counter()
    assert refusal_of(GOOD + "# " + "x" * 5 * 1024 * 1024) == "the file is larger than 4 MiB"
    assert time.perf_counter() - started < 0.5


def test_file_of_many_keys_is_refused_in_bounded_time():
    flood = "".join(f"k{index}: 1\n" for index in range(300_000))
    started = time.perf_counter()
    assert "more keys than a configuration has" in refusal_of(flood)
    assert time.perf_counter() - started < 0.5


def test_long_list_is_read_in_bounded_time():
    started = time.perf_counter()
    message = refusal_of(with_line("position_min", "position_min: [" + "1, " * 500_000 + "1]"))
    assert "needs 2 numbers and has 500001" in message
    assert time.perf_counter() - started < 1.0


def test_file_that_is_cut_off_anywhere_is_refused_or_says_the_same():
    whole = _core.read_config(GOOD)
    for end in range(0, len(GOOD) - 1, 7):
        try:
            read = _core.read_config(GOOD[:end])
        except ValueError:
            continue
        assert read.control_modes == whole.control_modes, GOOD[end - 40 : end]


def test_what_a_yaml_reader_refuses_the_kernel_refuses():
    for spoiled in (
        GOOD + "step_s: 0.2\n",
        GOOD + '"',
        GOOD.replace("[", "[[", 1),
        with_line("robot_name", 'robot_name: "a\x07"'),
    ):
        with pytest.raises(YAMLError):
            YAML(typ="safe", pure=True).load(spoiled)
        assert refusal_of(spoiled)
