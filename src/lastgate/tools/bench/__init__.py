# SPDX-License-Identifier: Apache-2.0
"""How long the gate takes, beside peers that get the same robot, volumes, excluded pairs and obstacles."""
