# SPDX-License-Identifier: Apache-2.0
"""Hostile inputs for every reader, each read in a process of its own with little memory and little time.

`corpus.py` makes the inputs, `readers.py` says which code reads them and how it refuses, `sandbox.py` runs one.
"""
