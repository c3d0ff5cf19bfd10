# SPDX-License-Identifier: Apache-2.0
"""The same verdicts from a process of its own: its client, how it is started, and emergency stops."""
