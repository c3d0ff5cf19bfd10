# SPDX-License-Identifier: Apache-2.0
"""Datasets whose faults are known: clean motion between known poses, with labelled faults planted in it."""
