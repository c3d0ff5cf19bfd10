# SPDX-License-Identifier: Apache-2.0
"""Check a chunk before it is executed.

A gate is built once, for one robot and one step length. Every chunk is handed to it with what was
measured and what is known of the world; what comes back is a verdict. Only an accepted verdict gives the
chunk back, so a program that executes `verdict.chunk` cannot execute one that was rejected.
"""

import numpy as np

import lastgate as lg

gate = lg.Gate(lg.load_robot("franka_panda"), step_s=0.02)
print("a row is:", ", ".join(gate.joint_names))

at_rest = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785])
now_s = 12.5  # on the clock that the stamps below are read from
state = lg.RobotState(positions=at_rest, stamp_s=now_s - 0.004)

# Sixteen steps that turn the base joint a little: small steps, far from everything.
harmless = np.tile(at_rest, (16, 1))
harmless[:, 0] += 0.01 * np.arange(1, 17)

verdict = gate.check(lg.ActionChunk(harmless), state=state, world=lg.NO_WORLD, now_s=now_s)
print("\n" + verdict.explain())
assert verdict.accepted
executed = verdict.chunk.rows  # the copy that was checked, read-only

# The same sixteen steps with one joint sent past its stop in the last of them.
too_far = harmless.copy()
too_far[15, 3] = 0.5

verdict = gate.check(lg.ActionChunk(too_far), state=state, world=lg.NO_WORLD, now_s=now_s)
print("\n" + verdict.explain())
assert not verdict.accepted
assert verdict.violations[0].subject == "panda_joint4"
try:
    verdict.chunk  # noqa: B018 -- reading it is the point
except lg.RejectedChunkError as error:
    print(f"\nthe chunk stays here: {error}")
