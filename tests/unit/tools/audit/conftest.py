# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest
from fixtures.recorded_datasets import write_small


@pytest.fixture(scope="session")
def small(tmp_path_factory) -> Path:
    """A dataset of twenty episodes with two faults of each kind; tests only read it."""
    return write_small(tmp_path_factory.mktemp("synth") / "small")
