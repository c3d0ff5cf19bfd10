# SPDX-License-Identifier: Apache-2.0
# The contract names this module `lastgate.approach`; it is made at run time.
from lastgate.planning.approach import *  # noqa: F403 -- the list of names is that of the module
