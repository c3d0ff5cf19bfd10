# SPDX-License-Identifier: Apache-2.0
"""What `/diagnostics` says about a kernel once per second, as the fields of a `diagnostic_msgs/DiagnosticStatus`."""

from typing import Any

from lastgate.kernel.client import KernelState

OK, WARN, ERROR = 0, 1, 2


def diagnostic_status(
    status: dict[str, Any] | None, *, name: str, last_drop_reason: str, n_dof: int | None
) -> dict[str, Any]:
    """Returns one status with the keys of the contract.

    Args:
        status: The fields of the newest `SafetyStatus`; None when no kernel says anything, which is an error.
        n_dof: None when it is not known here.
    """
    if status is None:
        lifecycle, level, message = "absent", ERROR, "no kernel answers"
    else:
        state = KernelState(status["state"])
        lifecycle = state.name.lower()
        level = {KernelState.ACTIVE: OK, KernelState.LATCHED: ERROR}.get(state, WARN)
        message = f"{status['reason']} ({status['source']})" if state is KernelState.LATCHED else lifecycle
    told = status or {}
    values = {
        "lifecycle": lifecycle,
        "fault_latch": str(lifecycle == "latched").lower(),
        "passed": str(told.get("passed", 0)),
        "dropped": str(told.get("dropped", 0)),
        "last_drop_reason": last_drop_reason,
        "envelope_loaded": str(bool(told.get("model_digest"))).lower(),
        "n_dof": "" if n_dof is None else str(n_dof),
        "model_digest": str(told.get("model_digest", "")),
    }
    return {
        "level": level,
        "name": f"lastgate: {name}",
        "message": message,
        "hardware_id": name,
        "values": [{"key": key, "value": value} for key, value in values.items()],
    }
