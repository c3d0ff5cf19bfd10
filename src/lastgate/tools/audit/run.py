# SPDX-License-Identifier: Apache-2.0
"""Runs an audit from start to report, or from where it was cut off."""

import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from lastgate.tools.audit.fault_labels import read_labels
from lastgate.tools.audit.job import AuditJob, opened
from lastgate.tools.audit.limited_process import limited_audits
from lastgate.tools.audit.moments import worst_moments
from lastgate.tools.audit.parts import PartStore
from lastgate.tools.audit.report import write_page
from lastgate.tools.audit.runners import run_here, run_on_ray
from lastgate.tools.audit.summary import AuditSummary, summarize
from lastgate.tools.audit.tables import write_tables

WORST_PER_RULE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRun:
    """The result of an audit, and its cost.

    Attributes:
        rows_now: Rows checked in this run; parts that were done before cost nothing.
        cpu_s: Processor time of all workers for them, reading and looking.
    """

    summary: AuditSummary
    reused_parts: int
    rows_now: int
    cpu_s: float
    wall_s: float


def run_audit(
    job: AuditJob,
    folder: Path,
    *,
    workers: int = 1,
    ray: str | None = None,
    worst_per_rule: int = WORST_PER_RULE,
    on_progress: Callable[[str, float], None] = lambda stage, share: None,
) -> AuditRun:
    """Audits what is not done yet and writes report.html, findings.parquet and episodes.parquet.

    Raises:
        ROSConfigError: The dataset, the robot or the folder cannot be used.
    """
    try:
        return _run(
            job, folder, workers=workers, ray=ray, worst_per_rule=worst_per_rule, on_progress=on_progress
        )
    finally:
        limited_audits(job).close()
        limited_audits.cache_clear()


def _run(
    job: AuditJob,
    folder: Path,
    *,
    workers: int,
    ray: str | None,
    worst_per_rule: int,
    on_progress: Callable[[str, float], None],
) -> AuditRun:
    # What a dataset does to the process that opens it, it does to a limited one first.
    with limited_audits(job).borrowed() as one:
        one.open()
    audit = opened(job)
    store = PartStore(folder, fingerprint=audit.fingerprint(), parts=audit.parts)
    reused, rows, cpu_s, begin_s = store.reused, 0, 0.0, time.perf_counter()
    missing = store.missing
    if ray is not None and missing:
        results = run_on_ray(job, missing, address=ray, workers=workers)
    else:
        results = run_here(job, missing, workers=max(1, min(workers, len(missing))))
    # Ray tells about lost workers on stdout, which is for data.
    with redirect_stdout(sys.stderr):
        for result in results:
            store.add(result.part, result.episodes)
            rows += sum(episode["rows"] for episode in result.episodes)
            cpu_s += result.cpu_s
            on_progress("episodes", len(store.finished) / audit.parts)
    wall_s = time.perf_counter() - begin_s
    on_progress("report", 1.0)
    write_tables(store, audit.parts, folder)
    dataset = Path(job.dataset)
    summary = summarize(store, audit.parts, read_labels(dataset) if dataset.is_dir() else None)
    moments = worst_moments(audit, summary.worst(worst_per_rule))
    world = "not observed" if job.world_json is None else job.world_name
    facts = {"robot": job.robot, "world": world, "model": audit.examiner.gate.model_digest[:12]}
    write_page(folder / "report.html", summary, moments, title=f"Audit of {dataset.name}", facts=facts)
    return AuditRun(summary=summary, reused_parts=reused, rows_now=rows, cpu_s=cpu_s, wall_s=wall_s)
