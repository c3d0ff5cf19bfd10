# SPDX-License-Identifier: Apache-2.0
"""The words of the violation catalogue, grouped by what the rules check."""
