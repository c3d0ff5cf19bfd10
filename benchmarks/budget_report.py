# SPDX-License-Identifier: Apache-2.0
"""Says which budgets of budgets.toml a result keeps."""

import tomllib
from pathlib import Path
from typing import Any

BUDGETS = Path(__file__).with_name("budgets.toml")


def median_line(found: dict[str, Any], undisturbed: dict[str, Any] | None, wanted: float) -> tuple[bool, str]:
    """Compares a median: that of the undisturbed calls where there are any."""
    everything = found["p50_us"]
    if undisturbed is None or undisturbed["p50_us"] is None:
        return everything <= wanted, f"median {everything:.3g} µs, at most {wanted} µs"
    median = undisturbed["p50_us"]
    return (
        median <= wanted,
        f"median {median:.3g} µs undisturbed ({everything:.3g} of all calls), at most {wanted} µs",
    )


def spread_line(
    found: dict[str, Any], undisturbed: dict[str, Any], wanted: float, additions: dict[str, Any] | None = None
) -> tuple[bool, str]:
    """Compares how many medians one call in a thousand takes. Too few undisturbed calls show nothing.

    `additions` are all of theirs: what holds them up holds up everything, and they change no outcome.
    """
    everything = found["p99_9_us"] / found["p50_us"]
    if undisturbed["p99_9_us"] is None:
        return False, f"p99.9 is {everything:.1f} times the median, too few calls undisturbed to say more"
    spread = undisturbed["p99_9_us"] / undisturbed["p50_us"]
    beside = ""
    if additions is not None and additions["p99_9_us"] is not None:
        beside = f"; {additions['p99_9_us'] / additions['p50_us']:.1f} for additions in registers"
    return (
        spread <= wanted,
        f"p99.9 is {spread:.1f} times the median undisturbed ({everything:.1f} of all calls{beside}), at most {wanted}",
    )


def budget_lines(result: dict[str, Any]) -> list[tuple[bool, str]]:
    """Compares with budgets.toml; every budget gives one line."""
    budgets = tomllib.loads(BUDGETS.read_text())
    lines = []
    for case, budget in budgets.items():
        found = result["cases"].get(case)
        undisturbed = result["cases"].get(f"{case}_undisturbed")
        if "p50_us_max" in budget:
            met, text = median_line(found, undisturbed, budget["p50_us_max"])
            lines.append((met, f"{budget['title']}: {text}"))
        if "chunk_14_ratio_max" in budget:
            times, wanted = result["ratios"][case], budget["chunk_14_ratio_max"]
            lines.append(
                (
                    times <= wanted,
                    f"{budget['title']}: {times} times the chunk with 14 obstacles, at most {wanted}",
                )
            )
        if "edge_sampled_ratio_max" in budget:
            times, wanted = result["ratios"][case], budget["edge_sampled_ratio_max"]
            lines.append(
                (times <= wanted, f"{budget['title']}: {times} times the sampled check, at most {wanted}")
            )
        if "at_rest_ratio_max" in budget:
            times, wanted = result["ratios"][case], budget["at_rest_ratio_max"]
            lines.append(
                (
                    times <= wanted,
                    f"{budget['title']}: {times} times the same motion at rest, at most {wanted}",
                )
            )
        if "bytes_max" in budget:
            taken, wanted = result["memory_bytes"].get(case), budget["bytes_max"]
            counted = "not counted" if taken is None else f"{taken:,} bytes"
            lines.append(
                (taken is not None and taken <= wanted, f"{budget['title']}: {counted}, at most {wanted:,}")
            )
        if "p99_9_over_p50_max" in budget and found["p99_9_us"] is not None:
            additions = result["cases"].get("additions")
            met, text = spread_line(found, undisturbed, budget["p99_9_over_p50_max"], additions)
            lines.append((met, f"{budget['title']}: {text}"))
        for peer, name in (("mujoco", "MuJoCo"), ("pinocchio", "Pinocchio with Coal from Python")):
            if f"{peer}_ratio_min" in budget:
                times, wanted = result["ratios"][budget[f"{peer}_case"]], budget[f"{peer}_ratio_min"]
                lines.append(
                    (
                        times >= wanted,
                        f"{budget['title']}: {times} times faster than {name}, at least {wanted}",
                    )
                )
    return lines
