# SPDX-License-Identifier: Apache-2.0
"""A manifest may repeat itself and nest, up to bounds that no robot needs."""

import json

import pytest
from fixtures.analytic_robots import stacked

import lastgate as lg
from lastgate.robots import bounded_yaml
from lastgate.robots.bounded_yaml import BYTES_MAX, DEPTH_MAX, load_bounded_yaml


def test_file_of_the_largest_size_is_read_and_one_byte_more_is_refused(tmp_path):
    path = tmp_path / "robot.yaml"
    path.write_text("a: b\n#" + "x" * (BYTES_MAX - 6))
    assert load_bounded_yaml(path) == {"a": "b"}
    path.write_text("a: b\n#" + "x" * (BYTES_MAX - 5))
    with pytest.raises(lg.ROSConfigError, match="larger than"):
        load_bounded_yaml(path)


def test_deepest_nesting_is_read_and_one_level_more_is_refused(tmp_path):
    path = tmp_path / "robot.yaml"
    path.write_text("[" * DEPTH_MAX + "1" + "]" * DEPTH_MAX)
    assert load_bounded_yaml(path)
    path.write_text("[" * (DEPTH_MAX + 1) + "1" + "]" * (DEPTH_MAX + 1))
    with pytest.raises(lg.ROSConfigError, match="deeper than"):
        load_bounded_yaml(path)


def test_aliases_count_as_often_as_they_are_repeated(tmp_path, monkeypatch):
    path = tmp_path / "robot.yaml"
    path.write_text("- &a [1, 2, 3]\n- *a\n- *a\n")
    # One list, three lists in it, three numbers in each.
    monkeypatch.setattr(bounded_yaml, "VALUES_MAX", 13)
    assert load_bounded_yaml(path) == [[1, 2, 3]] * 3
    monkeypatch.setattr(bounded_yaml, "VALUES_MAX", 12)
    with pytest.raises(lg.ROSConfigError, match="aliases"):
        load_bounded_yaml(path)


def test_manifest_that_uses_aliases_is_loaded(tmp_path):
    path = tmp_path / "robot.yaml"
    first, *others = [json.dumps(joint) for joint in stacked(3)["joints"]]
    rest = {key: value for key, value in stacked(3).items() if key != "joints"}
    text = "\n".join(f"{key}: {json.dumps(value)}" for key, value in rest.items())
    shared = first.replace("[-1.0, 1.0]", "&limits [-1.0, 1.0]")
    repeated = [joint.replace("[-1.0, 1.0]", "*limits") for joint in others]
    path.write_text(f"{text}\njoints:\n" + "".join(f"  - {joint}\n" for joint in (shared, *repeated)))
    assert lg.load_robot(path) == lg.RobotDescription(**stacked(3))
