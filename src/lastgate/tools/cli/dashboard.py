# SPDX-License-Identifier: Apache-2.0
"""`lastgate dashboard`: the live page of a running kernel, and a receiver for spans."""

import contextlib
import os
import signal
import threading
from typing import Annotated

import typer

from lastgate.contracts.extras import install_command
from lastgate.tools.cli.messages import print_error, print_note
from lastgate.tools.cli.options import PAGE_PORT

# The page yields to the kernel, to drivers and to e-stop sources wherever they want the same processor.
NICENESS = 10


def dashboard_command(
    *,
    port: Annotated[
        int, typer.Option(metavar="P", help="Where to listen on this machine; 0 takes a free port.")
    ] = PAGE_PORT,
    robot: Annotated[
        str | None,
        typer.Option(
            metavar="R", help="What to draw: a name of the robot library, or the path of a robot.yaml."
        ),
    ] = None,
    instance: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The kernel to watch; the robot's name, or the only one that runs."
        ),
    ] = None,
) -> int:
    """Serves the live page and takes spans in at /v1/traces, for this machine only.

    Every user of the machine may watch and press stop. A reset needs the token that is printed here once.
    """
    from lastgate.contracts import ROSConfigError

    try:
        from lastgate.tools.dashboard.access import Token
        from lastgate.tools.dashboard.control import WatchedControl
        from lastgate.tools.dashboard.kernel_watch import KernelWatch
        from lastgate.tools.dashboard.server import DashboardServer, PagePort
        from lastgate.tools.dashboard.store import LiveStore
    except ModuleNotFoundError as error:
        raise ROSConfigError(
            f"the page needs {error.name}, which is not installed\n\nhint: {install_command('dashboard')}"
        ) from None
    from lastgate.kernel.process import default_state_dir, require_instance
    from lastgate.robots import load_robot

    described = None if robot is None else load_robot(robot)
    if instance is None and described is not None:
        instance = described.name
    if instance is not None:
        require_instance(instance)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    store = LiveStore(source="kernel")
    with contextlib.ExitStack() as cleanup:
        # The button first: it keeps the ordinary priority.
        front = PagePort(port)
        cleanup.callback(front.close)
        os.nice(NICENESS)
        watch = KernelWatch(store, instance=instance, robot=described, on_instance=front.button.watch)
        cleanup.callback(watch.close)
        token = Token(default_state_dir() / "dashboard.token")
        cleanup.callback(token.forget)
        server = DashboardServer(store, WatchedControl(watch), token, port=front)
        cleanup.callback(server.close)
        print(f"{server.url}#token={token.text}", flush=True)
        print_note(f"the token allows resets and is also in {token.path}; every user may press stop")
        while server.is_serving and not ended.wait(0.2):
            pass
    if not ended.is_set():
        print_error("the page's server ended by itself")
        return 3
    return 0
