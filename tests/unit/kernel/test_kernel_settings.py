# SPDX-License-Identifier: Apache-2.0
"""Settings of a kernel: what is not of its type is refused, because the text "false" is true."""

import numpy as np
import pytest

import lastgate as lg


def test_settings_that_say_nothing_stop_and_look_at_everything():
    flags = lg.KernelSettings().arguments()
    assert flags[flags.index("--on-violation") + 1] == "estop"
    assert flags[flags.index("--on-stale") + 1] == "estop"
    assert float(flags[flags.index("--reset-cooldown-s") + 1]) == 0.5
    assert not {"--warn-only", "--without-world"} & set(flags)


@pytest.mark.parametrize("name", ["warn_only", "without_world", "lock_memory"])
def test_switch_is_true_or_false_and_nothing_that_python_calls_so(name):
    flag = "--" + name.replace("_", "-")
    assert flag in lg.KernelSettings(**{name: True}).arguments()
    assert flag not in lg.KernelSettings(**{name: False}).arguments()
    for value in ("false", "no", "", "true", 0, 1, None, np.False_):
        with pytest.raises(lg.ROSConfigError, match=f"^{name} must be True or False, got "):
            lg.KernelSettings(**{name: value})


@pytest.mark.parametrize("name", ["required_sources", "required_actuators"])
def test_names_are_a_list_and_not_the_letters_of_one(name):
    flag = {"required_sources": "--require-source", "required_actuators": "--require-actuator"}[name]
    for value in (["pendant"], ("pendant",)):
        flags = lg.KernelSettings(**{name: value}).arguments()
        assert flags[flags.index(flag) + 1] == "pendant"
    for value in ("pendant", None, {"pendant"}, [3]):
        with pytest.raises(lg.ROSConfigError, match=f"^{name} must be "):
            lg.KernelSettings(**{name: value})


@pytest.mark.parametrize(
    ("name", "taken", "refused"),
    [
        ("reset_cooldown_s", (1, 0.25), ("1", None, True, np.float32(1.0))),
        ("spin_us", (-1, 50.0), ("50", None, False)),
        ("sched_fifo", (0, 7), ("7", 7.0, True, None)),
        ("cpu", (-1, 2), ("2", 2.0, True, None)),
    ],
)
def test_number_is_a_number(name, taken, refused):
    for value in taken:
        assert getattr(lg.KernelSettings(**{name: value}), name) == value
    for value in refused:
        with pytest.raises(lg.ROSConfigError, match=f"^{name} "):
            lg.KernelSettings(**{name: value})
