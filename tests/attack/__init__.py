# SPDX-License-Identifier: Apache-2.0
"""An attack on the gate: random robots, worlds and motions, and an oracle that shares no code with what it attacks.

`make attack` runs it. `kinematics.py` and `distances.py` are written in NumPy from the definitions in the robot
description; `motions.py` derives the motion of every control mode from the documents, `oracle.py` holds accepted
motions against every promise. Only `target.py` imports `lastgate`.
"""
