# SPDX-License-Identifier: Apache-2.0
"""A network that is not there, and upstream repositories that are on this disk."""

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

SERVED_TAG = "served-by-the-test"

ServeRepository = Callable[[str, Mapping[str, str]], Path]


@pytest.fixture
def rd_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of robot_descriptions, and a git that reaches nothing."""
    cache = tmp_path / "rd-cache"
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(cache))
    monkeypatch.delenv("ROBOT_DESCRIPTION_COMMIT", raising=False)
    _rewrite_urls(monkeypatch, {"https://": f"file://{tmp_path}/nowhere/"})
    return cache


@pytest.fixture
def serve_repository(tmp_path: Path, rd_cache: Path, monkeypatch: pytest.MonkeyPatch) -> ServeRepository:
    """Returns a function that puts files into a git repository and serves it under a public address."""

    def serve(url: str, files: Mapping[str, str]) -> Path:
        repository = tmp_path / "served" / Path(url).stem
        for name, text in files.items():
            path = repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        identity = {
            f"GIT_{who}_{what}": "test@localhost"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "served"], ["tag", SERVED_TAG]):
            subprocess.run(["git", *command], cwd=repository, check=True, env={**os.environ, **identity})
        _rewrite_urls(monkeypatch, {url: f"file://{repository}"})
        monkeypatch.setenv("ROBOT_DESCRIPTION_COMMIT", SERVED_TAG)
        return repository

    return serve


def _rewrite_urls(monkeypatch: pytest.MonkeyPatch, target_by_url: Mapping[str, str]) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", str(len(target_by_url)))
    for index, (url, target) in enumerate(target_by_url.items()):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{index}", f"url.{target}.insteadOf")
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{index}", url)
