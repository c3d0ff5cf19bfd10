# SPDX-License-Identifier: Apache-2.0
"""Keeps the last digits of a sum from deciding between choices that are equally good."""

from __future__ import annotations


def without_noise(score: float) -> float:
    """Returns a score to nine digits.

    Symmetric links offer cuts and moves of exactly the same worth, and sums of thousands of terms differ in their
    last digits between processors; what is equal to nine digits is equal here, and the order of the choices decides.
    """
    return float(f"{score:.9g}")
