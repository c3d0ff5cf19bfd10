# SPDX-License-Identifier: Apache-2.0
# `lastgate.approach` is `lastgate.planning.approach` under the name that the contract gives it; type checkers follow this line.
from lastgate.planning.approach import *
