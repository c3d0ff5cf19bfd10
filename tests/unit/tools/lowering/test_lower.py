# SPDX-License-Identifier: Apache-2.0
"""Lowering as a whole: proofs hold, refusals name the link, the result repeats to the byte."""

from pathlib import Path
from typing import Any

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.lowering.diagnostics import DescriptionError, LoweringError
from lastgate.tools.lowering.fit import fit_link
from lastgate.tools.lowering.lower import (
    lower_robot,
    prove_geometry,
    read_description,
    sort_pairs_of_manifest,
)
from lastgate.tools.lowering.manifest_splice import read_manifest, splice


def test_lowered_robot_is_proved_and_repeats_to_the_byte(planar_manifest: Path) -> None:
    text = planar_manifest.read_text()
    robot = read_manifest(text, source="robot.yaml")
    texts = []
    for _ in range(2):
        lowered = lower_robot(robot, planar_manifest.parent)
        texts.append(
            splice(
                text,
                source="r",
                acm_source=lowered.source,
                frames=lowered.frames,
                geometry=lowered.geometry,
                pairs=lowered.pairs,
            )
        )
    assert texts[0] == texts[1]
    assert {proof.link for proof in lowered.proofs} == {"base", "upper", "lower", "tip"}
    assert "# GENERATED (source: sampling)" in texts[0]
    assert texts[0].startswith("# kept\n")


def test_lowering_sums_on_one_thread_whatever_the_number_of_cores(
    planar_manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[int]] = []

    def fit_and_record(*arguments: Any, **options: Any) -> Any:
        seen.append([library["num_threads"] for library in threadpool_info()])
        return fit_link(*arguments, **options)

    monkeypatch.setattr("lastgate.tools.lowering.lower.fit_link", fit_and_record)
    with threadpool_limits(limits=2):
        assert {library["num_threads"] for library in threadpool_info()} == {2}
        lower_robot(read_manifest(planar_manifest.read_text(), source="r"), planar_manifest.parent)
        assert {library["num_threads"] for library in threadpool_info()} == {2}
    assert len(seen) == 4
    assert all(threads and set(threads) == {1} for threads in seen)


def test_volume_that_shrank_after_lowering_fails_the_proof(planar_manifest: Path) -> None:
    robot = read_manifest(planar_manifest.read_text(), source="r")
    lowered = lower_robot(robot, planar_manifest.parent)
    prove_geometry(lowered.shapes, lowered.geometry)
    smaller = [
        volume.model_copy(
            update={"shape": volume.shape.model_copy(update={"radius_m": 0.9 * volume.shape.radius_m})}
        )
        for volume in lowered.geometry
    ]
    with pytest.raises(LoweringError, match="link `base`: its volumes leave"):
        prove_geometry(lowered.shapes, smaller)


def test_l10_robot_without_files_has_nothing_to_lower_from(planar_manifest: Path) -> None:
    robot = read_manifest(planar_manifest.read_text(), source="r")
    bare = robot.model_copy(update={"assets": robot.assets.model_copy(update={"urdf": None})})
    with pytest.raises(ROSConfigError, match="neither a URDF nor an MJCF"):
        lower_robot(bare, planar_manifest.parent)


def test_moving_link_without_shape_is_refused_and_a_waiver_with_a_reason_is_accepted(
    planar_manifest: Path,
) -> None:
    urdf = planar_manifest.parent / "planar.urdf"
    text = urdf.read_text()
    start = text.index("<collision>", text.index('<link name="lower">'))
    urdf.write_text(text[:start] + text[text.index("</collision>", start) + len("</collision>") :])
    robot = read_manifest(planar_manifest.read_text(), source="r")
    with pytest.raises(DescriptionError, match="link `lower` moves with joint `elbow`"):
        read_description(robot, planar_manifest.parent)
    waived = planar_manifest.read_text() + "coverage_waivers:\n  - {link: lower, reason: a wire}\n"
    assert "lower" not in read_description(read_manifest(waived, source="r"), planar_manifest.parent).shapes


def test_pairs_alone_are_sorted_for_the_volumes_the_manifest_has(planar_manifest: Path) -> None:
    text = planar_manifest.read_text()
    robot = read_manifest(text, source="r")
    lowered = lower_robot(robot, planar_manifest.parent)
    full = splice(
        text,
        source="r",
        acm_source="sampling",
        frames=lowered.frames,
        geometry=lowered.geometry,
        pairs=lowered.pairs,
    )
    again = sort_pairs_of_manifest(read_manifest(full, source="r"), planar_manifest.parent)
    assert again.pairs == lowered.pairs
    with pytest.raises(LoweringError, match="no volumes on"):
        sort_pairs_of_manifest(robot, planar_manifest.parent)
