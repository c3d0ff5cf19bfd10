# SPDX-License-Identifier: Apache-2.0
"""The live page: what the gate sees and says, and two buttons."""
