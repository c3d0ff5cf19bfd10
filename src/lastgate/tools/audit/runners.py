# SPDX-License-Identifier: Apache-2.0
"""What does the parts of an audit: processes of this machine, or Ray. The results are the same."""

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

from lastgate.contracts import ROSConfigError
from lastgate.contracts.extras import install_command
from lastgate.tools.audit.job import AuditJob, PartResult
from lastgate.tools.audit.limited_process import audit_part, limited_audits

# A part whose Ray worker died is given to another one. A part that kills every worker it meets would go round for ever.
ATTEMPTS_MAX = 4


def run_here(job: AuditJob, parts: Sequence[int], *, workers: int) -> Iterator[PartResult]:
    """Does the parts on this machine, in so many processes; each part as soon as it is done."""
    if workers == 1:
        yield from (audit_part(job, part) for part in parts)
        return
    # The threads only wait: each has a process of its own that works.
    with ThreadPoolExecutor(workers) as pool:
        open_parts = {pool.submit(audit_part, job, part): part for part in parts}
        try:
            while open_parts:
                finished, _ = wait(open_parts, return_when=FIRST_COMPLETED)
                for future in sorted(finished, key=open_parts.__getitem__):
                    del open_parts[future]
                    yield future.result()
        finally:
            # Whatever ended this early: nothing more is begun, and what is at work ends with its process.
            for future in open_parts:
                future.cancel()
            if open_parts:
                limited_audits(job).close()


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
            f"`--ray` needs Ray, which is not installed\n\nhint: {install_command('ray')}"
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
