# SPDX-License-Identifier: Apache-2.0
"""The live page of a demo that is going on: the same page as a kernel's, fed from this process."""

import time
from pathlib import Path

import numpy as np

from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.gate.verdict import Verdict
from lastgate.tools.dashboard.access import Token
from lastgate.tools.dashboard.control import LatchControl
from lastgate.tools.dashboard.robot_scene import RobotScene
from lastgate.tools.dashboard.server import DashboardServer
from lastgate.tools.dashboard.store import GateStatus, LiveStore, note_gate_check
from lastgate.tools.demo.run import Simulation
from lastgate.world import World


class LivePage:
    """Shows a simulation, and stops it while its button is latched; verdicts are the gate's alone.

    Args:
        port: Where to listen on this machine; 0 takes a free one.
        folder: Where the token for resets is left.

    Raises:
        ROSConfigError: The port is taken or not allowed, or the token cannot be written.
    """

    def __init__(self, simulation: Simulation, *, port: int, folder: Path) -> None:
        self._scene = RobotScene(simulation.gate.robot)
        self._store = LiveStore(source="demo", scene=self._scene)
        self._control = LatchControl()
        self._stop_listed = 0
        self._digest = simulation.gate.model_digest
        self.token = Token(folder / "demo-page.token")
        try:
            self._server = DashboardServer(self._store, self._control, self.token, port=port)
        except BaseException:
            self.token.forget()
            raise
        self.url = self._server.url
        simulation.watcher = self

    @property
    def latched(self) -> bool:
        """True from a press of stop until a reset."""
        latched = self._control.latched
        if latched and self._control.sequence != self._stop_listed:
            self._stop_listed = self._control.sequence
            sentence = f"{self._control.source}: {self._control.reason}"
            self._store.event_log.add(time_s=time.time(), source="demo", code="stop", sentence=sentence)
        self._store.note_status(
            GateStatus(
                state="latched" if latched else "active",
                name="demo",
                source=self._control.source,
                reason=self._control.reason,
                model_digest=self._digest,
            )
        )
        return latched

    def note_state(self, state: RobotState) -> None:
        """Shows where the arm is."""
        fingers = state.gripper_positions
        self._store.note_state(state.positions, np.empty(0) if fingers is None else fingers)

    def note_check(
        self, verdict: Verdict, *, chunk: ActionChunk, state: RobotState, world: World, check_us: float
    ) -> None:
        """Shows what was proposed and decided."""
        note_gate_check(
            self._store, self._scene, verdict, chunk=chunk, state=state, world=world, duration_us=check_us
        )

    def close(self) -> None:
        """Stops serving."""
        self._server.close()
        self.token.forget()
