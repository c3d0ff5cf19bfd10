# SPDX-License-Identifier: Apache-2.0
"""Kernels, gateways and peers in a network of their own: the loopback of a namespace without other programs."""

import contextlib
import ctypes
import fcntl
import itertools
import json
import os
import random
import select
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from fixtures import ros_messages as ros

import lastgate as lg
from lastgate.contracts import ROSConfigError
from lastgate.kernel.process import gateway_program

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
# `make test-gateway-sanitize` puts another build here; what it finds wrong ends the gateway, and the test that ends it.
SANITIZED = os.environ.get("LASTGATE_SANITIZED_GATEWAY")
BUILD = ROOT / (SANITIZED or "build/gateway")
PEERS = BUILD / "gateway" / "tests"
DISTROS = ("jazzy", "kilted")

CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS = 0x8914
IFF_UP_AND_RUNNING = 0x41

# Set by `make test-gateway`, which installs and builds everything: there, what is absent is a failure.
REQUIRED = "LASTGATE_REQUIRE_GATEWAY"

# How long states and worlds of these tests are good for: a busy machine can take 0.2 s between two messages, and a test
# that had to try again could not tell a message that came late from one that never came.
PATIENCE_S = 2.0

_numbers = itertools.count()


def absent(what: str) -> NoReturn:
    """Skips a test for which something is not there, or fails it where everything should be."""
    if os.environ.get(REQUIRED):
        pytest.fail(what)
    pytest.skip(what)


def pytest_collection_modifyitems(items) -> None:
    for item in items:
        if HERE in Path(item.fspath).parents:
            item.add_marker(pytest.mark.gateway)


@pytest.fixture(scope="session")
def own_network() -> bool:
    """Moves this process into a network that has nothing but a loopback; false where the system forbids it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", IFF_UP_AND_RUNNING, b""))
    return True


@pytest.fixture
def domain(own_network: bool) -> int:
    """A domain in which no other program is likely to be, even where the network is shared."""
    return random.SystemRandom().randrange(1, 100)


@pytest.fixture
def start_kernel(tmp_path: Path):
    """Starts kernels for a manifest and ends them with the test."""
    running: list[lg.KernelClient] = []

    def start(manifest, *, rate_hz: float = 10.0, instance: str | None = None, **settings) -> lg.KernelClient:
        ages = {"state_age_s_max": PATIENCE_S, "world_age_s_max": PATIENCE_S}
        client = lg.KernelClient(
            lg.RobotDescription(**{**manifest, "safety": {**manifest.get("safety", {}), **ages}}),
            rate_hz=rate_hz,
            instance=instance or f"gateway-{os.getpid()}-{next(_numbers)}",
            state_dir=tmp_path,
            settings=lg.KernelSettings(**settings),
        )
        running.append(client)
        return client

    yield start
    for client in running:
        client.close()


class Gateway:
    """A gateway process, and what it said."""

    def __init__(self, instance: str, domain: int, *options: str) -> None:
        self.process = subprocess.Popen(
            [
                BUILD / "gateway" / "lastgate-gateway" if SANITIZED else gateway_program(),
                *("--instance", instance, "--domain", str(domain), "--exit-with-parent"),
                *options,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.greeting = self.process.stdout.readline()

    def end(self) -> tuple[int, str]:
        self.process.terminate()
        try:
            _, errors = self.process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return self.process.returncode, errors


@pytest.fixture
def start_gateway(domain: int):
    """Starts gateways in the test's domain and ends them with the test."""
    try:
        gateway_program()
    except ROSConfigError as missing:
        absent(str(missing).splitlines()[0])
    running: list[Gateway] = []

    def start(instance: str, *options: str) -> Gateway:
        gateway = Gateway(instance, domain, *options)
        running.append(gateway)
        return gateway

    yield start
    for gateway in running:
        code, errors = gateway.end()
        assert code >= 0 or code == -signal.SIGKILL, f"the gateway died of signal {-code}: {errors}"
        assert "Sanitizer" not in errors, errors
        assert "runtime error" not in errors, errors


def ros_python(distro: str) -> Path:
    """Returns the interpreter that has a real ROS 2, or skips where there is none."""
    folder = ROOT / "build" / "ros" / distro
    if not (folder / ".ready").exists():
        absent(f"there is no ROS 2 {distro} in build/ros: `make test-gateway` puts it there")
    return folder / "bin" / "python"


def ros_environment(domain: int) -> dict[str, str]:
    """Returns the variables of a node that looks for others on this machine only."""
    return {
        **os.environ,
        "ROS_DOMAIN_ID": str(domain),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        "ROS_LOG_DIR": "/tmp",
    }


class RosPeer:
    """A node of a real ROS 2 in a process and an environment of its own."""

    def __init__(self, distro: str, domain: int, *, within: tuple[str, ...] = (), **variables: str) -> None:
        self.process = subprocess.Popen(
            [*within, ros_python(distro), HERE / "ros_peer.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=ros_environment(domain) | variables,
        )
        assert self._answer() == {"ready": True}

    def _answer(self, timeout_s: float = 90.0) -> dict:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], timeout_s)
        assert ready, "the ROS 2 peer does not answer"
        line = self.process.stdout.readline()
        assert line, "the ROS 2 peer is gone"
        return json.loads(line)

    def ask(self, do: str, **fields) -> dict:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": do, **fields}) + "\n")
        self.process.stdin.flush()
        answer = self._answer()
        assert "error" not in answer, answer["error"]
        return answer

    def meet(self, timeout_s: float = 20.0) -> dict:
        """Returns whether this node and the gateway have found each other, and what is missing if not."""
        return self.ask("meet", timeout_s=timeout_s)

    def publish(self, topic: str, message, *, raw: bool = False) -> None:
        payload = message if isinstance(message, bytes) else ros.to_bytes(message)
        self.ask("publish", topic=topic, cdr=payload.hex(), raw=raw)

    def take_bytes(self, topic: str, timeout_s: float = 2.0) -> bytes | None:
        payload = self.ask("take", topic=topic, timeout_s=timeout_s)["cdr"]
        return None if payload is None else bytes.fromhex(payload)

    def take(self, topic: str, kind: str, timeout_s: float = 2.0):
        payload = self.take_bytes(topic, timeout_s)
        return None if payload is None else ros.from_bytes(payload, kind)

    def take_either(self, *topics: str) -> tuple[str | None, bytes | None]:
        """Returns the first message on any of the topics, and on which it was."""
        answer = self.ask("take_either", topics=topics, timeout_s=5.0)
        return answer["topic"], None if answer["cdr"] is None else bytes.fromhex(answer["cdr"])

    def propose(self, chunk, joints: list[str], positions) -> None:
        """Publishes what is measured now, then a chunk: as a message of this ROS 2, or bytes as they are."""
        payload = chunk if isinstance(chunk, bytes) else ros.to_bytes(chunk)
        self.ask(
            "propose",
            cdr=payload.hex(),
            raw=isinstance(chunk, bytes),
            joints=joints,
            positions=[float(value) for value in positions],
        )

    def end(self) -> None:
        assert self.process.stdin is not None
        if self.process.poll() is None:
            self.process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdin.close()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def start_met_peer(start_peer):
    """Starts nodes that have met the gateway."""

    def start(distro: str = DISTROS[0]) -> RosPeer:
        peer = start_peer(distro)
        assert peer.meet() == {"met": True}
        return peer

    return start


@pytest.fixture
def start_peer(domain: int):
    """Starts nodes of a real ROS 2 in the test's domain and ends them with the test."""
    running: list[RosPeer] = []

    def start(distro: str = DISTROS[0], **how: Any) -> RosPeer:
        peer = RosPeer(distro, domain, **how)
        running.append(peer)
        return peer

    yield start
    for peer in running:
        peer.end()


def program(name: str) -> Path:
    """Returns a peer without ROS, or skips where it was not built."""
    path = PEERS / name
    if not path.is_file():
        absent(f"{name} is not built: `make test-gateway` builds it")
    return path


def joint_state(joints: list[str], positions) -> bytes:
    """Returns what is measured now, as bytes of a JointState."""
    return ros.to_bytes(
        ros.store().types["sensor_msgs/msg/JointState"](
            header=ros.header(time.time()),
            name=list(joints),
            position=np.asarray(positions, dtype=np.float64),
            velocity=np.zeros(0),
            effort=np.zeros(0),
        )
    )
