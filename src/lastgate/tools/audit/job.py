# SPDX-License-Identifier: Apache-2.0
"""An audit as a thing that can be sent to another process: what to check, and one part of it at a time."""

import hashlib
import json
import time
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lastgate.contracts import ROSConfigError, WorldState
from lastgate.robots import load_robot
from lastgate.tools.audit.dataset_options import DatasetOptions
from lastgate.tools.audit.datasets import open_dataset
from lastgate.tools.audit.episode import Dataset, UnreadableEpisodeError
from lastgate.tools.audit.examine import ExamineOptions, Examiner
from lastgate.tools.audit.findings import EpisodeResult
from lastgate.tools.audit.robots_that_fit import require_robot_of_dataset
from lastgate.world import NO_WORLD, NoWorld, World

# Small enough that a lost worker loses little and a bar moves, large enough that sending costs nothing.
EPISODES_PER_PART = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeLimits:
    """What one episode may cost; what costs more is reported and not audited.

    Attributes:
        memory_bytes: Beyond what the program itself takes. The largest table of an episode (`file_bounds.py`) is held
            three times: as read, as numbers, and as the path that is checked.
        seconds: Time to read and check it. An hour at 50 Hz is checked in half a minute on a quiet core.
    """

    memory_bytes: int = 4 << 30
    seconds: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditJob:
    """An audit to run; every field is plain data, so that a worker anywhere can take it.

    Attributes:
        dataset: Its folder or file, which workers must reach under the same path.
        robot: A robot of the robot library, or the path of a robot.yaml.
        world_json: The world by the `WorldState` schema, or None where it was not observed.
        episodes_max: Only so many, from the first; None takes all.
    """

    dataset: str
    robot: str
    world_json: str | None = None
    world_name: str = "world"
    source: DatasetOptions = field(default_factory=DatasetOptions)
    options: ExamineOptions = field(default_factory=ExamineOptions)
    episodes_max: int | None = None
    limits: EpisodeLimits = field(default_factory=EpisodeLimits)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartResult:
    """The findings of one part of an audit, and its cost.

    Attributes:
        cpu_s: Processor time of the thread that checked, reading included.
    """

    part: int
    episodes: list[dict[str, Any]]
    cpu_s: float


class OpenAudit:
    """The state a process needs to audit parts of a job: the list of episodes and one gate."""

    def __init__(self, job: AuditJob) -> None:
        self.job = job
        self.dataset: Dataset = open_dataset(Path(job.dataset), job.source)
        if self.dataset.step_s is None:
            raise ROSConfigError(f"{job.dataset}: does not say how far its rows are apart")
        if job.options.columns is None and job.options.joint_map is None:
            require_robot_of_dataset(job.robot, self.dataset.robot_type, dataset=job.dataset)
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
        """Number of parts."""
        return -(-len(self.refs) // EPISODES_PER_PART)

    def fingerprint(self) -> str:
        """Returns a digest of all that the result depends on; a part found under another one is not reused."""
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
        """Audits the episodes of one part; what is wrong with one of them is written down, and the next checked."""
        begin_s = time.thread_time()
        episodes = [asdict(self.audit_episode(index)) for index in self.episodes_of(part)]
        return PartResult(part=part, episodes=episodes, cpu_s=time.thread_time() - begin_s)

    def episodes_of(self, part: int) -> range:
        """Returns the places of a part's episodes in `refs`."""
        first = part * EPISODES_PER_PART
        return range(first, min(first + EPISODES_PER_PART, len(self.refs)))

    def audit_episode(self, index: int) -> EpisodeResult:
        """Audits one episode, in this process and without limits; see `limited_process.py`."""
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
