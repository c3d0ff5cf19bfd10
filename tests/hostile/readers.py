# SPDX-License-Identifier: Apache-2.0
"""Which code reads a hostile input, and by what it refuses one: every other error is a fault."""

import contextlib
import io
import os
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

import lastgate as lg
from lastgate import _core

# Bytes that a server may answer with before it is enough.
ANSWER_BYTES = 65_536


# Where the kernels of this user keep their rings.
SHARED_MEMORY = Path(f"/dev/shm/lastgate-{os.getuid()}")


class Refusal(Exception):
    """The reader said no, in the way it documents."""


def read_otlp(path: Path) -> str:
    """Telemetry for the page: the name of the file says its type and encoding."""
    from lastgate.tools.dashboard import otlp

    kind = otlp.JSON if ".json" in path.name else otlp.PROTOBUF
    encoding = "gzip" if path.name.endswith(".gz") else ""
    try:
        spans = otlp.read_request(path.read_bytes(), content_type=kind, content_encoding=encoding)
    except otlp.RefusedRequest as error:
        raise Refusal(str(error)) from None
    return f"{len(spans)} spans"


def read_http(path: Path) -> str:
    """Raw bytes for the page's port; afterwards the button must still work."""
    import http.client

    from lastgate.kernel.estop import SafetyLatch
    from lastgate.tools.dashboard.access import Token
    from lastgate.tools.dashboard.control import LatchControl
    from lastgate.tools.dashboard.server import DashboardServer
    from lastgate.tools.dashboard.store import LiveStore

    with tempfile.TemporaryDirectory() as folder:
        latch = SafetyLatch(cooldown_s=0.3)
        server = DashboardServer(
            LiveStore(source="demo"), LatchControl(latch), Token(Path(folder) / "token"), port=0
        )
        address = ("127.0.0.1", server.port)
        with contextlib.suppress(OSError), socket.create_connection(address, timeout=2.0) as hostile:
            hostile.settimeout(0.5)
            hostile.sendall(path.read_bytes().replace(b"HOST", f"127.0.0.1:{server.port}".encode()))
            hostile.recv(ANSWER_BYTES)
        button = http.client.HTTPConnection(*address, timeout=10.0)
        button.request("POST", "/api/estop", b"{}", {"Host": f"127.0.0.1:{server.port}"})
        status = button.getresponse().status
        if status != 200 or not latch.latched:
            raise RuntimeError(f"the button answered {status} and latched: {latch.latched}")
    os._exit(11)  # harmless; the server's threads need not be waited for


def read_proxy_message(path: Path) -> str:
    """A message of a policy or of a robot, as the proxy reads it."""
    from lastgate.integrations.numpy_messages import unpack

    try:
        message = unpack(path.read_bytes())
    except ValueError as error:
        raise Refusal(str(error)) from None
    return type(message).__name__


def read_manifest(path: Path) -> str:
    try:
        return lg.load_robot(path).name
    except lg.ROSConfigError as error:
        raise Refusal(str(error)) from None


def read_world_file(path: Path) -> str:
    from fixtures.analytic_robots import stacked

    from lastgate.tools.cli.input_files import load_world

    try:
        world = load_world(path, robot=lg.RobotDescription(**stacked(3)))
    except lg.ROSConfigError as error:
        raise Refusal(str(error)) from None
    return f"{len(world.collision_primitives)} obstacles"


def read_chunk_file(path: Path) -> str:
    from lastgate.tools.cli.input_files import load_chunk

    try:
        load_chunk(path, joint_names=("j0", "j1", "j2"))
    except lg.ROSConfigError as error:
        raise Refusal(str(error)) from None
    return "taken"


def read_flat_config(path: Path) -> str:
    try:
        return _core.read_config(path.read_bytes().decode("utf-8", errors="replace")).robot_name
    except ValueError as error:
        raise Refusal(str(error)) from None


def read_stored_latch(path: Path) -> str:
    """What a Python latch left on disk; whatever is wrong with it must read as latched."""
    from lastgate.kernel.estop import SafetyLatch

    text = path.read_bytes().decode("utf-8", errors="replace")
    latch = SafetyLatch.from_json(text)
    if not latch.latched:
        raise RuntimeError("a damaged latch reads as clear")
    return latch.reason


def read_latch_file(path: Path) -> str:
    """The latch file of a kernel process; whatever is wrong with it, the kernel is latched or does not start."""
    from fixtures.analytic_robots import stacked

    instance = f"hostile{os.getpid()}"
    path.rename(path.parent / f"{instance}.latch")
    try:
        kernel = lg.KernelClient(
            lg.RobotDescription(**stacked(3)),
            rate_hz=10.0,
            instance=instance,
            state_dir=path.parent,
            settings=lg.KernelSettings(without_world=True),
        )
    except lg.ROSConfigError as error:
        raise Refusal(str(error)) from None
    with kernel:
        if not kernel.status().latched:
            raise RuntimeError("a damaged latch file reads as clear")
        return kernel.status().reason


def read_ring(path: Path) -> str:
    """A ring in shared memory, as telemetry and drivers open it; its folder is named after the instance."""
    instance, ring = path.parent.name, "safe_actions"
    target = SHARED_MEMORY / f"lastgate.{instance}.{ring}"
    target.write_bytes(path.read_bytes())
    target.chmod(0o600)
    taken = 0
    try:
        for newest in (False, True):
            reader = _core.RingReader(instance, ring, newest)
            while taken < 10_000 and reader.read(0.0) is not None:
                taken += 1
            reader.rewind()
            reader.read(0.0)
    except (ValueError, RuntimeError) as error:
        raise Refusal(str(error)) from None
    finally:
        target.unlink()
    return f"{taken} messages"


def read_status_block(path: Path) -> str:
    """The status block of a kernel, and every client that starts from it."""
    instance = path.parent.name
    target = SHARED_MEMORY / f"lastgate.{instance}.board"
    target.write_bytes(path.read_bytes())
    target.chmod(0o600)
    said = []
    try:
        for use in (
            _core.kernel_is_alive,
            _core.kernel_n_dof,
            _core.read_status_block,
            _core.StopEvent,
            _core.ChannelClient,
            lambda name: _core.Registration(name, "hostile"),
        ):
            try:
                said.append(type(use(instance)).__name__)
            except (ValueError, RuntimeError) as error:
                said.append(f"refused: {error}")
    finally:
        target.unlink(missing_ok=True)
    return "; ".join(said)


CDR_DECODERS = (
    "decode_action_chunk",
    "decode_world_snapshot",
    "decode_floor_map",
    "decode_joint_state",
    "decode_twist",
    "decode_failure_trigger",
    "decode_world_collision",
    "decode_occupancy_voxels",
    "decode_verdict",
    "decode_inputs",
    "decode_trace",
)


def read_cdr(path: Path) -> str:
    """A frame, through every decoder; None is how they refuse."""
    payload = path.read_bytes()
    taken = [name for name in CDR_DECODERS if getattr(_core, name)(payload) is not None]
    if not taken:
        raise Refusal("no decoder takes it")
    return ", ".join(taken)


def read_cdr_mutations(path: Path) -> str:
    """A frame cut at every byte, and with huge numbers in place of every word."""
    payload = path.read_bytes()
    variants = [payload[:length] for length in range(len(payload))]
    for at in range(0, len(payload) - 3, 4):
        for word in (b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80", b"\x00\x00\x00\x00"):
            variants.append(payload[:at] + word + payload[at + 4 :])
    variants += [bytes([first, second]) + payload[2:] for first in range(4) for second in range(16)]
    for variant in variants:
        for name in CDR_DECODERS:
            getattr(_core, name)(variant)
    return f"{len(variants)} variants"


def read_dataset(path: Path) -> str:
    """A dataset, audited by the command; exit codes 0, 1 and 2 are answers, and only they."""
    from lastgate.tools.cli.app import run

    out = path.parent / f"{path.name}-report"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = run(["audit", str(path), "--robot", "franka_panda", "--rate-hz", "30", "-o", str(out)])
    said = printed.getvalue()
    if code not in (0, 1, 2) or "Traceback" in said:
        raise RuntimeError(f"exit code {code}: {said[-1500:]}")
    if code == 2:
        raise Refusal(said)
    return said


READERS: dict[str, Callable[[Path], str]] = {
    "otlp": read_otlp,
    "http": read_http,
    "proxy": read_proxy_message,
    "manifest": read_manifest,
    "world_file": read_world_file,
    "chunk_file": read_chunk_file,
    "flat_config": read_flat_config,
    "stored_latch": read_stored_latch,
    "latch_file": read_latch_file,
    "ring": read_ring,
    "board": read_status_block,
    "cdr": read_cdr,
    "cdr_mutations": read_cdr_mutations,
    "dataset": read_dataset,
}
