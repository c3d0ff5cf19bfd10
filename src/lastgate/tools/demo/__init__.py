# SPDX-License-Identifier: Apache-2.0
"""The main job in simulation: a policy proposes, the gate decides, the servos get what was accepted."""
