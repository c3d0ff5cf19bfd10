# SPDX-License-Identifier: Apache-2.0
"""Record what a gate decides, and check a rejection afterwards.

A recorder checks like the gate it wraps and keeps every verdict with all that it depended on. The file can
be run again bit for bit, opened in Foxglove, and asked for the picture of a rejection or for the smallest case
that is still rejected.
"""

import tempfile
from pathlib import Path

import numpy as np

import lastgate as lg
from lastgate.tools.telemetry.recorder import Recorder
from lastgate.tools.telemetry.recording_reader import read_recording
from lastgate.tools.telemetry.rejection_report import rejection_report
from lastgate.tools.telemetry.replay import replay
from lastgate.tools.telemetry.shrink import shrink
from lastgate.tools.telemetry.shrunk_test import pytest_text

folder = Path(tempfile.mkdtemp())
gate = lg.Gate(lg.load_robot("franka_panda"), step_s=0.02)
at_rest = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785])
state = lg.RobotState(positions=at_rest, stamp_s=12.5)
table = lg.WorldCollisionPrimitive(
    shape=lg.HalfSpaceShape(), pose=lg.Pose6D(xyz=(0.0, 0.0, 0.1)), object_id="table"
)
world = lg.World(primitives=[table], stamp_s=12.5)

with Recorder(gate, folder / "box.mcap") as recorder:
    for turn in (0.2, 0.8):  # the second leads down to the table
        goal = at_rest + np.array([0.0, 1.0, 0.0, 0.4, 0.0, 0.0, 0.0]) * turn * 1.5
        rows = at_rest + (goal - at_rest) * np.linspace(0.01, 1.0, 100)[:, None]
        recorder.check(lg.ActionChunk(rows), state=state, world=world, now_s=12.5)

recording = read_recording(folder / "box.mcap")
outcome = replay(recording)
print(f"{outcome.same} verdicts are the same to the last bit, {len(outcome.differences)} differ")
assert outcome.same == 2

rejected = recording.checks[1]
model = recording.models[rejected.model_digest]
verdict = rejected.run(model.gate())
report = rejection_report(
    model.gate(), verdict, chunk=rejected.chunk, state=rejected.state, world=rejected.world
)
print(f"\n{report.sentence}\n{report.evidence}")
(folder / "rejection.png").write_bytes(report.png())

case, violation = shrink(rejected, model.gate())
print(f"\n100 rows became {len(case.chunk.rows)}; as a test:\n")
print(pytest_text(case, violation, model=model, origin="box.mcap#2"))
