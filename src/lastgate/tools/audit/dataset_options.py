# SPDX-License-Identifier: Apache-2.0
"""What has to be said about a dataset that it does not say itself."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetOptions:
    """Names the parts of a recording.

    Attributes:
        action_key: The column, HDF5 path or topic of the commands; empty takes the format's usual one.
        state_key: The same for what was measured.
        step_s: Time from one row to the next, where the dataset does not say.
    """

    action_key: str = ""
    state_key: str = ""
    step_s: float | None = None
