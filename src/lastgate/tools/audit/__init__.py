# SPDX-License-Identifier: Apache-2.0
"""Recorded motion through the gate: whole datasets, on one machine or on Ray, and datasets with planted faults."""
