# SPDX-License-Identifier: Apache-2.0
"""`python -m lastgate.tools.cli`: the same command line, for programs that start it in their own environment."""

from lastgate.tools.cli import main

main()
