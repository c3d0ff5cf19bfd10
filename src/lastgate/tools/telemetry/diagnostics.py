# SPDX-License-Identifier: Apache-2.0
"""What `/diagnostics` says about a kernel once per second, as the fields of a `diagnostic_msgs/DiagnosticStatus`."""

from typing import Any

from lastgate import _core
from lastgate.kernel.client import KernelState

OK, WARN, ERROR = 0, 1, 2


def diagnostic_status(
    status: _core.SafetyStatusMessage | None, *, name: str, last_drop_reason: str, n_dof: int | None
) -> dict[str, Any]:
    """Returns one status with the keys of the contract.

    Args:
        status: The newest `SafetyStatus`; None when no kernel says anything, which is an error.
        n_dof: None when it is not known here.
    """
    if status is None:
        lifecycle, level, message = "absent", ERROR, "no kernel answers"
    else:
        state = KernelState(status.state)
        lifecycle = state.name.lower()
        level = {KernelState.ACTIVE: OK, KernelState.LATCHED: ERROR}.get(state, WARN)
        message = f"{status.reason} ({status.source})" if state is KernelState.LATCHED else lifecycle
    digest = "" if status is None else status.model_digest
    values = {
        "lifecycle": lifecycle,
        "fault_latch": str(lifecycle == "latched").lower(),
        "passed": str(0 if status is None else status.passed),
        "dropped": str(0 if status is None else status.dropped),
        "last_drop_reason": last_drop_reason,
        "envelope_loaded": str(bool(digest)).lower(),
        "n_dof": "" if n_dof is None else str(n_dof),
        "model_digest": digest,
    }
    return {
        "level": level,
        "name": f"lastgate: {name}",
        "message": message,
        "hardware_id": name,
        "values": [{"key": key, "value": value} for key, value in values.items()],
    }
