# SPDX-License-Identifier: Apache-2.0
"""An audit as a thing that can be sent to another process: what to look at, and one part of it at a time."""

import hashlib
import json
import time
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lastgate.audit.dataset_options import DatasetOptions
from lastgate.audit.datasets import open_dataset
from lastgate.audit.episode import Dataset, UnreadableEpisodeError
from lastgate.audit.examine import ExamineOptions, Examiner
from lastgate.audit.findings import EpisodeResult
from lastgate.contracts import ROSConfigError, WorldState
from lastgate.robots import load_robot
from lastgate.world import NO_WORLD, NoWorld, World

# Small enough that a lost worker loses little and a bar moves, large enough that sending costs nothing.
EPISODES_PER_PART = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditJob:
    """Says what is audited; every field is plain data, so that a worker anywhere can take it.

    Attributes:
        dataset: Its folder or file, which workers must reach under the same path.
        robot: A robot of the fleet, or the path of a robot.yaml.
        world_json: The world by the `WorldState` schema, or None: nobody looked.
        episodes_max: Only so many, from the first; None takes all.
    """

    dataset: str
    robot: str
    world_json: str | None = None
    world_name: str = "world"
    source: DatasetOptions = field(default_factory=DatasetOptions)
    options: ExamineOptions = field(default_factory=ExamineOptions)
    episodes_max: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartResult:
    """Is what one part of an audit found, and what it cost.

    Attributes:
        cpu_s: Processor time of the thread that looked, reading included.
    """

    part: int
    episodes: list[dict[str, Any]]
    cpu_s: float


class OpenAudit:
    """Holds what a process needs to audit parts of a job: the list of episodes and one gate."""

    def __init__(self, job: AuditJob) -> None:
        self.job = job
        self.dataset: Dataset = open_dataset(Path(job.dataset), job.source)
        if self.dataset.step_s is None:
            raise ROSConfigError(f"{job.dataset}: does not say how far its rows are apart")
        self.step_s = self.dataset.step_s
        self.refs = self.dataset.episodes[: job.episodes_max]
        if not self.refs:
            raise ROSConfigError(f"{job.dataset}: has no episodes")
        self.examiner = Examiner(
            load_robot(job.robot), step_s=self.step_s, world=self._world(), options=job.options
        )

    def _world(self) -> World | NoWorld:
        if self.job.world_json is None:
            return NO_WORLD
        state = WorldState(**json.loads(self.job.world_json))
        return World(primitives=state.collision_primitives, stamp_s=0.0, world_id=self.job.world_name)

    @property
    def parts(self) -> int:
        """Is how many parts there are."""
        return -(-len(self.refs) // EPISODES_PER_PART)

    def fingerprint(self) -> str:
        """Is a digest of all that the result depends on; a part found under another one is not reused."""
        digest = hashlib.sha256()
        said = {**asdict(self.job), "version": version("lastgate")}
        digest.update(json.dumps(said, sort_keys=True, default=str).encode())
        digest.update(self.examiner.gate.model_digest.encode())
        folder = Path(self.job.dataset)
        root = folder if folder.is_dir() else folder.parent
        for file in sorted({ref.file for ref in self.refs}):
            path = root / file
            status = path.stat() if path.exists() else None
            size = None if status is None else (status.st_size, status.st_mtime_ns)
            digest.update(f"{file}\0{size}\0".encode())
        for ref in self.refs:
            digest.update(f"{ref.number}\0{ref.file}\0{ref.rows}\0{ref.key}\0".encode())
        return digest.hexdigest()

    def audit_part(self, part: int) -> PartResult:
        """Audits the episodes of one part; what is wrong with one of them is written down, and the next looked at."""
        begin_s = time.thread_time()
        first = part * EPISODES_PER_PART
        episodes = [
            asdict(self._audit_episode(index))
            for index in range(first, min(first + EPISODES_PER_PART, len(self.refs)))
        ]
        return PartResult(part=part, episodes=episodes, cpu_s=time.thread_time() - begin_s)

    def _audit_episode(self, index: int) -> EpisodeResult:
        ref = self.refs[index]
        result = EpisodeResult(episode=ref.number, name=ref.name, trouble=ref.trouble)
        if result.trouble:
            return result
        try:
            self.examiner.examine(self.dataset.read(ref), result)
        except UnreadableEpisodeError as error:
            return EpisodeResult(episode=ref.number, name=ref.name, trouble=str(error))
        return result


@lru_cache(maxsize=1)
def opened(job: AuditJob) -> OpenAudit:
    """Returns the job, opened once per process."""
    return OpenAudit(job)


def audit_part(job: AuditJob, part: int) -> PartResult:
    """Audits one part: what a worker runs."""
    return opened(job).audit_part(part)
