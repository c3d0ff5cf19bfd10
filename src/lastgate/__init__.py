# SPDX-License-Identifier: Apache-2.0
"""The last gate between anything that proposes robot motion and the motors."""

__version__ = "0.1.0"
