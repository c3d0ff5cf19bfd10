# SPDX-License-Identifier: Apache-2.0
"""Who does the parts of an audit: this process, several, or Ray. Whoever it is, the results are the same."""

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

from lastgate.audit.job import AuditJob, PartResult, audit_part
from lastgate.contracts import ROSConfigError

# A part whose worker died is given to another one. A part that kills every worker it meets would go round for ever.
ATTEMPTS_MAX = 4


def run_here(job: AuditJob, parts: Sequence[int]) -> Iterator[PartResult]:
    """Does the parts one after the other, in this process."""
    for part in parts:
        yield audit_part(job, part)


def run_in_processes(job: AuditJob, parts: Sequence[int], *, workers: int) -> Iterator[PartResult]:
    """Does the parts in so many processes; what a dead one leaves is done again.

    Raises:
        ROSConfigError: A part has killed its worker too often.
    """
    attempts = dict.fromkeys(parts, 0)
    while attempts:
        # Spawned, not forked: a forked child would inherit the threads of Arrow half alive.
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            futures = {}
            try:
                for part in list(attempts):
                    futures[pool.submit(audit_part, job, part)] = part
                while futures:
                    finished, _ = wait(futures, return_when=FIRST_COMPLETED)
                    for future in finished:
                        result = future.result()
                        del futures[future]
                        del attempts[result.part]
                        yield result
            except BrokenProcessPool:
                # Nobody can tell which part the dead worker had, so all that were open count.
                for part in attempts:
                    attempts[part] += 1
                worn = [part for part, count in attempts.items() if count >= ATTEMPTS_MAX]
                if worn:
                    raise ROSConfigError(
                        f"workers died {ATTEMPTS_MAX} times, last with part {worn[0]} open\n\n"
                        "hint: what is done is kept; `--workers 1` shows which episode it is"
                    ) from None


def run_on_ray(
    job: AuditJob, parts: Sequence[int], *, address: str, workers: int | None
) -> Iterator[PartResult]:
    """Does the parts as Ray tasks; Ray gives the task of a lost worker to another one.

    Args:
        address: `local` starts Ray on this machine for the time of the audit, anything else is a running cluster.

    Raises:
        ROSConfigError: Ray is not installed or cannot be reached.
    """
    try:
        import ray
    except ModuleNotFoundError:
        raise ROSConfigError(
            "`--ray` needs Ray, which is not installed\n\nhint: pip install 'lastgate[ray]'"
        ) from None
    try:
        if address == "local":
            ray.init(
                address="local",
                num_cpus=workers,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        else:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise ROSConfigError(f"Ray at `{address}` cannot be used: {error}") from None
    try:
        task = ray.remote(max_retries=ATTEMPTS_MAX, num_cpus=1)(audit_part)
        open_tasks = [task.remote(job, part) for part in parts]
        while open_tasks:
            finished, open_tasks = ray.wait(open_tasks, num_returns=1)
            yield from ray.get(finished)
    finally:
        ray.shutdown()
