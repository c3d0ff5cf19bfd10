# SPDX-License-Identifier: Apache-2.0
"""Episodes are read and checked in a process of their own, with limits of memory and time.

What an episode does to its reader, it does to that process: one that runs out of memory, hangs or crashes is reported
with what ended it, and the next one is audited by a fresh process.
"""

import multiprocessing
import resource
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import lru_cache
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from lastgate.contracts import ROSConfigError
from lastgate.tools.audit.findings import EpisodeResult
from lastgate.tools.audit.job import AuditJob, PartResult, opened

# Opening lists the episodes and builds the gate. Half a million of them are listed in seconds.
OPENING_SECONDS_MAX = 300.0
# A process that dies without a word may have been killed from outside, so its episode gets a second one.
DEATHS_MAX = 2


class _ProcessEndedError(Exception):
    """Reports how the process ended."""


class LimitedAudit:
    """One process that audits episodes of a job; started when it is first needed, and again after each end."""

    def __init__(self, job: AuditJob) -> None:
        self._job = job
        self._process: SpawnProcess | None = None
        self._channel: Any = None  # a Connection; its type depends on the system

    def open(self) -> None:
        """Opens the dataset in the process.

        Raises:
            ROSConfigError: It cannot be opened, or ends the process that opens it.
        """
        try:
            self._started()
        except _ProcessEndedError as error:
            raise ROSConfigError(f"{self._job.dataset}: the dataset cannot be opened: {error}") from None

    def audit_part(self, part: int) -> PartResult:
        """Audits the episodes of one part."""
        refs = opened(self._job).refs
        episodes: list[dict[str, Any]] = []
        cpu_s = 0.0
        for index in opened(self._job).episodes_of(part):
            try:
                result, spent_s = self._audit_episode(index)
            except _ProcessEndedError as error:
                trouble = EpisodeResult(episode=refs[index].number, name=refs[index].name, trouble=str(error))
                result, spent_s = asdict(trouble), 0.0
            episodes.append(result)
            cpu_s += spent_s
        return PartResult(part=part, episodes=episodes, cpu_s=cpu_s)

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._channel is not None:
            self._channel.close()
        self._process = self._channel = None

    def _audit_episode(self, index: int) -> tuple[dict[str, Any], float]:
        for death in range(1, DEATHS_MAX + 1):
            channel = self._started()
            try:
                channel.send(index)
                if not channel.poll(self._job.limits.seconds):
                    self.close()
                    raise _ProcessEndedError(f"took longer than {self._job.limits.seconds:g} s")
                return channel.recv()
            except (EOFError, OSError):
                how = self._how_it_ended()
                self.close()
                if death == DEATHS_MAX:
                    raise _ProcessEndedError(how) from None
        raise AssertionError("the last death raises")

    def _started(self) -> Any:
        """Returns the channel to a process that has opened the dataset."""
        if self._channel is not None:
            return self._channel
        spawned = multiprocessing.get_context(
            "spawn"
        )  # forked, it would inherit the threads of Arrow half alive
        here, there = spawned.Pipe()
        self._process = spawned.Process(target=serve_episodes, args=(self._job, there), daemon=True)
        self._process.start()
        there.close()
        self._channel = here
        try:
            if not here.poll(OPENING_SECONDS_MAX):
                raise _ProcessEndedError(f"opening took longer than {OPENING_SECONDS_MAX:g} s")
            said = here.recv()
        except (EOFError, OSError):
            how = self._how_it_ended()
            self.close()
            raise _ProcessEndedError(how) from None
        except _ProcessEndedError:
            self.close()
            raise
        if said is not None:
            self.close()
            raise ROSConfigError(said)
        return here

    def _how_it_ended(self) -> str:
        if self._process is None:
            return "its reader was ended"
        self._process.join(timeout=5.0)
        code = self._process.exitcode
        if code is not None and code < 0:
            return f"ended its reader: {signal.Signals(-code).name}"
        return f"ended its reader with exit code {code}"


def serve_episodes(job: AuditJob, channel: Connection) -> None:
    """What the process does: opens the dataset, then audits one episode after the other until the channel closes."""
    # Beyond what the program itself maps; an episode that needs more gets a MemoryError.
    # Where the system allows less already, that is the limit.
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    mapped_max = min([_mapped_bytes() + job.limits.memory_bytes, *allowed])
    resource.setrlimit(resource.RLIMIT_AS, (mapped_max, mapped_max))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt ends
    try:
        audit = opened(job)
    except ROSConfigError as error:
        channel.send(str(error))
        return
    except MemoryError:
        channel.send(f"{job.dataset}: opening it {_too_much(job)}")
        return
    channel.send(None)
    while True:
        try:
            index = channel.recv()
        except EOFError:
            return
        begin_s = time.thread_time()
        try:
            result = audit.audit_episode(index)
        except MemoryError:
            ref = audit.refs[index]
            result = EpisodeResult(episode=ref.number, name=ref.name, trouble=_too_much(job))
        channel.send((asdict(result), time.thread_time() - begin_s))


def _mapped_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _too_much(job: AuditJob) -> str:
    return f"needs more than {job.limits.memory_bytes / 2**30:g} GiB of memory"


class LimitedAudits:
    """Processes of one job that are idle; each is used by one thread at a time."""

    def __init__(self, job: AuditJob) -> None:
        self._job = job
        self._lock = threading.Lock()
        self._idle: list[LimitedAudit] = []
        self._all: list[LimitedAudit] = []

    @contextmanager
    def borrowed(self) -> Iterator[LimitedAudit]:
        """Lends a process, a fresh one if none is idle."""
        with self._lock:
            one = self._idle.pop() if self._idle else LimitedAudit(self._job)
            if one not in self._all:
                self._all.append(one)
        try:
            yield one
        finally:
            with self._lock:
                self._idle.append(one)

    def close(self) -> None:
        """Ends all of them, those at work too."""
        with self._lock:
            for one in self._all:
                one.close()


@lru_cache(maxsize=1)
def limited_audits(job: AuditJob) -> LimitedAudits:
    """Returns the processes of a job, the same ones until another job is asked for."""
    return LimitedAudits(job)


def audit_part(job: AuditJob, part: int) -> PartResult:
    """Audits one part: what a worker runs."""
    with limited_audits(job).borrowed() as one:
        return one.audit_part(part)
