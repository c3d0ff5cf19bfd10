# SPDX-License-Identifier: Apache-2.0
"""What serves planners: collision queries, viewpoints and skills. It proposes; the gate decides."""
