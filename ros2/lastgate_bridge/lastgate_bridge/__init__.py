# SPDX-License-Identifier: Apache-2.0
"""The bridge between a running lastgate kernel and the ROS 2 it is installed in."""
