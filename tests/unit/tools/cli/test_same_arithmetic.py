# SPDX-License-Identifier: Apache-2.0
"""Lowering computes alike on every processor: what the environment must say, and who starts again with it."""

import os
import sys

import numpy as np
import pytest

import lastgate.tools.cli
from lastgate.tools.cli.same_arithmetic import rerun_with_same_arithmetic, same_arithmetic

SIMD = "SIMD Extensions"


@pytest.fixture
def started(monkeypatch):
    """Collects what would have been started in place of this process."""
    calls = []
    monkeypatch.setattr(os, "execve", lambda *arguments: calls.append(arguments))
    for name in ("OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES"):
        monkeypatch.delenv(name, raising=False)
    return calls


def processor(monkeypatch, **loops):
    monkeypatch.setattr(np, "show_config", lambda mode: {SIMD: loops})


def test_wider_loops_are_turned_off_by_the_names_of_either_numpy(monkeypatch):
    processor(monkeypatch, baseline=["X86_V2"], found=["X86_V3", "X86_V4", "AVX512_ICL"])
    assert same_arithmetic()["NPY_DISABLE_CPU_FEATURES"] == "AVX512_ICL X86_V4"
    processor(monkeypatch, baseline=["SSE3"], found=["AVX2", "FMA3", "AVX512_SKX"])
    assert same_arithmetic()["NPY_DISABLE_CPU_FEATURES"] == "AVX512_SKX"


def test_choice_is_the_same_on_a_processor_without_wide_loops(monkeypatch):
    processor(monkeypatch, baseline=["X86_V2"], found=["X86_V3", "X86_V4"])
    wide = same_arithmetic()
    processor(monkeypatch, baseline=["X86_V2"], found=["X86_V3"], **{"not found": ["X86_V4"]})
    assert same_arithmetic() == wide


def test_program_starts_again_once_with_its_own_words(monkeypatch, started):
    processor(monkeypatch, baseline=["X86_V2"], found=["X86_V3", "X86_V4"])
    rerun_with_same_arithmetic()
    [(program, words, environment)] = started
    assert program == sys.executable
    assert words == [sys.executable, *sys.orig_argv[1:]]
    assert same_arithmetic().items() <= environment.items()
    monkeypatch.setattr(os, "environ", environment)
    rerun_with_same_arithmetic()
    assert len(started) == 1


def test_processor_that_cannot_compute_so_is_told_and_goes_on(monkeypatch, started, capsys):
    processor(monkeypatch, baseline=["NEON"], found=["ASIMDHP"])
    rerun_with_same_arithmetic()
    assert started == []
    assert "bytes may differ" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "again"),
    [
        (["collision", "check", "--help"], True),
        (["collision", "lower", "--help"], True),
        (["robot", "add", "--help"], True),
        (["robot", "list", "--help"], False),
        (["check", "--help"], False),
        ([], False),
    ],
)
def test_commands_that_lower_start_again_and_no_others(monkeypatch, started, words, again):
    processor(monkeypatch, baseline=["X86_V2"], found=["X86_V3"])
    monkeypatch.setattr(sys, "argv", ["lastgate", *words])
    with pytest.raises(SystemExit):
        lastgate.tools.cli.main()
    assert bool(started) == again
