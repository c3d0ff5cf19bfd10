# SPDX-License-Identifier: Apache-2.0
"""What people run, and what writes robots and reports. Nothing outside imports it."""
