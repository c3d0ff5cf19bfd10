# SPDX-License-Identifier: Apache-2.0
"""`--rate-hz`: steps per second, and not the seconds between them."""

import math

# The longest step of the core.
_STEP_S_MAX = 10.0


def require_rate(rate_hz: float | None) -> None:
    """Raises `ROSConfigError` for a rate that is none, with the rate that was meant where a period was given."""
    from lastgate.contracts.exceptions import ROSConfigError

    if rate_hz is None:
        return
    if not (math.isfinite(rate_hz) and rate_hz > 0.0):
        raise ROSConfigError(f"`--rate-hz` must be a positive number: `{rate_hz}`")
    if rate_hz * _STEP_S_MAX < 1.0:
        raise ROSConfigError(
            f"`--rate-hz {rate_hz:g}` is a step every {1.0 / rate_hz:g} s, and the longest is {_STEP_S_MAX:g} s\n\n"
            f"hint: steps that are {rate_hz:g} s apart are `--rate-hz {1.0 / rate_hz:g}`"
        )
