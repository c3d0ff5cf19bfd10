# SPDX-License-Identifier: Apache-2.0
"""`lastgate telemetry`: spans of a running kernel to a collector, and once a second how it stands."""

import json
import time
from typing import Annotated

import typer

from lastgate.tools.cli.messages import print_note, print_warning
from lastgate.tools.cli.operator import Instance

_PERIOD_S = 1.0


def telemetry_command(
    *,
    robot: Instance = None,
    seconds: Annotated[
        float | None, typer.Option(metavar="N", help="End after so long; else at Ctrl-C or SIGTERM.")
    ] = None,
) -> int:
    """Sends one span per verdict of a running kernel, by OTLP/HTTP to OTEL_EXPORTER_OTLP_ENDPOINT.

    Pictures of its world and of the map it drives on follow, at most once a second each. Once a second it
    prints what `/diagnostics` says, as one line of JSON. The kernel never waits for this.
    """
    from lastgate import _core
    from lastgate.kernel.process import only_kernel
    from lastgate.kernel.ring_follower import open_ring, read_messages
    from lastgate.tools.cli.until_asked import until_asked
    from lastgate.tools.telemetry.diagnostics import diagnostic_status
    from lastgate.tools.telemetry.kernel_maps import KernelMaps
    from lastgate.tools.telemetry.kernel_spans import KernelSpans
    from lastgate.tools.telemetry.span_sender import SpanSender

    robot = robot or only_kernel()
    statuses = open_ring(robot, "statuses", start="newest")
    newest = None
    with SpanSender() as sender, until_asked(seconds) as go_on:
        spans = KernelSpans(robot, sender)
        maps = KernelMaps(robot, sender)
        shown_s = -_PERIOD_S
        while go_on():
            spans.forward(0.1)
            maps.forward()
            for message in read_messages(statuses):
                newest = _core.read_safety_status(message.payload)
            if time.monotonic() - shown_s >= _PERIOD_S:
                shown_s = time.monotonic()
                alive = _core.kernel_is_alive(robot)
                status = diagnostic_status(
                    newest if alive else None,
                    name=robot,
                    last_drop_reason=spans.last_drop_reason,
                    n_dof=_core.kernel_n_dof(robot),
                )
                print(json.dumps(status), flush=True)
                if not alive:
                    print_warning(f"the kernel `{robot}` is gone")
                    break
    counts = sender.counts
    print_note(f"{counts.sent} spans sent")
    for number, why in (
        (spans.lost, "were overwritten before they could be read"),
        (counts.fell_out, "fell out while the collector was slow"),
        (counts.not_taken, "were not taken by the collector"),
    ):
        if number:
            print_warning(f"{number} spans {why}")
    return 0
