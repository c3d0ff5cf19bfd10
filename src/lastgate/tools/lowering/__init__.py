# SPDX-License-Identifier: Apache-2.0
"""URDF, SRDF and MJCF to volumes, allowed pairs and joint frames, with proofs. Offline only."""
