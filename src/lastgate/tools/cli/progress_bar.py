# SPDX-License-Identifier: Apache-2.0
"""A progress bar on stderr, which disappears when the work is done and where there is no terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[str, float], None]]:
    """Yields a function that takes the name of a stage and the share of the work that is done."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=1.0)

        def show(stage: str, share: float) -> None:
            bar.update(task, description=f"{title}: {stage}", completed=share)

        yield show
