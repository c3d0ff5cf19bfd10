# SPDX-License-Identifier: Apache-2.0
# `lastgate.assets` is `lastgate.tools.assets` under the name that the contract gives it; type checkers follow this line.
from lastgate.tools.assets import *
