# SPDX-License-Identifier: Apache-2.0
"""`lastgate gateway`: becomes the native process between ROS 2 and a kernel."""

import os
from typing import Annotated

import typer


def gateway_command(
    *,
    domain: Annotated[
        int | None, typer.Option(metavar="N", min=0, max=232, help="The domain; ROS_DOMAIN_ID, or 0.")
    ] = None,
    robot: Annotated[
        str | None,
        typer.Option(
            "--robot", "--instance", metavar="NAME", help="The kernel; else the only one that runs."
        ),
    ] = None,
    loopback_only: Annotated[
        bool, typer.Option("--loopback-only", help="Use no network beyond this machine.")
    ] = False,
    chunk_depth: Annotated[
        int, typer.Option(metavar="N", min=1, max=1000, help="How many candidates and safe actions may wait.")
    ] = 1,
    accept_unhashed: Annotated[
        bool,
        typer.Option("--accept-unhashed", help="Believe publishers that state no type hash, as Humble does."),
    ] = False,
    humble: Annotated[
        bool, typer.Option("--humble", help="Show the node to Humble instead of to later releases.")
    ] = False,
    services_for: Annotated[
        str,
        typer.Option(metavar="fastrtps|cyclonedds|both|none", help="Whose service clients are answered."),
    ] = "fastrtps",
) -> int:
    """Gives a running kernel the topics and services of ROS 2, until it is told to end (SIGTERM, Ctrl-C).

    This process becomes the gateway: no Python stays behind. Nothing passes through it that the kernel did not
    accept, and what passes leaves byte for byte as it came.
    """
    from lastgate.contracts import ROSConfigError
    from lastgate.kernel_process import gateway_program, only_kernel

    if services_for not in ("fastrtps", "cyclonedds", "both", "none"):
        raise ROSConfigError(
            f"`--services-for` must be fastrtps, cyclonedds, both or none, got `{services_for}`"
        )
    if domain is None:
        named = os.environ.get("ROS_DOMAIN_ID", "0")
        if not named.isdecimal() or int(named) > 232:
            raise ROSConfigError(f"ROS_DOMAIN_ID must be a number from 0 to 232, got `{named}`")
        domain = int(named)
    program = gateway_program()
    flags = {
        "--loopback-only": loopback_only,
        "--accept-unhashed": accept_unhashed,
        "--humble": humble,
    }
    os.execv(
        program,
        [
            str(program),
            *("--instance", robot or only_kernel()),
            *("--domain", str(domain)),
            *("--chunk-depth", str(chunk_depth)),
            *("--services-for", services_for),
            *(flag for flag, wanted in flags.items() if wanted),
        ],
    )
