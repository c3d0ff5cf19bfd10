# SPDX-License-Identifier: Apache-2.0
"""Wires the commands together, and is the one place that turns what happened into an exit code."""

import os
import re
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from lastgate.contracts.exceptions import ROSError
from lastgate.contracts.extras import install_command
from lastgate.tools.cli.approach import approach_command
from lastgate.tools.cli.audit import audit_command
from lastgate.tools.cli.bench import bench_command
from lastgate.tools.cli.calibrate import calibrate_check_command
from lastgate.tools.cli.certificate_file import verify_command
from lastgate.tools.cli.check import check_command
from lastgate.tools.cli.collision_lower import check_command as collision_check_command
from lastgate.tools.cli.collision_lower import lower_command
from lastgate.tools.cli.dashboard import dashboard_command
from lastgate.tools.cli.demo import demo_command
from lastgate.tools.cli.doctor import doctor_command
from lastgate.tools.cli.explain import explain_command
from lastgate.tools.cli.gateway import gateway_command
from lastgate.tools.cli.kernel_file import kernel_config_command
from lastgate.tools.cli.kernel_run import kernel_run_command
from lastgate.tools.cli.limits import limits_command
from lastgate.tools.cli.look_at import look_at_command
from lastgate.tools.cli.mcp import mcp_command
from lastgate.tools.cli.messages import print_error
from lastgate.tools.cli.operator import (
    deadman_command,
    estop_command,
    human_command,
    pendant_command,
    reset_command,
    status_command,
)
from lastgate.tools.cli.recordings import record_command, replay_command, salvage_command, shrink_command
from lastgate.tools.cli.recover import recover_command
from lastgate.tools.cli.robot_add import add_command
from lastgate.tools.cli.robot_list import list_command, show_command
from lastgate.tools.cli.robot_report import report_command
from lastgate.tools.cli.robot_vendor import vendor_urdf_command
from lastgate.tools.cli.shadow import shadow_command
from lastgate.tools.cli.synth import synth_command
from lastgate.tools.cli.telemetry import telemetry_command
from lastgate.tools.cli.up import up_command
from lastgate.tools.cli.view import view_command

EXIT_UNDECIDED = 2
EXIT_OUR_FAULT = 3
EXIT_INTERRUPTED = 130

# Where a package is missed deep inside: what the command as a whole needs. The other commands say it themselves.
EXTRAS = {
    "approach": "approach",
    "bench": "lowering,oracles,robot-data",
    "calibrate": "audit",
    "collision": "lowering",
    "robot add": "lowering",
    "robot report": "lowering",
    "robot vendor-urdf": "xacro",
}

# Typer carried click as a dependency and now carries it inside; the class above BadParameter is the same
# in both.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="lastgate",
    help="Checks a chunk of robot motion against limits, itself and the world, before it is executed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
robot_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="The robot library, and robots of your own."
)
calibrate_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Whether recorded joints mean what the manifest says."
)
collision_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Volumes and allowed pairs.")
kernel_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="The native kernel process.")

app.command("check", short_help="One chunk file, one verdict.")(check_command)
app.command("recover", short_help="A way out for a robot that stands in contact.")(recover_command)
app.command("verify", short_help="A certificate, checked without the core.")(verify_command)
app.command("explain", short_help="What a violation means and what to do.")(explain_command)
app.command("doctor", short_help="What is installed, and what is missing.")(doctor_command)
app.command("approach", short_help="Where to stand to see a target on a map.")(approach_command)
app.command("look-at", short_help="Turn a camera to a point: pose, motion, picture.")(look_at_command)
app.command("mcp", short_help="Tools for an agent, over the Model Context Protocol.")(mcp_command)
app.command("bench", short_help="How fast the gate is, or how often it errs.")(bench_command)
app.command("audit", short_help="Recorded episodes through the gate.")(audit_command)
app.command("limits", short_help="Margins and limits from recordings, as a diff.")(limits_command)
app.command("shadow", short_help="What a gate that only watched would have rejected.")(shadow_command)
app.command("synth", short_help="A dataset with planted, labelled faults.")(synth_command)
app.command("view", short_help="Robot and world in the browser.")(view_command)
app.command("demo", short_help="A simulated arm with the gate before it.")(demo_command)
app.command("dashboard", short_help="The live page, and a receiver for spans.")(dashboard_command)

app.command("up", short_help="Kernel, e-stop sources and page together.")(up_command)
app.command("estop", short_help="Stop the robot.")(estop_command)
app.command("reset", short_help="Clear the latch, if nothing blocks it.")(reset_command)
app.command("status", short_help="How the kernel stands.")(status_command)
app.command("deadman", short_help="Stops when accepted chunks cease.")(deadman_command)
app.command("pendant", short_help="Stops while a real button is pressed or gone.")(pendant_command)
app.command("human", short_help="Stops for every line on stdin.")(human_command)

app.command("record", short_help="Every verdict of a kernel, with its inputs.")(record_command)
app.command("replay", short_help="Runs recorded verdicts again, bit for bit.")(replay_command)
app.command("salvage", short_help="What is whole of a recording that was not closed.")(salvage_command)
app.command("shrink", short_help="The smallest case that is still rejected, as a test.")(shrink_command)
app.command("telemetry", short_help="Spans of a kernel to a collector.")(telemetry_command)

robot_app.command("list", short_help="The robots that come with lastgate.")(list_command)
robot_app.command("show", short_help="One robot: joints, volumes, pairs.")(show_command)
robot_app.command("vendor-urdf", short_help="A flat URDF of one's own.")(vendor_urdf_command)
robot_app.command("add", short_help="A robot of one's own, in one command.")(add_command)
robot_app.command("report", short_help="Volumes against meshes, with a picture.")(report_command)
app.add_typer(robot_app, name="robot")

calibrate_app.command("check", short_help="Zero, sign, unit, order, scale of every joint.")(
    calibrate_check_command
)
app.add_typer(calibrate_app, name="calibrate")

collision_app.command("lower", short_help="Description to volumes and pairs, as a diff.")(lower_command)
collision_app.command("check", short_help="Re-lowers and compares.")(collision_check_command)
app.add_typer(collision_app, name="collision")

kernel_app.command("run", short_help="The native kernel process.")(kernel_run_command)
kernel_app.command("config", short_help="The flat YAML file a kernel reads.")(kernel_config_command)
app.add_typer(kernel_app, name="kernel")
app.command("gateway", short_help="ROS 2 topics and services for a kernel.")(gateway_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"lastgate {version('lastgate')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Checks a chunk of robot motion against limits, itself and the world, before it is executed."""


def run(arguments: Sequence[str]) -> int:
    """Runs one command and returns its exit code; only 0 permits motion."""
    if sys.stdout is None:
        # Started with stdout closed (`>&-`): without this, the next file that is opened would become stdout.
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    try:
        outcome = app(args=list(arguments), prog_name="lastgate", standalone_mode=False)
        sys.stdout.flush()
    except UsageError as error:
        _explain_usage(error)
        return EXIT_UNDECIDED
    except ROSError as error:
        print_error(str(error))
        return EXIT_UNDECIDED
    except (KeyboardInterrupt, typer.Abort):
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _forget_stdout()
        return EXIT_UNDECIDED
    except OSError as error:
        # No room, no right, no such folder: the machine said no, and its user can change that.
        reason = error.strerror or str(error)
        print_error(f"{error.filename}: {reason}" if error.filename else reason)
        _forget_stdout()
        return EXIT_UNDECIDED
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "lastgate":
            return _admit_fault()
        print_error(f"this needs {error.name}, which is not installed\n\nhint: {_how_to_install(arguments)}")
        return EXIT_UNDECIDED
    except Exception:
        return _admit_fault()
    return outcome if isinstance(outcome, int) else 0


def _admit_fault() -> int:
    traceback.print_exc()
    print_error("this is a bug in lastgate\n\nhint: report it with the lines above and the command")
    return EXIT_OUR_FAULT


def _how_to_install(arguments: Sequence[str]) -> str:
    """Returns the extra that a command needs, or every extra that may bring it."""
    words = " ".join(arguments)
    extra = next((extra for command, extra in EXTRAS.items() if words.startswith(command)), None)
    return "`lastgate doctor` lists what is missing" if extra is None else install_command(*extra.split(","))


def _forget_stdout() -> None:
    """Gives up what cannot be printed (reader gone, disk full), or Python complains once more at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _explain_usage(error: Any) -> None:
    message = error.format_message()
    if type(error).__name__ == "NoArgsIsHelpError":
        print(message, file=sys.stderr)
        return
    command = error.ctx.command_path if error.ctx else "lastgate"
    text = message[:1].lower() + message[1:].rstrip(".")
    robot = _misplaced_robot(error)
    hint = f"`{command} --robot {robot}`" if robot else f"`{command} --help`"
    print_error(f"{text.replace(chr(39), '`')}\n\nhint: {hint}")


def _misplaced_robot(error: Any) -> str | None:
    """Returns the argument that was too many if the command takes its robot by option and got none."""
    extra = re.fullmatch(r"Got unexpected extra argument\(?s?\)? \((\S+)\)", error.format_message())
    if extra is None or error.ctx is None or error.ctx.params.get("robot") is not None:
        return None
    options = [option for parameter in error.ctx.command.params for option in parameter.opts]
    return extra[1] if "--robot" in options else None
