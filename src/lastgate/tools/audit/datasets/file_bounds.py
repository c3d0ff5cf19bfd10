# SPDX-License-Identifier: Apache-2.0
"""What a file of a dataset may be and ask for, checked before anything is read or allocated.

A header may promise any number of rows, a compressed file may grow without end, and a path may lead anywhere. The
process that reads has limits of its own (`limited_process.py`); what is refused here is refused with its reason.
"""

import stat
from pathlib import Path, PurePosixPath

from lastgate.tools.audit.episode import UnreadableEpisodeError

# One table of an episode: 24 hours at 100 Hz with 14 columns are 0.97 GB.
TABLE_BYTES_MAX = 1 << 30
# Six times the episodes of the largest public collection of one robot (DROID: 76,000).
EPISODES_MAX = 500_000
# A description of a dataset with hundreds of features has some hundred kB.
DESCRIPTION_BYTES_MAX = 16 << 20


def require_regular_file(path: Path, name: str) -> None:
    """Refuses what is no ordinary file: opening a pipe waits for ever, and a device may never end.

    Raises:
        UnreadableEpisodeError: It is not there, or something else.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise UnreadableEpisodeError(f"{name}: {error.strerror}") from None
    if not stat.S_ISREG(mode):
        raise UnreadableEpisodeError(f"{name}: is no ordinary file")


def require_table_bytes(size: int, name: str) -> None:
    """Refuses a table that is larger than any episode.

    Raises:
        UnreadableEpisodeError: It is.
    """
    if not 0 <= size <= TABLE_BYTES_MAX:
        raise UnreadableEpisodeError(
            f"{name}: is said to hold {size:,} bytes of numbers; the longest episodes have {TABLE_BYTES_MAX:,}"
        )


def is_inside(relative: str) -> bool:
    """Returns whether a path that a dataset names stays inside its folder.

    Links are followed: download caches keep the files of a dataset elsewhere and link to them.
    """
    path = PurePosixPath(relative)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\0" not in relative
