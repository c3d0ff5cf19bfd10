# SPDX-License-Identifier: Apache-2.0
"""Certificates of accepted chunks, and their checker: `checker.py`, one file that imports nothing of ours."""

from lastgate.certificate.certificate import (
    APART_COLUMNS,
    CERTIFICATE_FORMAT,
    CERTIFIED_MODES,
    RECORD_COLUMNS,
    Certificate,
    canonical,
    certificate_of,
)

__all__ = [
    "APART_COLUMNS",
    "CERTIFICATE_FORMAT",
    "CERTIFIED_MODES",
    "RECORD_COLUMNS",
    "Certificate",
    "canonical",
    "certificate_of",
]
