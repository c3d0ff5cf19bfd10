# SPDX-License-Identifier: Apache-2.0
"""What leaves the gate: spans, diagnostics, the black box, and the picture of a rejection. Nothing here decides."""
