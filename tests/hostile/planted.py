# SPDX-License-Identifier: Apache-2.0
"""Readers with planted faults, which the sandbox has to notice."""

import faulthandler
import os
import signal
import time
from pathlib import Path


def greedy(path: Path) -> str:
    return str(len(bytearray(8 * 1024**3)))


def sleepy(path: Path) -> str:
    time.sleep(60.0)
    return ""


def clumsy(path: Path) -> str:
    return str(1 // len(path.parts[:0]))


def fallen(path: Path) -> str:
    faulthandler.disable()
    os.kill(os.getpid(), signal.SIGSEGV)
    return ""
