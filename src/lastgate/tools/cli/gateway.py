# SPDX-License-Identifier: Apache-2.0
"""`lastgate gateway`: becomes the native process between ROS 2 and a kernel."""

import os
from pathlib import Path
from typing import Annotated

import typer

DomainOption = Annotated[
    int | None, typer.Option(metavar="N", min=0, max=232, help="The domain; ROS_DOMAIN_ID, or 0.")
]
RobotOption = Annotated[
    str | None,
    typer.Option("--robot", "--instance", metavar="NAME", help="The kernel; else the only one that runs."),
]
NamespaceOption = Annotated[
    str | None,
    typer.Option(metavar="/NAME", help="Before every topic and service, for several robots in one domain."),
]
NetworkOption = Annotated[
    bool,
    typer.Option("--network", help="Hear other machines, all of them; else only programs of this machine."),
]
EnclaveOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Keys and permissions as SROS 2 makes them: only peers that they allow are met.",
    ),
]
AllowResetOption = Annotated[
    bool,
    typer.Option("--allow-reset", help="Let any peer clear a stop; else `/openral/estop_reset` refuses."),
]
ChunkDepthOption = Annotated[
    int, typer.Option(metavar="N", min=1, max=1000, help="How many candidates and safe actions may wait.")
]
AcceptUnhashedOption = Annotated[
    bool,
    typer.Option("--accept-unhashed", help="Believe publishers that state no type hash, as Humble does."),
]
HumbleOption = Annotated[
    bool, typer.Option("--humble", help="Show the node to Humble instead of to later releases.")
]
ServicesForOption = Annotated[
    str,
    typer.Option(metavar="fastrtps|cyclonedds|both|none", help="Whose service clients are answered."),
]


def gateway_command(
    *,
    domain: DomainOption = None,
    robot: RobotOption = None,
    namespace: NamespaceOption = None,
    network: NetworkOption = False,
    enclave: EnclaveOption = None,
    allow_reset: AllowResetOption = False,
    chunk_depth: ChunkDepthOption = 1,
    accept_unhashed: AcceptUnhashedOption = False,
    humble: HumbleOption = False,
    services_for: ServicesForOption = "fastrtps",
) -> int:
    """Gives a running kernel the topics and services of ROS 2, until it is told to end (SIGTERM, Ctrl-C).

    This process becomes the gateway: no Python stays behind. Nothing passes through it that the kernel did not
    accept, and what passes leaves byte for byte as it came. DDS does not say who sends: a program that can reach the
    gateway can feed it joint states and worlds, so it hears this machine alone unless told otherwise (SECURITY.md).
    """
    from lastgate.contracts import ROSConfigError
    from lastgate.kernel.process import gateway_program, only_kernel

    if services_for not in ("fastrtps", "cyclonedds", "both", "none"):
        raise ROSConfigError(
            f"`--services-for` must be fastrtps, cyclonedds, both or none, got `{services_for}`"
        )
    if enclave is not None and services_for not in ("cyclonedds", "none"):
        raise ROSConfigError(
            "`--enclave` needs `--services-for cyclonedds` or `none`: Fast DDS and Cyclone DDS do not shake hands"
        )
    if domain is None:
        named = os.environ.get("ROS_DOMAIN_ID", "0")
        if not named.isdecimal() or int(named) > 232:
            raise ROSConfigError(f"ROS_DOMAIN_ID must be a number from 0 to 232, got `{named}`")
        domain = int(named)
    program = gateway_program()
    flags = {
        "--network": network,
        "--allow-reset": allow_reset,
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
            *(("--namespace", namespace) if namespace is not None else ()),
            *(("--enclave", str(enclave.resolve())) if enclave is not None else ()),
            *(flag for flag, wanted in flags.items() if wanted),
        ],
    )
