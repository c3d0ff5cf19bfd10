# SPDX-License-Identifier: Apache-2.0
"""Where the gate meets the loops people already run."""
