# SPDX-License-Identifier: Apache-2.0
# `lastgate.collision` is `lastgate.planning.collision` under the name that the contract gives it; type checkers follow this line.
from lastgate.planning.collision import *
