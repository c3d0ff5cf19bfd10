# SPDX-License-Identifier: Apache-2.0
"""`python -m lastgate.cli`: the same command line, for programs that start it in their own environment."""

from lastgate.cli import main

main()
