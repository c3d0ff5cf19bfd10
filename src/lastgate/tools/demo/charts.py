# SPDX-License-Identifier: Apache-2.0
"""The two charts of the demo report, as SVG text."""

import math
from collections.abc import Sequence
from html import escape

from lastgate.tools.demo.run import Decision

WIDTH, HEIGHT = 960, 240
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 12, 30


def _frame(body: str, *, label: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">{body}</svg>'


def _nice_top(largest: float) -> float:
    """Returns the next 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(largest)) if largest > 0.0 else 1.0
    return next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= largest)


def clearance_chart(decisions: Sequence[Decision], *, simulated_s: float) -> str:
    """Returns dots for accepted chunks (clearance over time) and strokes for rejections."""
    seconds = max(simulated_s, 1.0)
    values = [d.clearance_m for d in decisions if d.clearance_m is not None]
    top_m = _nice_top(max(values, default=0.1))
    bottom = HEIGHT - BOTTOM

    def x_of(time_s: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * time_s / seconds

    def y_of(clearance_m: float) -> float:
        return bottom - (bottom - TOP) * min(clearance_m, top_m) / top_m

    parts = []
    for share in (0.0, 0.5, 1.0):
        y = y_of(share * top_m)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="var(--line)"/>'
        )
        parts.append(
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{share * top_m * 1000:.0f} mm</text>'
        )
    for decision in decisions:
        x = x_of(decision.time_s)
        if decision.clearance_m is None:
            tip = escape(f"{decision.time_s:.2f} s, {decision.code}: {decision.sentence}")
            parts.append(
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}" stroke="var(--bad)" '
                'stroke-width="1.5" '
                f'stroke-opacity=".55"><title>{tip}</title></line>'
            )
        else:
            tip = escape(f"{decision.time_s:.2f} s, accepted, {decision.clearance_m * 1000:.1f} mm")
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y_of(decision.clearance_m):.1f}" r="3" fill="var(--mark)">'
                f"<title>{tip}</title></circle>"
            )
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        anchor = "end" if share == 1.0 else "middle"
        parts.append(
            f'<text x="{x_of(share * seconds):.1f}" y="{HEIGHT - 8}" text-anchor="{anchor}">'
            f"{share * seconds:.1f} s</text>"
        )
    return _frame("".join(parts), label="clearance of accepted chunks over time, with rejections")


def check_time_chart(times_us: Sequence[float]) -> str:
    """Returns a histogram of check times on a logarithmic axis."""
    positive = [time_us for time_us in times_us if time_us > 0.0]
    if not positive:
        return "<p>No check yet.</p>"
    low = math.floor(math.log10(min(positive)) * 4) / 4
    high = max(math.ceil(math.log10(max(positive)) * 4) / 4, low + 0.25)
    bins = max(round((high - low) * 12), 1)
    counts = [0] * bins
    for time_us in positive:
        counts[min(int((math.log10(time_us) - low) / (high - low) * bins), bins - 1)] += 1
    bottom = HEIGHT - BOTTOM
    width = (WIDTH - LEFT - RIGHT) / bins
    parts = [f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}" stroke="var(--line)"/>']
    for index, count in enumerate(counts):
        height = (bottom - TOP) * count / max(counts)
        begin_us = 10 ** (low + index * (high - low) / bins)
        end_us = 10 ** (low + (index + 1) * (high - low) / bins)
        tip = f"{begin_us:.0f} to {end_us:.0f} µs: {count}"
        parts.append(
            f'<rect x="{LEFT + index * width + 1:.1f}" y="{bottom - height:.1f}" '
            f'width="{max(width - 2, 1):.1f}" '
            f'height="{height:.1f}" fill="var(--mark)"><title>{tip}</title></rect>'
        )
    parts.append(f'<text x="{LEFT - 8}" y="{TOP + 8}" text-anchor="end">{max(counts)}</text>')
    parts.append(f'<text x="{LEFT - 8}" y="{bottom + 4}" text-anchor="end">0</text>')
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        time_us = 10 ** (low + share * (high - low))
        x = LEFT + share * (WIDTH - LEFT - RIGHT)
        anchor = "end" if share == 1.0 else "middle"
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 8}" text-anchor="{anchor}">{time_us:.0f} µs</text>')
    return _frame("".join(parts), label="histogram of check times")
